"""
Which attributes MLIR gives a name: affine maps and sets (`#map`), locations when they are printed (`#loc`).

Maps, sets and locations of arguments are defined above the module; locations of ops, found only while
printing, below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass
class _Seen:
    """How deep other aliases are nested in an attribute, and whether its definition may wait."""

    depth: int
    deferrable: bool


class Aliases:
    """The aliases of one module."""

    def __init__(self, root: Operation | None = None, with_locations: bool = False) -> None:
        self._seen: dict[Attribute, _Seen] = {}
        self._depths: dict[int, int] = {}
        self._held: list[Attribute] = []
        self._with_locations = with_locations
        self.names: dict[Attribute, str] = {}
        if root is not None:
            for op in root.walk():
                self._visit_op(op)
        self._name()

    def before(self) -> Iterable[Attribute]:
        """What is defined above the module, leaves first."""
        return [attribute for attribute in self.names if not self._seen[attribute].deferrable]

    def after(self) -> Iterable[Attribute]:
        """What is defined below the module."""
        return [attribute for attribute in self.names if self._seen[attribute].deferrable]

    def _name(self) -> None:
        counts: dict[str, int] = {}
        order = sorted(
            self._seen, key=lambda attribute: (self._seen[attribute].depth, _STEMS[type(attribute)])
        )
        for attribute in order:
            stem = _STEMS[type(attribute)]
            number = counts.get(stem, 0)
            counts[stem] = number + 1
            self.names[attribute] = f"#{stem}{number or ''}"

    def _visit_op(self, op: Operation) -> None:
        if self._with_locations:
            self._visit(op.location, True)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        self._visit(argument.location, False)
        for attribute in (*op.properties.values(), *op.attributes.values()):
            self._visit(attribute, False)
        for result in op.results:
            self._visit(result.type, False)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    self._visit(argument.type, False)

    def _visit(self, attribute: Attribute, deferrable: bool) -> int:
        """Notes `attribute` and what it contains; gives the depth at which others may build on it."""
        known = self._depths.get(id(attribute))
        if known is not None and (deferrable or known == 0):
            return known
        depth = max((self._visit(child, deferrable) for child in _children(attribute)), default=0)
        if type(attribute) in _STEMS:
            seen = self._seen.setdefault(attribute, _Seen(depth, True))
            seen.deferrable = seen.deferrable and deferrable
            depth += 1
        if known is None:
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
