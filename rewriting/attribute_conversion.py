"""Conversion between Python values and ONNX attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, FloatData, IntAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, is_array, string_attr

Decoded: TypeAlias = "int | float | str | tuple[Decoded, ...] | Attribute | None"


def encode(
    given: float | str | Sequence[int] | Sequence[float] | Sequence[str] | Attribute,
) -> Attribute:
    """Return the attribute for a Python value; an attribute is returned unchanged."""
    match given:
        case Attribute():
            return given
        case bool() | int():
            return int_attr(int(given))
        case float():
            return float_attr(given)
        case str():
            return string_attr(given)
        case _:
            return ArrayAttr([_element(item) for item in given])


def _element(item: float | str) -> Attribute:
    return IntegerAttr(item, i64) if isinstance(item, int) else encode(item)


def decode(attribute: Attribute | None) -> Decoded:
    """
    Return the Python value of an attribute: int, float, str or a tuple of them; other attributes unchanged.
    """
    match attribute:
        case IntegerAttr(value=IntAttr(data=number)):
            return number
        case FloatAttr(value=FloatData(data=number)):
            return number
        case StringAttr(data=found):
            return found
        case _ if is_array(attribute):
            return tuple(decode(item) for item in attribute)
        case _:
            return attribute
