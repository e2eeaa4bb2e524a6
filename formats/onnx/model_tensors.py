"""The tensors in a model, wherever they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx


def tensors_of(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of all graphs, of attributes and of local functions; of sparse ones both parts."""
    yield from _in_graph(model.graph)
    for function in model.functions:
        yield from _in_nodes(function.node)
        yield from _in_attributes(function.attribute_proto)
    for training in model.training_info:
        yield from _in_graph(training.initialization)
        yield from _in_graph(training.algorithm)


def _in_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        yield from _in_attributes(node.attribute)


def _in_attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[onnx.TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("sparse_tensor"):
            yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
        for sparse in attribute.sparse_tensors:
            yield from (sparse.values, sparse.indices)
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _in_graph(graph)
