"""
Partial order of a task's operations that its events enforce, whatever the timing
(docs/internals/nvdla-hardware.md §5).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from itertools import pairwise

from xonnc.formats.nvdla.enumerations import Event
from xonnc.formats.nvdla.event_scheduling import GROUPS
from xonnc.formats.nvdla.task_graph import chains_of, reads_memory
from xonnc.formats.nvdla.tasks import DlaTask


class Moment(IntEnum):
    """Moments of an operation, in order, except that `WRITES` may come before `READ`."""

    PROGRAMMED = 0
    ENABLED = 1
    STARTS = 2
    """The engine reads the first byte."""
    READ = 3
    """All is read."""
    WRITES = 4
    """The engine writes the first byte."""
    WRITTEN = 5
    """All is written."""
    COMPLETED = 6


_AFTER = {
    Event.OP_PROGRAMMED: Moment.PROGRAMMED,
    Event.OP_ENABLED: Moment.ENABLED,
    Event.OP_COMPLETED: Moment.COMPLETED,
    # Data or weights have been fetched, not necessarily both: nothing is known to be read.
    Event.CDMA_WT_DONE: Moment.STARTS,
    Event.CDMA_DT_DONE: Moment.STARTS,
}
_WITHIN = (
    (Moment.PROGRAMMED, Moment.ENABLED),
    (Moment.ENABLED, Moment.STARTS),
    (Moment.STARTS, Moment.READ),
    (Moment.STARTS, Moment.WRITES),
    (Moment.WRITES, Moment.WRITTEN),
    (Moment.READ, Moment.WRITTEN),
    (Moment.WRITTEN, Moment.COMPLETED),
)


class EventOrder:
    """
    The transitive closure of the order of moments that events enforce.

    The task must be free of deadlocks (`dependency_graph.task_ends`), so the order has no cycles.
    """

    def __init__(self, task: DlaTask):
        self._size = len(Moment) * len(task.operations)
        self._next: list[list[int]] = [[] for _ in range(self._size)]
        for first, second in _edges(task):
            self._next[first].append(second)
        self._sorted = self._topological()
        self._after = [0] * self._size
        for node in reversed(self._sorted):
            for following in self._next[node]:
                self._after[node] |= self._after[following] | 1 << following

        self._before = [0] * self._size
        for node in self._sorted:
            for following in self._next[node]:
                self._before[following] |= self._before[node] | 1 << node

    def precedes(self, first: int, at: Moment, second: int, then: Moment) -> bool:
        """Whether operation `first` has passed moment `at` whenever operation `second` is at `then`."""
        return bool(self._after[node_of(first, at)] >> node_of(second, then) & 1)

    def unordered(self, begins: int, operation: int, begin: Moment, done: Moment) -> set[int]:
        """
        Return the operations that events do not put before or after an access from `begin` to `done`.

        `begins` are the moments STARTS or WRITES of other accesses, a set of bits; they are done one moment
        later.
        """
        left = begins & ~self._after[node_of(operation, done)]
        left &= ~(self._before[node_of(operation, begin)] >> 1)
        found: set[int] = set()
        while left:
            low = left & -left
            found.add((low.bit_length() - 1) // len(Moment))
            left ^= low
        return found

    def moments(self) -> Iterator[tuple[int, Moment]]:
        """Yield all moments in a topological order."""
        for node in self._sorted:
            yield node // len(Moment), Moment(node % len(Moment))

    def _topological(self) -> list[int]:
        waiting = [0] * self._size
        for following in self._next:
            for node in following:
                waiting[node] += 1
        ready = [node for node in reversed(range(self._size)) if not waiting[node]]
        result: list[int] = []
        while ready:
            node = ready.pop()
            result.append(node)
            for following in self._next[node]:
                waiting[following] -= 1
                if not waiting[following]:
                    ready.append(following)
        return result


def node_of(operation: int, moment: Moment) -> int:
    """Return the number of a moment of an operation: a bit in sets of moments."""
    return operation * len(Moment) + moment


def _edges(task: DlaTask) -> Iterator[tuple[int, int]]:
    for operation in task.operations:
        index, entry = operation.index, operation.dependency
        for first, second in _WITHIN:
            yield node_of(index, first), node_of(index, second)
        for consumer in entry.consumers:
            if consumer.index != -1:
                yield node_of(index, _AFTER[Event(consumer.event)]), node_of(consumer.index, Moment.ENABLED)
        if entry.fused_parent.index != -1:
            yield node_of(index, Moment.ENABLED), node_of(entry.fused_parent.index, Moment.ENABLED)
    yield from _engine_edges(task)
    for chain in chains_of(task):
        for first, second in pairwise(chain):
            # What flows through is read before the last of it is written.
            yield node_of(first, Moment.READ), node_of(second, Moment.WRITTEN)
            yield node_of(first, Moment.COMPLETED), node_of(second, Moment.COMPLETED)


def _engine_edges(task: DlaTask) -> Iterator[tuple[int, int]]:
    """
    Yield edges between operations of one engine: it programs, writes and completes them in order, and so does
    its read DMA.
    """
    for queue in task.queues.values():
        for first, second in pairwise(queue):
            yield node_of(first, Moment.PROGRAMMED), node_of(second, Moment.PROGRAMMED)
            yield node_of(first, Moment.WRITTEN), node_of(second, Moment.WRITES)
            yield node_of(first, Moment.COMPLETED), node_of(second, Moment.COMPLETED)
        for first, second in zip(queue, queue[GROUPS:], strict=False):
            yield node_of(first, Moment.COMPLETED), node_of(second, Moment.PROGRAMMED)
        # An operation that reads no memory does not occupy the read DMA: later ones may fetch before its end.
        for first, second in pairwise(index for index in queue if reads_memory(task.operations[index])):
            yield node_of(first, Moment.READ), node_of(second, Moment.STARTS)
