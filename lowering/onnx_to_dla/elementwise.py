"""
Elementwise operators in FP16 as stages of the SDP (sum, product, minimum, maximum, ReLU, PReLU).

Square roots, reciprocals and powers run on the CPU emulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    OperandMode,
    PoolMode,
    SdpStage,
    StageFunction,
)
from xonnc.dialects.dla.engines import PowerOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import (
    AbsOp,
    AddOp,
    ClipOp,
    ClipV6Op,
    ClipV11Op,
    ClipV12Op,
    DivOp,
    HardSigmoidOp,
    LeakyReluOp,
    MaxOp,
    MeanOp,
    MinOp,
    MulOp,
    NegOp,
    PowOp,
    PReluOp,
    ReciprocalOp,
    ReluOp,
    SqrtOp,
    SubOp,
    SumOp,
)
from xonnc.dialects.onnx.ops.nn import InstanceNormalizationOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.precision import MAX_FP16
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube, Operand, cube_shape
from xonnc.lowering.onnx_to_dla.fp16_builder import Fp16Builder, lowers_fp16
from xonnc.lowering.onnx_to_dla.pooling import cascade
from xonnc.targets.limits import lacks_emulator

SUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.SUM)
MINIMUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.MIN)
MAXIMUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.MAX)
PRODUCT = SdpStage(type=StageFunction.MUL)
RELU: Operand = (SdpStage(act=Activation.RELU), None)


def scalar_operand(stage: SdpStage, value: float) -> Operand:
    """Return `stage` with one scalar operand for all elements."""
    field = "mul_operand" if stage.type is StageFunction.MUL else "alu_operand"
    return replace(stage, mode=OperandMode.PER_LAYER, **{field: value}), None


@lowers_fp16(AddOp)
def add(op: AddOp, builder: Fp16Builder) -> Cube:
    """Lower Add as an SDP addition of a constant, of one value per channel, or of another cube."""
    return binary(op.A, op.B, SUM, builder.result_shape(op), builder)


@lowers_fp16(MulOp)
def mul(op: MulOp, builder: Fp16Builder) -> Cube:
    """Lower Mul as an SDP multiplication by a constant, by one value per channel, or by another cube."""
    return binary(op.A, op.B, PRODUCT, builder.result_shape(op), builder)


@lowers_fp16(SumOp)
def sum_(op: SumOp, builder: Fp16Builder) -> Cube:
    """Lower Sum as a chain of SDP additions, from left to right."""
    return fold(op.data_0, SUM, builder.result_shape(op), builder)


@lowers_fp16(MaxOp)
def max_(op: MaxOp, builder: Fp16Builder) -> Cube:
    """Lower Max as a chain of SDP comparisons, from left to right."""
    return fold(op.data_0, MAXIMUM, builder.result_shape(op), builder)


@lowers_fp16(MinOp)
def min_(op: MinOp, builder: Fp16Builder) -> Cube:
    """Lower Min as a chain of SDP comparisons, from left to right."""
    return fold(op.data_0, MINIMUM, builder.result_shape(op), builder)


@lowers_fp16(SubOp)
def sub(op: SubOp, builder: Fp16Builder) -> Cube:
    """Lower Sub as `A + (-1 * B)`: the SDP's ALU cannot subtract."""
    shape = builder.result_shape(op)
    subtrahend = builder.constant(op.B)
    if subtrahend is not None:
        return combine_constant(builder.cube(op.A), -subtrahend, SUM, shape, builder)
    negated = builder.cube(op.B)
    negated = Cube(builder.sdp(negated.value, [scalar_operand(PRODUCT, -1.0)]), negated.shape)
    minuend = builder.constant(op.A)
    if minuend is not None:
        return combine_constant(negated, minuend, SUM, shape, builder)
    return combine_cubes(negated, builder.cube(op.A), SUM, shape, builder)


@lowers_fp16(MeanOp)
def mean(op: MeanOp, builder: Fp16Builder) -> Cube:
    """Lower Mean: the sum of all inputs, times `1 / n`."""
    total = fold(op.data_0, SUM, builder.result_shape(op), builder)
    return Cube(builder.sdp(total.value, [scalar_operand(PRODUCT, 1 / len(op.data_0))]), total.shape)


