"""How recompositions read a graph: who made a value, which number a constant holds, what broadcasts."""

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
"""A longer constant is not looked through for being one number: it may be a weight in a file."""

NEAR = 1e-6
"""How far the rounded constants of models are from the numbers that they mean, relatively."""

SINGLE = 4
"""The bytes of a single precision number."""

_Op = TypeVar("_Op", bound=Operation)


def made_by(value: SSAValue, kind: type[_Op]) -> _Op | None:
    """The op of this class whose first result is `value`."""
    if isinstance(value, OpResult) and value.index == 0 and isinstance(value.op, kind):
        return value.op
    return None


def either_way(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The operands of a commutative op of two, as they stand and swapped."""
    first, second = op.operands
    yield first, second
    yield second, first


def number_in(value: SSAValue) -> float | None:
    """The number that every element of a constant is."""
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


def holds(value: SSAValue, number: float, beside: SSAValue) -> bool:
    """Whether a constant is `number`, rounded to its type, and broadcasts into the shape of `beside`."""
    found = number_in(value)
    return found is not None and is_about(found, number, value) and broadcasts_into(value, beside)


def is_about(found: float, number: float, value: SSAValue) -> bool:
    """Whether `found`, an element of `value`, is `number` as models write it."""
    element = element_type(value.type)
    assert element is not None
    if isclose(found, number, rel_tol=NEAR):
        return True
    dtype = numpy_dtype(element)
    return is_float(dtype) and dtype.itemsize < SINGLE and found == float(np.float64(number).astype(dtype))


def broadcasts_into(value: SSAValue, whole: SSAValue) -> bool:
    """Whether `value` is sure to broadcast to the shape of `whole` without making it larger."""
    if not is_ranked(value.type):
        return False
    inner = value.type.get_shape()
    if not is_ranked(whole.type):
        return not inner
    outer = whole.type.get_shape()
    if len(inner) > len(outer):
        return False
    sizes = zip(inner, outer[len(outer) - len(inner) :], strict=True)
    return all(size == 1 or (size == other and size != DYNAMIC_INDEX) for size, other in sizes)


def exact_type(made: SSAValue, x: SSAValue) -> Attribute:
    """The type of a result of the shape of x: its own if that is fully known, else that of x."""
    return made.type if static_shape(made.type) is not None or not is_ranked(x.type) else x.type


def alike(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values are the same one, or are made by the same op from the same values."""
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
