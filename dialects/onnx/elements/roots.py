"""Which constants the ops of a module hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr


def constants_in(attr: Attribute) -> Iterator[DisposableElementsAttr]:
    """The constants in `attr`: itself, or nested at any depth in arrays, dictionaries and parameters."""
    if isinstance(attr, DisposableElementsAttr):
        yield attr
    else:
        for part in _parts(attr):
            yield from constants_in(part)


def constants_of(roots: Iterable[Operation]) -> Iterator[DisposableElementsAttr]:
    """The constants in every property and attribute of the ops under `roots`; shared ones may repeat."""
    # Types and small attributes are shared by thousands of ops; each object is entered once.
    empty: dict[int, Attribute] = {}
    for root in roots:
        for op in root.walk():
            for held in (op.properties, op.attributes):
                for attr in held.values():
                    if isinstance(attr, DisposableElementsAttr):
                        yield attr
                    elif id(attr) not in empty:
                        yield from _entered(attr, empty)


def drop_attributes(op: Operation) -> None:
    """
    Takes the attributes of an op that is being erased away from it, and from the ops inside it.

    An erased op lives on in reference cycles until Python's collector runs; its constants must not.
    """
    for inner in op.walk():
        # Fresh dictionaries: the old ones may have been lent to somebody.
        inner.properties = {}
        inner.attributes = {}


def dropping_listener() -> PatternRewriterListener:
    """A listener for rewriters that frees the constants of every op the moment it is erased."""
    return PatternRewriterListener(operation_removal_handler=[drop_attributes])


def _entered(attr: Attribute, empty: dict[int, Attribute]) -> Iterator[DisposableElementsAttr]:
    found = False
    for constant in constants_in(attr):
        found = True
        yield constant
    if not found:
        empty[id(attr)] = attr


def _parts(attr: Attribute) -> Iterable[Attribute]:
    if isa(attr, ArrayAttr):
        return attr.data
    if isinstance(attr, DictionaryAttr):
        return attr.data.values()
    if isinstance(attr, ParametrizedAttribute):
        return attr.parameters
    return ()
