"""
The firmware's event counting: which operation may start when, and deadlocks (docs/internals/nvdla-hardware.md
§5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Event, MemoryType, OpType
from xonnc.formats.nvdla.records import BdmaSurface, CdpOp, Consumer, SdpOp
from xonnc.formats.nvdla.tasks import Operation

GROUPS = 2
"""Register groups per engine: one operation runs while the next is programmed."""


@dataclass(frozen=True)
class WakeUp:
    """An operation to wake, and the sender's event that does it."""

    index: int
    event: int


@dataclass(frozen=True)
class GraphNode:
    """One entry of the dependency graph; `lut` is the table that the operation needs, or `None`."""

    engine: OpType
    dependency_count: int
    consumers: Sequence[WakeUp | None]
    fused_parent: WakeUp | None
    lut: int | None
    from_engine: bool
    to_engine: bool


def _ignore(index: int, event: Event) -> None:
    """Do nothing."""


@dataclass
class Scheduler:
    """Runs the operations of one task; `heads` are the first operations of the engines, -1 for none."""

    nodes: Sequence[GraphNode]
    heads: Sequence[int]
    task: str
    observe: Callable[[int, Event], None] = _ignore
    """Called with an operation and each of its events, in the order in which they happen."""
    counts: list[int] = field(init=False)
    _queues: dict[OpType, list[int]] = field(init=False)
    _chains: dict[int, list[int]] = field(init=False)
    # How far each engine is in its queue.
    _programmed: dict[OpType, int] = field(init=False)
    _finished: dict[OpType, int] = field(init=False)
    _enabled: list[bool] = field(init=False)
    _loaded: dict[OpType, int] = field(init=False, default_factory=dict[OpType, int])

    def __post_init__(self):
        self.counts = [node.dependency_count for node in self.nodes]
        self._enabled = [False] * len(self.nodes)
        self._programmed = dict.fromkeys(OpType, 0)
        self._finished = dict.fromkeys(OpType, 0)
        self._queues = {engine: self._queue(engine) for engine in OpType}
        self._chains = self._fused_chains()

    def run(self, execute: Callable[[Sequence[int]], None]) -> None:
        """Call `execute` with one operation, or several fused ones in data order, until all are done."""
        left = len(self.nodes)
        while left:
            while self._program() or self._enable():
                pass
            chain = self._next_chain()
            if chain is None:
                raise XonncError(self._hang())
            execute(chain)
            for index in chain:
                self._finished[self.nodes[index].engine] += 1
                self._signal(index, Event.OP_COMPLETED)
            left -= len(chain)

    def _queue(self, engine: OpType) -> list[int]:
        """Return the operations of an engine in the order of its consumer slots."""
        queue: dict[int, None] = {}
        index = self.heads[engine]
        while index != -1:
            if not 0 <= index < len(self.nodes) or self.nodes[index].engine is not engine:
                raise XonncError(
                    f"{self.task}: the {engine.name} queue contains operation {index}, "
                    "which belongs to another engine"
                )
            if index in queue:
                raise XonncError(f"{self.task}: the {engine.name} queue has a cycle at operation {index}")
            queue[index] = None
            following = self.nodes[index].consumers[engine]
            index = -1 if following is None else following.index
        return list(queue)

    def _fused_chains(self) -> dict[int, list[int]]:
        """
        Return the chain of fused operations of every operation; the n-th sender feeds the n-th receiver.
        """
        chains = {index: [index] for index in range(len(self.nodes))}
        for sender, receiver in ((OpType.CONV, OpType.SDP), (OpType.SDP, OpType.PDP)):
            senders = [i for i in self._queues[sender] if self.nodes[i].to_engine]
            receivers = [i for i in self._queues[receiver] if self.nodes[i].from_engine]
            if len(senders) != len(receivers):
                raise XonncError(
                    f"{self.task}: {len(senders)} {sender.name} operations send on the fly but "
                    f"{len(receivers)} {receiver.name} operations receive; every sender needs its receiver"
                )
            for first, second in zip(senders, receivers, strict=True):
                chain = chains[first]
                chain.append(second)
                chains[second] = chain
        return chains

    def _program(self) -> bool:
        """Program free register groups from the queues; return whether any was."""
        progress = False
        for engine, queue in self._queues.items():
            while self._may_program(engine):
                index = queue[self._programmed[engine]]
                lut = self.nodes[index].lut
                if lut is not None:
                    self._loaded[engine] = lut
                self._programmed[engine] += 1
                progress = True
                self._signal(index, Event.OP_PROGRAMMED)
        return progress

    def _may_program(self, engine: OpType) -> bool:
        position = self._programmed[engine]
        running = position - self._finished[engine]
        if position == len(self._queues[engine]) or running >= GROUPS:
            return False
        lut = self.nodes[self._queues[engine][position]].lut
        # Another table is loaded only while the engine is idle.
        return lut is None or running == 0 or self._loaded.get(engine) == lut

    def _enable(self) -> bool:
        """Enable programmed operations whose dependencies are met; return whether there was any."""
        progress = False
        running = [
            index
            for engine, queue in self._queues.items()
            for index in queue[self._finished[engine] : self._programmed[engine]]
        ]
        for index in running:
            node = self.nodes[index]
            if self._enabled[index] or self.counts[index] != 0:
                continue
            self._enabled[index] = progress = True
            self._signal(index, Event.OP_ENABLED)
            parent = node.fused_parent
            if parent is not None and parent.event == Event.OP_ENABLED:
                self._wake(parent.index)
            # Operations take no time here: the fetches of an enabled convolution end at once.
            if node.engine is OpType.CONV:
                self._signal(index, Event.CDMA_WT_DONE)
                self._signal(index, Event.CDMA_DT_DONE)
        return progress

    def _next_chain(self) -> list[int] | None:
        """Return the first chain whose members are all enabled and at the front of their queues."""
        fronts = {
            queue[self._finished[engine]]
            for engine, queue in self._queues.items()
            if self._finished[engine] < len(queue)
        }
        for index in sorted(fronts):
            chain = self._chains[index]
            if chain[0] == index and all(self._enabled[i] and i in fronts for i in chain):
                return chain
        return None

    def _signal(self, index: int, event: Event) -> None:
        self.observe(index, event)
        for consumer in self.nodes[index].consumers:
            if consumer is not None and consumer.event == event:
                self._wake(consumer.index)

    def _wake(self, index: int) -> None:
        if not 0 <= index < len(self.nodes):
            raise XonncError(
                f"{self.task}: the dependency graph names operation {index} of {len(self.nodes)}"
            )
        self.counts[index] -= 1

    def _hang(self) -> str:
        listed: list[str] = []
        for engine, queue in self._queues.items():
            for index in queue[self._finished[engine] : self._programmed[engine]]:
                what = (
                    "its on-the-fly neighbour"
                    if self._enabled[index]
                    else f"{self.counts[index]} more events"
                )
                listed.append(f"{index} ({engine.name}) for {what}")
        queued = {index for queue in self._queues.values() for index in queue}
        listed += [
            f"{i} ({node.engine.name}) in no queue" for i, node in enumerate(self.nodes) if i not in queued
        ]
        shown = ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
        return (
            f"{self.task} deadlocks; blocked operations: {shown}; "
            "correct dependency counts, events or op_head"
        )


def graph_node(operation: Operation) -> GraphNode:
    """Return an operation as the scheduler sees it."""
    surface, entry = operation.surface, operation.dependency
    has_cubes = not isinstance(surface, BdmaSurface)
    from_engine = has_cubes and surface.src_data.type == MemoryType.HW
    to_engine = has_cubes and surface.dst_data.type == MemoryType.HW
    lut = operation.op.lut_index if isinstance(operation.op, SdpOp | CdpOp) else -1
    return GraphNode(
        engine=operation.engine,
        dependency_count=entry.dependency_count,
        consumers=[_signal_of(consumer) for consumer in entry.consumers],
        fused_parent=_signal_of(entry.fused_parent),
        lut=None if lut < 0 else lut,
        from_engine=from_engine and operation.engine in (OpType.SDP, OpType.PDP),
        to_engine=operation.engine is OpType.CONV or (to_engine and operation.engine is OpType.SDP),
    )


def _signal_of(consumer: Consumer) -> WakeUp | None:
    return None if consumer.index < 0 else WakeUp(consumer.index, consumer.event)
