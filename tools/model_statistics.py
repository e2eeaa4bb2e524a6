"""Counts of a model's nodes and weights, and differences between two models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import onnx

from xonnc.formats.onnx.captures import graphs_of
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.tensors import DTYPES, stored_size


@dataclass(frozen=True)
class Statistics:
    """Counts of a model's nodes and parameters, subgraphs included."""

    opsets: dict[str, int]
    inputs: dict[str, str]
    outputs: dict[str, str]
    operators: dict[str, int]
    parameters: int
    bytes: int
    elements: dict[str, int]
    """Parameters by element type."""
    with_initializer: tuple[str, ...] = ()
    """Inputs that need not be fed."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return sum(self.operators.values())


def statistics(model: onnx.ModelProto) -> Statistics:
    """Count the nodes and initializers of a model."""
    operators, elements = Counter[str](), Counter[str]()
    initialized = {tensor.name for tensor in model.graph.initializer}
    size = 0
    for graph in graphs(model.graph):
        operators.update(f"{node.domain}.{node.op_type}".removeprefix(".") for node in graph.node)
        for tensor in graph.initializer:
            count = prod(tensor.dims)
            elements[str(DTYPES.get(tensor.data_type, "unknown"))] += count
            if tensor.data_type in DTYPES and tensor.data_type != onnx.TensorProto.STRING:
                size += stored_size(tensor.data_type, count)
    return Statistics(
        {each.domain or "ai.onnx": each.version for each in model.opset_import},
        {info.name: spelled(info.type) for info in model.graph.input},
        {info.name: spelled(info.type) for info in model.graph.output},
        dict(operators.most_common()),
        elements.total(),
        size,
        dict(elements.most_common()),
        tuple(info.name for info in model.graph.input if info.name in initialized),
    )


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and its subgraphs."""
    yield graph
    for node in graph.node:
        for inner in graphs_of(node):
            yield from graphs(inner)


def spelled(type_: onnx.TypeProto) -> str:
    """Format a type as `float32[1, 3, N]`."""
    if not type_.HasField("tensor_type"):
        return (type_.WhichOneof("value") or "unknown").removesuffix("_type")
    tensor = type_.tensor_type
    element = str(DTYPES.get(tensor.elem_type, "unknown"))
    if not tensor.HasField("shape"):
        return element
    sizes = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
    return f"{element}[{', '.join(sizes)}]"


def weight_differences(a: LoadedModel, b: LoadedModel) -> dict[str, float | None]:
    """
    Return the initializers of both main graphs that differ, with the largest difference of an element.

    `None` if type or shape differ, or the elements have no difference.
    """
    others = {tensor.name: tensor for tensor in b.proto.graph.initializer}
    found: dict[str, float | None] = {}
    for tensor in a.proto.graph.initializer:
        if tensor.name not in others:
            continue
        one, other = a.tensors.array(tensor), b.tensors.array(others[tensor.name])
        if one.dtype != other.dtype or one.shape != other.shape or one.dtype == np.object_:
            if one.dtype != other.dtype or not np.array_equal(one, other):
                found[tensor.name] = None
        elif one.tobytes() != other.tobytes():
            wide = np.complex128 if one.dtype.kind == "c" else np.float64
            found[tensor.name] = float(np.max(np.abs(one.astype(wide) - other.astype(wide))))
    return found
