"""Graph matchers of recompositions: defining ops, scalar constants, broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, prod
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.elements import elements_array, type_of_elements
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype, static_shape
from xonnc.transforms.numerics import is_float, is_integer

MAX_ELEMENTS = 4096
"""Maximum size of a constant that is checked for uniformity: larger ones may be weights still in a file."""

NEAR = 1e-6
"""Relative tolerance for constants in models."""

SINGLE = 4
"""Bytes of a float32."""

_Op = TypeVar("_Op", bound=Operation)


def made_by(value: SSAValue, kind: type[_Op]) -> _Op | None:
    """Return the defining op of a value, if it is of this class and the value its first result."""
    if isinstance(value, OpResult) and value.index == 0 and isinstance(value.op, kind):
        return value.op
    return None


def either_way(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield the operands of a commutative binary op in both orders."""
    first, second = op.operands
    yield first, second
    yield second, first


def number_in(value: SSAValue) -> float | None:
    """Return the value of a uniform constant, or `None`."""
    constant = made_by(value, ConstantOp)
    elements = constant.properties.get("value") if constant else None
    type_ = type_of_elements(elements) if elements else None
    if elements is None or type_ is None or not 0 < prod(type_.get_shape()) <= MAX_ELEMENTS:
        return None
    dtype = numpy_dtype(type_.element_type)
    if not is_float(dtype) and not is_integer(dtype):
        return None
    array = elements_array(elements)
    assert array is not None
    first = array.reshape(-1)[0]
    return float(first) if np.all(array == first) else None


def holds(value: SSAValue, number: float, like: SSAValue) -> bool:
    """Return whether a constant equals `number` up to rounding and broadcasts into `beside`."""
    found = number_in(value)
    return found is not None and is_about(found, number, value) and broadcasts_into(value, like)


def is_about(found: float, number: float, value: SSAValue) -> bool:
    """Return whether an element of `value` equals `number` up to rounding."""
    element = element_type(value.type)
    assert element is not None
    if isclose(found, number, rel_tol=NEAR):
        return True
    dtype = numpy_dtype(element)
    return is_float(dtype) and dtype.itemsize < SINGLE and found == float(np.float64(number).astype(dtype))


def broadcasts_into(value: SSAValue, target: SSAValue) -> bool:
    """Return whether `value` broadcasts to the shape of `target` without enlarging it."""
    if not is_ranked(value.type):
        return False
    inner = value.type.get_shape()
    if not is_ranked(target.type):
        return not inner
    outer = target.type.get_shape()
    if len(inner) > len(outer):
        return False
    sizes = zip(inner, outer[len(outer) - len(inner) :], strict=True)
    return all(size == 1 or (size == other and size != DYNAMIC_INDEX) for size, other in sizes)


def exact_type(made: SSAValue, x: SSAValue) -> Attribute:
    """Return the more refined type of two values of one shape."""
    return made.type if static_shape(made.type) is not None or not is_ranked(x.type) else x.type


def alike(one: SSAValue, other: SSAValue) -> bool:
    """Return whether two values are the same, or results of equal ops on the same operands."""
    if one is other:
        return True
    if not isinstance(one, OpResult) or not isinstance(other, OpResult):
        return False
    first, second = one.op, other.op
    return (
        type(first) is type(second)
        and not first.regions
        and one.index == other.index
        and len(first.operands) == len(second.operands)
        and all(a is b for a, b in zip(first.operands, second.operands, strict=True))
        and first.properties == second.properties
    )
