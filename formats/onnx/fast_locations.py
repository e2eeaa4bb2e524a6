"""
Locations without xDSL's checks of their parts.

`node_location` takes 20 us, nearly all of it verification of attributes that are right by construction, and
an importer makes one for every node and weight: half of its time. These are the same objects in 3 us.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Attribute

from xonnc.dialects.onnx.locations import UNKNOWN

AttributeT = TypeVar("AttributeT", bound=Attribute)

_NOWHERE = NoneAttr()


def fast_location(name: str, outputs: Sequence[str]) -> LocationAttr:
    """What `node_location(name, outputs)` gives."""
    location: LocationAttr = UNKNOWN
    if name:
        location = _unchecked(NameLoc, desc=_unchecked(StringAttr, data=name), location=_NOWHERE)
    if not outputs:
        return location
    names = tuple(_unchecked(StringAttr, data=output) for output in outputs)
    return _unchecked(FusedLoc, locations=_list(location), metadata=_list(*names))


def _list(*attributes: Attribute) -> ArrayAttr[Attribute]:
    made: ArrayAttr[Attribute] = object.__new__(ArrayAttr)
    object.__setattr__(made, "data", attributes)
    return made


def _unchecked(kind: type[AttributeT], **fields: object) -> AttributeT:
    attribute = object.__new__(kind)
    for field, value in fields.items():
        object.__setattr__(attribute, field, value)
    return attribute
