"""Attributes of constants, made once: xDSL takes as long to make and check one as an operation."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer, is_vector

ScalarAttribute: TypeAlias = IntegerAttr[IntegerType | IndexType] | FloatAttr[AnyFloat]

MADE = lru_cache(4096)


def scalar_attribute(value: float, type_: Attribute) -> ScalarAttribute:
    """Return a number as an attribute of a float, integer or index type."""
    # First the most frequent types: a check for any of six float types takes six times as long.
    if isinstance(type_, IndexType) or is_integer(type_) or not isinstance(type_, AnyFloat):
        return _integer(int(value), type_)
    # By its bits: 0.0 equals -0.0, and no NaN another one.
    return _float(struct.pack("<d", value), type_)


def splat_attribute(value: float, type_: VectorType) -> DenseIntOrFPElementsAttr:
    """Return the attribute of a vector with a number in all lanes."""
    if isinstance(type_.element_type, AnyFloat):
        return _floats(struct.pack("<d", value), type_)
    return _integers(int(value), type_)


def constant_attribute(value: float, type_: Attribute) -> Attribute:
    """Return the attribute of a constant, of a scalar or vector type."""
    return splat_attribute(value, type_) if is_vector(type_) else scalar_attribute(value, type_)


@MADE
def _float(bits: bytes, type_: AnyFloat) -> FloatAttr[AnyFloat]:
    return FloatAttr[AnyFloat](_number(bits), type_)


@MADE
def _integer(value: int, type_: Attribute) -> IntegerAttr[IntegerType | IndexType]:
    assert isinstance(type_, IndexType) or is_integer(type_)
    return IntegerAttr[IntegerType | IndexType](value, type_)


@MADE
def _floats(bits: bytes, type_: VectorType) -> DenseIntOrFPElementsAttr:
    element = type_.element_type
    assert isinstance(element, AnyFloat)
    floats = VectorType[AnyFloat](element, type_.get_shape())
    return DenseIntOrFPElementsAttr.from_list(floats, [_number(bits)] * type_.element_count())


@MADE
def _integers(value: int, type_: VectorType) -> DenseIntOrFPElementsAttr:
    element = type_.element_type
    assert is_integer(element)
    integers = VectorType[IntegerType](element, type_.get_shape())
    return DenseIntOrFPElementsAttr.from_list(integers, [value] * type_.element_count())


def _number(bits: bytes) -> float:
    (number,) = struct.unpack("<d", bits)
    return float(number)
