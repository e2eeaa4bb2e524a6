"""The ONNX names of a function's arguments and results."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa


def are_dictionaries(attributes: Attribute | None) -> TypeGuard[ArrayAttr[DictionaryAttr]]:
    """
    Return whether an attribute has a dictionary for each argument or result.

    `isa` says the same, and builds a constraint for it at each call, in ten times the time.
    """
    return isa(attributes, ArrayAttr) and all(isinstance(each, DictionaryAttr) for each in attributes.data)


def argument_names(function: FuncOp) -> list[str]:
    """Return the ONNX names of a function's arguments, or `input_<index>` for unnamed ones."""
    given = given_names(function.arg_attrs, len(function.body.block.args))
    return [name or f"input_{index}" for index, name in enumerate(given)]


def given_names(attributes: Attribute | None, count: int) -> list[str]:
    """Return the names in argument or result attributes, padded with empty strings to `count`."""
    given = list(attributes) if are_dictionaries(attributes) else []
    names = [entry.data.get("onnx.name") for entry in given]
    names += [None] * (count - len(names))
    return [name.data if isinstance(name, StringAttr) else "" for name in names]
