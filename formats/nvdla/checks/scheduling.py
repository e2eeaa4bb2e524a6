"""The firmware's event counting, followed without running anything (spec/nvdla.md §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xonnc.formats.nvdla.constants import Event, OpType
from xonnc.formats.nvdla.graph import chains_of, lut_of
from xonnc.formats.nvdla.tasks import DlaTask

GROUPS = 2
"""Register groups of an engine: one operation runs while the next is programmed."""


class Firmware:
    """
    One run of a task: programs, enables and completes whatever can be, until nothing can.

    Events only ever add up, so the order in which operations complete does not change what is reached.
    """

    def __init__(self, task: DlaTask, queues: Mapping[OpType, Sequence[int]]):
        self._task = task
        self._queues = queues
        self._counts = [operation.dependency.dependency_count for operation in task.operations]
        self._programmed = dict.fromkeys(OpType, 0)
        self._completed = dict.fromkeys(OpType, 0)
        self._enabled: set[int] = set()
        self._lut: dict[OpType, int] = {}
        self._chain = chains_of(task)

    def waiting(self) -> list[str]:
        """The operations that never complete, and what for."""
        progress = True
        while progress:
            steps = (self._program, self._enable, self._complete)
            progress = any([step(engine) for engine in OpType for step in steps])
        return [
            self._reason(index)
            for engine, queue in self._queues.items()
            for index in queue[self._completed[engine] :]
        ]

    def _reason(self, index: int) -> str:
        engine = self._task.operations[index].engine
        name = f"operation {index} ({engine.name})"
        if index in self._enabled:
            return f"{name} waits for what it is fused with"
        if index in self._queues[engine][self._programmed[engine] :]:
            return f"{name} waits for the engine"
        return f"{name} waits for {self._counts[index]} more events"

    def _program(self, engine: OpType) -> bool:
        """Fills the engine's free register groups."""
        queue, progress = self._queues[engine], False
        while self._programmed[engine] < len(queue):
            index = queue[self._programmed[engine]]
            running = self._programmed[engine] - self._completed[engine]
            lut = lut_of(self._task.operations[index])
            # Another table is loaded only while the engine is idle.
            if running == GROUPS or (running and lut is not None and self._lut.get(engine) != lut):
                break
            if lut is not None:
                self._lut[engine] = lut
            self._programmed[engine] += 1
            self._raise(index, Event.OP_PROGRAMMED)
            progress = True
        return progress

    def _enable(self, engine: OpType) -> bool:
        """Enables programmed operations that wait for nothing more."""
        programmed = self._queues[engine][self._completed[engine] : self._programmed[engine]]
        ready = [index for index in programmed if self._counts[index] == 0 and index not in self._enabled]
        for index in ready:
            self._enabled.add(index)
            self._raise(index, Event.OP_ENABLED)
            self._wake(self._task.operations[index].dependency.fused_parent.index)
            if engine is OpType.CONV:
                self._raise(index, Event.CDMA_WT_DONE)
                self._raise(index, Event.CDMA_DT_DONE)
        return bool(ready)

    def _complete(self, engine: OpType) -> bool:
        """Completes the engine's first operation, with all that are fused with it, if they all may run."""
        if not self._is_first(engine):
            return False
        chain = self._chain[self._queues[engine][self._completed[engine]]]
        engines = [self._task.operations[index].engine for index in chain]
        if not all(
            index in self._enabled
            and self._is_first(each)
            and self._queues[each][self._completed[each]] == index
            for each, index in zip(engines, chain, strict=True)
        ):
            return False
        for each, index in zip(engines, chain, strict=True):
            self._completed[each] += 1
            self._raise(index, Event.OP_COMPLETED)
        return True

    def _is_first(self, engine: OpType) -> bool:
        """Whether the engine has an operation programmed that is not complete."""
        return self._completed[engine] < self._programmed[engine]

    def _raise(self, index: int, event: Event) -> None:
        for consumer in self._task.operations[index].dependency.consumers:
            if consumer.event == event:
                self._wake(consumer.index)

    def _wake(self, index: int) -> None:
        if 0 <= index < len(self._counts):
            self._counts[index] -= 1
