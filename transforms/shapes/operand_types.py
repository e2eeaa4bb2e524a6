"""Dimensions of operands that other operands of an op determine, as in onnx-mlir."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import is_ranked
from xonnc.rewriting.editing import retype, retype_function
from xonnc.transforms.dims.functions import names_of
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext

Position: TypeAlias = tuple[int, int]
"""An operand and one of its axes."""


def refine_operands(function: FuncOp) -> bool:
    """
    Make dimensions of operands static that must equal static dimensions of others; return whether one is.

    These are the common dimension of a matrix product and the input size of a recurrence. Only ops that run
    whenever the function does are considered. Named dimensions of arguments stay dynamic.
    """
    block = function.body.blocks.first
    if block is None:
        return False
    named = dict(names_of(block.args, function.arg_attrs))
    changed = False
    for op in block.ops:
        pairs = PAIRS.get(op.name.removeprefix("onnx."))
        for left, right in () if pairs is None else pairs(InferenceContext(op)):
            changed |= _refine(op, left, right, named) or _refine(op, right, left, named)
    if changed:
        retype_function(function)
    return changed


def _refine(op: Operation, to: Position, of: Position, named: Mapping[SSAValue, Mapping[int, str]]) -> bool:
    """Take over the size at `of` if that at `to` is dynamic and has no name."""
    value, (source, source_axis) = op.operands[to[0]], of
    type_, known = value.type, op.operands[source].type
    if not is_ranked(type_) or not is_ranked(known):
        return False
    shape, size = type_.get_shape(), known.get_shape()[source_axis]
    axis = to[1] % len(shape)
    if size == UNKNOWN or shape[axis] != UNKNOWN or axis in named.get(value, {}):
        return False
    retype(value, type(type_)(type_.element_type, (*shape[:axis], size, *shape[axis + 1 :]), type_.encoding))
    return True


def _product(left: int, right: int) -> Callable[[InferenceContext], Sequence[tuple[Position, Position]]]:
    def pairs(ctx: InferenceContext) -> Sequence[tuple[Position, Position]]:
        a, b = ctx.shape(left), ctx.shape(right)
        return [((left, -1), (right, max(-2, -len(b))))] if a and b else []

    return pairs


def _gemm(ctx: InferenceContext) -> Sequence[tuple[Position, Position]]:
    a, b = ctx.shape(0), ctx.shape(1)
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return []
    return [((0, 0 if ctx.integer("transA") else 1), (1, 1 if ctx.integer("transB") else 0))]


def _recurrence(ctx: InferenceContext) -> Sequence[tuple[Position, Position]]:
    data, weights = ctx.shape(0), ctx.shape(1)
    if data is None or weights is None or len(data) != 3 or len(weights) != 3:
        return []
    return [((0, 2), (1, 2))]


PAIRS: Mapping[str, Callable[[InferenceContext], Sequence[tuple[Position, Position]]]] = {
    "GRU": _recurrence,
    "Gemm": _gemm,
    "LSTM": _recurrence,
    "MatMul": _product(0, 1),
    "MatMulInteger": _product(0, 1),
    "QLinearMatMul": _product(0, 3),
    "RNN": _recurrence,
}
"""Pairs of equal dimensions, by op name without the dialect."""
