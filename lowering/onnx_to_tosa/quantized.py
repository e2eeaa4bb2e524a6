"""QuantizeLinear and DequantizeLinear, and operators that move quantized elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp, inf
from typing import Any

import numpy as np
from xdsl.dialects import tosa
from xdsl.dialects.builtin import BoolAttr, IntegerType, f32, i8, i16, i32
from xdsl.dialects.tosa import RoundingMode, RoundingModeAttr
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import extra, nn, tensor
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import rectifier, rounding
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape, tensor_type
from xonnc.dialects.tosa.elementwise import CastOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.activations import bounds
from xonnc.lowering.onnx_to_tosa.quantized_values import Quantization, QuantizedValue
from xonnc.lowering.onnx_to_tosa.tosa_builder import (
    LOWERINGS,
    Array,
    TosaBuilder,
    lowers,
    lowers_quantized,
)

MIN_SHIFT, MAX_SHIFT = 2, 62
"""Shifts that TOSA's rescale takes."""

STORED: dict[np.dtype[Any], tuple[np.dtype[Any], int]] = {
    np.dtype(np.int8): (np.dtype(np.int8), 0),
    np.dtype(np.uint8): (np.dtype(np.int8), 128),
    np.dtype(np.int16): (np.dtype(np.int16), 0),
    np.dtype(np.int32): (np.dtype(np.int32), 0),
}
"""The signed type that integers are stored in, and how much lower."""


def _quantization(op: QuantizeLinearOp | DequantizeLinearOp, builder: TosaBuilder) -> Quantization:
    """Return scales and zero points, refusing those that TOSA cannot say."""
    if op.block_size.value.data:
        builder.refuse(f"blocks of {op.block_size.value.data} (TOSA has a scale per tensor or channel)")
    quantized = op.y if isinstance(op, QuantizeLinearOp) else op.x
    element = element_type(quantized.type)
    dtype = np.dtype(object) if element is None else numpy_dtype(element)
    if dtype not in STORED:
        builder.refuse(f"{element} (TOSA quantizes i8, ui8, i16 and i32)")
    scale = builder.fixed(op.operands[1], "the scale").astype(np.float32).reshape(-1)
    zero = np.zeros(1, np.int64)
    if op.operands[2].type != NONE:
        zero = builder.fixed(op.operands[2], "the zero point").astype(np.int64).reshape(-1)
    shape = static_shape(op.operands[0].type)
    if shape is None:
        builder.refuse(f"{op.operands[0].type} (TOSA has static shapes); give sizes of inputs")
    axis = op.axis.value.data % max(len(shape), 1)
    return Quantization(scale, zero - STORED[dtype][1], axis)


def stored(array: Array) -> Array:
    """Return integers of a model as they are stored."""
    dtype, lower = STORED[array.dtype]
    return (array.astype(np.int64) - lower).astype(dtype)


@lowers_quantized(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: TosaBuilder) -> bool:
    """Remember integers and what they stand for; real numbers are made where they are needed."""
    found = _quantization(op, builder)
    quantized = op.x.owner
    array = builder.constant(op.x) if isinstance(quantized, ConstantOp) else None
    if array is not None:
        builder.quantized[op.y] = QuantizedValue(found, array=stored(array))
    else:
        builder.quantized[op.y] = QuantizedValue(found, builder.value(op.x))
    return True


@lowers(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, builder: TosaBuilder) -> SSAValue:
    """Integers rescaled, or `round(x / scale) + zero point` of real numbers."""
    expected = _quantization(op, builder)
    element = signed_element(op)
    quantized = builder.quantized.get(op.x)
    if (
        quantized is not None
        and quantized.value is not None
        and quantized.of.is_per_tensor
        and expected.is_per_tensor
    ):
        if quantized.of.is_same(expected) and element_of(quantized.value) == element:
            return quantized.value
        if is_scale(quantized.of.factor / expected.factor) and element_of(quantized.value) in (i8, i16, i32):
            return rescaled(quantized.value, quantized.of, expected, element, builder)
    return _rounded(builder.value(op.x), expected, element, builder)


