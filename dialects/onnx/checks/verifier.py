"""The trait with an op's verification rules, and the accessors that rules use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements import elements_array, type_of_elements
from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape

Rule: TypeAlias = Callable[[Operation], None]

FEW = 64
"""Elements of a constant that are looked at: axes, sizes and steps, not weights."""

DYNAMIC = DYNAMIC_INDEX
"""The size of a dimension that is not known."""


@dataclass(frozen=True, init=False)
class Checks(OpTrait):
    """The verification rules of an op class."""

    rules: tuple[Rule, ...]

    def __init__(self, *rules: Rule) -> None:
        object.__setattr__(self, "rules", rules)

    def verify(self, op: Operation) -> None:
        """Apply the rules in order; the first violation raises."""
        for rule in self.rules:
            rule(op)


def refuse(op: Operation, text: str) -> NoReturn:
    """Raise the error that `op` violates a rule."""
    raise VerifyException(f"'{op.name}' op {text}")


def type_of(op: Operation, field: str) -> Attribute:
    """Return the type of an operand or result."""
    value: SSAValue = getattr(op, field)
    return value.type


def value_of(op: Operation, field: str) -> SSAValue:
    """Return an operand or result."""
    return getattr(op, field)


def types_of(op: Operation, field: str) -> Sequence[Attribute]:
    """Return the types of a variadic operand or result."""
    return [value.type for value in values_of(op, field)]


def values_of(op: Operation, field: str) -> Sequence[SSAValue]:
    """Return the values of a variadic operand or result."""
    return getattr(op, field)


def region_of(op: Operation, field: str) -> Region:
    """Return a region."""
    return getattr(op, field)


def property_of(op: Operation, field: str) -> Attribute | None:
    """Return a property of any kind; `None` if absent."""
    return getattr(op, field)


def length_of(op: Operation, field: str) -> int | None:
    """Return the length of a list property; `None` if absent."""
    found: ArrayAttr[Attribute] | None = getattr(op, field)
    return None if found is None else len(found.data)


def is_absent(op: Operation, field: str) -> bool:
    """Return whether an optional operand or result is absent."""
    return isinstance(type_of(op, field), NoneType)


def shape_of(op: Operation, field: str) -> tuple[int, ...] | None:
    """Return the shape of an operand or result with `DYNAMIC` dimensions; `None` if unranked."""
    type_ = type_of(op, field)
    return type_.get_shape() if is_ranked(type_) else None


def element_of(op: Operation, field: str) -> Attribute | None:
    """Return the element type of an operand or result; `None` if it is not a tensor."""
    return element_type(type_of(op, field))


def integer_of(op: Operation, field: str) -> int | None:
    """Return the value of an INT property; `None` if absent."""
    found: Attribute | None = getattr(op, field)
    return found.value.data if isa(found, IntegerAttr) else None


def real_of(op: Operation, field: str) -> float | None:
    """Return the value of a FLOAT property; `None` if absent."""
    found: Attribute | None = getattr(op, field)
    return found.value.data if isa(found, FloatAttr) else None


def text_of(op: Operation, field: str) -> str | None:
    """Return the value of a STRING property; `None` if absent."""
    found: Attribute | None = getattr(op, field)
    return found.data if isinstance(found, StringAttr) else None


def integers_of(op: Operation, field: str) -> tuple[int, ...] | None:
    """Return the values of an INTS property; `None` if absent."""
    found: ArrayAttr[IntegerAttr] | None = getattr(op, field)
    return None if found is None else tuple([element.value.data for element in found.data])


def texts_of(op: Operation, field: str) -> tuple[str, ...] | None:
    """Return the values of a STRINGS property; `None` if absent."""
    found: ArrayAttr[StringAttr] | None = getattr(op, field)
    return None if found is None else tuple([element.data for element in found.data])


class OperandFault(VerifyException):
    """
    An operand violates a rule.

    onnx-mlir shows an argument of a block by its type and index; users of a model know it by its name.
    """

    def __init__(self, op: Operation, value: SSAValue, field: str, fault: str) -> None:
        is_argument = isinstance(value, BlockArgument)
        shown = f"<block argument> of type '{value.type}' at index: {value.index}" if is_argument else field
        super().__init__(f"{op.name}: operand '{shown}' {fault}")
        self.for_model = f"operand '{field}' {fault}"


def refuse_rank(op: Operation, value: SSAValue, field: str, rank: int, expected: str) -> NoReturn:
    """Raise the error that an operand has another rank."""
    raise OperandFault(op, value, field, f"has rank {rank}, rank should be {expected}")


def refuse_size(op: Operation, value: SSAValue, field: str, axis: int, size: int, expected: str) -> NoReturn:
    """Raise the error that a dimension of an operand has another size."""
    fault = f"has dimension at index {axis} with value {size}, value should be {expected}"
    raise OperandFault(op, value, field, fault)


def shown(shape: Sequence[int]) -> str:
    """Return a shape as text for messages: `[?, 3]`."""
    return f"[{', '.join('?' if size == DYNAMIC else str(size) for size in shape)}]"


def constant_of(op: Operation, field: str) -> npt.NDArray[np.generic] | None:
    """Return the elements of a constant operand, if they are few."""
    value: SSAValue = getattr(op, field)
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "onnx.Constant":
        return None
    payload = owner.properties.get("value")
    type_ = None if payload is None or isinstance(payload, DenseResourceAttr) else type_of_elements(payload)
    shape = None if type_ is None else static_shape(type_)
    return None if payload is None or shape is None or prod(shape) > FEW else elements_array(payload)


def differ(a: int, b: int) -> bool:
    """Return whether two sizes are static and different."""
    return a != b and DYNAMIC not in (a, b)
