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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xonnc.formats.nvdla.enumerations import Event
from xonnc.lowering.dla_to_loadable.hazards import ByteRange, LaterAccesses, overlap


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
    """
    The settings that an engine cannot change while it runs: a layer with other settings depends on
    OP_COMPLETED.
    """


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
    hazards = LaterAccesses()
    for index, layer in reversed(list(enumerate(layers))):
        consumers, successor = entries[index].consumers, successors[index]
        if successor is not None:
            waits = layer.settings != layers[successor].settings
            waits = waits or overlap(layer.writes, layers[successor].reads)
            event = Event.OP_COMPLETED if waits else Event.OP_PROGRAMMED
            consumers[layer.engine] = ConsumerSlot(successor, event)
        for engine, dependent in hazards.first_dependents(layer.engine, layer.reads, layer.writes).items():
            engines = layer.engine, engine
            # An earlier edge between the same engines, from a later layer, already orders this pair.
            if engine not in consumers and dependent < first_edge.get(engines, len(layers)):
                consumers[engine] = ConsumerSlot(dependent, Event.OP_COMPLETED)
                first_edge[engines] = dependent
            synced_at[index][engine] = min(dependent, first_edge.get(engines, dependent))
        hazards.add(index, layer.engine, layer.reads, layer.writes)
    for index in _early_readers(layers, successors, synced_at):
        engine, successor = layers[index].engine, successors[index]
        assert successor is not None
        entries[index].consumers[engine] = ConsumerSlot(successor, Event.OP_COMPLETED)
    for entry in entries:
        for consumer in entry.consumers.values():
            entries[consumer.index].dependency_count += 1
    return entries


def _early_readers(
    layers: Sequence[DependencyLayer],
    successors: Sequence[int | None],
    synced_at: Sequence[Mapping[int, int]],
) -> Iterator[int]:
    """
    Yield the layers that read no memory and after which the next of the engine would read too early: its data
    is guaranteed only once they have started. `synced_at`: for each layer, the first layer of each engine
    that is synchronized with it.
    """
    writers: dict[tuple[int, int], list[int]] = {}
    for writer, synced in enumerate(synced_at):
        for key in synced.items():
            writers.setdefault(key, []).append(writer)
    last_read: dict[int, int] = {}
    for index, layer in enumerate(layers):
        engine, successor = layer.engine, successors[index]
        if layer.reads_memory:
            last_read[engine] = index
        elif successor is not None and layers[successor].reads:
            synced = range(last_read.get(engine, -1) + 1, successor)
            if any(
                overlap(layers[writer].writes, layers[successor].reads)
                for at in synced
                for writer in writers.get((engine, at), ())
                if layers[writer].engine != engine
            ):
                yield index


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
