"""
Assignment of nodes to NVDLA or the CPU with the fewest tensors transferred.

Nodes that only one of them supports are fixed. The others are assigned by a minimum cut, in which a tensor
counts once per direction, however many nodes read it, and a node on the CPU as many tensors as its work is
worth: none if it is cheap on both. Network inputs and outputs are on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from xonnc.lowering.placement.dataflow import Dataflow
from xonnc.lowering.placement.max_flow import UNLIMITED, FlowNetwork


def nodes_on_dla(
    flow: Dataflow,
    dla: AbstractSet[int],
    cpu: AbstractSet[int],
    worth: Mapping[int, int] = MappingProxyType({}),
) -> set[int]:
    """
    Return the nodes that run on the DLA: those in `dla`, none of those in `cpu`.

    `worth` is how many transfers the DLA saves by computing a node, 0 if it is not there. Among minimum cuts
    the one with the most nodes on the DLA.
    """
    free = flow.count - len(dla) - len(cpu)
    if not free:
        return set(dla)
    crossing = free + 1
    network = FlowNetwork()
    source, sink = network.add_node(), network.add_node()
    positions: list[int] = []
    for node in range(flow.count):
        pinned = source if node in dla else sink if node in cpu else None
        positions.append(network.add_node() if pinned is None else pinned)
        if pinned is None:
            network.add_edge(source, positions[node], 1 + crossing * worth.get(node, 0))
    for value in flow.values:
        producer = sink if value.producer is None else positions[value.producer]
        readers = {positions[reader] for reader in value.readers} | (
            {sink} if value.is_returned else set[int]()
        )
        if readers - {producer}:
            # Two auxiliary nodes per tensor: `out` costs one crossing if the producer is on the DLA and any
            # reader is not, `back` one for the opposite direction.
            out, back = network.add_node(), network.add_node()
            network.add_edge(producer, out, crossing)
            network.add_edge(back, producer, crossing)
            for reader in sorted(readers):
                network.add_edge(out, reader, UNLIMITED)
                network.add_edge(reader, back, UNLIMITED)
    source_side = network.source_side(source, sink)
    return {node for node in range(flow.count) if positions[node] in source_side}
