"""Sub, Div, Mean, Max, Min, Pow and PRelu in int8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    Converter,
    OperandMode,
    SdpStage,
    StageFunction,
)
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.ops.math import DivOp, MaxOp, MeanOp, MinOp, PowOp, PReluOp, SubOp
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.onnx_to_dla.dequantized import GUARD_BITS, Affine, Dequantized, QuantizedCube, converter
from xonnc.lowering.onnx_to_dla.dla_builder import Array, DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedBuilder, lowers_int8
from xonnc.lowering.onnx_to_dla.sdp_operands import fixed_point_factors
from xonnc.lowering.onnx_to_dla.table_lookup import raised
from xonnc.lowering.onnx_to_dla.unary_functions import leaky_relu, reciprocal

MAX_STAGES = 2
"""SDP stages (X1, X2) that every target has."""


@lowers_int8(SubOp)
def sub(op: SubOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Sub as `a + (-b)`: the requantization factor of `b` is negated."""
    shape = builder.result_shape(op)
    minuend, subtrahend = builder.real_constant(op.A), builder.real_constant(op.B)
    if subtrahend is not None:
        source = builder.affine(op.A)
        result = source.plus(-builder.per_channel(subtrahend, source, shape))
    elif minuend is not None:
        source = builder.affine(op.B)
        negated = source.times(np.array([-1.0]))
        result = None if negated is None else negated.plus(builder.per_channel(minuend, source, shape))
    else:
        result = difference(builder.affine(op.A), builder.affine(op.B), shape, builder)
    if result is None:
        builder.refuse("a subtraction after a clamp; quantize in between")
    return result


def difference(
    first: Affine, second: Affine, shape: tuple[int, ...], builder: QuantizedBuilder
) -> Affine | None:
    """Return `first - second`, `None` if the second operand has been clamped."""
    if not first.shape == second.shape == shape or first.cube != second.cube:
        builder.refuse(
            f"operands of shapes {list(first.shape)} and {list(second.shape)}; expand one of them first",
            cause=builder.reshape_before(shape) if first.shape == second.shape else None,
        )
    if first.stored is None:
        builder.refuse("the first operand is not quantized; quantize it, or calibrate")
    negated = second.times(np.array([-1.0]))
    return None if negated is None else negated.then(first.stored)


