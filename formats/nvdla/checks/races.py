"""
Races: operations of a task that access the same bytes without an order (docs/internals/nvdla-hardware.md §5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from xonnc.formats.nvdla.accesses import Access
from xonnc.formats.nvdla.byte_regions import ByteSet, Region
from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment, node_of
from xonnc.formats.nvdla.checks.problem import Violation
from xonnc.formats.nvdla.enumerations import OpType
from xonnc.formats.nvdla.tasks import DlaTask

RULES = {
    "ordered": (
        "Two operations that access the same bytes, at least one of them writing, are ordered by events."
    ),
    "in-place": "Only the SDP may write in place, each element at the address it was read from.",
}
"""Rules of accesses to the same bytes."""


@dataclass(frozen=True)
class ResolvedAccess:
    """An access of an operation, with its bytes in memory."""

    operation: int
    access: Access
    region: Region


def race_problems(
    task: DlaTask, touched: Mapping[int, Sequence[Access]], order: EventOrder
) -> Iterator[Violation]:
    """Yield pairs of accesses to the same bytes, one of them a write, that no events order."""
    by_memory: dict[int, list[ResolvedAccess]] = {}
    for index, found in touched.items():
        for access in found:
            region = access.region(task.addresses)
            if region is not None:
                by_memory.setdefault(region.memory, []).append(ResolvedAccess(index, access, region))
    for touches in by_memory.values():
        for first, second in _suspects(touches, order):
            yield from _race(task, first, second, order)


def _suspects(
    touches: list[ResolvedAccess], order: EventOrder
) -> Iterator[tuple[ResolvedAccess, ResolvedAccess]]:
    """
    Yield pairs, one of them a write, whose ranges from first to last byte overlap, without those of different
    operations that events order.
    """
    touches.sort(key=lambda touch: touch.region.begin)
    accesses = _OpenAccesses()
    # Sweep in order of first bytes: an access can overlap only those that are open at its first byte,
    # so the cost is n log n plus the overlaps instead of all pairs.
    for number, touch in enumerate(touches):
        accesses.close(touch.region.begin)
        others = accesses.writing | accesses.reading if touch.access.writes else accesses.writing
        unordered = order.unordered(others, touch.operation, *_moments(touch))
        for other in accesses.of({touch.operation, *unordered}):
            if other.access.writes or touch.access.writes:
                yield other, touch
        accesses.open(number, touch)


class _OpenAccesses:
    """
    The accesses that end after the current address of a sweep.

    `reading` and `writing` are their operations' first moments, as sets of bits: of thousands of accesses to
    memory that is used again and again, few are without an order.
    """

    def __init__(self) -> None:
        self.reading = 0
        self.writing = 0
        self._ends: list[tuple[int, int]] = []
        self._accesses: dict[int, ResolvedAccess] = {}
        self._of: dict[int, list[int]] = {}

    def open(self, number: int, touch: ResolvedAccess) -> None:
        """Add an access."""
        heappush(self._ends, (touch.region.end, number))
        self._accesses[number] = touch
        self._of.setdefault(touch.operation, []).append(number)
        self._set(touch, True)

    def close(self, address: int) -> None:
        """Remove the accesses that end at an address or before it."""
        while self._ends and self._ends[0][0] <= address:
            number = heappop(self._ends)[1]
            touch = self._accesses.pop(number)
            left = self._of[touch.operation]
            left.remove(number)
            same = (self._accesses[each].access.writes == touch.access.writes for each in left)
            if not any(same):
                self._set(touch, False)

    def of(self, operations: Iterable[int]) -> list[ResolvedAccess]:
        """Return the accesses of operations in the order in which they were added."""
        numbers = sorted(number for operation in operations for number in self._of.get(operation, ()))
        return [self._accesses[number] for number in numbers]

    def _set(self, touch: ResolvedAccess, is_open: bool) -> None:
        bit = 1 << node_of(touch.operation, _moments(touch)[0])
        if touch.access.writes:
            self.writing = self.writing | bit if is_open else self.writing & ~bit
        else:
            self.reading = self.reading | bit if is_open else self.reading & ~bit


def _race(
    task: DlaTask, first: ResolvedAccess, second: ResolvedAccess, order: EventOrder
) -> Iterator[Violation]:
    if first.operation == second.operation:
        if not _may_be_in_place(task, first, second) and _overlap(first, second):
            yield _problem(task, first, second, "in-place", "reads what it writes itself")
        return
    if _follows(first, second, order) or _follows(second, first, order) or not _overlap(first, second):
        return
    reader, writer = (first, second) if second.access.writes else (second, first)
    other = task.operations[writer.operation]
    what = "also writes" if reader.access.writes else "reads"
    yield _problem(
        task,
        reader,
        writer,
        "ordered",
        f"{what} what operation {other.index} ({other.engine.name}) {writer.access.field} writes; no chain "
        "of events puts one before the other",
    )


def _problem(
    task: DlaTask, touch: ResolvedAccess, other: ResolvedAccess, rule: str, reason: str
) -> Violation:
    operation = task.operations[touch.operation]
    begin = max(touch.region.begin, other.region.begin)
    location = f"{task.name} operation {operation.index} ({operation.engine.name})"
    return Violation(
        location, rule, f"{touch.access.field} in memory {touch.region.memory} from byte {begin} {reason}"
    )


def _follows(first: ResolvedAccess, second: ResolvedAccess, order: EventOrder) -> bool:
    """Whether `first` is done before `second` starts."""
    return order.precedes(first.operation, _moments(first)[1], second.operation, _moments(second)[0])


def _moments(touch: ResolvedAccess) -> tuple[Moment, Moment]:
    """Return the moments at which an access begins and at which it is done."""
    return (Moment.WRITES, Moment.WRITTEN) if touch.access.writes else (Moment.STARTS, Moment.READ)


def _may_be_in_place(task: DlaTask, first: ResolvedAccess, second: ResolvedAccess) -> bool:
    """
    Whether accesses of one operation may overlap: the SDP works elementwise, and may write each element where
    it read it.
    """
    in_place = task.operations[first.operation].engine is OpType.SDP and (
        first.region.packed() == second.region.packed()
    )
    return first.access.writes == second.access.writes or in_place


def _overlap(first: ResolvedAccess, second: ResolvedAccess) -> bool:
    return bool(ByteSet.of(first.region) & ByteSet.of(second.region))
