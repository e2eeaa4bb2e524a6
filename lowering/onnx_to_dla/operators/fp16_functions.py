"""
Functions that FP16 computes by other means than INT8, whose lookup tables are exact: by stages of the SDP, or
by the CPU emulator (square roots, reciprocals, powers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Activation, OperandMode, PoolMode
from xonnc.dialects.dla.engines import PowerOp
from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.math import (
    AbsOp,
    HardSigmoidOp,
    LeakyReluOp,
    NegOp,
    PowOp,
    ReciprocalOp,
    SqrtOp,
)
from xonnc.dialects.onnx.ops.nn import InstanceNormalizationOp
from xonnc.lowering.dla_planning.precision import MAX_FP16
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, Operand
from xonnc.lowering.onnx_to_dla.builders.op_inserter import SQUARED_PART
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import quantized_bounds
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import MINIMUM, PRELU, PRODUCT, SUM, scalar_operand
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder, lowers_fp16
from xonnc.lowering.onnx_to_dla.operators.pooling import cascade
from xonnc.targets.limits import lacks_emulator


@lowers_fp16(AbsOp)
def abs_(op: AbsOp, builder: Fp16Builder) -> Cube:
    """Lower Abs as a PReLU of slope -1."""
    return unary(op.X, [scalar_operand(PRELU, -1.0)], builder)


@lowers_fp16(NegOp)
def neg(op: NegOp, builder: Fp16Builder) -> Cube:
    """Lower Neg as an SDP multiplication by -1."""
    return unary(op.X, [scalar_operand(PRODUCT, -1.0)], builder)


@lowers_fp16(LeakyReluOp)
def leaky_relu(op: LeakyReluOp, builder: Fp16Builder) -> Cube:
    """Lower LeakyRelu: a PReLU passes positive elements and multiplies the others by alpha."""
    return unary(op.X, [scalar_operand(PRELU, op.alpha.value.data)], builder)


@lowers_fp16(HardSigmoidOp)
def hard_sigmoid(op: HardSigmoidOp, builder: Fp16Builder) -> Cube:
    """Lower HardSigmoid, `min(max(alpha X + beta, 0), 1)`."""
    scaled, shifted = scalar_operand(PRODUCT, op.alpha.value.data), scalar_operand(SUM, op.beta.value.data)
    return unary(
        op.X,
        [scaled, (replace(shifted[0], act=Activation.RELU), None), scalar_operand(MINIMUM, 1.0)],
        builder,
    )


@lowers_fp16(SqrtOp)
def sqrt(op: SqrtOp, builder: Fp16Builder) -> Cube:
    """Lower Sqrt as a power of 0.5 on the CPU emulator."""
    return builder.emulated(op.X, 0.5)


@lowers_fp16(ReciprocalOp)
def reciprocal(op: ReciprocalOp, builder: Fp16Builder) -> Cube:
    """Lower Reciprocal as a power of -1 on the CPU emulator."""
    return builder.emulated(op.X, -1.0)


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
    return builder.emulated(op.X, factor)


def squared(value: SSAValue, builder: Fp16Builder) -> SSAValue:
    """Multiply each element by itself."""
    return builder.sdp(value, [(replace(PRODUCT, mode=OperandMode.PER_POINT), value)])


@lowers_fp16(InstanceNormalizationOp)
def instance_normalization(op: InstanceNormalizationOp, builder: Fp16Builder) -> Cube:
    """
    Lower InstanceNormalization: means by average pooling, and `(variance + epsilon)^-0.5` on the CPU
    emulator.

    The variance is that of a quarter of each number, unless a pair tells that the squares do not overflow.
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
    part = _squared_part(op.input)
    squares: list[Operand] = [] if part == 1 else [scalar_operand(PRODUCT, part**2)]
    squares.append((replace(PRODUCT, mode=OperandMode.PER_POINT), centred))
    variance = means(builder.sdp(centred, squares), 1.0, builder)
    epsilon = op.epsilon.value.data * part**2
    factor = builder(PowerOp(variance, variance.type, power=-0.5, shift=epsilon))
    stages: list[Operand] = [(replace(PRODUCT, mode=OperandMode.PER_KERNEL), factor)]
    normalised = builder.sdp(centred, stages)
    scaled: list[Operand] = [
        (replace(PRODUCT, mode=OperandMode.PER_KERNEL), builder.per_kernel(part * scale)),
        (per_kernel, builder.per_kernel(shift)),
    ]
    return Cube(builder.sdp(normalised, scaled), shape)


def _squared_part(value: SSAValue) -> float:
    """Return the part of numbers that is squared; small numbers lose digits by it."""
    bounds = quantized_bounds(value)
    # A number differs from the mean by at most the width of the range.
    is_bounded = bounds is not None and (bounds[1] - bounds[0]) ** 2 <= MAX_FP16
    return 1.0 if is_bounded else SQUARED_PART


def operand_size(value: SSAValue, builder: Fp16Builder) -> int:
    """Return the number of elements of a constant."""
    return builder.weights(value, "a constant").size


def means(value: SSAValue, factor: float, builder: Fp16Builder) -> SSAValue:
    """Return `factor` times the mean of each channel."""
    pooled, correction = cascade(value, PoolMode.AVERAGE, builder)
    return builder.sdp(pooled, [scalar_operand(PRODUCT, factor * correction)])


def unary(value: SSAValue, stages: Sequence[Operand], builder: Fp16Builder) -> Cube:
    """Apply `stages` to every element of `value`."""
    source = builder.cube(value)
    return Cube(builder.sdp(source.value, stages), source.shape)
