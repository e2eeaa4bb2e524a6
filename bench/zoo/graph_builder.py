"""Writes a graph node by node, with names as torch's exporter gives them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import prod, sqrt

import numpy as np
import onnx

from xonnc.formats.onnx.tensors import AnyArray, proto

Dims = Sequence[int | str]
Attribute = int | float | str | Sequence[int]

FLOAT, INT64 = int(onnx.TensorProto.FLOAT), int(onnx.TensorProto.INT64)

IR_VERSIONS = {17: 8}
"""The IR version that torch writes with an opset."""


class GraphBuilder:
    """
    A graph that grows: `op` appends a node and gives the name of its first output.

    Weights are drawn from one seeded generator in the order in which they are asked for.
    """

    def __init__(self, name: str, opset: int = 17, seed: int = 0) -> None:
        self.name = name
        self.opset = opset
        self._random = np.random.default_rng(seed)
        self._scope: list[str] = []
        self._names: dict[str, int] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []

    @contextmanager
    def within(self, *scope: str) -> Generator[None]:
        """Nodes and weights made meanwhile are of that submodule."""
        self._scope.extend(scope)
        yield
        del self._scope[-len(scope) :]

    def input(self, name: str, shape: Dims, data_type: int = FLOAT) -> str:
        """Add an input; dimensions given by names are dynamic."""
        self._inputs.append(onnx.helper.make_tensor_value_info(name, data_type, list(shape)))
        return name

    def op(self, op_type: str, *operands: str, **attributes: Attribute) -> str:
        """Append a node of one output."""
        return self.ops(op_type, *operands, count=1, **attributes)[0]

    def ops(self, op_type: str, *operands: str, count: int, **attributes: Attribute) -> list[str]:
        """Append a node of `count` outputs."""
        name = self._unique("/".join(["", *self._scope, op_type]))
        outputs = [f"{name}_output_{index}" for index in range(count)]
        node = onnx.helper.make_node(op_type, operands, outputs, name)
        node.attribute.extend(onnx.helper.make_attribute(key, attributes[key]) for key in sorted(attributes))
        self._nodes.append(node)
        return outputs

    def constant(self, value: AnyArray) -> str:
        """Append a Constant node."""
        return self._with_value(self.op("Constant"), value)

    def filled(self, shape: str, value: AnyArray) -> str:
        """Append a ConstantOfShape of the one element of `value`."""
        return self._with_value(self.op("ConstantOfShape", shape), value)

    def weight(self, name: str, value: AnyArray) -> str:
        """Add an initializer under the name that it has in its submodule."""
        full = self._unique(".".join([*self._scope, name]))
        self._weights.append(proto(np.asarray(value, order="C"), full))
        return full

    def literal(self, value: float | Sequence[float]) -> str:
        """Add a float initializer that is no parameter."""
        return self.weight("value", np.asarray(value, np.float32))

    def integers(self, *values: int) -> str:
        """Add a vector of int64."""
        return self.weight("sizes", np.asarray(values, np.int64))

    def index(self, value: int) -> str:
        """Add an int64 of rank 0."""
        return self.weight("index", np.asarray(value, np.int64))

    def normal(self, name: str, shape: Sequence[int], deviation: float, mean: float = 0.0) -> str:
        """Add a parameter drawn from a normal distribution."""
        values = self._random.standard_normal(tuple(shape), np.float32)
        values *= np.float32(deviation)
        if mean:
            values += np.float32(mean)
        return self.weight(name, values)

    def uniform(self, name: str, shape: Sequence[int], low: float, high: float) -> str:
        """Add a parameter drawn evenly from `low` to `high`."""
        return self.weight(name, self._random.uniform(low, high, tuple(shape)).astype(np.float32))

    def he(self, name: str, shape: Sequence[int], gain: float = 2.0) -> str:
        """Add weights `[outputs, inputs, …]` that keep the variance of what they are applied to."""
        return self.normal(name, shape, sqrt(gain / prod(shape[1:])))

    def model(self, outputs: dict[str, tuple[str, Dims]], data_type: int = FLOAT) -> onnx.ModelProto:
        """The model; `outputs` says what each is called, its value and shape."""
        renamed = {value: name for name, (value, _) in outputs.items()}
        for node in self._nodes:
            for values in (node.input, node.output):
                for index, value in enumerate(values):
                    values[index] = renamed.get(value, value)
        infos = [
            onnx.helper.make_tensor_value_info(name, data_type, list(shape))
            for name, (_, shape) in outputs.items()
        ]
        graph = onnx.helper.make_graph(self._nodes, self.name, self._inputs, infos, self._weights)
        return onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSIONS[self.opset],
            producer_name="xonnc-bench",
        )

    def _with_value(self, output: str, value: AnyArray) -> str:
        """Give the last node its tensor."""
        self._nodes[-1].attribute.append(onnx.helper.make_attribute("value", proto(value)))
        return output

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return f"{name}_{count}" if count else name
