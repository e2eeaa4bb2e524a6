"""Poolings that leave input unread, and those that follow them (docs/internals/nvdla-hardware.md §9.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from xonnc.formats.nvdla.checks.event_order import EventOrder, Moment
from xonnc.formats.nvdla.checks.problem import Severity, Violation
from xonnc.formats.nvdla.enumerations import OpType
from xonnc.formats.nvdla.records import PdpOp, PdpSurface
from xonnc.formats.nvdla.tasks import DlaTask
from xonnc.formats.nvdla.unread_input import UnreadInput, unread_input

RULES = {
    "rows-over-before-a-pooling": "No pooling follows one that has unread rows but no unread columns.",
    "nothing-over-in-a-queue": (
        "A pooling operation with unread rows or columns completes before the next one starts."
    ),
}
"""Rules of consecutive poolings."""

WARNINGS = {
    "rows-over-at-the-end": (
        "The last pooling has no unread rows without unread columns: the first pooling of the next "
        "inference may hang."
    ),
}

REMEDY = "let its source end where its windows do"


class QueuedPooling(NamedTuple):
    """A pooling, its location and its unread input."""

    location: str
    left: UnreadInput


def pooling_queue_problems(tasks: Sequence[tuple[DlaTask, EventOrder]]) -> Iterator[Violation]:
    """Yield the problems of consecutive poolings, of tasks in the order of their submits."""
    before: QueuedPooling | None = None
    for task, order in tasks:
        for index in task.queues[OpType.PDP]:
            if before is not None and before.left.breaks_next_pooling:
                yield Violation(
                    before.location,
                    "rows-over-before-a-pooling",
                    f"the windows leave {before.left} over; the next pooling would hang, so {REMEDY}",
                )
            before = _pooling(task, index)
        for index, following in overlapping_poolings(task, order):
            first = _pooling(task, index)
            reason = (
                f"the windows leave {first.left} over and operation {following} (PDP) may start before it is "
                f"complete; the C-model hangs, so {REMEDY}, or wake that one by 1 (OP_COMPLETED)"
            )
            yield Violation(first.location, "nothing-over-in-a-queue", reason)
    if before is not None and before.left.breaks_next_pooling:
        reason = f"the windows leave {before.left} over; the next inference may hang, so {REMEDY}"
        yield Violation(before.location, "rows-over-at-the-end", reason, Severity.WARNING)


def overlapping_poolings(task: DlaTask, order: EventOrder) -> Iterator[tuple[int, int]]:
    """Yield poolings with unread input, each with one that may start before it has completed."""
    for index, following in pairwise(task.queues[OpType.PDP]):
        is_over = order.precedes(index, Moment.COMPLETED, following, Moment.ENABLED)
        if any(_pooling(task, index).left) and not is_over:
            yield index, following


def _pooling(task: DlaTask, index: int) -> QueuedPooling:
    operation = task.operations[index]
    assert isinstance(operation.op, PdpOp), "an operation in the PDP's queue"
    assert isinstance(operation.surface, PdpSurface), "the surface goes with the operation"
    location = f"{task.name} operation {index} ({operation.engine.name})"
    return QueuedPooling(location, unread_input(operation.op, operation.surface))
