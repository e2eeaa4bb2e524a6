"""Alias definitions, also after their use: MLIR prints those of locations at the end of the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Attribute

_DEFINITION = re.compile(r"[ \t]*([#!][a-zA-Z0-9$._-]+)[ \t]*=(?!=)")


@dataclass(frozen=True)
class Definition:
    """The value of an alias, and the start and end offsets of its text."""

    begin: int
    end: int
    value: Attribute


class Definitions(dict[str, Attribute]):
    """
    A table of aliases that searches ahead in the text for unknown ones.

    `read` parses the attribute at a position and gives its value and the position behind it.
    """

    def __init__(self, content: str, read: Callable[[int], tuple[Attribute, int]]) -> None:
        super().__init__()
        self._content = content
        self._read = read
        self._begins: dict[str, int] | None = None
        self._found: dict[str, Definition] = {}
        self._open: list[str] = []

    def __contains__(self, name: object) -> bool:
        """Return whether the alias is defined anywhere in the file, outside of its own definition."""
        if super().__contains__(name):
            return True
        if not isinstance(name, str) or name in self._open:
            return False
        begin = self._positions().get(name)
        if begin is None:
            return False
        self._open.append(name)
        value, end = self._read(begin)
        self._open.pop()
        self._found[name] = Definition(begin, end, value)
        self[name] = value
        return True

    def read_ahead(self, name: str, begin: int) -> int | None:
        """Return the end offset of the definition at `begin`, if it was read ahead."""
        definition = self._found.get(name)
        return definition.end if definition and definition.begin == begin else None

    def _positions(self) -> dict[str, int]:
        if self._begins is None:
            self._begins = {}
            line = 0
            while line >= 0:
                start = line + (self._content.startswith("\n", line))
                if match := _DEFINITION.match(self._content, start):
                    self._begins.setdefault(match[1], match.end())
                line = self._content.find("\n", start)
        return self._begins
