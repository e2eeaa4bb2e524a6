"""Small float networks, as input of quantizers."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from bench.conformance.graph_builder import GraphBuilder, normal
from bench.conformance.model_specs import Built


def float_network(name: str) -> Callable[[], Built]:
    """A float model as input of onnxruntime's tools."""
    return {
        "residual": _residual,
        "depthwise": _depthwise,
        "perceptron": _perceptron,
        "recurrent": _recurrent,
        "attention": _attention,
    }[name]


def _residual() -> Built:
    s = GraphBuilder(30)
    s.input("x", [1, 3, 32, 32])
    x = _conv(s, "x", 3, 16, 3, stride=2)
    for _ in range(2):
        y = _conv(s, x, 16, 16, 3)
        y = _conv(s, y, 16, 16, 3, activation="")
        x = s.node("Relu", [s.node("Add", [x, y], f"sum{len(s.nodes)}")], f"relu{len(s.nodes)}")
    return _head(s, x, 16), {"x": normal(1, 3, 32, 32)}


def _depthwise() -> Built:
    s = GraphBuilder(31)
    s.input("x", [1, 3, 32, 32])
    x = _conv(s, "x", 3, 16, 3, stride=2, activation="HardSwish")
    x = _conv(s, x, 16, 16, 3, groups=16, activation="HardSwish")
    squeezed = s.node("GlobalAveragePool", [x], "squeezed")
    squeezed = _conv(s, squeezed, 16, 8, 1)
    squeezed = _conv(s, squeezed, 8, 16, 1, activation="HardSigmoid")
    x = s.node("Mul", [x, squeezed], "excited")
    x = _conv(s, x, 16, 24, 1, activation="")
    return _head(s, x, 24), {"x": normal(1, 3, 32, 32)}


def _conv(
    s: GraphBuilder,
    x: str,
    i: int,
    o: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    activation: str = "Relu",
) -> str:
    name = f"conv{len(s.nodes)}"
    s.random_weight(f"{name}.weight", o, i // groups, kernel, kernel, gain=1.4)
    s.random_weight(f"{name}.bias", o, gain=0.1)
    pads = [kernel // 2] * 4
    y = s.node(
        "Conv",
        [x, f"{name}.weight", f"{name}.bias"],
        name,
        name,
        kernel_shape=[kernel, kernel],
        pads=pads,
        strides=[stride, stride],
        group=groups,
    )
    return s.node(activation, [y], f"{name}.{activation}", f"{name}.{activation}") if activation else y


def _head(s: GraphBuilder, x: str, channels: int) -> onnx.ModelProto:
    pooled = s.node("GlobalAveragePool", [x], "pooled", "pooled")
    flat = s.node("Flatten", [pooled], "flat", "flat")
    s.random_weight("head.weight", 10, channels)
    s.random_weight("head.bias", 10, gain=0.1)
    s.node("Gemm", [flat, "head.weight", "head.bias"], "y", "head", transB=1)
    s.output("y", [1, 10])
    return s.model(17, producer="pytorch")


def _perceptron() -> Built:
    s = GraphBuilder(32)
    x = s.input("x", ["batch", 64])
    for index in range(3):
        s.random_weight(f"w{index}", 64, 64, gain=1.4)
        s.random_weight(f"b{index}", 64, gain=0.1)
        x = s.node("MatMul", [x, f"w{index}"], f"m{index}", f"m{index}")
        x = s.node("Add", [x, f"b{index}"], f"a{index}", f"a{index}")
        x = s.node("Relu", [x], f"r{index}", f"r{index}")
    s.output(x, ["batch", 64])
    return s.model(21, producer="pytorch", ir_version=10), {"x": normal(4, 64)}


def _recurrent() -> Built:
    s = GraphBuilder(33)
    s.input("x", ["time", 1, 32])
    s.random_weight("W", 1, 128, 32, gain=2.0)
    s.random_weight("R", 1, 128, 32, gain=2.0)
    s.random_weight("B", 1, 256, gain=0.1)
    s.node("LSTM", ["x", "W", "R", "B"], ["states"], "lstm", hidden_size=32)
    s.weight("one", [1], "int64")
    s.node("Squeeze", ["states", "one"], "flat", "squeeze")
    s.random_weight("head", 32, 8)
    s.node("MatMul", ["flat", "head"], "y", "head")
    s.output("y", ["time", 1, 8])
    return s.model(17, producer="pytorch"), {"x": normal(6, 1, 32)}


def _attention() -> Built:
    s = GraphBuilder(34)
    s.input("x", ["batch", "sequence", 64])
    s.weight("split", [0, 0, 4, 16], "int64")
    s.weight("joined", [0, 0, 64], "int64")
    s.weight("scale", 0.25)
    parts: dict[str, str] = {}
    for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        s.random_weight(f"{part}.weight", 64, 64)
        s.random_weight(f"{part}.bias", 64, gain=0.1)
        y = s.node("MatMul", ["x", f"{part}.weight"], f"{part}.m", f"{part}.m")
        y = s.node("Add", [f"{part}.bias", y], f"{part}.a", f"{part}.a")
        y = s.node("Reshape", [y, "split"], f"{part}.r", f"{part}.r")
        parts[part] = s.node("Transpose", [y], f"{part}.t", f"{part}.t", perm=perm)
    y = s.node("MatMul", [parts["q"], parts["k"]], "scores", "scores")
    y = s.node("Mul", [y, "scale"], "scaled", "scaled")
    y = s.node("Softmax", [y], "weights", "weights", axis=-1)
    y = s.node("MatMul", [y, parts["v"]], "mixed", "mixed")
    y = s.node("Transpose", [y], "back", "back", perm=[0, 2, 1, 3])
    y = s.node("Reshape", [y, "joined"], "together", "together")
    s.random_weight("o.weight", 64, 64)
    y = s.node("MatMul", [y, "o.weight"], "projected", "projected")
    y = s.node("Add", [y, "x"], "residual", "residual")
    s.weight("gamma", normal(64))
    s.weight("beta", normal(64, seed=6))
    s.node("LayerNormalization", [y, "gamma", "beta"], "y", "norm", axis=-1)
    s.output("y", ["batch", "sequence", 64])
    return s.model(21, producer="pytorch", ir_version=10), {"x": normal(2, 8, 64)}
