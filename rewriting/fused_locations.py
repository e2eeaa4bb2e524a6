"""
Fused locations of new ops, so that ONNX node names survive rewrites (docs/internals/onnx-rules.md §1.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FusedLoc, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.locations import NO_METADATA, derived, fused

INHERITED_ATTRIBUTES = frozenset(("onnx.doc_string", "onnx.metadata_props"))
"""
Documentation and metadata of a node, copied to the op that replaces it (`formats/onnx/import_nodes.py`).
"""

MAX_NAMES = 16
"""Limit of the names in a location, so that a long chain of rewrites does not cost quadratic memory."""


def fused_location(root: Operation, inner: Sequence[Operation]) -> LocationAttr:
    """
    Return the location of the op that replaces `root`: its own, fused with the names of the other matched
    ops.
    """
    names = _parts(derived(root.location))
    known = len(names)
    if not names:
        # The first name becomes the node's name: not that of an op that has other users and stays.
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
    """
    Return documentation and metadata of the first matched op of the new op's class, else of any matched op.
    """
    described = [op for op in matched if not INHERITED_ATTRIBUTES.isdisjoint(op.attributes)]
    source = next((op for op in described if isinstance(op, made)), described[0] if described else None)
    if source is None:
        return {}
    return {name: value for name, value in source.attributes.items() if name in INHERITED_ATTRIBUTES}


def _parts(location: Attribute) -> list[Attribute]:
    """Return the named locations in a location."""
    if isinstance(location, UnknownLoc):
        return []
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return [part for child in location.locations for part in _parts(child)]
    return [location]
