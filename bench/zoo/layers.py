"""What transformers are made of, as torch exports it at opset 17."""

from __future__ import annotations

from math import pi, sqrt

from bench.zoo.graph_builder import GraphBuilder


def dense(
    graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int, deviation: float | None = None
) -> str:
    """`value` times a matrix plus a bias, for a `value` of any rank: MatMul and Add."""
    with graph.within(name):
        spread = sqrt(1 / inputs) if deviation is None else deviation
        weights = graph.normal("weight", (inputs, outputs), spread)
        product = graph.op("MatMul", value, weights)
        return graph.op("Add", graph.normal("bias", (outputs,), 0.02), product)


def decomposed_norm(graph: GraphBuilder, name: str, value: str, size: int, epsilon: float = 1e-5) -> str:
    """LayerNorm over the last axis in the nine nodes of opsets before 17."""
    with graph.within(name):
        centred = graph.op("Sub", value, graph.op("ReduceMean", value, axes=[-1]))
        squares = graph.op("Pow", centred, graph.literal(2.0))
        variance = graph.op("ReduceMean", squares, axes=[-1])
        deviation = graph.op("Sqrt", graph.op("Add", variance, graph.literal(epsilon)))
        scaled = graph.op(
            "Mul", graph.op("Div", centred, deviation), graph.normal("weight", (size,), 0.05, 1)
        )
        return graph.op("Add", scaled, graph.normal("bias", (size,), 0.05))


def norm(graph: GraphBuilder, name: str, value: str, size: int, epsilon: float = 1e-6) -> str:
    """LayerNormalization."""
    with graph.within(name):
        operands = graph.normal("weight", (size,), 0.05, 1), graph.normal("bias", (size,), 0.05)
        return graph.op("LayerNormalization", value, *operands, axis=-1, epsilon=epsilon)


def erf_gelu(graph: GraphBuilder, value: str) -> str:
    """`0.5 x (1 + erf(x / sqrt 2))` in five nodes."""
    with graph.within("gelu"):
        erf = graph.op("Erf", graph.op("Div", value, graph.literal(sqrt(2))))
        product = graph.op("Mul", value, graph.op("Add", erf, graph.literal(1.0)))
        return graph.op("Mul", product, graph.literal(0.5))


def tanh_gelu(graph: GraphBuilder, value: str) -> str:
    """`0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³)))` in eight nodes."""
    with graph.within("gelu"):
        cube = graph.op("Mul", graph.op("Pow", value, graph.literal(3.0)), graph.literal(0.044715))
        inner = graph.op("Mul", graph.op("Add", value, cube), graph.literal(sqrt(2 / pi)))
        factor = graph.op("Add", graph.op("Tanh", inner), graph.literal(1.0))
        return graph.op("Mul", graph.op("Mul", value, graph.literal(0.5)), factor)


def size_of(graph: GraphBuilder, value: str, axis: int) -> str:
    """One dimension of `value` as a scalar: Shape and Gather."""
    return graph.op("Gather", graph.op("Shape", value), graph.index(axis), axis=0)


def vector(graph: GraphBuilder, scalar: str) -> str:
    """A scalar as a vector of one element."""
    return graph.op("Unsqueeze", scalar, graph.integers(0))
