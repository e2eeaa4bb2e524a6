"""Operators of quantized networks in int8, between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import AddOp, ClipOp, MulOp, ReluOp, SumOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.dequantized import (
    Affine,
    ClampBound,
    Clamped,
    Concatenated,
    Dequantized,
    Moved,
    QuantizedCube,
)
from xonnc.lowering.onnx_to_dla.dla_builder import Array
from xonnc.lowering.onnx_to_dla.quantized_builder import (
    QuantizedBuilder,
    StoredIntegers,
    lowers_int8,
)
from xonnc.lowering.onnx_to_dla.quantized_products import product_of
from xonnc.lowering.onnx_to_dla.table_lookup import TableLookup

RELU = ClampBound(0.0, True)


@lowers_int8(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower DequantizeLinear, `(x - zero_point) * scale`, as a pending expression."""
    stored = builder.integers(op.x)
    qparams = builder.qparams(op.x_scale, op.x_zero_point, stored.offset)
    return Affine.of(stored.value, cube_of(stored.value.type), stored.shape, qparams)


@lowers_int8(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, builder: QuantizedBuilder) -> StoredIntegers:
    """Lower QuantizeLinear: emit the SDP pass that ends a chain of operators."""
    offset = builder.offset_of(op.y)
    qparams = builder.qparams(op.y_scale, op.y_zero_point, offset)
    shape = builder.result_shape(op)
    if (given := builder.input_on(op.x, qparams)) is not None:
        return StoredIntegers(given, shape, offset)
    return StoredIntegers(builder.quantized(op.x, qparams), shape, offset)


@lowers_int8(ReluOp)
def relu(op: ReluOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Relu as a clamp of the requantization before it."""
    return clamped(builder.tensor(op.X), RELU, builder)


@lowers_int8(ClipOp)
def clip(op: ClipOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Clip as clamps of the requantization before it."""
    result = builder.tensor(op.input)
    for operand, is_minimum in ((op.min, True), (op.max, False)):
        if operand.type != NONE:
            number = builder.real_constant(operand)
            if number is None:
                builder.refuse("a bound that is not constant; make it a constant")
            result = clamped(result, ClampBound(float(number.reshape(())), is_minimum), builder)
    return result


def clamped(reals: Dequantized, bound: ClampBound, builder: QuantizedBuilder) -> Dequantized:
    """Return the tensor with a clamp, which commutes with data movement and concatenation."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Concatenated():
            return reals.over(lambda part: clamped(part, bound, builder))
        case TableLookup():
            limit = np.maximum if bound.is_minimum else np.minimum
            return reals.then(lambda x: limit(x, bound.number))
        case Moved():
            return reals.over(lambda source: clamped(source, bound, builder))
        case Clamped():
            return Clamped(reals.source, (*reals.bounds, bound))
        case _:
            return Clamped(reals, (bound,))


@lowers_int8(AddOp)
def add(op: AddOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Add of a constant as a bias, of two cubes as one SDP pass that rescales both."""
    return total([op.A, op.B], builder.result_shape(op), builder)


@lowers_int8(SumOp)
def sum_(op: SumOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Sum, of which at most two inputs are computed."""
    return total(op.data_0, builder.result_shape(op), builder)


def total(operands: Sequence[SSAValue], shape: tuple[int, ...], builder: QuantizedBuilder) -> Dequantized:
    """Return the sum of constants and at most two cubes, at least one of which is stored."""
    if (grouped_sum := _sum_of_groups(operands, shape, builder)) is not None:
        return grouped_sum
    constants = [constant for value in operands if (constant := builder.real_constant(value)) is not None]
    computed = [builder.affine(value) for value in operands if builder.real_constant(value) is None]
    if any(part.shape != shape for part in computed):
        builder.refuse(f"operands that are broadcast to {list(shape)}; expand them first")
    computed.sort(key=lambda part: part.stored is not None)
    if not computed or len(computed) > 2 or (len(computed) == 2 and computed[1].stored is None):
        builder.refuse("more than one operand is not quantized; quantize all but one, or calibrate")
    result = computed[0]
    for constant in constants:
        added = result.plus(builder.per_channel(constant, result, shape))
        if added is None:
            builder.refuse("a constant added after a clamp; quantize in between")
        result = added
    if len(computed) == 2:
        other = computed[1].stored
        assert other is not None
        if cube_of(other.value.type) != result.cube:
            builder.refuse(
                f"operands with different cubes in memory: {list(result.cube)}, {list(computed[1].cube)}",
                cause=builder.reshape_before(shape),
            )
        result = result.then(QuantizedCube(other.value, other.qparams))
    return result


def _sum_of_groups(
    operands: Sequence[SSAValue], shape: tuple[int, ...], builder: QuantizedBuilder
) -> Dequantized | None:
    """Add a stored cube to a grouped convolution of several layers: each layer adds its channels."""
    if len(operands) != 2 or any(builder.real_constant(value) is not None for value in operands):
        return None
    groups, other = (builder.tensor(value) for value in operands)
    if not isinstance(groups, Concatenated):
        groups, other = other, groups
    if not isinstance(groups, Concatenated) or not isinstance(other, Affine) or other.stored is None:
        return None
    return groups.plus(other.stored) if groups.shape == other.shape == shape else None


@lowers_int8(MulOp)
def mul(op: MulOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Mul by a constant (scalar or per channel), or of two computed cubes."""
    first, second = (op.B, op.A) if builder.real_constant(op.A) is not None else (op.A, op.B)
    factor = builder.real_constant(second)
    if factor is None:
        return product_of(op.A, op.B, builder.result_shape(op), builder)
    source = builder.affine(first)
    scaled = source.times(builder.per_channel(factor, source, builder.result_shape(op)))
    if scaled is None:
        builder.refuse("a multiplication after a clamp; quantize in between")
    return scaled


@lowers_int8(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: QuantizedBuilder) -> Dequantized:
    """
    Lower BatchNormalization that was not fused into a convolution: `m X + (B - m mean)` with `m = scale /
    sqrt(var + epsilon)`.
    """
    source, shape = builder.affine(op.X), builder.result_shape(op)
    scale, shift, mean, variance = (
        _of_channels(operand, what, source, shape, builder)
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    scaled = source.times(factor)
    moved = None if scaled is None else scaled.plus(shift - factor * mean)
    if moved is None:
        builder.refuse("a normalization after a clamp; quantize in between")
    return moved


def _of_channels(
    value: SSAValue, what: str, source: Affine, shape: tuple[int, ...], builder: QuantizedBuilder
) -> Array:
    """Return a constant with one value per channel."""
    found = builder.numbers(value, what)
    return builder.per_channel(found.reshape(-1, *(1,) * (len(shape) - 2)), source, shape)
