"""
Races: operations of a task that access the same bytes without an order (docs/internals/nvdla-hardware.md §5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xonnc.formats.nvdla.accesses import Access
from xonnc.formats.nvdla.byte_regions import ByteSet, Region
from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment
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
        for first, second in _meeting(touches):
            yield from _race(task, first, second, order)


def _meeting(touches: list[ResolvedAccess]) -> Iterator[tuple[ResolvedAccess, ResolvedAccess]]:
    """Yield pairs, one of them a write, whose ranges from first to last byte overlap."""
    touches.sort(key=lambda touch: touch.region.begin)
    open_touches: list[ResolvedAccess] = []
    for touch in touches:
        open_touches = [other for other in open_touches if other.region.end > touch.region.begin]
        for other in open_touches:
            if other.access.writes or touch.access.writes:
                yield other, touch
        open_touches.append(touch)


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
    place = f"{task.name} operation {operation.index} ({operation.engine.name})"
    return Violation(
        place, rule, f"{touch.access.field} in memory {touch.region.memory} from byte {begin} {reason}"
    )


def _follows(first: ResolvedAccess, second: ResolvedAccess, order: EventOrder) -> bool:
    """Whether `first` is done before `second` starts."""
    done = Moment.WRITTEN if first.access.writes else Moment.READ
    begun = Moment.WRITES if second.access.writes else Moment.STARTS
    return order.precedes(first.operation, done, second.operation, begun)


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
