"""Eight bits: QuantizeLinear and DequantizeLinear around layers, and layers that compute in integers."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import F32, I8, I32, U8, Draft, DType, Unfit, Value
from xonnc.fuzzing.themes.layers import convolved, image


def scale(draft: Draft, count: int | None = None) -> Value:
    """A power of two, or one for each channel: so that the numbers are exact."""
    shape = () if count is None else (count,)
    return draft.constant((2.0 ** draft.numpy.integers(-5, 1, shape)).astype(np.float32))


def zero(draft: Draft, kind: DType, count: int | None = None) -> Value:
    """The integer that stands for zero."""
    low = 0 if kind == U8 else -4
    return draft.constant(draft.numpy.integers(low, 9, () if count is None else (count,)).astype(kind))


def rounded(draft: Draft, x: Value) -> Value:
    """Through eight bits and back."""
    kind = draft.random.choice((I8, U8))
    step = scale(draft)
    offset = zero(draft, kind) if kind == I8 or draft.chance(0.7) else None
    return draft.node("DequantizeLinear", draft.node("QuantizeLinear", x, step, offset), step, offset)


def quantised(draft: Draft) -> None:
    """Q then DQ, in part twice, or with another step back."""
    x = draft.take((F32,), bounded=True)
    value = rounded(draft, x)
    if draft.chance(0.4):
        value = rounded(draft, draft.node("Relu", value) if draft.chance(0.5) else value)
    draft.keep(value)


def quantised_by_channel(draft: Draft) -> None:
    """Q then DQ with a step for each channel."""
    x = draft.take((F32,), (2, 3, 4), bounded=True)
    if draft.opset < 13:
        raise Unfit
    axis = draft.random.randrange(x.rank)
    step, offset = scale(draft, x.shape[axis]), zero(draft, I8, x.shape[axis])
    value = draft.node("QuantizeLinear", x, step, offset, axis=axis)
    draft.keep(draft.node("DequantizeLinear", value, step, offset, axis=axis))


def dequantised_weights(draft: Draft) -> None:
    """Weights that are integers in the file."""
    x = draft.take((F32,), (2, 3), bounded=True)
    weights = draft.constant(draft.numpy.integers(-20, 20, (x.shape[-1], 3)).astype(np.int8))
    value = draft.node(
        "DequantizeLinear", weights, scale(draft), zero(draft, I8) if draft.chance(0.5) else None
    )
    draft.keep(draft.node("MatMul", x, value))


def quantised_layer(draft: Draft) -> None:
    """A convolution between rounded values."""
    x = image(draft, 2)
    if x.dtype != F32 or not x.is_bounded:
        raise Unfit
    value = convolved(draft, rounded(draft, x))
    draft.keep(rounded(draft, draft.node("Relu", value)))


def integer_layer(draft: Draft) -> None:
    """QLinearMatMul and QLinearConv."""
    kind = U8
    x = draft.input(kind, (2, 3) if draft.chance(0.5) else (1, 2, 4, 4))
    shape = (3, 2) if x.rank == 2 else (3, 2, 2, 2)
    op_type = "QLinearMatMul" if x.rank == 2 else "QLinearConv"
    weights = draft.weights(kind, *shape)
    operands = [
        x,
        scale(draft),
        zero(draft, kind),
        weights,
        scale(draft),
        zero(draft, kind),
        scale(draft),
        zero(draft, kind),
    ]
    draft.keep(draft.node(op_type, *operands))


def dynamically_quantised(draft: Draft) -> None:
    """DynamicQuantizeLinear and back."""
    x = draft.take((F32,), (1, 2, 3), bounded=True)
    if not x.size:
        raise Unfit
    made = draft.several("DynamicQuantizeLinear", x, count=3)
    draft.keep(draft.node("DequantizeLinear", *made))


def sums_as_floats(draft: Draft) -> None:
    """32-bit sums made floats."""
    x = draft.input(I32, draft.shape(2))
    draft.keep(draft.node("DequantizeLinear", x, scale(draft)))


MOTIFS = (
    quantised,
    quantised,
    quantised_by_channel,
    dequantised_weights,
    quantised_layer,
    integer_layer,
    dynamically_quantised,
    sums_as_floats,
)
