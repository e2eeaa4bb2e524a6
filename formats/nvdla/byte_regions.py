"""Sets of bytes that the operations of a task read and write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_MAX_RUNS = 1 << 18
"""A region with more runs is approximated by filling its innermost gaps."""


class Repetition(NamedTuple):
    """A repetition: count, stride in bytes, and the field with the stride."""

    times: int
    stride: int
    field: str = ""


@dataclass(frozen=True)
class Region:
    """
    Runs of `run` bytes in a memory object, the first at `begin`.

    `steps` are the repetitions from the innermost outwards: lines, surfaces, images.
    """

    memory: int
    begin: int
    run: int
    steps: tuple[Repetition, ...] = ()

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.begin + self.run + sum((times - 1) * stride for times, stride, _ in self.steps)

    def packed(self) -> Region:
        """Return the same bytes with adjacent runs merged, and with at most `_MAX_RUNS` runs."""
        run, steps = self.run, list(self.steps)
        steps = [step for step in steps if step.times != 1]
        while steps and (steps[0].stride <= run or prod(step.times for step in steps) > _MAX_RUNS):
            joined = steps.pop(0)
            run += (joined.times - 1) * joined.stride
        return Region(self.memory, self.begin, run, tuple(steps))

    def runs(self) -> npt.NDArray[np.int64]:
        """Return the start of each run, ascending; all have `run` bytes. Call it on a packed region."""
        starts = np.array([self.begin], np.int64)
        for times, stride, _ in self.steps:
            starts = np.add.outer(np.arange(times, dtype=np.int64) * stride, starts).reshape(-1)
        starts.sort()
        return starts


class ByteSet:
    """A set of bytes of one memory object, as sorted disjoint ranges."""

    def __init__(self, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]):
        self.begins = begins
        self.ends = ends

    @staticmethod
    def none() -> ByteSet:
        """Return the empty set."""
        return ByteSet(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @staticmethod
    def of(region: Region) -> ByteSet:
        """Return the bytes of a region."""
        packed = region.packed()
        starts = packed.runs()
        return _joined(starts, starts + packed.run)

    @staticmethod
    def range(begin: int, end: int) -> ByteSet:
        """Return the bytes from `begin` to `end`, excluded."""
        if end <= begin:
            return ByteSet.none()
        return ByteSet(np.array([begin], np.int64), np.array([end], np.int64))

    def __len__(self) -> int:
        return int((self.ends - self.begins).sum())

    def __bool__(self) -> bool:
        return self.begins.size > 0

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of each range in order."""
        yield from zip(self.begins.tolist(), self.ends.tolist(), strict=True)

    @property
    def first(self) -> int:
        """The lowest byte."""
        return int(self.begins[0])

    def __or__(self, other: ByteSet) -> ByteSet:
        begins = np.concatenate((self.begins, other.begins))
        ends = np.concatenate((self.ends, other.ends))
        order = np.argsort(begins, kind="stable")
        return _joined(begins[order], ends[order])

    def __and__(self, other: ByteSet) -> ByteSet:
        """Return the intersection: each range of one set with the ranges of the other that it overlaps."""
        # Begins and ends both ascend, as the ranges are disjoint: each range overlaps the consecutive ranges
        # [first, last) of the other set. All pairs are listed at once; `within` numbers those of a range.
        first = np.searchsorted(other.ends, self.begins, "right")
        last = np.searchsorted(other.begins, self.ends, "left")
        counts = np.maximum(last - first, 0)
        mine = np.repeat(np.arange(self.begins.size), counts)
        before = np.cumsum(counts) - counts
        within = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(before, counts)
        theirs = np.repeat(first, counts) + within
        return ByteSet(
            np.maximum(self.begins[mine], other.begins[theirs]),
            np.minimum(self.ends[mine], other.ends[theirs]),
        )

    def __sub__(self, other: ByteSet) -> ByteSet:
        """Return the difference: the intersection with the gaps of the other set."""
        edge = np.array([np.iinfo(np.int64).max], np.int64)
        gap_begins = np.concatenate((np.array([np.iinfo(np.int64).min], np.int64), other.ends))
        return self & ByteSet(gap_begins, np.concatenate((other.begins, edge)))


def _joined(begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> ByteSet:
    """Merge ranges, sorted by their start, that touch or overlap."""
    if not begins.size:
        return ByteSet.none()
    reach = np.maximum.accumulate(ends)
    starts = np.concatenate(([True], begins[1:] > reach[:-1]))
    last = np.concatenate((starts[1:], [True]))
    return ByteSet(begins[starts], reach[last])
