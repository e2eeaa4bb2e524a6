"""Passes on Squeeze, Unsqueeze and the axes of reductions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, attribute, is_op
from xonnc.compat.onnxoptimizer.registry import PassType, node_pass

AXES_ARE_INPUTS_SINCE = 13
"""The opset since which Squeeze and Unsqueeze have their axes as an input."""

_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
)


def axes_of(graph: Graph, node: Node) -> list[int] | None:
    """Return the axes of a node, from its attribute or its constant second input."""
    if len(node.input) > 1:
        return graph.constant_ints(node.input[1])
    found = attribute(node, "axes")
    return None if found is None else list(found)


def _non_negative(axes: Sequence[int], rank: int | None) -> list[int] | None:
    """Return axes counted from the front; `None` if that takes an unknown rank."""
    if all(axis >= 0 for axis in axes):
        return list(axes)
    return None if rank is None else [axis + rank if axis < 0 else axis for axis in axes]


def _rank(graph: Graph, name: str) -> int | None:
    dims = graph.dims(name)
    return None if dims is None else len(dims)


def axes_operands(graph: Graph, axes: Sequence[int]) -> tuple[list[str], dict[str, list[int]]]:
    """Return axes as the further inputs and the attributes of a Squeeze or Unsqueeze."""
    if graph.model.opset >= AXES_ARE_INPUTS_SINCE:
        return [graph.add_ints(axes, "axes")], {}
    return [], {"axes": list(axes)}


def _compose(graph: Graph, inner: Node, outer: Node, axes: Sequence[int]) -> bool:
    inputs, attributes = axes_operands(graph, axes)
    graph.replace(outer, outer.op_type, [inner.input[0], *inputs], **attributes)
    graph.erase_if_dead(inner)
    return True


def _inner(graph: Graph, node: Node, op_type: str, inner_types: Sequence[str]) -> Node | None:
    inner = graph.maker(node.input[0]) if is_op(node, op_type) else None
    return inner if is_op(inner, *inner_types) else None


@node_pass(PassType.FUSE)
def fuse_consecutive_squeezes(graph: Graph, node: Node) -> bool:
    """Compose Squeeze of Squeeze; axes counted from the back stay."""
    inner = _inner(graph, node, "Squeeze", ["Squeeze"])
    first, second = (axes_of(graph, inner), axes_of(graph, node)) if inner is not None else (None, None)
    if inner is None or first is None or second is None:
        return False
    if min((*first, *second), default=0) < 0:
        return False
    remaining = [axis for axis in range(len(first) + max(second, default=0) + 1) if axis not in first]
    return _compose(graph, inner, node, sorted([*first, *(remaining[axis] for axis in second)]))


@node_pass(PassType.FUSE)
def fuse_consecutive_unsqueezes(graph: Graph, node: Node) -> bool:
    """Compose Unsqueeze of Unsqueeze."""
    inner = _inner(graph, node, "Unsqueeze", ["Unsqueeze"])
    first, second = (axes_of(graph, inner), axes_of(graph, node)) if inner is not None else (None, None)
    if inner is None or first is None or second is None:
        return False
    rank = _rank(graph, inner.input[0])
    first = _non_negative(first, None if rank is None else rank + len(first))
    second = _non_negative(second, None if rank is None or first is None else rank + len(first) + len(second))
    if first is None or second is None:
        return False
    # The axes of the inner result go, in order, where the outer one inserts none.
    free = (axis for axis in count() if axis not in second)
    axes_inserted = [next(free) for _ in range(max(first, default=-1) + 1)]
    return _compose(graph, inner, node, sorted([*second, *(axes_inserted[axis] for axis in first)]))


@node_pass(PassType.NOP)
def fuse_consecutive_squeeze_unsqueeze(graph: Graph, node: Node) -> bool:
    """Remove a Squeeze and an Unsqueeze of the same axes, in either order."""
    inner = _inner(graph, node, "Squeeze", ["Unsqueeze"]) or _inner(graph, node, "Unsqueeze", ["Squeeze"])
    first, second = (axes_of(graph, inner), axes_of(graph, node)) if inner is not None else (None, None)
    if inner is None or first is None or second is None:
        return False
    if sorted(first) != sorted(second):
        # Both count in the larger rank: before the Squeeze, after the Unsqueeze.
        rank = _rank(graph, inner.input[0])
        if rank is not None and is_op(inner, "Unsqueeze"):
            rank += len(first)
        ordered = [
            sorted(axes) for each in (first, second) if (axes := _non_negative(each, rank)) is not None
        ]
        if len(ordered) != 2 or ordered[0] != ordered[1]:
            return False
    if not graph.bypass(node, inner.input[0]):
        return False
    graph.erase_if_dead(inner)
    return True


@node_pass(PassType.FUSE)
def fuse_consecutive_reduce_unsqueeze(graph: Graph, node: Node) -> bool:
    """Let a reduction keep the dimensions that an Unsqueeze after it restores."""
    inner = _inner(graph, node, "Unsqueeze", _REDUCTIONS)
    if inner is None or attribute(inner, "keepdims", 1) or not graph.is_used_once(node.input[0]):
        return False
    first, second = axes_of(graph, inner), axes_of(graph, node)
    if not first or second is None:
        return False
    if sorted(first) != sorted(second):
        rank = _rank(graph, inner.input[0])
        first, second = _non_negative(first, rank), _non_negative(second, rank)
        if first is None or second is None or sorted(first) != sorted(second):
            return False
    graph.fuse(inner, node, inner.input, keepdims=1)
    return True
