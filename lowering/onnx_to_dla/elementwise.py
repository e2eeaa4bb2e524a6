"""What the SDP does to every element: sums, products, activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Activation, AluFunction, OperandMode, PoolMode, Stage, StageFunction
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
from xonnc.lowering.dla_planning.precision import LARGEST_FP16
from xonnc.lowering.onnx_to_dla.lowering import Array, Cube, Lowering, Operand, cube_shape, lowers
from xonnc.lowering.onnx_to_dla.pooling import cascade
from xonnc.targets.limits import lacks_emulator

SUM = Stage(type=StageFunction.ALU, alu=AluFunction.SUM)
LEAST = Stage(type=StageFunction.ALU, alu=AluFunction.MIN)
GREATEST = Stage(type=StageFunction.ALU, alu=AluFunction.MAX)
PRODUCT = Stage(type=StageFunction.MUL)
RELU: Operand = (Stage(act=Activation.RELU), None)


def number(stage: Stage, value: float) -> Operand:
    """`stage` with one number for all elements."""
    field = "mul_operand" if stage.type is StageFunction.MUL else "alu_operand"
    return replace(stage, mode=OperandMode.PER_LAYER, **{field: value}), None


@lowers(AddOp)
def add(op: AddOp, to: Lowering) -> Cube:
    """`A + B`."""
    return binary(op.A, op.B, SUM, to.result_shape(op), to)


@lowers(MulOp)
def mul(op: MulOp, to: Lowering) -> Cube:
    """`A B`."""
    return binary(op.A, op.B, PRODUCT, to.result_shape(op), to)


@lowers(SumOp)
def sum_(op: SumOp, to: Lowering) -> Cube:
    """All inputs added up, in order."""
    return fold(op.data_0, SUM, to.result_shape(op), to)


@lowers(MaxOp)
def max_(op: MaxOp, to: Lowering) -> Cube:
    """The greatest of all inputs."""
    return fold(op.data_0, GREATEST, to.result_shape(op), to)


@lowers(MinOp)
def min_(op: MinOp, to: Lowering) -> Cube:
    """The least of all inputs."""
    return fold(op.data_0, LEAST, to.result_shape(op), to)


@lowers(SubOp)
def sub(op: SubOp, to: Lowering) -> Cube:
    """`A - B = A + (-B)`; the SDP's ALU cannot subtract, its multiplier can negate."""
    shape = to.result_shape(op)
    subtrahend = to.constant(op.B)
    if subtrahend is not None:
        return with_constant(to.cube(op.A), -subtrahend, SUM, shape, to)
    negated = to.cube(op.B)
    negated = Cube(to.sdp(negated.value, [number(PRODUCT, -1.0)]), negated.shape)
    minuend = to.constant(op.A)
    if minuend is not None:
        return with_constant(negated, minuend, SUM, shape, to)
    return of_cubes(negated, to.cube(op.A), SUM, shape, to)


@lowers(MeanOp)
def mean(op: MeanOp, to: Lowering) -> Cube:
    """All inputs added up, in order, divided by their number."""
    total = fold(op.data_0, SUM, to.result_shape(op), to)
    return Cube(to.sdp(total.value, [number(PRODUCT, 1 / len(op.data_0))]), total.shape)


@lowers(AbsOp)
def abs_(op: AbsOp, to: Lowering) -> Cube:
    """`X` where positive, else `-X`: the multiplier lets positive numbers pass."""
    stage, _ = number(PRODUCT, -1.0)
    return unary(op.X, [(replace(stage, act=Activation.PRELU), None)], to)


@lowers(SqrtOp)
def sqrt(op: SqrtOp, to: Lowering) -> Cube:
    """`X^0.5`, a task of the CPU emulator."""
    return emulated(op.X, 0.5, to)


@lowers(ReciprocalOp)
def reciprocal(op: ReciprocalOp, to: Lowering) -> Cube:
    """`X^-1`, a task of the CPU emulator."""
    return emulated(op.X, -1.0, to)


@lowers(PowOp)
def power(op: PowOp, to: Lowering) -> Cube:
    """`X X` for the power of 2, any other constant one as a task of the CPU emulator."""
    exponent = to.weights(op.Y, "the exponent")
    if exponent.size != 1:
        to.refuse(f"{exponent.size} exponents (the CPU emulator takes one for all)")
    if to.cube(op.X).shape != to.result_shape(op):
        to.refuse(f"{list(to.cube(op.X).shape)} is broadcast to {list(to.result_shape(op))}; expand it first")
    factor = float(exponent.reshape(()))
    if factor == 2.0:
        source = to.cube(op.X)
        return Cube(squared(source.value, to), source.shape)
    return emulated(op.X, factor, to)


def squared(value: SSAValue, to: Lowering) -> SSAValue:
    """Each element times itself."""
    return to.sdp(value, [(replace(PRODUCT, mode=OperandMode.PER_POINT), value)])


