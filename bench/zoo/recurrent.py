"""Recurrent networks."""

from __future__ import annotations

import onnx

from bench.zoo.convolutional import linear
from bench.zoo.graph_builder import GraphBuilder


def lstm(inputs: int = 256, hidden: int = 512, classes: int = 64) -> onnx.ModelProto:
    """Two LSTM layers over a sequence of any length; the last step is classified."""
    graph = GraphBuilder("lstm")
    value = graph.input("input", ("sequence", 1, inputs))
    for layer in range(2):
        with graph.within("lstm", f"layer{layer}"):
            size = hidden if layer else inputs
            weights = graph.he("W", (1, 4 * hidden, size), 2.0)
            recurrence = graph.he("R", (1, 4 * hidden, hidden), 2.0)
            bias = graph.normal("B", (1, 8 * hidden), 0.1)
            value = graph.op("LSTM", value, weights, recurrence, bias, hidden_size=hidden)
            value = graph.op("Squeeze", value, graph.integers(1))
        if not layer:
            value = graph.op("Identity", value)
    value = graph.op("Gather", value, graph.index(-1), axis=0)
    return graph.model({"output": (linear(graph, "fc", value, hidden, classes), (1, classes))})