@lowers_fp16(AbsOp)
def abs_(op: AbsOp, builder: Fp16Builder) -> Cube:
    """Lower Abs as a PReLU of slope -1."""
    stage, _ = scalar_operand(PRODUCT, -1.0)
    return unary(op.X, [(replace(stage, act=Activation.PRELU), None)], builder)


@lowers_fp16(SqrtOp)
def sqrt(op: SqrtOp, builder: Fp16Builder) -> Cube:
    """Lower Sqrt as a power of 0.5 on the CPU emulator."""
    return emulated(op.X, 0.5, builder)


@lowers_fp16(ReciprocalOp)
def reciprocal(op: ReciprocalOp, builder: Fp16Builder) -> Cube:
    """Lower Reciprocal as a power of -1 on the CPU emulator."""
    return emulated(op.X, -1.0, builder)


@lowers_fp16(PowOp)
def power(op: PowOp, builder: Fp16Builder) -> Cube:
    """Lower Pow: `X * X` for exponent 2, else a constant exponent on the CPU emulator."""
    exponent = builder.weights(op.Y, "the exponent")
    if exponent.size != 1:
        builder.refuse(f"{exponent.size} exponents (the CPU emulator takes a scalar)")
    shape, result = builder.cube(op.X).shape, builder.result_shape(op)
    if shape != result:
        builder.refuse(f"{list(shape)} is broadcast to {list(result)}; expand it first")
    factor = float(exponent.reshape(()))
    if factor == 2.0:
        source = builder.cube(op.X)
        return Cube(squared(source.value, builder), source.shape)
    return emulated(op.X, factor, builder)


def squared(value: SSAValue, builder: Fp16Builder) -> SSAValue:
    """Multiply each element by itself."""
    return builder.sdp(value, [(replace(PRODUCT, mode=OperandMode.PER_POINT), value)])


def emulated(value: SSAValue, exponent: float, builder: Fp16Builder) -> Cube:
    """Raise each element to a power on the CPU emulator."""
    builder.check(lacks_emulator(builder.target))
    source = builder.cube(value)
    return Cube(builder(PowerOp(source.value, source.value.type, power=exponent)), source.shape)


@lowers_fp16(InstanceNormalizationOp)
def instance_normalization(op: InstanceNormalizationOp, builder: Fp16Builder) -> Cube:
    """
    Lower InstanceNormalization: means by average pooling, and `(variance + epsilon)^-0.5` on the CPU
    emulator.
    """
    builder.check(lacks_emulator(builder.target))
    source, shape = builder.spatial_cube(op.input), builder.result_shape(op)
    if len(shape) > 4:
        builder.refuse(f"{len(shape) - 2} spatial dimensions (the DLA takes 2)")
    cube = cube_of(source.type)
    scale, shift = (
        np.tile(builder.weights(operand, what), cube.channels // operand_size(operand, builder)).astype(
            np.float32
        )
        for operand, what in ((op.scale, "scale"), (op.B, "B"))
    )
    per_kernel = replace(SUM, mode=OperandMode.PER_KERNEL)
    centred = builder.sdp(source, [(per_kernel, means(source, -1.0, builder))])
    variance = means(squared(centred, builder), 1.0, builder)
    epsilon = op.epsilon.value.data
    factor = builder(PowerOp(variance, variance.type, power=-0.5, shift=epsilon))
    stages: list[Operand] = [(replace(PRODUCT, mode=OperandMode.PER_KERNEL), factor)]
    normalised = builder.sdp(centred, stages)
    scaled: list[Operand] = [
        (replace(PRODUCT, mode=OperandMode.PER_KERNEL), builder.per_kernel(scale)),
        (per_kernel, builder.per_kernel(shift)),
    ]
    return Cube(builder.sdp(normalised, scaled), shape)


def operand_size(value: SSAValue, builder: Fp16Builder) -> int:
    """Return the number of elements of a constant."""
    return builder.weights(value, "a constant").size


def means(value: SSAValue, factor: float, builder: Fp16Builder) -> SSAValue:
    """Return `factor` times the mean of each channel."""
    pooled, correction = cascade(value, PoolMode.AVERAGE, builder)
    return builder.sdp(pooled, [scalar_operand(PRODUCT, factor * correction)])


