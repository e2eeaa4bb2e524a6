"""Exponentials beyond the FP16 range: which arguments are provably small, which nodes run on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.ops.math import ExpOp
from xonnc.lowering.placement.dataflow_graph import graph_of
from xonnc.lowering.placement.fp16_overflow import overflows, upper_bound

Simplified = Callable[[onnx.ModelProto], ModuleOp]
Build = Callable[..., onnx.ModelProto]
TWO = np.array(2, np.float32)


@pytest.mark.parametrize(
    ("nodes", "bound"),
    [
        ("e = Exp(x)", np.inf),
        ("a = Clip(x, low, two)\ne = Exp(a)", 2.0),
        ("a = Min(x, two)\ne = Exp(a)", 2.0),
        ("m = ReduceMax<axes=[1], keepdims=1>(x)\na = Sub(x, m)\ne = Exp(a)", 0.0),
        ("m = ReduceMax<axes=[1], keepdims=1>(x)\na = Sub(z, m)\ne = Exp(a)", np.inf),
        ("r = Abs(x)\na = Neg(r)\ne = Exp(a)", 0.0),
        ("a = Neg(x)\ne = Exp(a)", np.inf),
        ("s = Sigmoid(x)\na = Mul(s, two)\ne = Exp(a)", 2.0),
        ("r = Relu(x)\nn = Neg(two)\na = Mul(r, n)\ne = Exp(a)", 0.0),
        ("s = Tanh(x)\na = Add(s, two)\ne = Exp(a)", 3.0),
        ("s = Tanh(x)\na = Sub(s, two)\ne = Exp(a)", -1.0),
        ("s = Tanh(x)\nr = Relu(s)\na = Mul(r, x)\ne = Exp(a)", np.inf),
    ],
)
def test_bounds(nodes: str, bound: float, build: Build, simplified: Simplified):
    model = build(
        nodes + "\ny = Identity(e)",
        weights={"two": TWO, "low": np.array(-9, np.float32)},
        inputs={"x": (1, 3, 4, 4), "z": (1, 3, 4, 4)},
    )
    (op,) = (op for op in simplified(model).walk() if isinstance(op, ExpOp))
    assert upper_bound(op.input) == bound


@pytest.mark.parametrize(
    ("nodes", "beyond"),
    [
        ("e = Exp(x)\ns = ReduceSum<axes=[1]>(e)\ny = Log(s)", {"Exp", "ReduceSum"}),
        ("e = Exp(x)\ns = ReduceSum<axes=[1]>(e)\ny = Div(e, s)", {"Exp", "ReduceSum"}),
        ("e = Exp(x)\ny = Relu(e)", set[str]()),
        ("t = Tanh(x)\ne = Exp(t)\ns = ReduceSum<axes=[1]>(e)\ny = Log(s)", set[str]()),
        ("e = Sigmoid(x)\ny = Log(e)", set[str]()),
    ],
)
def test_what_goes_to_the_cpu(nodes: str, beyond: set[str], build: Build, simplified: Simplified):
    graph = graph_of(simplified(build(nodes, opset=11)))
    found = overflows(graph.nodes)
    assert {op.name.removeprefix("onnx.").removesuffix("V11") for op in found} == beyond
    for reason in found.values():
        assert "the exponential of numbers that may exceed 11.1 (float16 ends at 65504) goes into a" in reason


@pytest.mark.parametrize(
    ("nodes", "scale", "beyond"),
    [
        ("y = InstanceNormalization(d, ones, ones)", 4.0, set[str]()),
        ("y = InstanceNormalization(d, ones, ones)", 4.02, {"InstanceNormalization"}),
        ("y = Mul(d, d)", 1.99, set[str]()),
        ("y = Mul(d, d)", 2.0, {"Mul"}),
        ("e = Exp(d)\ny = Log(e)", 0.087, set[str]()),
        ("e = Exp(d)\ny = Log(e)", 0.088, {"Exp"}),
    ],
)
def test_scales_bound_quantized_numbers(
    nodes: str, scale: float, beyond: set[str], build: Build, simplified: Simplified
):
    model = build(
        f"q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n{nodes}",
        weights={
            "s": np.array(scale, np.float32),
            "z": np.array(0, np.int8),
            "ones": np.ones(3, np.float32),
        },
        inputs={"x": (1, 3, 4, 4)},
    )
    found = overflows(graph_of(simplified(model)).nodes)
    assert {op.name.removeprefix("onnx.") for op in found} == beyond
