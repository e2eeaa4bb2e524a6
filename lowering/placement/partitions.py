"""
Partitions of a network, alternately on the DLA and the CPU, in as few alternations as possible.

Partitions run in the order of their level. The level of a node is at least that of its producers, so
partitions never depend on each other cyclically.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xonnc.lowering.placement.dataflow import Dataflow, DataflowValue


def partition_nodes(flow: Dataflow, on_dla: AbstractSet[int]) -> list[list[int]]:
    """Return the nodes of each partition, in the order in which partitions run."""
    first_dla, first_cpu = (_earliest(flow, on_dla, is_dla_first) for is_dla_first in (True, False))
    levels = min(first_dla, first_cpu, key=lambda levels: len(set(levels)))
    _gather(flow, on_dla, levels)
    partitions: dict[int, list[int]] = {}
    for node in range(flow.count):
        partitions.setdefault(levels[node], []).append(node)
    return [partitions[level] for level in sorted(partitions)]


def _earliest(flow: Dataflow, on_dla: AbstractSet[int], is_dla_first: bool) -> list[int]:
    levels = [int((node in on_dla) != is_dla_first) for node in range(flow.count)]
    producers: list[list[int]] = [[] for _ in range(flow.count)]
    for value in flow.values:
        if value.producer is not None:
            for reader in value.readers:
                producers[reader].append(value.producer)
    for node in range(flow.count):
        for producer in producers[node]:
            levels[node] = max(levels[node], levels[producer] + ((producer in on_dla) != (node in on_dla)))
    return levels


def _gather(flow: Dataflow, on_dla: AbstractSet[int], levels: list[int]) -> None:
    """Raise nodes to the level of their readers if that reduces transfers to or from the DLA."""
    values_of = flow.values_by_node()
    for node in reversed(range(flow.count)):
        readers = {r for value in values_of[node] if value.producer == node for r in value.readers}
        if not readers:
            continue
        latest = min(levels[r] - ((r in on_dla) != (node in on_dla)) for r in readers)
        same_side = {levels[r] for r in readers if (r in on_dla) == (node in on_dla)}
        choices = sorted({level for level in (*same_side, latest) if levels[node] <= level <= latest})
        costs = {level: _cost(values_of[node], node, level, on_dla, levels) for level in choices}
        if choices:
            here = _cost(values_of[node], node, levels[node], on_dla, levels)
            best = min(reversed(choices), key=lambda level: costs[level])
            levels[node] = best if costs[best] <= here else levels[node]


def _cost(
    values: Sequence[DataflowValue], node: int, level: int, on_dla: AbstractSet[int], levels: list[int]
) -> int:
    """Return the transfers of `values` to or from the DLA if `node` were at `level`."""
    before, levels[node] = levels[node], level
    cost = sum(_transfers(value, on_dla, levels) for value in values)
    levels[node] = before
    return cost


def _transfers(value: DataflowValue, on_dla: AbstractSet[int], levels: list[int]) -> int:
    made_at = None if value.producer is None else levels[value.producer]
    read_at = {levels[reader] for reader in value.readers if reader in on_dla} - {made_at}
    if value.producer not in on_dla:
        return len(read_at)
    leaves = value.is_returned or any(levels[reader] != made_at for reader in value.readers)
    return len(read_at) + leaves
