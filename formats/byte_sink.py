"""The stream interface of file writers."""

from __future__ import annotations

from typing import Protocol, TypeAlias

Bytes: TypeAlias = bytes | bytearray | memoryview


class ByteSink(Protocol):
    """A sequential output stream of bytes, without seeks."""

    def write(self, data: Bytes, /) -> int: ...
