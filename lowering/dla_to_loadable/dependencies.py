"""
The dependency graph that the firmware walks (docs/internals/nvdla-hardware.md §5).

Layers come in one total order and every edge follows it, so there is no deadlock by construction:
* each engine's layers form one queue, linked by the slot of their own type;
* a layer on the fly and its parent start together: the child needs the parent programmed, the parent the
  child enabled;
* a layer of another engine that must wait (it reads or overwrites what this one writes, or overwrites what
  this one reads) waits for completion. Of the layers of one engine that wait only the first needs the edge,
  the others queue behind it; of those it waits for only the last, which completes after the others. So a
  layer waits for few events, whatever the pieces its input was made in (the count is a byte);
* an engine reads for one layer while another one still comes to it on the fly: what waits only behind a
  layer that reads nothing has to wait until that one is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xonnc.formats.nvdla.constants import Event


class Extent(NamedTuple):
    """Bytes `begin` to `end` (excluded) of one memory object."""

    memory: int
    begin: int
    end: int


@dataclass(frozen=True)
class Layer:
    """
    One hardware layer: its `engine` (an op type of docs/internals/nvdla-hardware.md §2.2), what it reads and
    writes in memory, and the layer whose result comes to it on the fly.
    """

    engine: int
    reads: tuple[Extent, ...]
    writes: tuple[Extent, ...]
    fused_parent: int | None = None
    reads_memory: bool = True
    """Whether the engine fetches anything for it, constants among them."""
    settings: tuple[int, ...] = ()
    """What its engine cannot change while it runs: a layer with other settings waits until it is complete."""


@dataclass(frozen=True)
class Consumer:
    """Layer `index` waits for `event`."""

    index: int
    event: Event


@dataclass
class Entry:
    """One layer's entry: consumers by engine, the fused parent, and how many events it waits for."""

    consumers: dict[int, Consumer] = field(default_factory=dict[int, Consumer])
    fused_parent: int | None = None
    dependency_count: int = 0


def dependency_graph(layers: Sequence[Layer]) -> tuple[Entry, ...]:
    """The entries for `layers`, which run in this order on each engine."""
    entries = tuple(Entry(fused_parent=layer.fused_parent) for layer in layers)
    followers = _followers(layers)
    for index, layer in enumerate(layers):
        if layer.fused_parent is not None:
            entries[layer.fused_parent].consumers[layer.engine] = Consumer(index, Event.OP_PROGRAMMED)
            entries[layer.fused_parent].dependency_count += 1
    earliest: dict[tuple[int, int], int] = {}
    until: list[dict[int, int]] = [{} for _ in layers]
    for index, layer in reversed(list(enumerate(layers))):
        consumers, following = entries[index].consumers, followers[index]
        if following is not None:
            waits = layer.settings != layers[following].settings
            waits = waits or _meets(layer.writes, layers[following].reads)
            event = Event.OP_COMPLETED if waits else Event.OP_PROGRAMMED
            consumers[layer.engine] = Consumer(following, event)
        for engine, waiting in _waiting(layers, index).items():
            engines = layer.engine, engine
            if engine not in consumers and waiting < earliest.get(engines, len(layers)):
                consumers[engine] = Consumer(waiting, Event.OP_COMPLETED)
                earliest[engines] = waiting
            until[index][engine] = min(waiting, earliest.get(engines, waiting))
    for index, following in enumerate(followers):
        if following is not None and _overtakes(layers, index, following, until):
            entries[index].consumers[layers[index].engine] = Consumer(following, Event.OP_COMPLETED)
    for entry in entries:
        for consumer in entry.consumers.values():
            entries[consumer.index].dependency_count += 1
    return entries


def _overtakes(
    layers: Sequence[Layer], index: int, following: int, until: Sequence[Mapping[int, int]]
) -> bool:
    """
    Whether what layer `following` reads would be there for certain only once layer `index` before it, which
    reads nothing, has begun. `until`: of each layer, where engines wait for it.
    """
    if layers[index].reads_memory or not layers[following].reads:
        return False
    engine, reads = layers[index].engine, layers[following].reads
    turn = max(
        (at for at in range(index) if layers[at].engine == engine and layers[at].reads_memory), default=-1
    )
    return any(
        turn < until[writer].get(engine, following) < following
        for writer in range(following)
        if layers[writer].engine != engine and _meets(layers[writer].writes, reads)
    )


def heads(layers: Sequence[Layer], engines: int) -> tuple[int, ...]:
    """The first layer of each engine, -1 for an engine without any."""
    indexes = [layer.engine for layer in layers]
    return tuple(indexes.index(engine) if engine in indexes else -1 for engine in range(engines))


def _followers(layers: Sequence[Layer]) -> list[int | None]:
    following: dict[int, int] = {}
    followers: list[int | None] = [None] * len(layers)
    for index in reversed(range(len(layers))):
        followers[index] = following.get(layers[index].engine)
        following[layers[index].engine] = index
    return followers


def _waiting(layers: Sequence[Layer], index: int) -> dict[int, int]:
    """For every other engine the first later layer that must wait for layer `index` to complete."""
    layer = layers[index]
    waiting: dict[int, int] = {}
    for later in range(index + 1, len(layers)):
        other = layers[later]
        if other.engine == layer.engine or other.engine in waiting:
            continue
        conflict = _meets(layer.writes, other.reads) or _meets(layer.reads + layer.writes, other.writes)
        if conflict:
            waiting[other.engine] = later
    return waiting


def _meets(left: Sequence[Extent], right: Sequence[Extent]) -> bool:
    return any(a.memory == b.memory and a.begin < b.end and b.begin < a.end for a in left for b in right)
