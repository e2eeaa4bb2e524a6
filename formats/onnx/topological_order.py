"""Topological order of a graph's nodes: file order if it is valid, else sorted."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import onnx

from xonnc.formats.onnx.captures import captured_names, input_and_initializer_names

_SUBGRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


@dataclass(frozen=True)
class NodeOrder:
    """The nodes of a graph, each after those it reads; cycles are cut."""

    nodes: Sequence[onnx.NodeProto]
    cycles: Sequence[str] = ()
    """A description of each cycle, with its nodes."""


def topological_order(graph: onnx.GraphProto, outer: Container[str]) -> NodeOrder:
    """
    Return the nodes of a graph in topological order; `outer` holds the names visible from enclosing graphs.

    A graph that is out of order is sorted stably. Undefined names are no dependencies.
    """
    made = input_and_initializer_names(graph)
    for node in graph.node:
        for name in _reads(node):
            if name and name not in made and name not in outer:
                return _sorted(graph)
        made.update(node.output)
    return NodeOrder(graph.node)


def describe(node: onnx.NodeProto) -> str:
    """Return the name of a node in messages: its name, else its first output."""
    return node.name or next((name for name in node.output if name), "") or node.op_type


def _reads(node: onnx.NodeProto) -> Iterable[str]:
    """Return the names that a node depends on: its inputs, and captures of its subgraphs."""
    if any(attribute.type in _SUBGRAPHS for attribute in node.attribute):
        return [*node.input, *captured_names(node)]
    return node.input


def _sorted(graph: onnx.GraphProto) -> NodeOrder:
    """Kahn's algorithm; among ready nodes the first in file order is taken."""
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
    """Return the nodes of one cycle, in the direction of data flow, found from an unready node."""
    path: dict[int, int] = {}
    index = start
    while index not in path:
        path[index] = len(path)
        index = min(waiting[index])
    return list(reversed(list(path)[path[index] :]))


def _named(graph: onnx.GraphProto, cycle: Sequence[int]) -> str:
    """Format a cycle: at most seven nodes, then the first again."""
    names = [describe(graph.node[index]) for index in cycle[:7]]
    return " -> ".join([*names, *(["…"] if len(cycle) > 7 else []), names[0]])