@lowers_fp16(DivOp)
def div(op: DivOp, builder: Fp16Builder) -> Cube:
    """Lower Div as `A * (1 / B)`; the CPU emulator computes the reciprocal of a non-constant B."""
    if builder.constant(op.B) is None:
        inverse = emulated(op.B, -1.0, builder)
        shape, dividend = builder.result_shape(op), builder.constant(op.A)
        if dividend is not None:
            return combine_constant(inverse, dividend, PRODUCT, shape, builder)
        return combine_cubes(builder.cube(op.A), inverse, PRODUCT, shape, builder)
    divisor = builder.weights(op.B, "the divisor").astype(np.float32, copy=False)
    if not np.all(divisor):
        builder.refuse("the divisor contains zeros")
    return combine_constant(builder.cube(op.A), 1.0 / divisor, PRODUCT, builder.result_shape(op), builder)


@lowers_fp16(NegOp)
def neg(op: NegOp, builder: Fp16Builder) -> Cube:
    """Lower Neg as an SDP multiplication by -1."""
    return unary(op.X, [scalar_operand(PRODUCT, -1.0)], builder)


@lowers_fp16(ReluOp)
def relu(op: ReluOp, builder: Fp16Builder) -> Cube:
    """Lower Relu as the SDP's ReLU, fused into the convolution before it if possible."""
    return unary(op.X, [RELU], builder)


@lowers_fp16(LeakyReluOp)
def leaky_relu(op: LeakyReluOp, builder: Fp16Builder) -> Cube:
    """Lower LeakyRelu: a PReLU passes positive elements and multiplies the others by alpha."""
    stage, _ = scalar_operand(PRODUCT, op.alpha.value.data)
    return unary(op.X, [(replace(stage, act=Activation.PRELU), None)], builder)


@lowers_fp16(PReluOp)
def prelu(op: PReluOp, builder: Fp16Builder) -> Cube:
    """Lower PRelu with one slope, or one per channel, as the SDP's PReLU."""
    return combine_constant(
        builder.cube(op.X),
        builder.weights(op.slope, "the slope"),
        replace(PRODUCT, act=Activation.PRELU),
        builder.result_shape(op),
        builder,
    )


@lowers_fp16(ClipOp, ClipV11Op, ClipV12Op)
def clip(op: ClipOp | ClipV11Op | ClipV12Op, builder: Fp16Builder) -> Cube:
    """Lower Clip; a lower bound of zero is a ReLU."""
    low = None if op.min.type == NONE else float(builder.weights(op.min, "the lower bound").reshape(()))
    high = None if op.max.type == NONE else float(builder.weights(op.max, "the upper bound").reshape(()))
    return unary(op.input, bounds(low, high), builder)


@lowers_fp16(ClipV6Op)
def clip_6(op: ClipV6Op, builder: Fp16Builder) -> Cube:
    """Lower Clip of opset 6, whose bounds are attributes."""
    return unary(op.input, bounds(op.min.value.data, op.max.value.data), builder)


@lowers_fp16(HardSigmoidOp)
def hard_sigmoid(op: HardSigmoidOp, builder: Fp16Builder) -> Cube:
    """Lower HardSigmoid, `min(max(alpha X + beta, 0), 1)`."""
    scaled, shifted = scalar_operand(PRODUCT, op.alpha.value.data), scalar_operand(SUM, op.beta.value.data)
    return unary(
        op.X,
        [scaled, (replace(shifted[0], act=Activation.RELU), None), scalar_operand(MINIMUM, 1.0)],
        builder,
    )


@lowers_fp16(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: Fp16Builder) -> Cube:
    """
    Lower BatchNormalization that was not fused into a convolution: `m X + (B - m mean)` with `m = scale /
    sqrt(var + epsilon)`.
    """
    source = builder.spatial_cube(op.X)
    scale, shift, mean, variance = (
        builder.weights(operand, what).astype(np.float32, copy=False)
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + np.float32(op.epsilon.value.data))
    shape = builder.result_shape(op)

    def per_channel(numbers: Array) -> SSAValue:
        spread = np.broadcast_to(numbers.reshape(-1, *(1,) * (len(shape) - 2)), shape)
        return builder.per_kernel(spread.reshape(cube_of(source.type))[:, 0, 0])

    stages: list[Operand] = [
        (replace(PRODUCT, mode=OperandMode.PER_KERNEL), per_channel(factor)),
        (replace(SUM, mode=OperandMode.PER_KERNEL), per_channel(shift - factor * mean)),
    ]
    return Cube(builder.sdp(source, stages), shape)


