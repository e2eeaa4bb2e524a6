"""The order of a graph's nodes: as written if every value is made before it is used, else sorted."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import onnx

from xonnc.formats.onnx.captures import captured_names, input_and_initializer_names

_SUBGRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


@dataclass(frozen=True)
class NodeOrder:
    """The nodes of a graph, each after what it reads; those of a cycle are where it is cut."""

    nodes: Sequence[onnx.NodeProto]
    cycles: Sequence[str] = ()
    """What is to be said of each cycle, naming its nodes."""


def topological_order(graph: onnx.GraphProto, outer: Container[str]) -> NodeOrder:
    """
    The nodes of `graph` so that each comes after what it reads; `outer` holds the names visible from outside.

    A graph that is out of order is sorted stably. What no node makes is not waited for.
    """
    made = input_and_initializer_names(graph)
    for node in graph.node:
        for name in _reads(node):
            if name and name not in made and name not in outer:
                return _sorted(graph)
        made.update(node.output)
    return NodeOrder(graph.node)


def describe(node: onnx.NodeProto) -> str:
    """How messages call a node: by its name, else by what it makes."""
    return node.name or next((name for name in node.output if name), "") or node.op_type


def _reads(node: onnx.NodeProto) -> Iterable[str]:
    """The names a node depends on: its inputs, and what its subgraphs take from outside."""
    if any(attribute.type in _SUBGRAPHS for attribute in node.attribute):
        return [*node.input, *captured_names(node)]
    return node.input


def _sorted(graph: onnx.GraphProto) -> NodeOrder:
    """Kahn's algorithm; of the nodes that are ready, the one that was written first."""
    maker = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    waiting = [{maker[name] for name in _reads(node) if name in maker} for node in graph.node]
    readers: dict[int, list[int]] = {}
    for index, needs in enumerate(waiting):
        for need in needs:
            readers.setdefault(need, []).append(index)
    ready = [index for index, needs in enumerate(waiting) if not needs]
    order: list[int] = []
    cycles: list[str] = []
    start = 0
    while len(order) < len(graph.node):
        if not ready:
            start = next(index for index in range(start, len(waiting)) if waiting[index])
            cycle = _cycle(waiting, start)
            cycles.append(f"the graph has a cycle: {_named(graph, cycle)}")
            # Cut before the node that was written first.
            ready.append(min(cycle))
            waiting[ready[0]].clear()
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            if index not in waiting[reader]:
                continue
            waiting[reader].discard(index)
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return NodeOrder([graph.node[index] for index in order], cycles)


def _cycle(waiting: Sequence[set[int]], start: int) -> list[int]:
    """The nodes of one cycle, found from a node that waits, in the direction of the data."""
    path: dict[int, int] = {}
    index = start
    while index not in path:
        path[index] = len(path)
        index = min(waiting[index])
    return list(reversed(list(path)[path[index] :]))


def _named(graph: onnx.GraphProto, cycle: Sequence[int]) -> str:
    """The nodes of a cycle, the first again at the end; seven are named."""
    names = [describe(graph.node[index]) for index in cycle[:7]]
    return " -> ".join([*names, *(["…"] if len(cycle) > 7 else []), names[0]])
