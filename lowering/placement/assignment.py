"""
Which side of a network each node runs on, with the fewest tensors going across.

Nodes that only one side does are given. What is left, nodes that are cheap on both, follows its neighbours: a
smallest cut, in which a tensor counts once for each direction in which it crosses, however many read it.
Inputs and outputs of the network are at the CPU.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xonnc.lowering.placement.dataflow import Dataflow
from xonnc.lowering.placement.max_flow import UNLIMITED, FlowNetwork


def nodes_on_dla(flow: Dataflow, dla: AbstractSet[int], cpu: AbstractSet[int]) -> set[int]:
    """
    The nodes that run on the DLA: those in `dla`, none of those in `cpu`.

    Of cuts with as few crossings, the one with the most nodes on the DLA.
    """
    free = flow.count - len(dla) - len(cpu)
    if not free:
        return set(dla)
    crossing = free + 1
    network = FlowNetwork()
    source, sink = network.node(), network.node()
    places: list[int] = []
    for node in range(flow.count):
        pinned = source if node in dla else sink if node in cpu else None
        places.append(network.node() if pinned is None else pinned)
        if pinned is None:
            network.add_edge(source, places[node], 1)
    for value in flow.values:
        producer = sink if value.producer is None else places[value.producer]
        readers = {places[reader] for reader in value.readers} | ({sink} if value.is_returned else set[int]())
        if readers - {producer}:
            out, back = network.node(), network.node()
            network.add_edge(producer, out, crossing)
            network.add_edge(back, producer, crossing)
            for reader in sorted(readers):
                network.add_edge(out, reader, UNLIMITED)
                network.add_edge(reader, back, UNLIMITED)
    source_side = network.source_side(source, sink)
    return {node for node in range(flow.count) if places[node] in source_side}
