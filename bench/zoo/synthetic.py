"""Models that stress one thing: many nodes, many weights, large weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from bench.zoo.graph import FLOAT, Graph

EXTERNAL_WIDTH = 8192
EXTERNAL_LAYERS = 12
"""Twelve matrices of 256 MiB: 3.2 GB."""


def chain(count: int) -> onnx.ModelProto:
    """
    `count` nodes in groups of four: a sum of constants, an addition of it, an Identity and an Abs.

    Half of them fold away, none does the work of another.
    """
    tensor = onnx.helper.make_tensor_value_info
    numbers = np.random.default_rng(0).standard_normal((count, 2)).astype(np.float32) / 4
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    value = "x"
    for index in range(0, count - 3, 4):
        names = [f"{letter}{index}" for letter in "abcdef"]
        for name, number in zip(names, numbers[index], strict=False):
            weights.append(onnx.helper.make_tensor(name, FLOAT, [], [float(number)]))
        a, b, both, moved, same, positive = names
        nodes += [
            onnx.helper.make_node("Add", [a, b], [both]),
            onnx.helper.make_node("Add", [value, both], [moved]),
            onnx.helper.make_node("Identity", [moved], [same]),
            onnx.helper.make_node("Abs", [same], [positive]),
        ]
        value = positive
    while len(nodes) < count:
        nodes.append(onnx.helper.make_node("Sin", [value], [f"s{len(nodes)}"]))
        value = nodes[-1].output[0]
    graph = onnx.helper.make_graph(
        nodes, "chain", [tensor("x", FLOAT, [1, 64])], [tensor(value, FLOAT, [1, 64])], weights
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def big_matmul() -> onnx.ModelProto:
    """One product with a weight of 128 MiB."""
    graph = Graph("big_matmul")
    value = graph.op("MatMul", graph.input("x", ("batch", 8192)), graph.normal("w", (8192, 4096), 1.0))
    return graph.model({"y": (value, ("batch", 4096))})


def additions(count: int, elements: int) -> onnx.ModelProto:
    """`count` additions, each of a weight of `elements` floats."""
    graph = Graph("additions")
    value = graph.input("x", (elements,))
    for _ in range(count):
        value = graph.op("Add", value, graph.normal("w", (elements,), 1.0))
    return graph.model({"y": (value, (elements,))})


def external_3gb(path: Path) -> None:
    """
    Dense layers whose weights are 3.2 GB in a file beside the model, which is nearly all holes.

    A row in 64 has numbers in it, the rest is zeros that are on no disk.
    """
    width, size = EXTERNAL_WIDTH, EXTERNAL_WIDTH * EXTERNAL_WIDTH * 4
    data = path.with_name("weights.bin")
    random = np.random.default_rng(0)
    graph = Graph("external_3gb")
    value = graph.input("x", ("batch", width))
    weights: list[onnx.TensorProto] = []
    for layer in range(EXTERNAL_LAYERS):
        with graph.within(f"layer{layer}"):
            name = f"layer{layer}.weight"
            weights.append(_external(name, (width, width), data.name, layer * size, size))
            value = graph.op("MatMul", value, name)
            value = graph.op("Add", value, graph.normal("bias", (width,), 0.1))
            value = graph.op("Relu", graph.op("Identity", value))
    with data.open("wb") as file:
        file.truncate(EXTERNAL_LAYERS * size)
        for row in range(0, EXTERNAL_LAYERS * width, 64):
            file.seek(row * width * 4)
            file.write((random.standard_normal(width, np.float32) * np.float32(0.1)).tobytes())
    model = graph.model({"y": (value, ("batch", width))})
    model.graph.initializer.extend(weights)
    path.write_bytes(model.SerializeToString())


def _external(name: str, dims: tuple[int, ...], place: str, offset: int, size: int) -> onnx.TensorProto:
    """A float initializer whose bytes are in a file beside the model."""
    tensor = onnx.TensorProto(name=name, data_type=FLOAT, dims=dims, data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", place), ("offset", offset), ("length", size)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor
