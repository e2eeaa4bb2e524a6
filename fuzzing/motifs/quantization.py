"""Quantization: QDQ pairs around layers, and integer operators."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import F32, I8, I32, U8, DType, ModelBuilder, ModelValue, NotApplicable
from xonnc.fuzzing.motifs.layers import convolved, image


def scale(builder: ModelBuilder, count: int | None = None) -> ModelValue:
    """A power of two, or one for each channel: so that the numbers are exact."""
    shape = () if count is None else (count,)
    return builder.constant((2.0 ** builder.numpy.integers(-5, 1, shape)).astype(np.float32))


def zero_point(builder: ModelBuilder, kind: DType, count: int | None = None) -> ModelValue:
    """A zero point."""
    low = 0 if kind == U8 else -4
    return builder.constant(builder.numpy.integers(low, 9, () if count is None else (count,)).astype(kind))


def rounded(builder: ModelBuilder, x: ModelValue) -> ModelValue:
    """A QDQ pair."""
    kind = builder.random.choice((I8, U8))
    step = scale(builder)
    offset = zero_point(builder, kind) if kind == I8 or builder.chance(0.7) else None
    return builder.node("DequantizeLinear", builder.node("QuantizeLinear", x, step, offset), step, offset)


def quantized(builder: ModelBuilder) -> None:
    """Q then DQ, in part twice, or with another step back."""
    x = builder.take((F32,), bounded=True)
    value = rounded(builder, x)
    if builder.chance(0.4):
        value = rounded(builder, builder.node("Relu", value) if builder.chance(0.5) else value)
    builder.keep(value)


def quantized_per_channel(builder: ModelBuilder) -> None:
    """A QDQ pair with per-channel scales."""
    x = builder.take((F32,), (2, 3, 4), bounded=True)
    if builder.opset < 13:
        raise NotApplicable
    axis = builder.random.randrange(x.rank)
    step, offset = scale(builder, x.shape[axis]), zero_point(builder, I8, x.shape[axis])
    value = builder.node("QuantizeLinear", x, step, offset, axis=axis)
    builder.keep(builder.node("DequantizeLinear", value, step, offset, axis=axis))


def dequantized_weights(builder: ModelBuilder) -> None:
    """Weights that are integers in the file."""
    x = builder.take((F32,), (2, 3), bounded=True)
    weights = builder.constant(builder.numpy.integers(-20, 20, (x.shape[-1], 3)).astype(np.int8))
    value = builder.node(
        "DequantizeLinear", weights, scale(builder), zero_point(builder, I8) if builder.chance(0.5) else None
    )
    builder.keep(builder.node("MatMul", x, value))


def quantized_layer(builder: ModelBuilder) -> None:
    """A convolution between QDQ pairs."""
    x = image(builder, 2)
    if x.dtype != F32 or not x.is_bounded:
        raise NotApplicable
    value = convolved(builder, rounded(builder, x))
    builder.keep(rounded(builder, builder.node("Relu", value)))


def integer_layer(builder: ModelBuilder) -> None:
    """QLinearMatMul and QLinearConv."""
    kind = U8
    x = builder.input(kind, (2, 3) if builder.chance(0.5) else (1, 2, 4, 4))
    shape = (3, 2) if x.rank == 2 else (3, 2, 2, 2)
    op_type = "QLinearMatMul" if x.rank == 2 else "QLinearConv"
    weights = builder.weights(kind, *shape)
    operands = [
        x,
        scale(builder),
        zero_point(builder, kind),
        weights,
        scale(builder),
        zero_point(builder, kind),
        scale(builder),
        zero_point(builder, kind),
    ]
    builder.keep(builder.node(op_type, *operands))


def dynamically_quantized(builder: ModelBuilder) -> None:
    """DynamicQuantizeLinear and back."""
    x = builder.take((F32,), (1, 2, 3), bounded=True)
    if not x.size:
        raise NotApplicable
    made = builder.node_with_outputs("DynamicQuantizeLinear", x, count=3)
    builder.keep(builder.node("DequantizeLinear", *made))


def sums_as_floats(builder: ModelBuilder) -> None:
    """32-bit sums made floats."""
    x = builder.input(I32, builder.shape(2))
    builder.keep(builder.node("DequantizeLinear", x, scale(builder)))


MOTIFS = (
    quantized,
    quantized,
    quantized_per_channel,
    dequantized_weights,
    quantized_layer,
    integer_layer,
    dynamically_quantized,
    sums_as_floats,
)