def bounds(low: float | None, high: float | None) -> list[Operand]:
    """Return stages that clip. Bounds that float16 cannot exceed are left out."""
    stages: list[Operand] = []
    if low is not None and low > -MAX_FP16:
        stages.append(RELU if low == 0.0 else scalar_operand(MAXIMUM, low))
    if high is not None and high < MAX_FP16:
        stages.append(scalar_operand(MINIMUM, high))
    return stages


def unary(value: SSAValue, stages: Sequence[Operand], builder: Fp16Builder) -> Cube:
    """Apply `stages` to every element of `value`."""
    source = builder.cube(value)
    return Cube(builder.sdp(source.value, stages), source.shape)


def fold(values: Sequence[SSAValue], stage: SdpStage, shape: tuple[int, ...], builder: Fp16Builder) -> Cube:
    """Apply a binary stage to two or more operands from the left, constants last."""
    computed = [value for value in values if builder.constant(value) is None]
    constants = [array for value in values if (array := builder.constant(value)) is not None]
    if not computed:
        builder.refuse("all operands are constants; run constprop-onnx first")
    result = builder.cube(computed[0])
    for value in computed[1:]:
        result = combine_cubes(result, builder.cube(value), stage, shape, builder)
    return reduce(lambda cube, array: combine_constant(cube, array, stage, shape, builder), constants, result)


def binary(a: SSAValue, b: SSAValue, stage: SdpStage, shape: tuple[int, ...], builder: Fp16Builder) -> Cube:
    """Apply a commutative stage to two operands, one of which may be constant."""
    return fold((a, b), stage, shape, builder)


def combine_cubes(a: Cube, b: Cube, stage: SdpStage, shape: tuple[int, ...], builder: Fp16Builder) -> Cube:
    """Apply `stage` to two computed cubes, one of which may be broadcast over the positions."""
    if shape not in (a.shape, b.shape):
        builder.refuse(f"{list(a.shape)} and {list(b.shape)} are both broadcast; expand one of them first")
    if a.shape != shape:
        a, b = b, a
    if a.cube == b.cube and b.shape == shape:
        mode = OperandMode.PER_POINT
    elif b.cube == cube_shape(aligned(b.shape, len(shape))) == CubeShape(a.cube.channels, 1, 1):
        mode = OperandMode.PER_KERNEL
    else:
        builder.refuse(
            f"{list(b.shape)} broadcast to {list(shape)} (the SDP broadcasts per-channel tensors only)"
        )
    return Cube(builder.sdp(a.value, [(replace(stage, mode=mode), b.value)]), shape)


def combine_constant(
    a: Cube, array: Array, stage: SdpStage, shape: tuple[int, ...], builder: Fp16Builder
) -> Cube:
    """Apply `stage` with a constant: a scalar, one value per channel, or one per element."""
    if a.shape != shape:
        builder.refuse(f"{list(a.shape)} is broadcast to {list(shape)}; expand it first")
    if array.size == 1:
        return Cube(builder.sdp(a.value, [scalar_operand(stage, float(array.reshape(())))]), shape)
    spread = np.broadcast_to(array, shape).reshape(a.cube)
    if _is_per_channel(array, a):
        operand = builder.per_kernel(spread[:, 0, 0])
        return Cube(builder.sdp(a.value, [(replace(stage, mode=OperandMode.PER_KERNEL), operand)]), shape)
    operand = builder.constant_cube(spread[np.newaxis])
    return Cube(builder.sdp(a.value, [(replace(stage, mode=OperandMode.PER_POINT), operand)]), shape)


def _is_per_channel(array: Array, a: Cube) -> bool:
    """Whether a constant varies along the channels only."""
    return a.cube == cube_shape(a.shape) and (
        a.cube.positions == 1 or cube_shape(aligned(array.shape, len(a.shape))) == (a.cube.channels, 1, 1)
    )


def aligned(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Pad `shape` with leading ones up to `rank`, as NumPy's broadcasting does."""
    return (1,) * (rank - len(shape)) + tuple(shape)
