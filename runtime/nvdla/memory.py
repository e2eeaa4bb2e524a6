"""Memory objects, and bounds-checked access to them through a task's address list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from xonnc.errors import XonncError
from xonnc.runtime.nvdla.array_types import U8

# The reference run filled every allocation with this byte; it makes reads of unwritten memory visible.
UNWRITTEN = 0xA5


@dataclass
class MemoryObject:
    """An allocation; `generation` counts writes and so invalidates data decoded from the bytes before."""

    data: U8
    generation: int = 0


@dataclass(frozen=True)
class MemoryLocation:
    """A byte position inside a memory object."""

    memory: MemoryObject
    start: int

    @property
    def bytes_left(self) -> int:
        """Bytes from here to the end of the object."""
        return len(self.memory.data) - self.start

    @property
    def key(self) -> tuple[int, int, int]:
        """A cache key of the bytes at this place; it changes when the object is written."""
        return id(self.memory), self.memory.generation, self.start

    def read(self, size: int) -> U8:
        """A view of `size` bytes; the caller has checked the range."""
        return self.memory.data[self.start : self.start + size]


@dataclass(frozen=True)
class AddressSpace:
    """A task's address list: for each index of the descriptors a place in memory, or None."""

    entries: Sequence[MemoryLocation | None] = field(default_factory=list[MemoryLocation | None])

    def locate(self, index: int, offset: int, size: int, what: str) -> MemoryLocation:
        """Return the place `offset` bytes into address `index`; refuse `size` bytes that leave the object."""
        if not 0 <= index < len(self.entries):
            raise XonncError(
                f"{what}: address index {index} is not in the task's address list of {len(self.entries)}; "
                "a cube in memory needs an index of that list"
            )
        entry = self.entries[index]
        if entry is None:
            raise XonncError(f"{what}: address {index} has no memory; allocate or bind its memory object")
        location = MemoryLocation(entry.memory, entry.start + offset)
        if location.start < 0 or size < 0 or size > location.bytes_left:
            raise XonncError(
                f"{what}: {size} bytes at offset {location.start} leave the memory object of "
                f"{len(entry.memory.data)} bytes; enlarge the object or correct the cube"
            )
        return location


def allocate(size: int) -> MemoryObject:
    """A new object filled with `UNWRITTEN`."""
    try:
        return MemoryObject(np.full(size, UNWRITTEN, np.uint8))
    except MemoryError:
        raise XonncError(f"a memory object of {size} bytes does not fit this computer's memory") from None
