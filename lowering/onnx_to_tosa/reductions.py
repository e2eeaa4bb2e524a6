"""Reductions, and what is made of them: softmax and normalizations."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np
from xdsl.dialects import tosa
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import extra, reduction
from xonnc.dialects.onnx.ops.math import probability
from xonnc.dialects.onnx.ops.nn import normalization
from xonnc.dialects.onnx.types import NONE, tensor_type
from xonnc.dialects.tosa.elementwise import ExpOp, LogOp, RsqrtOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.elementwise import product, scaled, shifted
from xonnc.lowering.onnx_to_tosa.tosa_builder import TosaBuilder, is_real, lowers

BATCH_NORMS = (
    extra.BatchNormalizationInferenceModeOp,
    normalization.BatchNormalizationOp,
    normalization.BatchNormalizationV9Op,
)

MEANS = (reduction.ReduceMeanOp, reduction.ReduceMeanV13Op)
REDUCTIONS: dict[type[OnnxOp], type[IRDLOperation]] = {
    **dict.fromkeys((reduction.ReduceSumOp, reduction.ReduceSumV11Op), tosa.ReduceSumOp),
    **dict.fromkeys((reduction.ReduceProdOp, reduction.ReduceProdV13Op), tosa.ReduceProductOp),
    **dict.fromkeys(
        (reduction.ReduceMaxOp, reduction.ReduceMaxV18Op, reduction.ReduceMaxV13Op), tosa.ReduceMaxOp
    ),
    **dict.fromkeys(
        (reduction.ReduceMinOp, reduction.ReduceMinV18Op, reduction.ReduceMinV13Op), tosa.ReduceMinOp
    ),
}
"""Reductions that TOSA has."""


@lowers(*REDUCTIONS)
def reduce_by(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """One reduction for each axis."""
    x = builder.value(op.operands[0])
    made = reduced(REDUCTIONS[type(op)], x, axes_of(op, len(shape_of(x)), builder), builder)
    return builder.reshape(made, builder.result_shape(op))


@lowers(*MEANS)
def reduce_mean(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """The sum by the number of elements."""
    x = builder.value(op.operands[0])
    made = mean(x, axes_of(op, len(shape_of(x)), builder), builder)
    return builder.reshape(made, builder.result_shape(op))


def axes_of(op: OnnxOp, rank: int, builder: TosaBuilder) -> list[int]:
    """Return the axes that an operator reduces."""
    given = op.properties.get("axes")
    axes = int_values(given) if isa(given, ArrayAttr[IntegerAttr[IntegerType]]) else None
    if axes is None and len(op.operands) > 1 and op.operands[1].type != NONE:
        axes = tuple(int(axis) for axis in builder.fixed(op.operands[1], "axes").reshape(-1))
    if axes:
        return sorted(axis % rank for axis in axes)
    keeps = op.properties.get("noop_with_empty_axes")
    return [] if isinstance(keeps, IntegerAttr) and keeps.value.data else list(range(rank))


def reduced(
    kind: type[IRDLOperation], value: SSAValue, axes: Iterable[int], builder: TosaBuilder
) -> SSAValue:
    """Return a TOSA value reduced along axes, whose sizes become 1."""
    for axis in axes:
        shape = shape_of(value)
        type_ = tensor_type((*shape[:axis], 1, *shape[axis + 1 :]), element_of(value))
        value = builder.emit(kind, [value], type_, axis=IntegerAttr(axis, i32))
    return value


def mean(value: SSAValue, axes: Iterable[int], builder: TosaBuilder) -> SSAValue:
    """Return the mean of a TOSA value along axes, whose sizes become 1."""
    if not is_real(value):
        builder.refuse(f"a mean of {element_of(value)} (TOSA's sums of integers are not divided)")
    axes = list(axes)
    count = prod(shape_of(value)[axis] for axis in axes)
    return scaled(reduced(tosa.ReduceSumOp, value, axes, builder), 1 / count, builder)


@lowers(probability.SoftmaxOp)
def softmax(op: probability.SoftmaxOp, builder: TosaBuilder) -> SSAValue:
    """`e^(x - max) / sum`."""
    x = builder.value(op.input)
    axis = op.axis.value.data % len(shape_of(x))
    exponentials, total = _exponentials(x, axis, builder)[1:]
    return builder.binary(tosa.MulOp, exponentials, builder.unary(tosa.ReciprocalOp, total))


@lowers(probability.SoftmaxV11Op)
def softmax_of_rows(op: probability.SoftmaxV11Op, builder: TosaBuilder) -> SSAValue:
    """A softmax over all dimensions from the axis on."""
    x = builder.value(op.input)
    shape = shape_of(x)
    axis = op.axis.value.data % len(shape)
    rows = builder.reshape(x, (prod(shape[:axis]), prod(shape[axis:])))
    exponentials, total = _exponentials(rows, 1, builder)[1:]
    made = builder.binary(tosa.MulOp, exponentials, builder.unary(tosa.ReciprocalOp, total))
    return builder.reshape(made, shape)


@lowers(probability.LogSoftmaxOp)
def log_softmax(op: probability.LogSoftmaxOp, builder: TosaBuilder) -> SSAValue:
    """`x - max - log(sum)`."""
    x = builder.value(op.input)
    moved, _, total = _exponentials(x, op.axis.value.data % len(shape_of(x)), builder)
    return builder.binary(tosa.SubOp, moved, builder.unary(LogOp, total))


def _exponentials(x: SSAValue, axis: int, builder: TosaBuilder) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return `x` less its maximum, `e` to the power of that, and the sum of it."""
    moved = builder.binary(tosa.SubOp, x, reduced(tosa.ReduceMaxOp, x, [axis], builder))
    exponentials = builder.unary(ExpOp, moved)
    return moved, exponentials, reduced(tosa.ReduceSumOp, exponentials, [axis], builder)


