"""What writers of files need of a stream."""

from __future__ import annotations

from typing import Protocol, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview


class ByteSink(Protocol):
    """Takes bytes, one piece after another, and never goes back."""

    def write(self, data: Bytes, /) -> int: ...
