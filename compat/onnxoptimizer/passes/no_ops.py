"""Passes that remove operators which return their input."""

from __future__ import annotations

import numpy as np

from xonnc.compat.onnxoptimizer.assumptions import assume, is_non_negative
from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Dims, Node, attribute, is_op
from xonnc.compat.onnxoptimizer.registry import (
    COMPUTE,
    MEMORY,
    NONE,
    PARTIAL,
    PassType,
    graph_pass,
    node_pass,
)


@graph_pass(PassType.NOP, NONE)
def nop(graph: Graph) -> int:
    """Do nothing."""
    del graph
    return 0


@node_pass(PassType.NOP)
def eliminate_nop_cast(graph: Graph, node: Node) -> bool:
    """Remove a Cast to the element type of its input."""
    if not is_op(node, "Cast") or attribute(node, "to") != graph.type(node.input[0]).element:
        return False
    return graph.bypass(node, node.input[0])


@node_pass(PassType.NOP, differs="Keeps a Dropout whose mask is used; the mask would become the data.")
def eliminate_nop_dropout(graph: Graph, node: Node) -> bool:
    """Remove a Dropout with the attribute `ratio` = 0."""
    if not is_op(node, "Dropout") or attribute(node, "ratio", 0.5) != 0.0:
        return False
    if any(name and graph.is_used(name) for name in node.output[1:]):
        return False
    return graph.bypass(node, node.input[0])


@node_pass(PassType.NOP)
def eliminate_nop_flatten(graph: Graph, node: Node) -> bool:
    """Remove a Flatten of a matrix that stays as it is."""
    if not is_op(node, "Flatten"):
        return False
    dims, axis = graph.dims(node.input[0]), attribute(node, "axis", 1)
    if dims is None or len(dims) != 2 or not (axis in (1, -1) or (axis == 0 and dims[0] == 1)):
        return False
    return graph.bypass(node, node.input[0])


@node_pass(
    PassType.NOP,
    COMPUTE,
    PARTIAL,
    differs=(
        "Log and Sqrt: only of what is not negative. Exp, which overflows to equal infinities: only if the "
        "pass is named on its own, with a warning."
    ),
)
def eliminate_nop_monotone_argmax(graph: Graph, node: Node) -> bool:
    """Remove Log, Exp, Sqrt, Softmax or LogSoftmax before an ArgMax; ties of rounding may then differ."""
    axis = attribute(node, "axis")
    inner = graph.maker(node.input[0]) if is_op(node, "ArgMax") and axis is not None else None
    if inner is None or not graph.is_used_once(node.input[0]):
        return False
    if is_op(inner, "Softmax", "LogSoftmax"):
        # Before opset 13, Softmax normalizes over all axes from its own.
        rank = len(graph.dims(inner.input[0]) or ())
        one_axis = graph.model.opset >= 13 or (rank > 0 and axis in (-1, rank - 1))
        applies = one_axis and attribute(inner, "axis") == axis
    elif is_op(inner, "Log", "Sqrt", "Exp"):
        proven = not is_op(inner, "Exp") and is_non_negative(graph, inner.input[0])
        applies = proven or assume(graph, node, _assumption(inner))
    else:
        applies = False
    if not applies:
        return False
    graph.set_input(node, 0, inner.input[0])
    graph.erase(inner)
    return True


def _assumption(inner: Node) -> str:
    if is_op(inner, "Exp"):
        return "no two values overflow or underflow in Exp"
    return f"no value is negative before {inner.op_type}"


@node_pass(PassType.NOP)
def eliminate_nop_pad(graph: Graph, node: Node) -> bool:
    """Remove a Pad by zero elements on all sides."""
    if not is_op(node, "Pad"):
        return False
    pads = attribute(node, "pads") if len(node.input) < 2 else graph.constant_ints(node.input[1])
    if not pads or any(pads):
        return False
    return graph.bypass(node, node.input[0])


@node_pass(PassType.NOP, MEMORY)
def eliminate_nop_concat(graph: Graph, node: Node) -> bool:
    """Remove a Concat of one tensor."""
    return is_op(node, "Concat") and len(node.input) == 1 and graph.bypass(node, node.input[0])