def signed_element(op: QuantizeLinearOp) -> IntegerType:
    """Return the type in which the result of QuantizeLinear is stored."""
    element = element_type(op.y.type)
    assert isinstance(element, IntegerType)
    return IntegerType(element.bitwidth)


def _rounded(x: SSAValue, expected: Quantization, element: IntegerType, builder: TosaBuilder) -> SSAValue:
    """
    Return real numbers as integers.

    The cast rounds to the nearest, of two to the even one, as ONNX does; clamped before, nothing overflows.
    """
    shape = shape_of(x)
    scale, zero = expected.along(len(shape))
    x = builder.binary(tosa.MulOp, x, builder.const((1 / scale).astype(np.float32)))
    low, high = -(2 ** (element.bitwidth - 1)), 2 ** (element.bitwidth - 1) - 1
    x = builder.clamp(x, float(low - zero.max()), float(high - zero.min()))
    x = builder.emit(CastOp, [x], tensor_type(shape, i32))
    if zero.any():
        x = builder.binary(tosa.AddOp, x, builder.const(zero.astype(np.int32)))
    if zero.min() != zero.max():
        x = builder.clamp(x, low, high)
    return builder.emit(CastOp, [x], tensor_type(shape, element))


def is_scale(factor: float) -> bool:
    """Whether TOSA's rescale multiplies by this number."""
    return 0 < factor < inf and MIN_SHIFT <= 31 - frexp(factor)[1]


def rescaled(
    value: SSAValue,
    quantized: Quantization,
    expected: Quantization,
    element: Attribute,
    builder: TosaBuilder,
) -> SSAValue:
    """Return integers that stand for the same numbers with other scales, per tensor or per last dimension."""
    factors = quantized.scale.astype(np.float64) / expected.factor
    return by_factors(value, factors, (quantized.zero, expected.zero), element, builder)


def by_factors(
    value: SSAValue,
    factors: Any,
    zeros: tuple[int, int],
    element: Attribute,
    builder: TosaBuilder,
) -> SSAValue:
    """
    Return integers times factors, rounded to the nearest and clamped to the type.

    `zeros` are the zero points before and after.
    """
    pairs = [_fixed_point(float(factor)) for factor in np.asarray(factors).reshape(-1)]
    of_input = builder.zero_point(value, zeros[0])
    of_output = builder.const(np.array([zeros[1]], numpy_dtype(element)))
    multipliers = builder.const(np.array([multiplier for multiplier, _ in pairs], np.int32))
    shifts = builder.const(np.array([shift for _, shift in pairs], np.int8))
    return builder.emit(
        tosa.RescaleOp,
        [value, multipliers, shifts, of_input, of_output],
        tensor_type(shape_of(value), element),
        scale32=BoolAttr.from_bool(True),
        rounding_mode=RoundingModeAttr(RoundingMode.SINGLE_ROUND),
        per_channel=BoolAttr.from_bool(len(pairs) > 1),
        input_unsigned=BoolAttr.from_bool(False),
        output_unsigned=BoolAttr.from_bool(False),
    )


def _fixed_point(factor: float) -> tuple[int, int]:
    """Return `m` of 31 bits and `s` with `m / 2^s` next to a factor."""
    fraction, exponent = frexp(factor)
    multiplier, shift = round(fraction * 2**31), 31 - exponent
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift - 1
    if shift > MAX_SHIFT:
        multiplier, shift = multiplier >> min(shift - MAX_SHIFT, 31), MAX_SHIFT
    return multiplier, shift


