"""Numbers that become another type and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from onnx import helper

from xonnc.fuzzing.draft import (
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
    Draft,
    DType,
    Unfit,
    Value,
)
from xonnc.fuzzing.themes import forms

BF16 = np.dtype(ml_dtypes.bfloat16)
F8 = np.dtype(ml_dtypes.float8_e4m3fn)


def cast(draft: Draft, x: Value, dtype: DType) -> Value:
    """The numbers as another type."""
    return draft.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(dtype))


def to_integer(draft: Draft, x: Value, dtype: DType) -> Value:
    """Floats as integers that can hold them."""
    low = 0 if dtype.kind == "u" else -100
    return cast(draft, forms.clip(draft, x, low, 100), dtype)


def float_chain(draft: Draft) -> None:
    """Wider, narrower and back."""
    value = draft.take(FLOATS)
    for _ in range(draft.random.randint(1, 3)):
        value = cast(draft, value, draft.random.choice((F16, F32, F64)))
    draft.keep(value)


def integer_chain(draft: Draft) -> None:
    """Integers through types that cannot hold them all."""
    value = draft.take((*INTEGERS, BOOL))
    for _ in range(draft.random.randint(1, 3)):
        value = cast(draft, value, draft.random.choice((I8, I16, I32, I64, U8, U16, U32)))
    draft.keep(value)


def to_truth(draft: Draft) -> None:
    """Numbers as truth values and back: what is not zero is one."""
    x = draft.take(NUMBERS)
    value = cast(draft, x, BOOL)
    draft.keep(cast(draft, value, draft.random.choice((I64, I32, F32, U8))) if draft.chance(0.7) else value)


def rounding(draft: Draft) -> None:
    """Floats as integers and back as floats."""
    x = draft.take((F32, F64), bounded=True)
    value = to_integer(draft, x, draft.random.choice((I32, I64, I8, U8)))
    if draft.chance(0.6):
        draft.keep(cast(draft, value, x.dtype))
    draft.keep(value)


def integers_as_floats(draft: Draft) -> None:
    """Integers as floats and back."""
    x = draft.take((I32, I64, U8, I8))
    value = cast(draft, x, draft.random.choice((F32, F64)))
    draft.keep(value)
    if x.dtype.itemsize == 1:
        draft.keep(cast(draft, value, x.dtype))


def narrow_floats(draft: Draft) -> None:
    """Through bfloat16 or 8 bits."""
    x = draft.take((F32,))
    narrow = BF16 if draft.opset < 19 or draft.chance(0.5) else F8
    draft.keep(cast(draft, cast(draft, x, narrow), F32))


def same_type(draft: Draft) -> None:
    """A cast to the type that is there, or like another value."""
    x = draft.take((*NUMBERS, BOOL))
    if draft.opset >= 15 and draft.chance(0.5):
        draft.keep(draft.node("CastLike", x, draft.like(x, 1)))
        return
    draft.keep(cast(draft, x, x.dtype))


def constant_cast(draft: Draft) -> None:
    """A constant of one type used as another."""
    x = draft.take((F32, I64))
    kind = draft.random.choice((I32, U8, I8, F16, F64, BOOL))
    constant = draft.weights(kind, *draft.broadcastable(x.shape))
    if x.dtype.kind != "f" and not constant.is_bounded:
        raise Unfit
    draft.keep(draft.node("Add", x, cast(draft, constant, x.dtype)))


MOTIFS = (
    float_chain,
    integer_chain,
    to_truth,
    rounding,
    integers_as_floats,
    narrow_floats,
    same_type,
    constant_cast,
)
