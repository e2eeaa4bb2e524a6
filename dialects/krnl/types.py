"""The types of the krnl dialect."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

FLOAT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Bytes of the floats that code is made of."""


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A reference to a loop, by which schedules name it: `!krnl.loop`."""

    name = "krnl.loop"


def is_integer(type_: Attribute) -> TypeGuard[IntegerType]:
    """Whether a type is of integers or truth values."""
    return isinstance(type_, IntegerType)


def is_buffer(type_: Attribute) -> TypeGuard[MemRefType]:
    """Whether a type is of buffers."""
    return isinstance(type_, MemRefType)


def is_vector(type_: Attribute) -> TypeGuard[VectorType]:
    """Whether a type is of numbers in a row."""
    return isinstance(type_, VectorType)


def size_of(element: Attribute) -> int:
    """Bytes of an element in memory; a boolean takes one."""
    if is_integer(element):
        return max(1, element.width.data // 8)
    return FLOAT_BYTES[element.name]
