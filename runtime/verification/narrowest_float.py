"""The narrowest type of floats that a model computes in: rounding to it reaches outputs of any type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from xonnc.formats.onnx.captures import graphs_of

NARROW = {onnx.TensorProto.BFLOAT16: "bfloat16", onnx.TensorProto.FLOAT16: "float16"}
"""By the least number of significant bits first."""


def narrowest_float(models: Iterable[onnx.ModelProto | None]) -> str:
    """
    Return the name of the narrowest type of 16 bits in any of some models; empty if there is none.

    Parameters:
        models: the models, as far as they are known.
    """
    found = {kind for model in models if model is not None for kind in _types(model)}
    return next((name for kind, name in NARROW.items() if kind in found), "")


def _types(model: onnx.ModelProto) -> Iterator[int]:
    yield from _types_of_graph(model.graph)
    for function in model.functions:
        yield from _types_of_nodes(function.node)


def _types_of_graph(graph: onnx.GraphProto) -> Iterator[int]:
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.type.tensor_type.elem_type
    for tensor in graph.initializer:
        yield tensor.data_type
    yield from _types_of_nodes(graph.node)


def _types_of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[int]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name == "to":
                yield attribute.i
            elif attribute.HasField("t"):
                yield attribute.t.data_type
        for graph in graphs_of(node):
            yield from _types_of_graph(graph)
