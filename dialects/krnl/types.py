"""Types of the krnl dialect, and predicates of types."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

from xdsl.dialects.builtin import IntegerType, MemRefType, VectorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

FLOAT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}
"""Sizes in bytes of the floats that code computes with."""


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A handle of a loop, for schedules: `!krnl.loop`."""

    name = "krnl.loop"


@lru_cache(4096)
def buffer_of(element: Attribute, shape: tuple[int, ...]) -> MemRefType:
    """Return the type of a row-major buffer; xDSL takes a fifth of a millisecond to make one."""
    return MemRefType(element, shape)


def is_integer(type_: Attribute) -> TypeGuard[IntegerType]:
    """Whether a type is an integer or boolean."""
    return isinstance(type_, IntegerType)


def is_buffer(type_: Attribute) -> TypeGuard[MemRefType]:
    """Whether a type is a memref."""
    return isinstance(type_, MemRefType)


def is_vector(type_: Attribute) -> TypeGuard[VectorType]:
    """Whether a type is a vector."""
    return isinstance(type_, VectorType)


def size_of(element: Attribute) -> int:
    """Return the size of an element in memory in bytes; a boolean takes one."""
    if is_integer(element):
        return max(1, element.width.data // 8)
    return FLOAT_BYTES[element.name]
