"""
The dependency graph that the firmware walks (docs/internals/nvdla-hardware.md §5).

Layers come in one total order and every edge follows it, so there is no deadlock by construction:

* The layers of an engine form a queue, linked by the consumer slot of their own engine.
* An on-the-fly layer and its parent start together: the child depends on OP_PROGRAMMED of the parent, the
  parent on OP_ENABLED of the child.
* A layer of another engine with a data hazard (RAW, WAR or WAW) depends on OP_COMPLETED. Of several such
  layers of one engine only the first needs the edge, since the others queue behind it; of several layers of
  one engine that a layer depends on only the last. This keeps `dependency_count`, a byte, small.
* An engine fetches operands of a layer while the previous one still receives data on the fly. A dependency
  that is met only through a previous layer that reads no memory therefore needs OP_COMPLETED of that layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xonnc.formats.nvdla.enumerations import Event


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


@dataclass(frozen=True)
class DependencyLayer:
    """
    One hardware layer: its `engine` (an op type of docs/internals/nvdla-hardware.md §2.2), the bytes that it
    reads and writes, and its on-the-fly parent.
    """

    engine: int
    reads: tuple[ByteRange, ...]
    writes: tuple[ByteRange, ...]
    fused_parent: int | None = None
    reads_memory: bool = True
    """Whether the engine fetches anything for it, constants included."""
    settings: tuple[int, ...] = ()
    """What the engine cannot change while it runs: a layer with other settings depends on OP_COMPLETED."""


@dataclass(frozen=True)
class ConsumerSlot:
    """Layer `index` is woken by `event`."""

    index: int
    event: Event


@dataclass
class DependencyEntry:
    """
    The graph entry of a layer: consumers by engine, the fused parent, and the number of events it depends on.
    """

    consumers: dict[int, ConsumerSlot] = field(default_factory=dict[int, ConsumerSlot])
    fused_parent: int | None = None
    dependency_count: int = 0


def dependency_graph(layers: Sequence[DependencyLayer]) -> tuple[DependencyEntry, ...]:
    """Return the entries of `layers`, which run in this order on each engine."""
    entries = tuple(DependencyEntry(fused_parent=layer.fused_parent) for layer in layers)
    successors = _queue_successors(layers)
    for index, layer in enumerate(layers):
        if layer.fused_parent is not None:
            entries[layer.fused_parent].consumers[layer.engine] = ConsumerSlot(index, Event.OP_PROGRAMMED)
            entries[layer.fused_parent].dependency_count += 1
    first_edge: dict[tuple[int, int], int] = {}
    synced_at: list[dict[int, int]] = [{} for _ in layers]
    for index, layer in reversed(list(enumerate(layers))):
        consumers, successor = entries[index].consumers, successors[index]
        if successor is not None:
            waits = layer.settings != layers[successor].settings
            waits = waits or _overlap(layer.writes, layers[successor].reads)
            event = Event.OP_COMPLETED if waits else Event.OP_PROGRAMMED
            consumers[layer.engine] = ConsumerSlot(successor, event)
        for engine, dependent in _first_dependents(layers, index).items():
            engines = layer.engine, engine
            # An earlier edge between the same engines, from a later layer, already orders this pair.
            if engine not in consumers and dependent < first_edge.get(engines, len(layers)):
                consumers[engine] = ConsumerSlot(dependent, Event.OP_COMPLETED)
                first_edge[engines] = dependent
            synced_at[index][engine] = min(dependent, first_edge.get(engines, dependent))
    for index, successor in enumerate(successors):
        if successor is not None and _reads_too_early(layers, index, successor, synced_at):
            entries[index].consumers[layers[index].engine] = ConsumerSlot(successor, Event.OP_COMPLETED)
    for entry in entries:
        for consumer in entry.consumers.values():
            entries[consumer.index].dependency_count += 1
    return entries


def _reads_too_early(
    layers: Sequence[DependencyLayer], index: int, successor: int, synced_at: Sequence[Mapping[int, int]]
) -> bool:
    """
    Whether the data of layer `successor` is guaranteed only once layer `index` before it, which reads no
    memory, has started. `synced_at`: for each layer, the first layer of each engine that is synchronized with
    it.
    """
    if layers[index].reads_memory or not layers[successor].reads:
        return False
    engine, reads = layers[index].engine, layers[successor].reads
    last_read_turn = max(
        (at for at in range(index) if layers[at].engine == engine and layers[at].reads_memory), default=-1
    )
    return any(
        last_read_turn < synced_at[writer].get(engine, successor) < successor
        for writer in range(successor)
        if layers[writer].engine != engine and _overlap(layers[writer].writes, reads)
    )


def queue_heads(layers: Sequence[DependencyLayer], engines: int) -> tuple[int, ...]:
    """Return the first layer of each engine, -1 for an engine without layers."""
    indexes = [layer.engine for layer in layers]
    return tuple(indexes.index(engine) if engine in indexes else -1 for engine in range(engines))


def _queue_successors(layers: Sequence[DependencyLayer]) -> list[int | None]:
    successor: dict[int, int] = {}
    successors: list[int | None] = [None] * len(layers)
    for index in reversed(range(len(layers))):
        successors[index] = successor.get(layers[index].engine)
        successor[layers[index].engine] = index
    return successors


def _first_dependents(layers: Sequence[DependencyLayer], index: int) -> dict[int, int]:
    """Return for every other engine the first later layer with a data hazard to layer `index`."""
    layer = layers[index]
    dependent: dict[int, int] = {}
    for later in range(index + 1, len(layers)):
        other = layers[later]
        if other.engine == layer.engine or other.engine in dependent:
            continue
        conflict = _overlap(layer.writes, other.reads) or _overlap(layer.reads + layer.writes, other.writes)
        if conflict:
            dependent[other.engine] = later
    return dependent


def _overlap(left: Sequence[ByteRange], right: Sequence[ByteRange]) -> bool:
    return any(one.overlaps(other) for one in left for other in right)
