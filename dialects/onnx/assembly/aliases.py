"""
Attributes to which MLIR gives aliases: affine maps and sets (`#map`), locations when they are printed
(`#loc`).

All are defined above the module: MLIR puts the locations of ops below it, but reads them anywhere, while
xDSL's own parser knows only what was defined before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

LOCATIONS = (UnknownLoc, FileLineColLoc, NameLoc, FusedLoc, CallSiteLoc)
_STEMS: dict[type[Attribute], str] = {
    AffineMapAttr: "map",
    AffineSetAttr: "set",
    **dict.fromkeys(LOCATIONS, "loc"),
}


class Aliases:
    """The attribute and location aliases of one module."""

    def __init__(self, root: Operation | None = None, with_locations: bool = False) -> None:
        self._seen: dict[Attribute, int] = {}
        self._depths: dict[int, int] = {}
        self._held: list[Attribute] = []
        self._with_locations = with_locations
        self.names: dict[Attribute, str] = {}
        """Leaves first: a definition uses only those before it."""
        if root is not None:
            for op in root.walk():
                self._visit_op(op)
        self._name()

    def _name(self) -> None:
        counts: dict[str, int] = {}
        order = sorted(self._seen, key=lambda attribute: (self._seen[attribute], _STEMS[type(attribute)]))
        for attribute in order:
            stem = _STEMS[type(attribute)]
            number = counts.get(stem, 0)
            counts[stem] = number + 1
            self.names[attribute] = f"#{stem}{number or ''}"

    def _visit_op(self, op: Operation) -> None:
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        if self._with_locations:
            self._visit(op.location)
            for argument in arguments:
                self._visit(argument.location)
        for attribute in (*op.properties.values(), *op.attributes.values()):
            self._visit(attribute)
        for value in (*op.results, *arguments):
            self._visit(value.type)

    def _visit(self, attribute: Attribute) -> int:
        """Record `attribute` and nested ones; return its nesting depth, by which aliases are ordered."""
        known = self._depths.get(id(attribute))
        if known is not None:
            return known
        depth = max((self._visit(child) for child in _children(attribute)), default=0)
        if type(attribute) in _STEMS:
            self._seen.setdefault(attribute, depth)
            depth += 1
        self._depths[id(attribute)] = depth
        # An id stands for one attribute only as long as that lives.
        self._held.append(attribute)
        return depth


def _children(attribute: Attribute) -> Iterable[Attribute]:
    if type(attribute) is ArrayAttr:
        return attribute.data
    if isinstance(attribute, DictionaryAttr):
        return [value for _, value in sorted(attribute.data.items())]
    if isinstance(attribute, ParametrizedAttribute):
        return attribute.parameters
    return ()
