"""Find the constants that the ops of a module refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.pattern_rewriter import PatternRewriterListener

from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr

_CHILDLESS = frozenset(
    (
        DenseArrayBase,
        DenseIntOrFPElementsAttr,
        FloatAttr,
        FunctionType,
        IntegerAttr,
        StringAttr,
        SymbolRefAttr,
        TensorType,
    )
)
"""Frequent attribute classes that cannot contain constants; others are searched."""


def constants_in(attr: Attribute) -> Iterator[DisposableElementsAttr]:
    """Iterate over the constants in `attr`: itself, or nested in arrays, dictionaries and parameters."""
    if isinstance(attr, DisposableElementsAttr):
        yield attr
    elif type(attr) not in _CHILDLESS:
        for part in _parts(attr):
            yield from constants_in(part)


def constants_of(roots: Iterable[Operation]) -> Iterator[DisposableElementsAttr]:
    """Iterate over the constants of the ops under `roots`; shared ones may repeat."""
    for root in roots:
        for op in root.walk():
            for values_by_name in (op.properties, op.attributes):
                for attr in values_by_name.values():
                    yield from constants_in(attr)


def drop_attributes(op: Operation) -> None:
    """
    Clear the attributes of an op that is being erased, and of the ops nested in it.

    An erased op lives on in reference cycles until Python's collector runs; its constants must not.
    """
    for inner in op.walk():
        # Assign new dictionaries: others may refer to the old ones.
        inner.properties = {}
        inner.attributes = {}


def dropping_listener() -> PatternRewriterListener:
    """Return a rewriter listener that frees the constants of each op at its erasure."""
    return PatternRewriterListener(operation_removal_handler=[drop_attributes])


def _parts(attr: Attribute) -> Iterable[Attribute]:
    if _is_array(attr):
        return attr.data
    if isinstance(attr, DictionaryAttr):
        return attr.data.values()
    return attr.parameters if isinstance(attr, ParametrizedAttribute) else ()


def _is_array(attr: Attribute) -> TypeGuard[ArrayAttr]:
    return isinstance(attr, ArrayAttr)
