"""The order of a graph's nodes: as written if every value is made before it is used, else sorted."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Sequence

import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.captures import captured_by, given_names

_SUBGRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def ordered(graph: onnx.GraphProto, outer: Container[str]) -> Sequence[onnx.NodeProto]:
    """
    The nodes of `graph` so that each comes after what it reads; `outer` holds the names visible from outside.

    A graph that is out of order is sorted stably. Raises `XonncError` for a cycle (naming its nodes),
    a value that nothing makes and a value that is made twice.
    """
    made = given_names(graph)
    for node in graph.node:
        for name in _reads(node):
            if name and name not in made and name not in outer:
                return _sorted(graph, outer)
        made.update(node.output)
    return graph.node


def describe(node: onnx.NodeProto) -> str:
    """How messages call a node: by its name, else by what it makes."""
    return node.name or next((name for name in node.output if name), "") or node.op_type


def _reads(node: onnx.NodeProto) -> Iterable[str]:
    """The names a node depends on: its inputs, and what its subgraphs take from outside."""
    if any(attribute.type in _SUBGRAPHS for attribute in node.attribute):
        return [*node.input, *captured_by(node)]
    return node.input


def _sorted(graph: onnx.GraphProto, outer: Container[str]) -> Sequence[onnx.NodeProto]:
    """Kahn's algorithm; of the nodes that are ready, the one that was written first."""
    given = given_names(graph)
    maker = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    waiting: list[set[int]] = []
    readers: dict[int, list[int]] = {}
    for index, node in enumerate(graph.node):
        needs: set[int] = set()
        for name in _reads(node):
            if name in maker:
                needs.add(maker[name])
            elif name and name not in given and name not in outer:
                raise XonncError(f"{describe(node)}: input '{name}' is made by no node, input or initializer")
        waiting.append(needs)
        for need in needs:
            readers.setdefault(need, []).append(index)
    ready = [index for index, needs in enumerate(waiting) if not needs]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            waiting[reader].discard(index)
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(graph.node):
        raise XonncError(f"the graph has a cycle: {' -> '.join(_cycle(graph, waiting))}")
    return [graph.node[index] for index in order]


def _cycle(graph: onnx.GraphProto, waiting: Sequence[set[int]]) -> list[str]:
    """The nodes of one cycle in the direction of the data, the first again at the end; seven are named."""
    index = next(index for index, needs in enumerate(waiting) if needs)
    path: list[int] = []
    while index not in path:
        path.append(index)
        index = min(waiting[index])
    names = [describe(graph.node[step]) for step in reversed(path[path.index(index) :])]
    return [*names[:7], *(["…"] if len(names) > 7 else []), names[0]]
