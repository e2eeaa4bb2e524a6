"""Elementwise operators, and batch normalization, as stages of the SDP."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import SdpStage
from xonnc.dialects.dla.types import CubeShape
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import (
    AddOp,
    ClipOp,
    ClipV6Op,
    ClipV11Op,
    ClipV12Op,
    DivOp,
    MaxOp,
    MeanOp,
    MinOp,
    MulOp,
    PReluOp,
    ReluOp,
    SubOp,
    SumOp,
)
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, cube_shape
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import (
    MAXIMUM,
    MINIMUM,
    PRELU,
    PRODUCT,
    SUM,
    is_per_channel,
)
from xonnc.lowering.onnx_to_dla.operators.selection import expanded

MINUS_ONE = np.array(-1.0)


@lowers(AddOp)
def add(op: AddOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Add of a constant, of one value per channel, or of another cube; INT8 rescales both cubes."""
    return combined((op.A, op.B), SUM, builder.result_shape(op), builder)


@lowers(MulOp)
def mul(op: MulOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Mul as an SDP multiplication by a constant, by one value per channel, or by another cube."""
    return combined((op.A, op.B), PRODUCT, builder.result_shape(op), builder)


@lowers(SumOp)
def sum_(op: SumOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Sum as SDP additions from left to right, constants last; in INT8 of at most two cubes."""
    return combined(op.data_0, SUM, builder.result_shape(op), builder)


@lowers(MaxOp)
def max_(op: MaxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Max as SDP comparisons, in INT8 of cubes at one scale."""
    return combined(op.data_0, MAXIMUM, builder.result_shape(op), builder)


@lowers(MinOp)
def min_(op: MinOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Min as SDP comparisons, in INT8 of cubes at one scale."""
    return combined(op.data_0, MINIMUM, builder.result_shape(op), builder)


def combined(
    values: Sequence[SSAValue], stage: SdpStage, shape: tuple[int, ...], builder: OperatorBuilder[TensorT]
) -> TensorT:
    """Apply a commutative stage to operands of the model."""
    arrays = [builder.real_constant(value) for value in values]
    parts = [builder.tensor(value) for value, array in zip(values, arrays, strict=True) if array is None]
    if not parts:
        builder.refuse("all operands are constants; run constprop-onnx first")
    return applied(stage, parts, [array for array in arrays if array is not None], shape, builder)


def applied(
    stage: SdpStage,
    parts: Sequence[TensorT],
    constants: Sequence[Array],
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """Apply a stage to computed operands, which are expanded where that takes it, and constants."""
    return builder.combined(stage, broadcast(parts, shape, builder), constants, shape)


def broadcast(
    parts: Sequence[TensorT], shape: tuple[int, ...], builder: OperatorBuilder[TensorT]
) -> list[TensorT]:
    """
    Expand computed operands to the sizes of the result: one if none has those, and what the SDP does not
    broadcast itself, which is one number per channel.
    """
    result = list(parts)
    if all(part.shape != shape for part in result):
        largest = max(range(len(result)), key=lambda index: prod(result[index].shape))
        result[largest] = expanded(result[largest], shape, builder)
    cube = cube_shape(shape)
    return [part if _fits(part.shape, shape, cube) else expanded(part, shape, builder) for part in result]


def _fits(operand: tuple[int, ...], shape: tuple[int, ...], cube: CubeShape | None) -> bool:
    """Whether the SDP takes a computed operand as it is."""
    here = cube_shape((1,) * (len(shape) - len(operand)) + operand)
    return operand == shape or here is None or cube is None or is_per_channel(operand, here, shape, cube)


@lowers(SubOp)
def sub(op: SubOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Sub as `A + (-1 * B)`: the SDP's ALU cannot subtract."""
    shape = builder.result_shape(op)
    minuend, subtrahend = builder.real_constant(op.A), builder.real_constant(op.B)
    if subtrahend is not None:
        return applied(SUM, [builder.tensor(op.A)], [-subtrahend], shape, builder)
    parts = [builder.tensor(op.B)] if minuend is not None else [builder.tensor(op.B), builder.tensor(op.A)]
    # Before the negation, which leaves no integers that could be expanded.
    negated, *others = broadcast(parts, shape, builder)
    negated = builder.combined(PRODUCT, [negated], [MINUS_ONE], negated.shape)
    return builder.combined(SUM, [negated, *others], [] if minuend is None else [minuend], shape)


@lowers(MeanOp)
def mean(op: MeanOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Mean: the sum of all operands, times `1 / n`."""
    count, shape = len(op.data_0), builder.result_shape(op)
    total = combined(op.data_0, SUM, shape, builder)
    return total if count == 1 else builder.combined(PRODUCT, [total], [np.array(1 / count)], shape)


@lowers(DivOp)
def div(op: DivOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Div by a constant as a product. The reciprocal of a computed divisor comes from the CPU emulator in
    FP16; in INT8 the dividend is a scalar then, and the quotient an exact lookup table.
    """
    divisor, shape = builder.real_constant(op.B), builder.result_shape(op)
    if divisor is None:
        return builder.quotient(op.A, op.B, shape)
    if not np.all(divisor):
        builder.refuse("the divisor contains zeros")
    inverse = 1 / divisor.astype(np.float32, copy=False)
    return applied(PRODUCT, [builder.tensor(op.A)], [inverse], shape, builder)


@lowers(PReluOp)
def prelu(op: PReluOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower PRelu as the SDP's PReLU; a single slope is a lookup table in INT8."""
    slope = builder.numbers(op.slope, "the slope")
    return applied(PRELU, [builder.tensor(op.X)], [slope], builder.result_shape(op), builder)


@lowers(ReluOp)
def relu(op: ReluOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Relu as the SDP's ReLU, in the pass of the layer before it if possible."""
    return builder.clamped(builder.tensor(op.X), 0.0, None)


@lowers(ClipOp, ClipV6Op, ClipV11Op, ClipV12Op)
def clip(op: ClipOp | ClipV6Op | ClipV11Op | ClipV12Op, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower Clip in the pass of the layer before it if possible; a lower bound of zero is a ReLU."""
    if isinstance(op, ClipV6Op):
        return builder.clamped(builder.tensor(op.input), op.min.value.data, op.max.value.data)
    low, high = (
        None if operand.type == NONE else float(builder.numbers(operand, what).reshape(()))
        for operand, what in ((op.min, "the lower bound"), (op.max, "the upper bound"))
    )
    return builder.clamped(builder.tensor(op.input), low, high)


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower BatchNormalization that was not fused into a convolution: `m X + (B - m mean)` with `m = scale /
    sqrt(var + epsilon)`.
    """
    shape = builder.result_shape(op)
    scale, shift, mean, variance = (
        builder.numbers(operand, what).astype(np.float64).reshape(-1, *(1,) * (len(shape) - 2))
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    scaled = builder.combined(PRODUCT, [builder.tensor(op.X)], [factor], shape)
    return builder.combined(SUM, [scaled], [shift - factor * mean], shape)