@lowers_int8(DivOp)
def div(op: DivOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Div: by a constant as a product, of a constant scalar as an exact lookup table."""
    dividend, divisor = builder.real_constant(op.A), builder.real_constant(op.B)
    if dividend is not None and dividend.size == 1:
        number = float(dividend.reshape(()))
        return builder.function(op.B, lambda x: number * reciprocal(x))
    if divisor is None:
        builder.refuse("a divisor that is not constant (the SDP multiplies only)")
    if not np.all(divisor):
        builder.refuse("a divisor of 0; replace it")
    source = builder.affine(op.A)
    scaled = source.times(builder.per_channel(1 / divisor, source, builder.result_shape(op)))
    if scaled is None:
        builder.refuse("a division after a clamp; quantize in between")
    return scaled


@lowers_int8(MeanOp)
def mean(op: MeanOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Mean of one or two tensors."""
    parts = [builder.affine(value) for value in op.data_0]
    shape = builder.result_shape(op)
    if len(parts) == 1:
        return parts[0]
    stored = parts[-1].stored
    if len(parts) > 2 or stored is None or any(part.shape != shape for part in parts):
        builder.refuse(
            f"a mean of {len(parts)} tensors (the SDP averages two quantized ones of one shape); use Add "
            "and Mul"
        )
    half = parts[0].times(np.array([0.5]))
    if half is None or half.cube != parts[1].cube:
        builder.refuse("a mean after a clamp; quantize in between")
    return half.then(
        QuantizedCube(
            stored.value, QuantizationParameters(stored.qparams.scale / 2, stored.qparams.zero_point)
        )
    )


@dataclass(frozen=True)
class ElementwiseExtremum:
    """Elementwise maximum or minimum of tensors and constants, which commutes with quantization."""

    parts: Sequence[Dequantized]
    constants: Sequence[Array]
    shape: tuple[int, ...]
    function: AluFunction

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Quantize each part, then compare two more operands in each SDP pass."""
        value, *others = (part.quantized(qparams, builder) for part in self.parts)
        cube = cube_of(value.type)
        stages = [self._against(other, cube, builder) for other in others]
        stages += [self._against_constant(qparams.quantize(one), cube, builder) for one in self.constants]
        for begin in range(0, len(stages), MAX_STAGES):
            value = builder.requantized(value, stages[begin : begin + MAX_STAGES], Converter())
        return value

    def _against(self, other: SSAValue, cube: CubeShape, builder: DlaBuilder) -> Operand:
        here = cube_of(other.type)
        if here not in (cube, CubeShape(cube.channels, 1, 1)):
            builder.refuse(f"operands with different cubes in memory: {list(cube)}, {list(here)}")
        mode = OperandMode.PER_POINT if here == cube else OperandMode.PER_KERNEL
        return SdpStage(StageFunction.ALU, self.function, mode=mode), other

    def _against_constant(self, integers: Array, cube: CubeShape, builder: DlaBuilder) -> Operand:
        if integers.size == 1:
            number = int(integers.reshape(()))
            return SdpStage(StageFunction.ALU, self.function, alu_operand=number), None
        spread = np.broadcast_to(integers, self.shape).reshape(1, *cube)
        stage = SdpStage(StageFunction.ALU, self.function, mode=OperandMode.PER_POINT)
        return stage, builder.constant_cube(np.ascontiguousarray(spread))


@lowers_int8(MaxOp)
def max_(op: MaxOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Max as SDP comparisons of cubes at one scale."""
    return _extreme(op.data_0, AluFunction.MAX, builder.result_shape(op), builder)


@lowers_int8(MinOp)
def min_(op: MinOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Min as SDP comparisons of cubes at one scale."""
    return _extreme(op.data_0, AluFunction.MIN, builder.result_shape(op), builder)


def _extreme(
    operands: Sequence[SSAValue], function: AluFunction, shape: tuple[int, ...], builder: QuantizedBuilder
) -> Dequantized:
    constants = [found for value in operands if (found := builder.real_constant(value)) is not None]
    parts = [builder.tensor(value) for value in operands if builder.real_constant(value) is None]
    parts.sort(key=lambda part: part.shape != shape)
    if parts[0].shape != shape:
        builder.refuse(f"operands that are all broadcast to {list(shape)}; expand one of them first")
    return parts[0] if len(operands) == 1 else ElementwiseExtremum(parts, constants, shape, function)


@lowers_int8(PowOp)
def power(op: PowOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Pow with a constant scalar exponent, as an exact lookup table."""
    exponent = builder.real_constant(op.Y)
    if exponent is None or exponent.size != 1:
        builder.refuse("an exponent that is not a constant scalar (the lookup table takes one)")
    return builder.function(op.X, lambda x: raised(x, float(exponent.reshape(()))))


@lowers_int8(PReluOp)
def prelu(op: PReluOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower PRelu: an exact lookup table for one slope, the SDP's multiplier for slopes per channel."""
    slope = builder.real_constant(op.slope)
    if slope is None:
        builder.refuse("a slope that is not constant; make it a constant")
    source = builder.source(op.X)
    slopes = builder.per_channel(slope, builder.affine(op.X), source.shape)
    if np.all(slopes == slopes[0]):
        alpha = float(slopes[0])
        return builder.function(op.X, lambda x: leaky_relu(x, alpha))
    return ChannelwisePRelu(QuantizedCube.of(source), source.shape, slopes)


@dataclass(frozen=True)
class ChannelwisePRelu:
    """`x` where positive, else `slope x` with a slope per channel, of stored integers."""

    source: QuantizedCube
    shape: tuple[int, ...]
    slopes: Array

    def quantized(self, qparams: QuantizationParameters, builder: DlaBuilder) -> SSAValue:
        """Emit one SDP pass: X1 subtracts the zero point and adds guard bits, X2 is the PReLU."""
        factors = fixed_point_factors(self.slopes)
        if factors is None:
            builder.refuse(f"a slope of {np.abs(self.slopes).max():g} (the SDP's factors are below 32768)")
        finer = SdpStage(
            StageFunction.BOTH, alu_operand=-self.source.qparams.zero_point, mul_operand=1 << GUARD_BITS
        )
        sloped = SdpStage(
            StageFunction.MUL, mode=OperandMode.PER_KERNEL, act=Activation.PRELU, truncate=factors.shift
        )
        stages: list[Operand] = [(finer, None), (sloped, builder.per_kernel(factors.operands))]
        unit = self.source.qparams.scale * 2.0**-GUARD_BITS
        return builder.requantized(self.source.value, stages, converter(unit, qparams, builder))
