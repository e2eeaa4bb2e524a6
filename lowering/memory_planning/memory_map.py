"""Which buffer lies where in one memory, and from which step to which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from string import ascii_letters

MAX_COLUMNS = 72
"""Columns of a drawing: steps, or as many steps as it takes."""

MAX_ROWS = 24
"""Rows of a drawing, each as many bytes as it takes."""


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer of `size` bytes from `offset`, which holds something from step `first` to step `last`."""

    name: str
    first: int
    last: int
    offset: int
    size: int

    def is_alive(self, step: int) -> bool:
        """Whether it holds something in a step."""
        return self.first <= step <= self.last


@dataclass(frozen=True)
class MemoryMap:
    """
    The buffers in a memory of `size` bytes.

    `peak` is the most that is alive in one of the `steps`: no plan for this order takes less. No order of the
    steps has a peak below `lower_bound`. For dynamic sizes, offsets are numbers of blocks, and
    there are neither.
    """

    steps: Sequence[str]
    buffers: Sequence[PlacedBuffer]
    size: int
    peak: int | None = None
    lower_bound: int | None = None

    def alive(self, step: int) -> int:
        """Bytes in use in a step; one that two buffers have, one in the place of the other, counts once."""
        end = found = 0
        alive = [buffer for buffer in self.buffers if buffer.is_alive(step)]
        for buffer in sorted(alive, key=lambda each: each.offset):
            found += max(0, buffer.offset + buffer.size - max(end, buffer.offset))
            end = max(end, buffer.offset + buffer.size)
        return found

    def peak_step(self) -> int:
        """The first step in which most is alive."""
        return max(range(len(self.steps)), key=lambda step: (self.alive(step), -step), default=0)

    def is_in_place(self, buffer: PlacedBuffer) -> bool:
        """Whether a buffer is written where another lies that is read in the same step for the last time."""
        return any(
            other.last == buffer.first and other.offset == buffer.offset
            for other in self.buffers
            if other is not buffer and other.size
        )

    def letters(self) -> list[str]:
        """What stands for each buffer in a drawing."""
        return [letter for letter, _ in zip(cycle(ascii_letters), self.buffers, strict=False)]

    def drawing(self) -> Iterator[str]:
        """Lines from the highest address down, steps from left to right, a letter for a buffer in use."""
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