@node_pass(PassType.NOP, MEMORY)
def eliminate_nop_split(graph: Graph, node: Node) -> bool:
    """Remove a Split into one tensor."""
    if not is_op(node, "Split") or len(node.output) != 1:
        return False
    dims, axis = graph.dims(node.input[0]), attribute(node, "axis", 0)
    if dims is None or not -len(dims) <= axis < len(dims):
        return False
    has_sizes = len(node.input) > 1 and node.input[1]
    sizes = graph.constant_ints(node.input[1]) if has_sizes else attribute(node, "split")
    if (has_sizes or sizes is not None) and sizes != [dims[axis]]:
        return False
    return graph.bypass(node, node.input[0])


@node_pass(PassType.NOP)
def eliminate_nop_expand(graph: Graph, node: Node) -> bool:
    """Remove an Expand to a constant shape that the input has already."""
    shape = graph.constant_ints(node.input[1]) if is_op(node, "Expand") else None
    if shape is None or not broadcasts_into(shape, graph.dims(node.input[0])):
        return False
    return graph.bypass(node, node.input[0])


def broadcasts_into(shape: list[int] | tuple[int, ...], dims: Dims | None) -> bool:
    """Whether a tensor of `shape` broadcast with one of `dims` has `dims`."""
    if dims is None:
        return not shape
    if len(shape) > len(dims):
        return False
    return all(size in (1, dim) for size, dim in zip(reversed(shape), reversed(dims), strict=False))


@node_pass(PassType.NOP)
def eliminate_nop_transpose(graph: Graph, node: Node) -> bool:
    """Remove a Transpose whose `perm` is the identity."""
    perm = attribute(node, "perm") if is_op(node, "Transpose") else None
    return perm is not None and list(perm) == list(range(len(perm))) and graph.bypass(node, node.input[0])


@node_pass(PassType.NOP)
def eliminate_nop_reshape(graph: Graph, node: Node) -> bool:
    """Remove a Reshape to a constant shape that the input has already; one dimension may be unknown."""
    shape = graph.constant_ints(node.input[1]) if is_op(node, "Reshape") and len(node.input) > 1 else None
    dims = graph.dims(node.input[0]) if shape else None
    if not shape or dims is None or len(shape) != len(dims):
        return False
    copies = not attribute(node, "allowzero", 0)
    asked = [(size, dim) for size, dim in zip(shape, dims, strict=True) if not (size == 0 and copies)]
    known = [(size, dim) for size, dim in asked if size != -1 and isinstance(dim, int)]
    if any(size != dim for size, dim in known) or len(asked) - len(known) > 1:
        return False
    return graph.bypass(node, node.input[0])


_ONE, _ZERO = 1, 0
_UNITS = {
    "Mul": (_ONE, (0, 1)),
    "And": (_ONE, (0, 1)),
    "Add": (_ZERO, (0, 1)),
    "Or": (_ZERO, (0, 1)),
    "Sub": (_ZERO, (1,)),
    "Div": (_ONE, (1,)),
    "Pow": (_ONE, (1,)),
}
"""The unit of each operator, and the operands that may be it."""


@node_pass(PassType.NOP)
def eliminate_nop_with_unit(graph: Graph, node: Node) -> bool:
    """Remove x * 1, x + 0, x - 0, x / 1, x ^ 1, `x and true`, `x or false`, and empty inputs of Concat."""
    if is_op(node, "Concat"):
        return _drop_empty_inputs(graph, node)
    if not is_op(node, *_UNITS) or len(node.input) != 2:
        return False
    unit, operand_indices = _UNITS[node.op_type]
    for index in operand_indices:
        other = node.input[1 - index]
        array = graph.constant(node.input[index])
        if array is None or not broadcasts_into(array.shape, graph.dims(other)):
            continue
        if array.dtype != np.object_ and bool(np.all(array == unit)):
            return graph.bypass(node, other)
    return False


def _drop_empty_inputs(graph: Graph, node: Node) -> bool:
    def is_empty(name: str) -> bool:
        return graph.is_constant(name) and 0 in (graph.dims(name) or ())

    present = [name for name in node.input if not is_empty(name)]
    if not present or len(present) == len(node.input):
        return False
    graph.set_inputs(node, present)
    return True


@node_pass(PassType.NOP)
def eliminate_identity(graph: Graph, node: Node) -> bool:
    """Remove an Identity."""
    return is_op(node, "Identity") and graph.bypass(node, node.input[0])
