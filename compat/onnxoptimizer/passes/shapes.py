"""Passes that compute shapes which are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, attribute, is_op
from xonnc.compat.onnxoptimizer.registry import PassType, node_pass

_CASTABLE = ("float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_INT64 = 7


def _shape_of(graph: Graph, node: Node | None) -> Sequence[int | str | None] | None:
    """Return what a Shape node gives, as far as it is known; its `start` and `end` count."""
    if node is None or not is_op(node, "Shape"):
        return None
    dims = graph.dims(node.input[0])
    return None if dims is None else dims[attribute(node, "start", 0) : attribute(node, "end")]


@node_pass(PassType.FUSE)
def eliminate_shape_op(graph: Graph, node: Node) -> bool:
    """Replace the Shape of a tensor of static shape by a constant."""
    dims = _shape_of(graph, node)
    if dims is None or not all(isinstance(dim, int) for dim in dims):
        return False
    return graph.fold(node, np.array(dims, np.int64))


@node_pass(PassType.FUSE, differs="An index out of range is left to the run instead of an assertion.")
def eliminate_shape_gather(graph: Graph, node: Node) -> bool:
    """Replace the Gather of one static dimension of a Shape by a constant."""
    if not is_op(node, "Gather") or attribute(node, "axis", 0) != 0:
        return False
    dims, index = _shape_of(graph, graph.maker(node.input[0])), graph.constant(node.input[1])
    if dims is None or index is None or index.size != 1 or not -len(dims) <= int(index.item()) < len(dims):
        return False
    dim = dims[int(index.item())]
    return isinstance(dim, int) and graph.fold(node, np.full(index.shape, dim, np.int64))


@node_pass(PassType.FUSE, differs="Heeds the attributes `start` and `end` of Shape.")
def eliminate_slice_after_shape(graph: Graph, node: Node) -> bool:
    """Replace the Slice of static dimensions of a Shape by a constant."""
    dims = _shape_of(graph, graph.maker(node.input[0])) if is_op(node, "Slice") else None
    if dims is None:
        return False
    if len(node.input) == 1:
        bounds = [attribute(node, "starts"), attribute(node, "ends"), [1]]
        axes = attribute(node, "axes", [0])
    else:
        inputs = [*node.input, "", ""]
        bounds = [graph.constant_ints(inputs[1]), graph.constant_ints(inputs[2])]
        bounds.append(graph.constant_ints(inputs[4]) if inputs[4] else [1])
        axes = graph.constant_ints(inputs[3]) if inputs[3] else [0]
    if any(bound is None or len(bound) != 1 for bound in bounds) or axes not in ([0], [-1]):
        return False
    start, end, step = (bound[0] for bound in bounds if bound is not None)
    found = dims[start:end:step] if step else None
    if not found or not all(isinstance(dim, int) for dim in found):
        return False
    return graph.fold(node, np.array(found, np.int64))


@node_pass(PassType.FUSE)
def fuse_concat_into_reshape(graph: Graph, node: Node) -> bool:
    """Make the shape of a Reshape constant that a Concat computes from constants and at most one unknown."""
    concat = graph.maker(node.input[1]) if is_op(node, "Reshape") and len(node.input) > 1 else None
    casts = concat is not None and is_op(concat, "Cast") and attribute(concat, "to") == _INT64
    if concat is not None and casts:
        concat = graph.maker(concat.input[0])
    if concat is None or not is_op(concat, "Concat") or attribute(concat, "axis") != 0:
        return False
    shape: list[int] = []
    for name in concat.input:
        array = graph.constant(name)
        if array is not None and array.dtype.name in (_CASTABLE if casts else ("int64",)):
            shape += (int(size) for size in array)
        elif array is None and graph.dims(name) == (1,):
            shape.append(-1)
        else:
            return False
    # With `allowzero`, a 0 is a size, next to which -1 is ambiguous.
    if shape.count(-1) > 1 or (-1 in shape and 0 in shape and attribute(node, "allowzero", 0)):
        return False
    graph.set_input(node, 1, graph.add_ints(shape, f"{node.output[0]}_shape"))
    return True
