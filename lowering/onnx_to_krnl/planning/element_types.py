"""Storage types of elements in buffers, and the types that kernels compute in."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ComplexType,
    IntegerType,
    Signedness,
    bf16,
    f4E2M1FN,
    f6E2M3FN,
    f6E3M2FN,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.transforms.numerics import largest

WIDTHS = (1, 8, 16, 32, 64)
"""Widths of the integers that kernels compute with."""

SUB_BYTE_WIDTHS = (2, 4)
"""Widths of the integers that are stored one per byte, the upper bits 0."""

NARROW_FLOATS: dict[Attribute, int] = {
    bf16: 16,
    f8E4M3FN: 8,
    f8E4M3FNUZ: 8,
    f8E5M2: 8,
    f8E5M2FNUZ: 8,
    f8E8M0FNU: 8,
    f6E2M3FN: 8,
    f6E3M2FN: 8,
    f4E2M1FN: 8,
}
"""Floats that are stored as integers of so many bits and computed as f32."""

COMPLEX = ComplexType(f32)
"""Pairs of f32, which kernels only move, as 64 bits."""


def is_sub_byte(element: Attribute) -> bool:
    """Whether an element is an integer of 2 or 4 bits."""
    return is_integer(element) and element.width.data in SUB_BYTE_WIDTHS


def is_computable(element: Attribute | None) -> bool:
    """Whether kernels can compute with elements of a type."""
    if element is not None and is_integer(element):
        return element.width.data in WIDTHS or is_sub_byte(element)
    return element in (f16, f32, f64) or element in NARROW_FLOATS


def is_storable(element: Attribute | None) -> bool:
    """Whether kernels can at least move elements of a type."""
    return is_computable(element) or element == COMPLEX


def storage_type(element: Attribute) -> Attribute:
    """Return the type of an element in buffers: signless integers, and bits for narrow floats."""
    if element == COMPLEX:
        return IntegerType(64)
    if is_integer(element):
        return IntegerType(8 if is_sub_byte(element) else element.width.data)
    return IntegerType(NARROW_FLOATS[element]) if element in NARROW_FLOATS else element


def compute_type(element: Attribute) -> Attribute:
    """Return the type that kernels compute in for an element type."""
    return f32 if element == f16 or element in NARROW_FLOATS else storage_type(element)


def is_unsigned_element(element: Attribute) -> bool:
    """Whether a type is an unsigned integer."""
    return is_integer(element) and element.signedness.data == Signedness.UNSIGNED


def integer_range(element: Attribute) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    assert is_integer(element)
    width = element.width.data
    return (
        (0, (1 << width) - 1) if is_unsigned_element(element) else (-(1 << width - 1), (1 << width - 1) - 1)
    )


def largest_finite(element: Attribute | None) -> float:
    """Return the largest finite number of a float type."""
    assert element is not None
    return largest(numpy_dtype(element))
