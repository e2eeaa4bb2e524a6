"""Builders of MLIR attributes for ONNX attributes, memoised: building one costs 5 to 70 us."""

from __future__ import annotations

from functools import cache
from math import copysign

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

SI64 = IntegerType(64, Signedness.SIGNED)
"""The type of scalar integer attributes: `axis = 1 : si64`."""


@cache
def int_attr(value: int) -> IntegerAttr[IntegerType]:
    """ONNX's INT: `1 : si64`."""
    return IntegerAttr(value, SI64)


def float_attr(value: float) -> FloatAttr[Float32Type]:
    """ONNX's FLOAT, rounded to 32 bits: `1.000000e+00 : f32`."""
    return _real(value, copysign(1.0, value))


@cache
def string_attr(value: str) -> StringAttr:
    """ONNX's STRING: `"NOTSET"`."""
    return StringAttr(value)


@cache
def int_array_attr(*values: int) -> ArrayAttr[IntegerAttr[IntegerType]]:
    """ONNX's INTS: `[0, 1]`, elements of type i64."""
    return ArrayAttr([_element(value) for value in values])


def float_array_attr(*values: float) -> ArrayAttr[FloatAttr[Float32Type]]:
    """ONNX's FLOATS: `[1.000000e+00 : f32]`."""
    return ArrayAttr([float_attr(value) for value in values])


@cache
def string_array_attr(*values: str) -> ArrayAttr[StringAttr]:
    """ONNX's STRINGS: `["Tanh"]`."""
    return ArrayAttr([string_attr(value) for value in values])


def int_values(array: ArrayAttr[IntegerAttr[IntegerType]] | None) -> tuple[int, ...] | None:
    """Return the integers of an INTS attribute, or `None` if it is absent."""
    return None if array is None else tuple(element.value.data for element in array)


@cache
def _real(value: float, sign: float) -> FloatAttr[Float32Type]:
    # The sign is part of the key because 0.0 == -0.0.
    return FloatAttr(value, f32)


def numeric_values(attribute: Attribute | None) -> npt.NDArray[np.float32] | npt.NDArray[np.int64] | None:
    """Return the elements of a FLOATS or INTS attribute, or `None` for an absent or other attribute."""
    if not isa(attribute, ArrayAttr[IntegerAttr | FloatAttr]):
        return None
    numbers = [each.value.data for each in attribute]
    is_real = any(isinstance(each, FloatAttr) for each in attribute)
    return np.array(numbers, np.float32) if is_real else np.array(numbers, np.int64)


def string_values(array: ArrayAttr[StringAttr] | None) -> tuple[str, ...] | None:
    """Return the strings of a STRINGS attribute, or `None` if it is absent."""
    return None if array is None else tuple(element.data for element in array)


@cache
def _element(value: int) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, i64)


def is_array(attribute: Attribute | None) -> TypeIs[ArrayAttr[Attribute]]:
    """Return whether an attribute is a list; xDSL's `isa` takes 25 us for it."""
    return isinstance(attribute, ArrayAttr)