@lowers(*BATCH_NORMS)
def batch_norm(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """`factor x + addend` per channel, both constant."""
    training = op.properties.get("training_mode")
    if isinstance(training, IntegerAttr) and training.value.data:
        builder.refuse("training mode; export the model for inference")
    x = builder.value(op.operands[0])
    names = ("scale", "bias", "mean", "variance")
    scale, bias, average, variance = (
        builder.fixed(operand, name) for operand, name in zip(op.operands[1:], names, strict=True)
    )
    factor = scale / np.sqrt(variance + _epsilon(op))
    sizes = (1, -1) + (1,) * (len(shape_of(x)) - 2)
    addend = (bias - average * factor).astype(scale.dtype).reshape(sizes)
    factors = builder.const(factor.astype(scale.dtype).reshape(sizes))
    return builder.binary(tosa.AddOp, builder.binary(tosa.MulOp, x, factors), builder.const(addend))


def _epsilon(op: OnnxOp) -> float:
    assert isinstance(
        op,
        extra.BatchNormalizationInferenceModeOp
        | normalization.BatchNormalizationOp
        | normalization.BatchNormalizationV9Op
        | normalization.InstanceNormalizationOp
        | normalization.LayerNormalizationOp,
    )
    return op.epsilon.value.data


@lowers(normalization.InstanceNormalizationOp)
def instance_norm(op: normalization.InstanceNormalizationOp, builder: TosaBuilder) -> SSAValue:
    """The difference to the mean by the deviation, of each channel."""
    x = builder.value(op.operands[0])
    rank = len(shape_of(x))
    sizes = (1, -1) + (1,) * (rank - 2)
    scale, bias = (builder.fixed(operand, "scale").reshape(sizes) for operand in op.operands[1:])
    made = _normalized(x, range(2, rank), _epsilon(op), builder)
    return builder.binary(tosa.AddOp, product([made, builder.const(scale)], builder), builder.const(bias))


@lowers(normalization.LayerNormalizationOp)
def layer_norm(op: normalization.LayerNormalizationOp, builder: TosaBuilder) -> SSAValue:
    """The difference to the mean by the deviation, along the last dimensions."""
    if any(result.first_use is not None for result in op.results[1:]):
        builder.refuse("the mean or the deviation is read")
    x = builder.value(op.X)
    rank = len(shape_of(x))
    made = _normalized(x, range(op.axis.value.data % rank, rank), _epsilon(op), builder)
    made = builder.binary(tosa.MulOp, made, builder.value(op.Scale))
    return made if op.B.type == NONE else builder.binary(tosa.AddOp, made, builder.value(op.B))


def _normalized(x: SSAValue, axes: Iterable[int], epsilon: float, builder: TosaBuilder) -> SSAValue:
    axes = list(axes)
    moved = builder.binary(tosa.SubOp, x, mean(x, axes, builder))
    variance = mean(product([moved, moved], builder), axes, builder)
    return product([moved, builder.unary(RsqrtOp, shifted(variance, epsilon, builder))], builder)
