"""Declarations of operands, results and attributes of plug-in operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast, overload

import numpy as np

from xonnc.errors import XonncError

ElementTypes = str | type[np.generic] | Sequence[type[np.generic]]
"""The name of a type variable, an element type, or a list of allowed element types."""

ValueT = TypeVar("ValueT")

KINDS: dict[object, str] = {
    int: "INT",
    float: "FLOAT",
    str: "STRING",
    list[int]: "INTS",
    list[float]: "FLOATS",
    list[str]: "STRINGS",
    np.ndarray: "TENSOR",
}
"""ONNX's attribute kinds by Python type."""


@dataclass(frozen=True)
class ParameterDeclaration:
    """An operand or result, or a variadic group of them."""

    types: ElementTypes
    name: str = ""
    count: Literal["one", "optional", "variadic"] = "one"
    at_least: int = 0
    at_most: int | None = None

    def __get__(self, instance: object, owner: object = None) -> Any:
        # Access on the class gives the declaration. Instances have the operand in `__dict__`, which takes
        # precedence because this descriptor has no `__set__` (`operators.bind`).
        return self


Ports = ParameterDeclaration | tuple[ParameterDeclaration, ...]


def one(types: ElementTypes = "T", name: str = "") -> ParameterDeclaration:
    """Declare a required operand or result."""
    return ParameterDeclaration(types, name)


def optional(types: ElementTypes = "T", name: str = "") -> ParameterDeclaration:
    """Declare an optional operand; it is `None` if the node leaves it out."""
    return ParameterDeclaration(types, name, "optional")


def variadic(
    types: ElementTypes = "T", name: str = "", at_least: int = 0, at_most: int | None = None
) -> ParameterDeclaration:
    """Declare a variadic group of operands or results; it must be the operator's last."""
    return ParameterDeclaration(types, name, "variadic", at_least, at_most)


def type_variables(**allowed: Sequence[type[np.generic]]) -> Mapping[str, Sequence[type[np.generic]]]:
    """Declare the element types of type variables, as in `types = type_variables(T=[np.float32])`."""
    return allowed


@dataclass
class AttributeDeclaration(Generic[ValueT]):
    """An attribute of an operator: its type, its default, and its name in the model."""

    kind: str
    default: ValueT | None
    is_required: bool
    source: str = ""
    choices: tuple[ValueT, ...] = ()
    name: str = field(default="", init=False)
    """The name of the Python class attribute."""

    def __set_name__(self, owner: object, name: str) -> None:
        self.name = name

    @property
    def onnx_name(self) -> str:
        """The name of the attribute in ONNX models."""
        return self.source or self.name

    @overload
    def __get__(self, instance: None, owner: object) -> AttributeDeclaration[ValueT]: ...
    @overload
    def __get__(self, instance: object, owner: object) -> ValueT: ...
    def __get__(self, instance: object | None, owner: object) -> AttributeDeclaration[ValueT] | ValueT:
        if instance is None:
            return self
        value: Any = vars(instance)["attributes_"][self.name]
        return value


class _Required:
    """No default: a node must have the attribute."""


REQUIRED: Any = _Required()


def _as_floats(value: Any) -> Any:
    """Return floats for integers, and for those in a list."""
    if isinstance(value, list | tuple):
        return [_as_floats(each) for each in cast("Sequence[object]", value)]
    return float(value) if type(value) is int else value


def attribute(
    type_: type[ValueT],
    *,
    default: ValueT | None = REQUIRED,
    source: str = "",
    choices: Sequence[ValueT] = (),
) -> AttributeDeclaration[ValueT]:
    """
    Declare an attribute of type `int`, `float`, `str`, a `list[…]` of these, or `np.ndarray` (a tensor).

    It is required unless it has a default; the default `None` declares an optional attribute. `source` is its
    name in the model if that differs from the one in the class. `choices` lists the allowed values.
    """
    if type_ not in KINDS:
        allowed = "int, float, str, list[int], list[float], list[str] and np.ndarray"
        raise XonncError(f"attributes are of {allowed}, not of {type_!r}")
    if "FLOAT" in KINDS[type_]:
        default, choices = _as_floats(default), _as_floats(list(choices))
    is_required = default is REQUIRED
    return AttributeDeclaration(
        KINDS[type_], None if is_required else default, is_required, source, tuple(choices)
    )
