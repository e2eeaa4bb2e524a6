"""Data hazards between layers: which later layers read or write the bytes of a layer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xonnc.formats.nvdla.interval_map import IntervalMap


class ByteRange(NamedTuple):
    """Bytes `begin` to `end` (excluded) of one memory object, `times` times every `stride` bytes."""

    memory: int
    begin: int
    end: int
    stride: int = 0
    times: int = 1

    @property
    def last(self) -> int:
        """One past the last byte of all."""
        return self.end + (self.times - 1) * self.stride

    def overlaps(self, other: ByteRange) -> bool:
        """Whether the two share a byte; ranges of different strides are taken without their gaps."""
        if self.memory != other.memory or self.begin >= other.last or other.begin >= self.last:
            return False
        if self.stride != other.stride or not self.stride:
            return True
        # Repetition i of self and j of other meet if (i - j) * stride lies between the bounds.
        ahead = other.begin - self.begin
        least = (ahead - (self.end - self.begin)) // self.stride + 1
        most = -(-(ahead + (other.end - other.begin)) // self.stride) - 1
        return max(least, 1 - other.times) <= min(most, self.times - 1)


def overlap(left: Sequence[ByteRange], right: Sequence[ByteRange]) -> bool:
    """Whether ranges of one sequence and of another share a byte."""
    return any(one.overlaps(other) for one in left for other in right)


class LaterAccesses:
    """
    Accesses of layers, added from the last layer to the first, by engine and memory.

    The first layer that accesses a byte is that of the last access added, so each access is painted over
    those before: a query looks at the bytes that it asks for instead of all later layers.
    """

    def __init__(self) -> None:
        self._reads: dict[tuple[int, int], dict[int, _PaintedAccesses]] = {}
        self._writes: dict[tuple[int, int], dict[int, _PaintedAccesses]] = {}
        self._engines: set[int] = set()

    def add(self, index: int, engine: int, reads: Iterable[ByteRange], writes: Iterable[ByteRange]) -> None:
        """Add the accesses of layer `index`, which comes before all layers added so far."""
        self._engines.add(engine)
        for accesses, ranges in ((self._reads, reads), (self._writes, writes)):
            for each in ranges:
                by_stride = accesses.setdefault((engine, each.memory), {})
                by_stride.setdefault(each.stride, _PaintedAccesses()).add(index, each)

    def first_dependents(
        self, engine: int, reads: Sequence[ByteRange], writes: Sequence[ByteRange]
    ) -> dict[int, int]:
        """Return for every other engine the first layer with a data hazard to a layer of `engine`."""
        found: dict[int, int] = {}
        for other in sorted(self._engines - {engine}):
            hazards = (
                *(self._first(self._reads, other, each) for each in writes),
                *(self._first(self._writes, other, each) for each in (*reads, *writes)),
            )
            layers = [layer for layer in hazards if layer is not None]
            if layers:
                found[other] = min(layers)
        return found

    @staticmethod
    def _first(
        painted: dict[tuple[int, int], dict[int, _PaintedAccesses]], engine: int, asked: ByteRange
    ) -> int | None:
        by_stride = painted.get((engine, asked.memory), {})
        found = [accesses.first(asked) for accesses in by_stride.values()]
        return min((layer for layer in found if layer is not None), default=None)


class _PaintedAccesses:
    """
    Accesses of one stride to one memory: the first layer that accesses each byte. Repeated ranges are painted
    with their gaps.
    """

    def __init__(self) -> None:
        self._layers: IntervalMap[int] = IntervalMap()
        self._added: list[tuple[int, ByteRange]] = []

    def add(self, index: int, each: ByteRange) -> None:
        """Add a range of layer `index`, which is not after the layers added so far."""
        self._added.append((index, each))
        self._layers.set(each.begin, each.last, index)

    def first(self, asked: ByteRange) -> int | None:
        """Return the first layer with a range that overlaps `asked`."""
        layers = [layer for layer in self._layers.values(asked.begin, asked.last) if layer is not None]
        if not layers:
            return None
        if not self._added[0][1].stride:
            return min(layers)
        # The gaps are painted too: the layer may be a later one.
        return next(self._exact(asked, min(layers)), None)

    def _exact(self, asked: ByteRange, first: int) -> Iterator[int]:
        start = bisect_right(self._added, -first, key=lambda added: -added[0])
        for index, each in reversed(self._added[:start]):
            if each.overlaps(asked):
                yield index
