"""Maps of planned memory: offset and lifetime of each buffer, and a text drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from string import ascii_letters

MAX_COLUMNS = 72
"""Maximum columns of a drawing; a column is one or more steps."""

MAX_ROWS = 24
"""Maximum rows of a drawing; a row is a range of bytes."""


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer of `size` bytes at `offset`, live from step `first` to step `last`, both included."""

    name: str
    first: int
    last: int
    offset: int
    size: int

    def is_alive(self, step: int) -> bool:
        """Whether it is live in a step."""
        return self.first <= step <= self.last


@dataclass(frozen=True)
class MemoryMap:
    """
    The buffers in a memory of `size` bytes.

    `peak` is the maximum of live bytes over all `steps`: no plan for this order takes less. No order of the
    steps has a peak below `lower_bound`. For dynamic shapes, offsets are block numbers, and both are `None`.
    """

    steps: Sequence[str]
    buffers: Sequence[PlacedBuffer]
    size: int
    peak: int | None = None
    lower_bound: int | None = None

    def alive(self, step: int) -> int:
        """Return the bytes in use in a step; bytes that two buffers share in place count once."""
        end = found = 0
        alive = [buffer for buffer in self.buffers if buffer.is_alive(step)]
        for buffer in sorted(alive, key=lambda each: each.offset):
            found += max(0, buffer.offset + buffer.size - max(end, buffer.offset))
            end = max(end, buffer.offset + buffer.size)
        return found

    def peak_step(self) -> int:
        """Return the first step with the most live bytes."""
        return max(range(len(self.steps)), key=lambda step: (self.alive(step), -step), default=0)

    def is_in_place(self, buffer: PlacedBuffer) -> bool:
        """Whether a buffer is written in place of another that is read for the last time in the same step."""
        return any(
            other.last == buffer.first and other.offset == buffer.offset
            for other in self.buffers
            if other is not buffer and other.size
        )

    def letters(self) -> list[str]:
        """Return the letter for each buffer in a drawing."""
        return [letter for letter, _ in zip(cycle(ascii_letters), self.buffers, strict=False)]

    def drawing(self) -> Iterator[str]:
        """Yield the lines of the drawing: highest address first, steps from left to right."""
        width = max(1, -(-len(self.steps) // MAX_COLUMNS))
        height = max(1, -(-self.size // MAX_ROWS))
        letters = self.letters()
        digits = len(str(self.size))
        for start in reversed(range(0, self.size, height)):
            cells = (
                self._cell((step, step + width), (start, start + height), letters)
                for step in range(0, len(self.steps), width)
            )
            yield f"{start:>{digits}}  {''.join(cells)}"

    def _cell(self, steps: tuple[int, int], bytes_: tuple[int, int], letters: Sequence[str]) -> str:
        for letter, buffer in zip(letters, self.buffers, strict=True):
            is_there = buffer.offset < bytes_[1] and bytes_[0] < buffer.offset + buffer.size
            if is_there and buffer.first < steps[1] and steps[0] <= buffer.last:
                return letter
        return "."
