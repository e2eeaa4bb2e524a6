"""Passes on constants and on what nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, is_op
from xonnc.compat.onnxoptimizer.registry import MEMORY, PassType, graph_pass, node_pass


def graphs(graph: Graph) -> Iterator[Graph]:
    """Yield a graph after its subgraphs."""
    for node in graph.nodes():
        for child in graph.subgraphs(node):
            yield from graphs(child)
    yield graph


@node_pass(PassType.NOP, MEMORY)
def extract_constant_to_initializer(graph: Graph, node: Node) -> bool:
    """Turn Constant nodes with a tensor into initializers of the same name."""
    if not is_op(node, "Constant") or not graph.is_constant(node.output[0]):
        return False
    tensor = next(each.t for each in node.attribute if each.name == "value")
    graph.turn_into_initializer(node, tensor)
    return True


@graph_pass(PassType.NOP)
def eliminate_deadend(graph: Graph) -> int:
    """Remove nodes whose outputs nothing reads, in subgraphs too."""
    count = 0
    for each in graphs(graph):
        for node in reversed(list(each.nodes())):
            if not any(each.is_used(name) for name in node.output if name):
                each.erase(node)
                count += 1
    return count


@graph_pass(PassType.NOP, MEMORY)
def eliminate_unused_initializer(graph: Graph) -> int:
    """Remove initializers that nothing reads, and the inputs of the same name."""
    count = 0
    for each in graphs(graph):
        for name in list(each.initializers):
            if not each.is_used(name) and name not in each.annotated:
                each.erase_initializer(name)
                count += 1
    return count


@graph_pass(PassType.NOP, MEMORY, differs="Subgraphs too.")
def eliminate_duplicate_initializer(graph: Graph) -> int:
    """Keep one of several equal initializers."""
    return sum(map(_merge_initializers, graphs(graph)))


def _merge_initializers(graph: Graph) -> int:
    unique: dict[object, list[str]] = {}
    count = 0
    for name, tensor in list(graph.initializers.items()):
        if name in graph.inputs or name in graph.outputs or name in graph.annotated:
            continue
        if graph.captured_outputs[name]:
            continue
        array = graph.model.reader.array(tensor)
        content = tuple(array.reshape(-1)) if array.dtype == np.object_ else hash(array.tobytes())
        equal = unique.setdefault((tensor.data_type, array.shape, content), [])
        found = next((one for one in equal if _same(graph, one, name)), None)
        if found is None:
            equal.append(name)
        else:
            graph.redirect(name, found)
            graph.erase_initializer(name)
            count += 1
    return count


def _same(graph: Graph, one: str, other: str) -> bool:
    first, second = (graph.model.reader.array(graph.initializers[name]) for name in (one, other))
    return first.dtype == np.object_ or first.tobytes() == second.tobytes()
