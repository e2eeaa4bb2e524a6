"""Python values as the attributes that ONNX properties hold, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

Decoded: TypeAlias = "int | float | str | tuple[Decoded, ...] | Attribute | None"

SI64 = IntegerType(64, Signedness.SIGNED)


@cache
def integer(number: int) -> IntegerAttr[IntegerType]:
    """An INT property: `1 : si64`."""
    return IntegerAttr(number, SI64)


@cache
def index(number: int) -> IntegerAttr[IntegerType]:
    """An element of an INTS property: `1 : i64`."""
    return IntegerAttr(number, i64)


@cache
def floating(number: float) -> FloatAttr:
    """A FLOAT property: `1.000000e+00 : f32`."""
    return FloatAttr(number, f32)


@cache
def integers(numbers: tuple[int, ...]) -> ArrayAttr[Attribute]:
    """An INTS property: `[0, 1]`."""
    return ArrayAttr([index(number) for number in numbers])


def encode(
    given: float | str | Sequence[int] | Sequence[float] | Sequence[str] | Attribute,
) -> Attribute:
    """The attribute for a Python value; attributes pass."""
    match given:
        case Attribute():
            return given
        case bool() | int():
            return integer(int(given))
        case float():
            return floating(given)
        case str():
            return StringAttr(given)
        case _:
            return ArrayAttr([_element(item) for item in given])


def _element(item: float | str) -> Attribute:
    return index(item) if isinstance(item, int) else encode(item)


def decode(attribute: Attribute | None) -> Decoded:
    """The Python value of a property: numbers, text, tuples of them; any other attribute as it is."""
    match attribute:
        case IntegerAttr(value=IntAttr(data=number)):
            return number
        case FloatAttr(value=FloatData(data=number)):
            return number
        case StringAttr(data=text):
            return text
        case ArrayAttr() if isa(attribute, ArrayAttr[Attribute]):
            return tuple(decode(item) for item in attribute)
        case _:
            return attribute
