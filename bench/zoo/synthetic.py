"""Models that stress one thing: many nodes, many weights, large weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from bench.zoo.graph_builder import FLOAT, INT64, GraphBuilder
from bench.zoo.layers import dense

TABLES, ROWS, WIDTH = 12, 65536, 1024
"""Embeddings of 256 MiB each: 3.2 GB."""

USED_ROWS = 128
"""Nonzero rows at the start and at the end of each embedding."""


def chain(count: int) -> onnx.ModelProto:
    """
    `count` nodes in groups of four: Add of two constants, Add of the result, Identity and Abs.

    Half of them fold away; no two are common subexpressions.
    """
    tensor = onnx.helper.make_tensor_value_info
    step = 1 / (1 << 16)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    value = "x"
    for index in range(0, count - 3, 4):
        a, b, both, moved, same, positive = (f"{letter}{index}" for letter in "abcdef")
        # Sums are exact and distinct, so that CSE merges none; signs alternate to keep the value small.
        number = (index // 4 + 1) * (step if index % 8 else -step)
        weights.append(onnx.helper.make_tensor(a, FLOAT, [], [3 * number]))
        weights.append(onnx.helper.make_tensor(b, FLOAT, [], [-number]))
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
    """One MatMul with a weight of 128 MiB."""
    graph = GraphBuilder("big_matmul")
    value = graph.op("MatMul", graph.input("x", ("batch", 8192)), graph.normal("w", (8192, 4096), 1.0))
    return graph.model({"y": (value, ("batch", 4096))})


def additions(count: int, elements: int) -> onnx.ModelProto:
    """`count` additions, each of a weight of `elements` floats."""
    graph = GraphBuilder("additions")
    value = graph.input("x", (elements,))
    for _ in range(count):
        value = graph.op("Add", value, graph.normal("w", (elements,), 1.0))
    return graph.model({"y": (value, (elements,))})


def external_3gb(path: Path) -> None:
    """
    A recommender: rows of twelve embeddings, scaled and concatenated, and a few dense layers of them.

    The embeddings are 3.2 GB in a file beside the model, sparse on disk.
    """
    size = ROWS * WIDTH * 4
    random = np.random.default_rng(0)
    graph = GraphBuilder("external_3gb")
    columns = graph.ops("Split", graph.input("ids", ("batch", TABLES), INT64), count=TABLES, axis=1)
    weights: list[onnx.TensorProto] = []
    parts: list[str] = []
    with path.with_name("weights.bin").open("wb") as file:
        file.truncate(TABLES * size)
        for index, column in enumerate(columns):
            for row in (index * ROWS, (index + 1) * ROWS - USED_ROWS):
                file.seek(row * WIDTH * 4)
                file.write(random.standard_normal((USED_ROWS, WIDTH), np.float32).tobytes())
            name = f"embedding{index}.weight"
            weights.append(_external(name, (ROWS, WIDTH), "weights.bin", index * size, size))
            with graph.within(f"embedding{index}"):
                chosen = graph.op("Gather", name, graph.op("Squeeze", column, graph.integers(1)), axis=0)
                parts.append(graph.op("Mul", graph.op("Identity", chosen), graph.literal(1 / 32)))
    value = dense(graph, "dense0", graph.op("Concat", *parts, axis=1), TABLES * WIDTH, 256)
    value = dense(graph, "dense1", graph.op("Relu", value), 256, 1)
    model = graph.model({"score": (graph.op("Sigmoid", value), ("batch", 1))})
    model.graph.initializer.extend(weights)
    path.write_bytes(model.SerializeToString())


def _external(name: str, dims: tuple[int, ...], location: str, offset: int, size: int) -> onnx.TensorProto:
    """A float initializer whose bytes are in a file beside the model."""
    tensor = onnx.TensorProto(name=name, data_type=FLOAT, dims=dims, data_location=onnx.TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", size)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor
