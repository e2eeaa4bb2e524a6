"""Verification rules of single operators."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.checks.verifier import element_of, is_absent, length_of, property_of, refuse
from xonnc.dialects.onnx.elements import type_of_elements
from xonnc.dialects.onnx.types import StringType


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


KEY_TYPES: Mapping[str, Attribute] = {"keys_floats": f32, "keys_int64s": i64, "keys_strings": StringType()}


def label_keys(op: Operation) -> None:
    """`LabelEncoder`: keys of the element type of `X`."""
    element, tensor = element_of(op, "X"), type_of_elements(property_of(op, "keys_tensor"))
    given = {field: type_ for field, type_ in KEY_TYPES.items() if length_of(op, field)}
    if tensor is not None:
        given["keys_tensor"] = tensor.element_type
    for field, type_ in given.items():
        if element not in (None, type_):
            refuse(op, f"X has elements of {element}, but {field} are of {type_}")