def emulated(value: SSAValue, exponent: float, to: Lowering) -> Cube:
    """Each element to a power, on the CPU emulator."""
    to.check(lacks_emulator(to.target))
    source = to.cube(value)
    return Cube(to(PowerOp(source.value, source.value.type, power=exponent)), source.shape)


@lowers(InstanceNormalizationOp)
def instance_normalization(op: InstanceNormalizationOp, to: Lowering) -> Cube:
    """
    `scale (X - mean) / sqrt(variance + epsilon) + B` over each channel: poolings, and the power from the CPU
    emulator.
    """
    to.check(lacks_emulator(to.target))
    source, shape = to.image(op.input), to.result_shape(op)
    if len(shape) > 4:
        to.refuse(f"a normalisation over {len(shape) - 2} dimensions (images have 2)")
    cube = cube_of(source.type)
    scale, shift = (
        np.tile(to.weights(operand, what), cube.channels // operand_size(operand, to)).astype(np.float32)
        for operand, what in ((op.scale, "scale"), (op.B, "B"))
    )
    per_kernel = replace(SUM, mode=OperandMode.PER_KERNEL)
    centred = to.sdp(source, [(per_kernel, means(source, -1.0, to))])
    variance = means(squared(centred, to), 1.0, to)
    epsilon = op.epsilon.value.data
    factor = to(PowerOp(variance, variance.type, power=-0.5, shift=epsilon))
    stages: list[Operand] = [(replace(PRODUCT, mode=OperandMode.PER_KERNEL), factor)]
    normalised = to.sdp(centred, stages)
    scaled: list[Operand] = [
        (replace(PRODUCT, mode=OperandMode.PER_KERNEL), to.per_kernel(scale)),
        (per_kernel, to.per_kernel(shift)),
    ]
    return Cube(to.sdp(normalised, scaled), shape)


def operand_size(value: SSAValue, to: Lowering) -> int:
    """How many numbers a constant has."""
    return to.weights(value, "a constant").size


def means(value: SSAValue, factor: float, to: Lowering) -> SSAValue:
    """`factor` times the mean of each channel."""
    pooled, correction = cascade(value, PoolMode.AVERAGE, to)
    return to.sdp(pooled, [number(PRODUCT, factor * correction)])


@lowers(DivOp)
def div(op: DivOp, to: Lowering) -> Cube:
    """`A / B = A (1 / B)`; the CPU emulator makes `1 / B` of a computed B."""
    if to.constant(op.B) is None:
        inverse = emulated(op.B, -1.0, to)
        shape, dividend = to.result_shape(op), to.constant(op.A)
        if dividend is not None:
            return with_constant(inverse, dividend, PRODUCT, shape, to)
        return of_cubes(to.cube(op.A), inverse, PRODUCT, shape, to)
    divisor = to.weights(op.B, "the divisor").astype(np.float32, copy=False)
    if not np.all(divisor):
        to.refuse("a divisor that is zero")
    return with_constant(to.cube(op.A), 1.0 / divisor, PRODUCT, to.result_shape(op), to)


@lowers(NegOp)
def neg(op: NegOp, to: Lowering) -> Cube:
    """`-X`."""
    return unary(op.X, [number(PRODUCT, -1.0)], to)


@lowers(ReluOp)
def relu(op: ReluOp, to: Lowering) -> Cube:
    """`max(X, 0)`."""
    return unary(op.X, [RELU], to)


@lowers(LeakyReluOp)
def leaky_relu(op: LeakyReluOp, to: Lowering) -> Cube:
    """`X` where positive, else `alpha X`: the multiplier lets positive numbers pass."""
    stage, _ = number(PRODUCT, op.alpha.value.data)
    return unary(op.X, [(replace(stage, act=Activation.PRELU), None)], to)


@lowers(PReluOp)
def prelu(op: PReluOp, to: Lowering) -> Cube:
    """`X` where positive, else `slope X`, one slope for all or for each channel."""
    return with_constant(
        to.cube(op.X),
        to.weights(op.slope, "the slope"),
        replace(PRODUCT, act=Activation.PRELU),
        to.result_shape(op),
        to,
    )


@lowers(ClipOp, ClipV11Op, ClipV12Op)
def clip(op: ClipOp | ClipV11Op | ClipV12Op, to: Lowering) -> Cube:
    """`min(max(X, low), high)`; a low of zero is a ReLU."""
    low = None if op.min.type == NONE else float(to.weights(op.min, "the lower bound").reshape(()))
    high = None if op.max.type == NONE else float(to.weights(op.max, "the upper bound").reshape(()))
    return unary(op.input, bounds(low, high), to)


@lowers(ClipV6Op)
def clip_6(op: ClipV6Op, to: Lowering) -> Cube:
    """`min(max(X, low), high)`, the bounds being properties as they were before opset 11."""
    return unary(op.input, bounds(op.min.value.data, op.max.value.data), to)


@lowers(HardSigmoidOp)
def hard_sigmoid(op: HardSigmoidOp, to: Lowering) -> Cube:
    """`min(max(alpha X + beta, 0), 1)`."""
    scaled, shifted = number(PRODUCT, op.alpha.value.data), number(SUM, op.beta.value.data)
    return unary(op.X, [scaled, (replace(shifted[0], act=Activation.RELU), None), number(LEAST, 1.0)], to)


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, to: Lowering) -> Cube:
    """`m X + (B - m mean)` with `m = scale / sqrt(var + epsilon)`, where no convolution has taken it in."""
    source = to.image(op.X)
    scale, shift, mean, variance = (
        to.weights(operand, what).astype(np.float32, copy=False)
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + np.float32(op.epsilon.value.data))
    shape = to.result_shape(op)

    def per_channel(numbers: Array) -> SSAValue:
        spread = np.broadcast_to(numbers.reshape(-1, *(1,) * (len(shape) - 2)), shape)
        return to.per_kernel(spread.reshape(cube_of(source.type))[:, 0, 0])

    stages: list[Operand] = [
        (replace(PRODUCT, mode=OperandMode.PER_KERNEL), per_channel(factor)),
        (replace(SUM, mode=OperandMode.PER_KERNEL), per_channel(shift - factor * mean)),
    ]
    return Cube(to.sdp(source, stages), shape)


