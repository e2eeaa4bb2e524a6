"""
ONNX names as MLIR locations.

A node named `conv1` that makes the value `y` is at `loc(fused<["y"]>["conv1"])`, without a name at
`loc(fused<["y"]>[unknown])`; a location that names no values is `loc("conv1")`. So names survive passes,
clones and text, cost nothing in ordinary print-outs, and export finds them again. Printed, the names of the
values are one more part, `loc(fused["conv1", "onnx.results"(fused["y"])])`: xDSL's own parser reads no
metadata.

Locations are made here without xDSL's checks of their parts: those take 20 us, nearly all of the time, for
attributes that are right by construction; an importer makes one for every node and weight, a rule for every
op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.attribute_builders import is_array

UNKNOWN = UnknownLoc()

NO_METADATA = NoneAttr()

AttributeT = TypeVar("AttributeT", bound=Attribute)

RESULTS = "onnx.results"
"""The name of the part of a printed location that has the names of the results."""

NODE_NAME = "onnx_node_name"
"""The attribute by which an op has another name than its location says, as onnx-mlir spells it."""


def node_location(name: str, outputs: Sequence[str] = ()) -> LocationAttr:
    """The location of a node called `name` (may be empty) whose results are called `outputs`."""
    location = named(name) if name else UNKNOWN
    if not outputs:
        return location
    return fused((location,), _list([_unchecked(StringAttr, data=output) for output in outputs]))


def named(name: str) -> NameLoc:
    """`loc("name")`"""
    return _unchecked(NameLoc, desc=_unchecked(StringAttr, data=name), location=NO_METADATA)


def fused(locations: Sequence[Attribute], metadata: Attribute = NO_METADATA) -> FusedLoc:
    """`loc(fused<metadata>[locations])`"""
    return _unchecked(FusedLoc, locations=_list(locations), metadata=metadata)


def without_results_part(location: FusedLoc) -> FusedLoc:
    """A location as it was printed, with the names of results as metadata again."""
    parts = location.locations.data if is_array(location.locations) else ()
    last = parts[-1] if parts else None
    if not isinstance(last, NameLoc) or last.desc.data != RESULTS or not isinstance(last.location, FusedLoc):
        return location
    names = last.location.locations.data if is_array(last.location.locations) else ()
    strings = [each.desc for each in names if isinstance(each, NameLoc)]
    return fused(parts[:-1], _list(strings)) if len(strings) == len(names) else location


def _list(attributes: Sequence[Attribute]) -> ArrayAttr[Attribute]:
    made: ArrayAttr[Attribute] = object.__new__(ArrayAttr)
    object.__setattr__(made, "data", tuple(attributes))
    return made


def _unchecked(kind: type[AttributeT], **fields: object) -> AttributeT:
    attribute = object.__new__(kind)
    for field, value in fields.items():
        object.__setattr__(attribute, field, value)
    return attribute


def node_name(op: Operation) -> str:
    """The ONNX name of the node `op` was imported from or derived from; empty if it has none."""
    name_attribute = op.attributes.get(NODE_NAME)
    return name_attribute.data if isinstance(name_attribute, StringAttr) else _name(op.location)


def node_names(op: Operation) -> tuple[str, ...]:
    """The names of all ONNX nodes that `op` does the work of, its own first."""
    own = node_name(op)
    return tuple(dict.fromkeys(name for name in (own, *_names(op.location)) if name))


def joined(location: LocationAttr, other: LocationAttr) -> LocationAttr:
    """`location` with the node names of `other` as well: what replaces the ops at both."""
    known = _names(location)
    added = [named(name) for name in _names(other) if name not in known]
    if not added:
        return location
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return fused([*location.locations, *added], location.metadata)
    return fused([location, *added])


def renamed(op: Operation, name: str) -> LocationAttr:
    """The location of `op` with another node name; the names of its results, or its line in a file, stay."""
    location = op.location
    if isinstance(location, UnknownLoc | NameLoc) or output_names(op):
        return node_location(name, output_names(op))
    return NameLoc(StringAttr(name), location)


def output_names(op: Operation) -> tuple[str, ...]:
    """The ONNX names of the results of `op`; empty if they have none."""
    names = strings_of(op.location.metadata) if isinstance(op.location, FusedLoc) else None
    return names or ()


def location_of_results(op: Operation, kept: Sequence[int]) -> LocationAttr:
    """The location for an op that replaces `op` and has only some of its results."""
    names = output_names(op)
    if not isinstance(op.location, FusedLoc) or len(names) != len(op.results):
        return op.location
    locations = op.location.locations.data if is_array(op.location.locations) else ()
    return fused(locations, _list([StringAttr(names[index]) for index in kept]))


def derived(location: LocationAttr) -> LocationAttr:
    """The location for an op that helps to replace another: its nodes' names without its results' names."""
    if isinstance(location, FusedLoc) and strings_of(location.metadata) is not None:
        if is_array(location.locations):
            if len(location.locations) > 1:
                return _unchecked(FusedLoc, locations=location.locations, metadata=NO_METADATA)
            if isinstance(only := next(iter(location.locations), None), NameLoc):
                return only
        return node_location(_name(location))
    return location


def describe(op: Operation) -> str:
    """
    Return the name of an op for messages: its node name, else its first result's, else the op's own name.
    """
    return node_name(op) or next(iter(output_names(op)), "") or op.name


def origin(op: Operation) -> str:
    """
    Return the name of the ONNX node that an op was made of, else of a result of it; empty if unknown.

    What a node without a name is decomposed into has no name of its own: the name is that of the results,
    which the last op of the decomposition has.
    """
    waiting, seen = [op], {op}
    for each in waiting:
        if name := node_name(each) or next(iter(output_names(each)), ""):
            return name
        readers = [use.operation for result in each.results for use in result.uses]
        waiting += [reader for reader in readers if reader not in seen]
        seen.update(readers)
    return ""


def _name(location: Attribute) -> str:
    if isinstance(location, NameLoc):
        return location.desc.data
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return next((name for child in location.locations if (name := _name(child))), "")
    return ""


def _names(location: Attribute) -> tuple[str, ...]:
    """The node names in a location, in order."""
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return tuple(dict.fromkeys(name for child in location.locations for name in _names(child)))
    return (name,) if (name := _name(location)) else ()


def strings_of(attribute: Attribute) -> tuple[str, ...] | None:
    """The strings of a list of strings."""
    if not is_array(attribute):
        return None
    strings = tuple(each.data for each in attribute if isinstance(each, StringAttr))
    return strings if len(strings) == len(attribute) else None
