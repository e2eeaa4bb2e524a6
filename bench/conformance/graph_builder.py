"""Builds models node by node, with control over names, order and declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.conformance.model_specs import Array

Shape = Sequence[int | str | None] | None
Attribute = Any
"""What `onnx.helper.make_node` takes."""


def normal(*shape: int, seed: int = 5) -> Array:
    """Seeded standard normal elements."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class GraphBuilder:
    """A graph under construction: nodes, initializers and interface in insertion order."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.infos: list[onnx.ValueInfoProto] = []
        self.random = np.random.default_rng(seed)

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str] | str,
        name: str = "",
        domain: str = "",
        **attributes: Attribute,
    ) -> str:
        """Append a node; return the name of its first output."""
        made = [outputs] if isinstance(outputs, str) else list(outputs)
        node = helper.make_node(
            operator, list(inputs), made, name or None, domain=domain or None, **attributes
        )
        self.nodes.append(node)
        return made[0]

    def weight(self, name: str, value: Array | Sequence[float] | float, dtype: str = "float32") -> str:
        """An initializer."""
        array = np.asarray(value) if isinstance(value, np.ndarray) else np.asarray(value, dtype)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def random_weight(self, name: str, *shape: int, gain: float = 1.0) -> str:
        """A normally distributed initializer, scaled by 1/sqrt(fan-in)."""
        fan = int(np.prod(shape[1:])) or 1
        scale = gain / np.sqrt(fan) if len(shape) > 1 else gain
        return self.weight(name, (self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, name: str, value: Array | Sequence[float] | float, dtype: str = "float32") -> str:
        """A Constant node."""
        array = np.asarray(value) if isinstance(value, np.ndarray) else np.asarray(value, dtype)
        return self.node("Constant", [], name, value=numpy_helper.from_array(array, name))

    def input(self, name: str, shape: Shape, dtype: str = "float32") -> str:
        """Declare an input; `None` is an unknown dimension or an unknown rank."""
        self.inputs.append(info(name, shape, dtype))
        return name

    def output(self, name: str, shape: Shape = None, dtype: str = "float32") -> str:
        """Declare an output."""
        self.outputs.append(info(name, shape, dtype))
        return name

    def declare(self, name: str, shape: Shape, dtype: str = "float32") -> None:
        """Add a `value_info` entry."""
        self.infos.append(info(name, shape, dtype))

    def graph(self, name: str = "graph") -> onnx.GraphProto:
        """The graph, e.g. as a subgraph of a control-flow operator."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        graph.value_info.extend(self.infos)
        return graph

    def model(
        self,
        opset: int,
        *,
        producer: str = "",
        ir_version: int = 8,
        domains: Mapping[str, int] | None = None,
        weights_are_inputs: bool = False,
        name: str = "graph",
    ) -> onnx.ModelProto:
        """The model; before IR version 4 every initializer is an input too."""
        graph = self.graph(name)
        if weights_are_inputs:
            for weight in self.weights:
                graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
        opsets = [helper.make_opsetid("", opset)]
        opsets += [helper.make_opsetid(domain, version) for domain, version in (domains or {}).items()]
        model = helper.make_model(graph, opset_imports=opsets, producer_name=producer)
        model.ir_version = ir_version
        return model


def info(name: str, shape: Shape, dtype: str) -> onnx.ValueInfoProto:
    """The declaration of a tensor."""
    type_ = helper.np_dtype_to_tensor_dtype(np.dtype(object if dtype == "str" else dtype))
    return helper.make_tensor_value_info(name, type_, None if shape is None else list(shape))
