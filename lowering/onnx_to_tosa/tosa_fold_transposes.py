"""`tosa-fold-transposes`: sink transposes below other ops until they meet and cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import tosa
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xonnc.dialects.onnx.elements.dense import dense_array
from xonnc.dialects.onnx.types import tensor_type
from xonnc.dialects.tosa import data_movement, elementwise
from xonnc.dialects.tosa.data_movement import (
    PadOp,
    ReshapeOp,
    SliceOp,
    TileOp,
    TransposeOp,
    constant_shape,
)
from xonnc.dialects.tosa.types import ShapeType, element_of, shape_of
from xonnc.lowering.onnx_to_tosa.constants import constant, constant_sizes
from xonnc.rewriting.editing import erase

ELEMENTWISE = (
    *(op for op in elementwise.OPS if op is not elementwise.TableOp),
    tosa.AddOp,
    tosa.ClampOp,
    tosa.CosOp,
    tosa.MulOp,
    tosa.ReciprocalOp,
    tosa.RescaleOp,
    tosa.SinOp,
    tosa.SubOp,
    elementwise.TableOp,
)
"""Ops that compute each element from those at the same place."""

PARAMETERS: dict[type[Operation], int] = {elementwise.TableOp: 1, tosa.MulOp: 1, tosa.RescaleOp: 4}
"""The number of trailing operands that are parameters, which are not transposed."""

REDUCTIONS = (
    tosa.ReduceAllOp,
    tosa.ReduceAnyOp,
    tosa.ReduceMaxOp,
    tosa.ReduceMinOp,
    tosa.ReduceProductOp,
    tosa.ReduceSumOp,
)

ALONG_AXIS = (*REDUCTIONS, data_movement.ReverseOp, tosa.ConcatOp)
"""Ops with a property `axis`."""

BY_SHAPES: dict[type[Operation], int] = {PadOp: 2, SliceOp: 1, TileOp: 1}
"""Ops with operands of sizes for each dimension, and how many for each."""


@dataclass(frozen=True)
class TosaFoldTransposes(ModulePass):
    """Sink transposes below elementwise ops, reductions and the like, merge them, and erase dead ops."""

    name = "tosa-fold-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier(PATTERNS)).rewrite_module(op)
        for each in reversed(list(op.walk())):
            is_read = any(result.first_use is not None for result in each.results)
            if each.name.startswith("tosa.") and each.results and not is_read:
                erase(each)


class MergeTransposes(RewritePattern):
    """`transpose(transpose(x))` is one transpose, or none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        before = op.input1.owner
        if op.order == tuple(range(len(op.order))):
            rewriter.replace(op, [], [op.input1])
        elif isinstance(before, TransposeOp):
            order = [before.order[axis] for axis in op.order]
            rewriter.replace(op, _transpose(before.input1, order))


class ReshapeForTranspose(RewritePattern):
    """A transpose that moves dimensions of size 1 only is a reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        if _keeps_order(shape_of(op.input1), op.order):
            rewriter.replace(op, _reshape(op.input1, shape_of(op.output)))


class MergeReshapes(RewritePattern):
    """`reshape(reshape(x))` is one reshape, or none."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        before = op.input1.owner
        if op.output.type == op.input1.type:
            rewriter.replace(op, [], [op.input1])
        elif isinstance(before, ReshapeOp):
            rewriter.replace(op, _reshape(before.input1, shape_of(op.output)))


class SinkBelowElementwise(RewritePattern):
    """`f(transpose(x), transpose(y))` is `transpose(f(x, y))`; constants are transposed here."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ELEMENTWISE) or _is_per_channel(op):
            return
        count = len(op.operands) - PARAMETERS.get(type(op), 0)
        order = _order(op.operands[:count])
        if order is None:
            return
        moved = [_before(operand, order) for operand in op.operands[:count]]
        operands = [value for value in moved if value is not None]
        if len(operands) < count:
            return
        _sink(op, operands, order, rewriter)


class SinkBelowAxis(RewritePattern):
    """A reduction, a reversal or a concatenation of transposed tensors, along the dimension before."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        axis = op.properties.get("axis")
        if not isinstance(op, ALONG_AXIS) or not isinstance(axis, IntegerAttr):
            return
        order = _order(op.operands)
        if order is None:
            return
        moved = [_before(operand, order) for operand in op.operands]
        operands = [value for value in moved if value is not None]
        if len(operands) == len(moved):
            _sink(op, operands, order, rewriter, axis=IntegerAttr(order[axis.value.data], i32))


