"""Casts to other element types and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from onnx import helper

from xonnc.fuzzing.model_builder import (
    BOOL,
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTEGERS,
    NUMBERS,
    U8,
    U16,
    U32,
    DType,
    ModelBuilder,
    ModelValue,
    NotApplicable,
)
from xonnc.fuzzing.motifs import versioned_operators

BF16 = np.dtype(ml_dtypes.bfloat16)
F8 = np.dtype(ml_dtypes.float8_e4m3fn)


def cast(builder: ModelBuilder, x: ModelValue, dtype: DType) -> ModelValue:
    """Cast."""
    return builder.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(dtype))


def to_integer(builder: ModelBuilder, x: ModelValue, dtype: DType) -> ModelValue:
    """Floats as integers that can hold them."""
    low = 0 if dtype.kind == "u" else -100
    return cast(builder, versioned_operators.clip(builder, x, low, 100), dtype)


def float_chain(builder: ModelBuilder) -> None:
    """Wider, narrower and back."""
    value = builder.take(FLOATS)
    for _ in range(builder.random.randint(1, 3)):
        value = cast(builder, value, builder.random.choice((F16, F32, F64)))
    builder.keep(value)


def integer_chain(builder: ModelBuilder) -> None:
    """Integers through types that cannot hold them all."""
    value = builder.take((*INTEGERS, BOOL))
    for _ in range(builder.random.randint(1, 3)):
        value = cast(builder, value, builder.random.choice((I8, I16, I32, I64, U8, U16, U32)))
    builder.keep(value)


def to_boolean(builder: ModelBuilder) -> None:
    """Cast to boolean and back: nonzero becomes 1."""
    x = builder.take(NUMBERS)
    value = cast(builder, x, BOOL)
    builder.keep(
        cast(builder, value, builder.random.choice((I64, I32, F32, U8))) if builder.chance(0.7) else value
    )


def rounding(builder: ModelBuilder) -> None:
    """Floats as integers and back as floats."""
    x = builder.take((F32, F64), bounded=True)
    value = to_integer(builder, x, builder.random.choice((I32, I64, I8, U8)))
    if builder.chance(0.6):
        builder.keep(cast(builder, value, x.dtype))
    builder.keep(value)


def integers_as_floats(builder: ModelBuilder) -> None:
    """Integers as floats and back."""
    x = builder.take((I32, I64, U8, I8))
    value = cast(builder, x, builder.random.choice((F32, F64)))
    builder.keep(value)
    if x.dtype.itemsize == 1:
        builder.keep(cast(builder, value, x.dtype))


def narrow_floats(builder: ModelBuilder) -> None:
    """Through bfloat16 or 8 bits."""
    x = builder.take((F32,))
    narrow = BF16 if builder.opset < 19 or builder.chance(0.5) else F8
    builder.keep(cast(builder, cast(builder, x, narrow), F32))


def same_type(builder: ModelBuilder) -> None:
    """A cast to the type that is there, or like another value."""
    x = builder.take((*NUMBERS, BOOL))
    if builder.opset >= 15 and builder.chance(0.5):
        builder.keep(builder.node("CastLike", x, builder.like(x, 1)))
        return
    builder.keep(cast(builder, x, x.dtype))


def constant_cast(builder: ModelBuilder) -> None:
    """A constant of one type used as another."""
    x = builder.take((F32, I64))
    kind = builder.random.choice((I32, U8, I8, F16, F64, BOOL))
    constant = builder.weights(kind, *builder.broadcastable(x.shape))
    if x.dtype.kind != "f" and not constant.is_bounded:
        raise NotApplicable
    builder.keep(builder.node("Add", x, cast(builder, constant, x.dtype)))


MOTIFS = (
    float_chain,
    integer_chain,
    to_boolean,
    rounding,
    integers_as_floats,
    narrow_floats,
    same_type,
    constant_cast,
)
