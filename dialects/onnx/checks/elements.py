"""Rules for element types that depend on each other or on properties."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.rules import Rule, element_of, integer_of, property_of, refuse, type_of
from xonnc.dialects.onnx.constraints import kind_of
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, SeqType, StringType


def result_has_dtype(field: str, result: str, like: str = "") -> Rule:
    """The result has the element type that an INT property numbers, or operand `like`'s if it is absent."""

    def rule(op: Operation) -> None:
        code = integer_of(op, field)
        if code is None and not like:
            return
        expected = element_of(op, like) if code is None else ELEMENT_TYPES_BY_CODE.get(code)
        if expected is None:
            refuse(op, f"{field} is {code}, which is no element type")
        found = kind_of(type_of(op, result))
        if found not in (expected, SeqType(expected)):
            word = "expected type" if like else "dtype"
            refuse(op, f"result element type {found} does not match the {word} {expected}")

    return rule


def cast_to(op: Operation) -> None:
    """`Cast`: the result has the element type of `to`."""
    to = property_of(op, "to")
    if to != element_of(op, "output"):
        refuse(op, f"element type does not match the 'to' attribute: {element_of(op, 'output')} and {to}")


def same_element(first: str, second: str, text: str) -> Rule:
    """Two values of one element type; a sequence counts as what it holds."""

    def rule(op: Operation) -> None:
        a, b = (kind_of(type_of(op, field)) for field in (first, second))
        a, b = (kind.element_type if isinstance(kind, SeqType) else kind for kind in (a, b))
        if a != b:
            refuse(op, text)

    return rule


def needs_integers_without(field: str, of: str) -> Rule:
    """`Mod`: numbers that are no integers need `fmod = 1`."""

    def rule(op: Operation) -> None:
        if integer_of(op, field) == 0 and not isinstance(element_of(op, of), IntegerType):
            refuse(op, "fmod must be 1 when the input type is floating point")

    return rule


def string_or(of: str, strings: str, numbers: str) -> Rule:
    """A list of strings for an operand of strings, a list of numbers for one of numbers."""

    def rule(op: Operation) -> None:
        is_string = element_of(op, of) == StringType()
        if is_string and property_of(op, strings) is None:
            refuse(op, f"input is not a tensor of float, int32, or double, but no {strings} attribute")
        if not is_string and property_of(op, numbers) is None:
            refuse(op, f"input is a tensor of float, int32, or double, but no {numbers} attribute")

    return rule
