"""Assignments and their order against exhaustive search on small graphs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from xonnc.lowering.placement.assignment import nodes_on_dla
from xonnc.lowering.placement.dataflow import Dataflow, DataflowValue
from xonnc.lowering.placement.max_flow import FlowNetwork
from xonnc.lowering.placement.partitions import partition_nodes

MAX_NODES = 8


def drawn(seed: int) -> tuple[Dataflow, set[int], set[int]]:
    """A random dataflow with nodes that are bound to a side."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, MAX_NODES))
    values: list[DataflowValue] = []
    for producer in (None, None, *range(count)):
        later = range(0 if producer is None else producer + 1, count)
        readers = tuple(node for node in later if generator.random() < 0.4)
        values.append(DataflowValue(producer, readers, bool(generator.random() < 0.3)))
    kinds = generator.integers(0, 3, count)
    return (
        Dataflow(count, values),
        {node for node in range(count) if kinds[node] == 0},
        {node for node in range(count) if kinds[node] == 1},
    )


def crossings(flow: Dataflow, on_dla: set[int]) -> int:
    """Tensors that go to the DLA, and tensors that leave it."""
    found = 0
    for value in flow.values:
        sides = {reader in on_dla for reader in value.readers}
        if value.is_returned:
            sides.add(False)
        found += bool(sides - {value.producer in on_dla})
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("most", [0, 3])
def test_no_other_choice_of_sides_costs_less_or_as_much_with_more_on_the_dla(seed: int, most: int):
    flow, dla, cpu = drawn(seed)
    free = sorted(set(range(flow.count)) - dla - cpu)
    worth = {node: int(np.random.default_rng((seed, node)).integers(0, most + 1)) for node in free}
    found = nodes_on_dla(flow, dla, cpu, worth)
    assert dla <= found
    assert not cpu & found

    def cost(choice: set[int]) -> tuple[int, int]:
        return crossings(flow, choice) + sum(worth[node] for node in free if node not in choice), -len(choice)

    choices = [
        dla | {node for node, taken in zip(free, choice, strict=True) if taken}
        for choice in product((False, True), repeat=len(free))
    ]
    assert cost(found) == min(map(cost, choices))


@pytest.mark.parametrize("seed", range(60))
def test_partitions_alternate_depend_on_no_later_one_and_are_minimal(seed: int):
    flow, dla, _ = drawn(seed)
    parts = partition_nodes(flow, dla)
    order = {node: number for number, partition in enumerate(parts) for node in partition}
    assert sorted(order) == list(range(flow.count))
    assert all(len({node in dla for node in partition}) == 1 for partition in parts)
    edges = [(v.producer, reader) for v in flow.values if v.producer is not None for reader in v.readers]
    assert all(order[maker] <= order[reader] for maker, reader in edges)
    assert len(parts) == fewest_partitions(flow, dla, edges)


def fewest_partitions(flow: Dataflow, dla: set[int], edges: list[tuple[int, int]]) -> int:
    """By doing what can be done on one side, then on the other, from either."""
    counts: list[int] = []
    for side in (True, False):
        left, count, is_dla = set(range(flow.count)), 0, side
        while left:
            moved = True
            did = 0
            while moved:
                ready = {
                    node
                    for node in left
                    if (node in dla) == is_dla and not any(m in left for m, r in edges if r == node)
                }
                left -= ready
                did += len(ready)
                moved = bool(ready)
            count += bool(did)
            is_dla = not is_dla
        counts.append(count)
    return min(counts)


def test_a_node_joins_its_reader_where_that_saves_transfers():
    # 0 (CPU) feeds 1 (DLA) feeds 2 (CPU) feeds 3 (DLA); 4 and 5 (DLA) only make something for 3.
    values = [
        DataflowValue(None, (0, 4)),
        DataflowValue(0, (1,)),
        DataflowValue(1, (2,)),
        DataflowValue(2, (3,)),
        DataflowValue(4, (5,)),
        DataflowValue(5, (3,)),
        DataflowValue(3, (), True),
    ]
    order = [0, 1, 2, 4, 5, 3]
    rank = {node: order.index(node) for node in order}
    flow = Dataflow(
        6,
        [
            DataflowValue(
                None if v.producer is None else rank[v.producer],
                tuple(rank[r] for r in v.readers),
                v.is_returned,
            )
            for v in values
        ],
    )
    assert partition_nodes(flow, {rank[node] for node in (1, 3, 4, 5)}) == [
        [rank[0]],
        [rank[1]],
        [rank[2]],
        [rank[4], rank[5], rank[3]],
    ]


def test_the_cut_of_a_chain_is_its_thinnest_pipe_nearest_to_the_sink():
    network = FlowNetwork()
    nodes = [network.add_node() for _ in range(5)]
    for start, capacity in zip(nodes[:-1], (3, 2, 5, 2), strict=True):
        network.add_edge(start, start + 1, capacity)
    assert network.source_side(nodes[0], nodes[-1]) == set(nodes[:4])


def test_a_long_chain_is_cut_without_recursion():
    network = FlowNetwork()
    nodes = [network.add_node() for _ in range(20_000)]
    for start in nodes[:-1]:
        network.add_edge(start, start + 1, 2 if start != 9_999 else 1)
    assert network.source_side(nodes[0], nodes[-1]) == set(nodes[:10_000])