class SinkBelowShapes(RewritePattern):
    """A pad, slice or tile of a transposed tensor, with its sizes in the order before."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        each = BY_SHAPES.get(type(op), 0)
        order = _order(op.operands[:1]) if each else None
        if order is None:
            return
        moved: list[SSAValue] = [_source(op.operands[0])]
        for operand in op.operands[1:]:
            if isinstance(operand.type, ShapeType):
                sizes = constant_shape(operand)
                if sizes is None:
                    return
                pairs = [sizes[index * each : (index + 1) * each] for index in range(len(order))]
                made = constant_sizes([size for index in _inverse(order) for size in pairs[index]])
                rewriter.insert(made)
                operand = made.output
            moved.append(operand)
        _sink(op, moved, order, rewriter)


PATTERNS: list[RewritePattern] = [
    MergeTransposes(),
    ReshapeForTranspose(),
    MergeReshapes(),
    SinkBelowElementwise(),
    SinkBelowAxis(),
    SinkBelowShapes(),
]


def _is_per_channel(op: Operation) -> bool:
    """Whether an op has a factor for each index of the last dimension."""
    return isinstance(op, tosa.RescaleOp) and bool(op.per_channel.value.data)


def _order(operands: Sequence[SSAValue]) -> tuple[int, ...] | None:
    """Return the order of the first transposed operand, `None` without one."""
    return next((each.owner.order for each in operands if isinstance(each.owner, TransposeOp)), None)


def _source(value: SSAValue) -> SSAValue:
    assert isinstance(value.owner, TransposeOp)
    return value.owner.input1


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def _before(value: SSAValue, order: tuple[int, ...]) -> SSAValue | list[Operation] | None:
    """Return what a transpose in this order makes a value of: a value, ops to insert, or `None`."""
    owner = value.owner
    if isinstance(owner, TransposeOp) and owner.order == order:
        return owner.input1
    shape, inverse = shape_of(value), _inverse(order)
    if isinstance(owner, tosa.ConstOp):
        return [constant(dense_array(owner.values).transpose(inverse))]
    if _keeps_order(shape, inverse):
        return _reshape(value, [shape[axis] for axis in inverse])
    return None


def _keeps_order(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether a transpose moves dimensions of size 1 only."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def _sink(
    op: Operation,
    operands: Sequence[SSAValue | list[Operation]],
    order: tuple[int, ...],
    rewriter: PatternRewriter,
    **changed: Attribute,
) -> None:
    """Replace an op by one of other operands, and a transpose of its result."""
    values: list[SSAValue] = []
    for operand in operands:
        if isinstance(operand, list):
            for each in operand:
                rewriter.insert(each)
            operand = operand[-1].results[0]
        values.append(operand)
    values += op.operands[len(values) :]
    shape, inverse = shape_of(op.results[0]), _inverse(order)
    type_ = tensor_type(tuple(shape[axis] for axis in inverse), element_of(op.results[0]))
    made = type(op).create(operands=values, result_types=[type_], properties={**op.properties, **changed})
    made.location = op.location
    rewriter.replace(op, [made, *_transpose(made.results[0], order)])


def _transpose(value: SSAValue, order: Sequence[int]) -> list[Operation]:
    shape = shape_of(value)
    type_ = tensor_type(tuple(shape[axis] for axis in order), element_of(value))
    perms = DenseArrayBase.from_list(i32, list(order))
    return [TransposeOp.create(operands=[value], result_types=[type_], properties={"perms": perms})]


def _reshape(value: SSAValue, sizes: Sequence[int]) -> list[Operation]:
    shape = constant_sizes(sizes)
    type_ = tensor_type(tuple(sizes), element_of(value))
    return [shape, ReshapeOp.create(operands=[value, shape.output], result_types=[type_])]
