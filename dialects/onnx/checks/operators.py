"""Verification rules of single operators."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.verifier import is_absent, length_of, property_of, refuse


def optional(op: Operation) -> None:
    """`Optional`: an element, or the element type of an empty optional."""
    if is_absent(op, "input") and property_of(op, "type") is None:
        refuse(op, "Optional should have either type attribute or input value")


def category_mapper(op: Operation) -> None:
    """`CategoryMapper`: both lists of categories, of equal length."""
    numbers, texts = length_of(op, "cats_int64s"), length_of(op, "cats_strings")
    if numbers is None:
        refuse(op, "cats_int64 attribute must be present")
    if texts is None:
        refuse(op, "cats_strings attribute must be present")
    if numbers != texts:
        refuse(op, "cats_int64 and cats_strings should have the same size")
