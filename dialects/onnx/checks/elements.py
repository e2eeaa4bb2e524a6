"""Verification rules for element types that depend on each other or on properties."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.checks.verifier import Rule, element_of, integer_of, property_of, refuse, type_of
from xonnc.dialects.onnx.constraints import erase_shapes
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, SeqType, StringType, unranked


def result_has_dtype(field: str, result: str, like: str = "", text: str = "") -> Rule:
    """The result's element type is that of the INT property, or that of operand `like` if it is absent."""

    def rule(op: Operation) -> None:
        code = integer_of(op, field)
        if code is None and not like:
            return
        expected = element_of(op, like) if code is None else ELEMENT_TYPES_BY_CODE.get(code)
        if expected is None:
            refuse(op, f"{field} is {code}, which is no element type")
        found = erase_shapes(type_of(op, result))
        if found not in (expected, SeqType(unranked(expected))):
            word = "expected type" if like else "dtype"
            message = f"result element type '{found}' does not match the {word} '{expected}'"
            refuse(op, f"{text}: {message}" if text else message)

    return rule


def cast_to(op: Operation) -> None:
    """`Cast`: the result has the element type of `to`."""
    to = property_of(op, "to")
    if to != element_of(op, "output"):
        refuse(op, f"element type does not match the 'to' attribute: {element_of(op, 'output')} and {to}")


def same_element(first: str, second: str, text: str) -> Rule:
    """Two values have one element type; for a sequence, that of its elements."""

    def rule(op: Operation) -> None:
        a, b = (_inmost(type_of(op, field)) for field in (first, second))
        if a != b:
            refuse(op, text)

    return rule


def _inmost(type_: Attribute) -> Attribute:
    while isinstance(type_, SeqType):
        type_ = type_.element_type
    return erase_shapes(type_)


def string_or(of: str, strings: str, numbers: str) -> Rule:
    """A list of strings for a string operand, a list of numbers for a numeric operand."""

    def rule(op: Operation) -> None:
        is_string = element_of(op, of) == StringType()
        if is_string and property_of(op, strings) is None:
            refuse(op, f"input is not a tensor of float, int32, or double, but no {strings} attribute")
        if not is_string and property_of(op, numbers) is None:
            refuse(op, f"input is a tensor of float, int32, or double, but no {numbers} attribute")

    return rule
