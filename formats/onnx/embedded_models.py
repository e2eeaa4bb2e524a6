"""Models embedded in packages: validation, and evaluation by the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import onnx
from google.protobuf.message import DecodeError

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of


def require_self_contained(data: bytes, name: str) -> None:
    """
    Raise `XonncError` unless `data` is a model without external data.

    External data in an embedded model would let a package read arbitrary files.
    """
    for tensor in _tensors(_parsed(data, name)):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise XonncError(
                f"{name}: tensor '{tensor.name}' has external data; embedded models must contain weights"
            )


def program(data: bytes, name: str) -> Callable[[Mapping[str, object]], list[object]]:
    """
    Return a serialised model as a function from inputs by name to outputs in order, by the reference
    evaluator.

    Both raise `XonncError` where the evaluator fails.
    """
    return reference_of(_parsed(data, name))


def _parsed(data: bytes, name: str) -> onnx.ModelProto:
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        raise XonncError(f"{name}: not an ONNX model, or damaged: protobuf cannot decode it") from None
    if not model.HasField("graph"):
        raise XonncError(f"{name}: not an ONNX model: there is no graph in it")
    return model


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
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
        yield attribute.t
        yield from attribute.tensors
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            yield from (sparse.values, sparse.indices)
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _in_graph(graph)
