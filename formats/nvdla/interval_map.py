"""A map from addresses to what was last set there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Interval(NamedTuple, Generic[T]):
    """Addresses `begin` to `end` (excluded) with one value; `None` if nothing was set there."""

    begin: int
    end: int
    value: T | None


class IntervalMap(Generic[T]):
    """
    Values of address ranges, from 0 on. Setting a range replaces what was set there before, so that a query
    costs what it finds, however many ranges were set.
    """

    def __init__(self) -> None:
        # `_values[i]` holds from `_begins[i]` to the next begin.
        self._begins: list[int] = [0]
        self._values: list[T | None] = [None]

    def set(self, begin: int, end: int, value: T) -> None:
        """Set the value of addresses `begin` to `end`, excluded; nothing for an empty range."""
        self.set_all(((begin, end),), value)

    def set_all(self, ranges: Iterable[tuple[int, int]], value: T) -> None:
        """Set the value of several ranges, which ascend and do not touch; cheaper than one by one."""
        begins: list[int] = []
        values: list[T | None] = []
        start = at = -1
        for begin, end in ranges:
            if end <= begin:
                continue
            low = bisect_left(self._begins, begin, max(at, 0))
            if start < 0:
                start = at = low
            begins += self._begins[at:low]
            values += self._values[at:low]
            begins.append(begin)
            values.append(value)
            at = bisect_left(self._begins, end, low)
            if at == len(self._begins) or self._begins[at] != end:
                begins.append(end)
                values.append(self._values[at - 1])
        if begins:
            self._begins[start:at] = begins
            self._values[start:at] = values

    def values(self, begin: int, end: int) -> Sequence[T | None]:
        """Return the values of a range in order; `None` where nothing was set."""
        if end <= begin:
            return ()
        low, high = bisect_right(self._begins, begin) - 1, bisect_left(self._begins, end)
        return self._values[low:high]

    def intervals(self, begin: int, end: int) -> Iterator[Interval[T]]:
        """Yield the parts of a range, in order, each with its value."""
        if end <= begin:
            return
        low, high = bisect_right(self._begins, begin) - 1, bisect_left(self._begins, end)
        ends = [*self._begins[low + 1 : high], end]
        for first, last, value in zip(self._begins[low:high], ends, self._values[low:high], strict=True):
            yield Interval(max(first, begin), last, value)