@dataclass(frozen=True)
class Requantization:
    """QuantizeLinear after an operator, perhaps with an activation between: bounds of the real numbers."""

    op: QuantizeLinearOp
    of: Quantization
    between: tuple[OnnxOp, ...]
    low: float = -inf
    high: float = inf

    def finish(self, value: SSAValue, builder: TosaBuilder) -> None:
        """Define the result as quantized integers, which the activation clamps."""
        element = signed_element(self.op)
        lowest, highest = -(2 ** (element.bitwidth - 1)), 2 ** (element.bitwidth - 1) - 1
        low, high = (self.quantized(bound, lowest, highest) for bound in (self.low, self.high))
        if (low, high) != (lowest, highest):
            value = builder.clamp(value, low, high)
        builder.define(self.op.y, value)
        builder.done.update((*self.between, self.op))

    def quantized(self, bound: float, lowest: int, highest: int) -> int:
        """Return the integer that stands for a bound."""
        if bound in (-inf, inf):
            return lowest if bound < 0 else highest
        nearest = int(np.rint(np.float32(bound) / np.float32(self.of.factor)))
        return min(max(nearest + self.of.zero, lowest), highest)


def requantization(op: OnnxOp, builder: TosaBuilder) -> Requantization | None:
    """Return the only reader of an operator's result if it quantizes it, per tensor, to 8 bits."""
    reader, between = _only_reader(op), ()
    low, high = -inf, inf
    if isinstance(reader, rectifier.ReluOp):
        low, between = 0.0, (reader,)
    elif isinstance(reader, rounding.ClipOp | rounding.ClipV12Op | rounding.ClipV11Op | rounding.ClipV6Op):
        if any(each.type != NONE and builder.constant(each) is None for each in reader.operands[1:]):
            return None
        (low, high), between = bounds(reader, builder), (reader,)
    if between:
        reader = _only_reader(between[0])
    if not isinstance(reader, QuantizeLinearOp) or signed_element(reader) != i8:
        return None
    of = _quantization(reader, builder)
    return Requantization(reader, of, between, low, high) if of.is_per_tensor else None


def _only_reader(op: OnnxOp) -> OnnxOp | None:
    uses = list(op.results[0].uses)
    reader = uses[0].operation if len(uses) == 1 else None
    return reader if isinstance(reader, OnnxOp) else None


MOVES = (
    nn.DropoutOp,
    nn.FlattenOp,
    extra.MaxPoolSingleOutOp,
    nn.MaxPoolOp,
    tensor.IdentityOp,
    tensor.ReshapeOp,
    tensor.SliceOp,
    tensor.SqueezeOp,
    tensor.SqueezeV11Op,
    tensor.TransposeOp,
    tensor.UnsqueezeOp,
    tensor.UnsqueezeV11Op,
)
"""Operators that give elements of their operand: integers stay what they stand for."""


@lowers_quantized(*MOVES)
def move(op: OnnxOp, builder: TosaBuilder) -> bool:
    """Move integers in place of the real numbers."""
    quantized = builder.quantized.get(op.operands[0])
    if quantized is None or quantized.value is None or not quantized.of.is_per_tensor:
        return False
    source = op.operands[0]
    with builder.standing_for(source, quantized.value):
        made = LOWERINGS[type(op)](op, builder)
    assert isinstance(made, SSAValue)
    builder.quantized[op.results[0]] = replace(quantized, value=made)
    return True


@lowers_quantized(rectifier.ReluOp)
def relu(op: rectifier.ReluOp, builder: TosaBuilder) -> bool:
    """`max(x, zero point)` of integers."""
    quantized = builder.quantized.get(op.X)
    if (
        quantized is None
        or quantized.value is None
        or not quantized.of.is_per_tensor
        or element_of(quantized.value) != i8
    ):
        return False
    low = min(max(quantized.of.zero, -128), 127)
    builder.quantized[op.Y] = replace(quantized, value=builder.clamp(quantized.value, low, 127))
    return True


def as_float(value: SSAValue, factors: Array, builder: TosaBuilder) -> SSAValue:
    """Return sums of integers as real numbers; `factors` are one, or one for each last index."""
    made = builder.emit(CastOp, [value], tensor_type(shape_of(value), f32))
    sizes = (1,) * (len(shape_of(value)) - 1) + (factors.size,)
    return builder.binary(tosa.MulOp, made, builder.const(factors.astype(np.float32).reshape(sizes)))
