"""Backward slices of a model: the nodes that an output depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx


def backward_slice(model: onnx.ModelProto, output: str) -> onnx.ModelProto:
    """The model with one output and the nodes that it depends on; all inputs stay."""
    part = onnx.ModelProto()
    part.CopyFrom(model)
    live = {output}
    retained: list[onnx.NodeProto] = []
    for node in reversed(model.graph.node):
        if not live.isdisjoint(node.output):
            retained.append(node)
            live.update(names_read(node))
    del part.graph.node[:]
    part.graph.node.extend(reversed(retained))
    outputs = [port for port in model.graph.output if port.name == output]
    del part.graph.output[:]
    part.graph.output.extend(outputs)
    return part


def names_read(node: onnx.NodeProto) -> list[str]:
    """Names that a node and its subgraphs read."""
    graphs = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    inner = [name for graph in graphs for one in graph.node for name in names_read(one)]
    return [*node.input, *inner, *(output.name for graph in graphs for output in graph.output)]


def walk_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes, including those of subgraphs and functions."""
    yield from _walk(model.graph.node)
    for function in model.functions:
        yield from _walk(function.node)


def _walk(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _walk(attribute.g.node)
