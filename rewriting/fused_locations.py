"""Locations of ops that rules make, so that ONNX node names survive (docs/internals/onnx-rules.md §1.1)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FusedLoc, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.attributes import is_array
from xonnc.dialects.onnx.locations import NO_METADATA, derived, fused

INHERITED_ATTRIBUTES = frozenset(("onnx.doc_string", "onnx.metadata_props"))
"""What a model says of a node for people and their tools (`formats/onnx/import_nodes.py`)."""

MAX_NAMES = 16
"""A long chain of rewrites keeps this many names, so that its locations do not grow with its square."""


def fused_location(root: Operation, inner: Sequence[Operation]) -> LocationAttr:
    """The location of what replaces `root`: its own, with the node names of the ops that merge into it."""
    names = _parts(derived(root.location))
    known = len(names)
    if not names:
        # The first name is the node's: not one of an op that others read, and that stays.
        inner = [op for op in inner if sum(1 for result in op.results for _ in result.uses) <= 1]
    for op in inner:
        for part in _parts(derived(op.location)):
            if part not in names:
                names.append(part)
    if len(names) == known or known > MAX_NAMES:
        return root.location
    if len(names) == 1 and isinstance(root.location, UnknownLoc) and isinstance(names[0], NameLoc):
        return names[0]
    metadata = root.location.metadata if isinstance(root.location, FusedLoc) else NO_METADATA
    return fused(names[:MAX_NAMES], metadata)


def inherited_attributes(made: type[Operation], matched: Sequence[Operation]) -> dict[str, Attribute]:
    """What a model says of the first matched op of the new one's kind, or of any kind."""
    told = [op for op in matched if not INHERITED_ATTRIBUTES.isdisjoint(op.attributes)]
    source = next((op for op in told if isinstance(op, made)), told[0] if told else None)
    if source is None:
        return {}
    return {name: value for name, value in source.attributes.items() if name in INHERITED_ATTRIBUTES}


def _parts(location: Attribute) -> list[Attribute]:
    """The names inside a location, unknown ones left out."""
    if isinstance(location, UnknownLoc):
        return []
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return [part for child in location.locations for part in _parts(child)]
    return [location]
