"""Print locations as MLIR, without the enclosing `loc(…)`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.assembly.strings import quoted
from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.builtin_attributes import RangeMarkerAttr
from xonnc.dialects.onnx.locations import RESULTS, strings_of


def location_parts(
    location: Attribute,
    alias_of: Callable[[Attribute], str | None],
    text_of: Callable[[Attribute], str],
) -> str:
    """Return the text of a location; nested ones by their aliases, metadata printed by `text_of`."""

    def part(child: Attribute) -> str:
        return alias_of(child) or location_parts(child, alias_of, text_of)

    if isinstance(location, FileLineColLoc):
        return f"{quoted(location.filename.data)}:{location.line.data}:{location.column.data}"
    if isinstance(location, NameLoc):
        if isinstance(location.location, NoneAttr | UnknownLoc):
            return quoted(location.desc.data)
        return f"{quoted(location.desc.data)}({part(location.location)})"
    if isinstance(location, CallSiteLoc):
        return f"callsite({part(location.callee)} at {part(location.caller)})"
    if isinstance(location, FusedLoc):
        if isinstance(location.metadata, RangeMarkerAttr):
            return _range(location.locations)
        parts = list(map(part, location.locations.data)) if is_array(location.locations) else []
        names = strings_of(location.metadata)
        if names is not None:
            parts.append(f"{quoted(RESULTS)}(fused[{', '.join(map(quoted, names))}])")
        is_bare = names is not None or isinstance(location.metadata, NoneAttr)
        metadata = "" if is_bare else f"<{text_of(location.metadata)}>"
        return f"fused{metadata}[{', '.join(parts)}]"
    return "unknown"


def _range(ends: Attribute) -> str:
    """`"f":1:2 to 3:4`, or `"f":1:2 to :4` within a line."""
    if not isa(ends, ArrayAttr[FileLineColLoc]) or len(ends) != 2:
        return "unknown"
    begin, end = ends.data
    text = f"{quoted(begin.filename.data)}:{begin.line.data}:{begin.column.data} to "
    if begin.line == end.line:
        return f"{text}:{end.column.data}"
    return f"{text}{end.line.data}:{end.column.data}"