def bounds(low: float | None, high: float | None) -> list[Operand]:
    """Stages that clip; FP16 reaches to 65504, and a bound beyond it is none."""
    stages: list[Operand] = []
    if low is not None and low > -LARGEST_FP16:
        stages.append(RELU if low == 0.0 else number(GREATEST, low))
    if high is not None and high < LARGEST_FP16:
        stages.append(number(LEAST, high))
    return stages


def unary(value: SSAValue, stages: Sequence[Operand], to: Lowering) -> Cube:
    """`stages` on every element of `value`."""
    source = to.cube(value)
    return Cube(to.sdp(source.value, stages), source.shape)


def fold(values: Sequence[SSAValue], stage: Stage, shape: tuple[int, ...], to: Lowering) -> Cube:
    """A binary stage over two or more operands from the left."""
    computed = [value for value in values if to.constant(value) is None]
    constants = [array for value in values if (array := to.constant(value)) is not None]
    if not computed:
        to.refuse("all operands are constants; run constprop-onnx first")
    result = to.cube(computed[0])
    for value in computed[1:]:
        result = of_cubes(result, to.cube(value), stage, shape, to)
    return reduce(lambda cube, array: with_constant(cube, array, stage, shape, to), constants, result)


def binary(a: SSAValue, b: SSAValue, stage: Stage, shape: tuple[int, ...], to: Lowering) -> Cube:
    """A commutative stage on two operands of which one may be constant."""
    return fold((a, b), stage, shape, to)


def of_cubes(a: Cube, b: Cube, stage: Stage, shape: tuple[int, ...], to: Lowering) -> Cube:
    """`stage` on two computed cubes; one may have a single position, its channels then meet all positions."""
    if shape not in (a.shape, b.shape):
        to.refuse(f"{list(a.shape)} and {list(b.shape)} are both broadcast; expand one of them first")
    if a.shape != shape:
        a, b = b, a
    if a.cube == b.cube and b.shape == shape:
        mode = OperandMode.PER_POINT
    elif b.cube == cube_shape(aligned(b.shape, len(shape))) == CubeShape(a.cube.channels, 1, 1):
        mode = OperandMode.PER_KERNEL
    else:
        to.refuse(f"{list(b.shape)} broadcast to {list(shape)} (the SDP spreads one position over all)")
    return Cube(to.sdp(a.value, [(replace(stage, mode=mode), b.value)]), shape)


def with_constant(a: Cube, array: Array, stage: Stage, shape: tuple[int, ...], to: Lowering) -> Cube:
    """`stage` with a constant: one number, one for each channel, or one for each element."""
    if a.shape != shape:
        to.refuse(f"{list(a.shape)} is broadcast to {list(shape)}; expand it first")
    if array.size == 1:
        return Cube(to.sdp(a.value, [number(stage, float(array.reshape(())))]), shape)
    spread = np.broadcast_to(array, shape).reshape(a.cube)
    if _is_per_channel(array, a):
        operand = to.per_kernel(spread[:, 0, 0])
        return Cube(to.sdp(a.value, [(replace(stage, mode=OperandMode.PER_KERNEL), operand)]), shape)
    operand = to.constant_cube(spread[np.newaxis])
    return Cube(to.sdp(a.value, [(replace(stage, mode=OperandMode.PER_POINT), operand)]), shape)


def _is_per_channel(array: Array, a: Cube) -> bool:
    """Whether a constant differs along the channels only."""
    return a.cube == cube_shape(a.shape) and (
        a.cube.positions == 1 or cube_shape(aligned(array.shape, len(a.shape))) == (a.cube.channels, 1, 1)
    )


def aligned(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """`shape` with ones in front up to `rank`, as broadcasting has it."""
    return (1,) * (rank - len(shape)) + tuple(shape)
