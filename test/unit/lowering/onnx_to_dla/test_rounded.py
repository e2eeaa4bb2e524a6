"""
Operators in INT8, from floats rounded by the ranges of their inputs: the simulator's integers against the
exact ones of the rounded graph, or against floats where the integer reference does not know an operator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from operator_cases import PICKED, REDUCED, case

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

from bench.nvdla_nodes import Configuration, NodeTest, run_test
from xonnc.runtime.reference import ReferenceModel

Build = Callable[..., onnx.ModelProto]
CONFIGURATIONS = (Configuration("nv_small", "INT8"), Configuration("nv_full", "INT8"))


BATCHES = [
    case("conv", "y = Conv<pads=[1,1,1,1]>(x, w, b)", x=(3, 5, 6, 7), weights={"w": (4, 5, 3, 3), "b": (4,)}),
    case("groups", "y = Conv<group=2>(x, w)", x=(2, 16, 6, 7), weights={"w": (32, 8, 1, 1)}),
    case("rows", "y = Conv(x, w)", x=(2, 5, 9), weights={"w": (4, 5, 3)}),
    case(
        "transposed",
        "y = ConvTranspose<strides=[2,2]>(x, w, b)",
        x=(2, 3, 4, 5),
        weights={"w": (3, 4, 2, 3), "b": (4,)},
    ),
    case("average", "y = AveragePool<kernel_shape=[2,2]>(x)", x=(3, 5, 6, 7)),
    case("means", "y = GlobalAveragePool(x)", x=(3, 5, 6, 7)),
    case("concat of channels", "a = Relu(x)\ny = Concat<axis=1>(a, x)", x=(2, 5, 3, 4)),
    case("concat of images", "a = Relu(x)\ny = Concat<axis=0>(a, x)", x=(2, 5, 3, 4)),
    case("max 9", "y = MaxPool<kernel_shape=[9,13], pads=[4,6,4,6]>(x)", x=(1, 5, 7, 13)),
    case("sum", "y = Add(x, z)", inputs={"x": (3, 4, 5), "z": (3, 4, 5)}),
    case("table", "y = Sigmoid(x)", x=(3, 4, 5)),
    case("gemm", "y = Gemm(x, w, b)", x=(5, 20), weights={"w": (20, 7), "b": (7,)}),
    case("gemm of columns", "y = Gemm<transA=1>(x, w, b)", x=(20, 5), weights={"w": (20, 7), "b": (5, 7)}),
    case("matmul", "y = MatMul(x, w)", x=(1, 6, 20), weights={"w": (20, 7)}),
    case("matmul by a vector", "y = MatMul(x, w)", x=(6, 20), weights={"w": (20,)}),
]


TWO = {"x": (2, 5, 3, 4), "z": (2, 5, 3, 4)}

ARITHMETIC = [
    case("difference", "y = Sub(x, z)", inputs=TWO),
    case("difference from constants", "y = Sub(c, x)", x=(1, 5, 3, 4), weights={"c": (5, 1, 1)}),
    case("difference of constants", "y = Sub(x, c)", x=(1, 5, 3, 4), weights={"c": (5, 1, 1)}),
    case("quotient", "y = Div(x, c)", x=(1, 5, 3, 4), weights={"c": np.array(-6, np.float32)}),
    case("quotient by channel", "y = Div(x, c)", x=(1, 5, 3, 4), weights={"c": (5, 1, 1)}),
    case("quotient of a number", "y = Div(c, x)", x=(1, 5, 3, 4), weights={"c": np.array(2, np.float32)}),
    case("mean", "y = Mean(x, z)", inputs=TWO),
    case("greatest", "y = Max(x, z)", inputs=TWO),
    case("greatest of three", "y = Max(x, z, v)", inputs={**TWO, "v": (2, 5, 3, 4)}),
    case("greatest of a channel", "y = Max(x, z)", inputs={"x": (1, 5, 3, 4), "z": (1, 5, 1, 1)}),
    case("least and constants", "y = Min(x, c)", x=(1, 5, 3, 4), weights={"c": (5, 3, 1)}),
    case("least and a number", "y = Min(x, c)", x=(1, 5, 3, 4), weights={"c": (1,)}),
    case(
        "bounds",
        "a = Mul(x, z)\ny = Clip(a, b, c)",
        inputs=TWO,
        weights={"b": np.array(-0.4, np.float32), "c": np.array(0.3, np.float32)},
    ),
    case("slopes", "y = PRelu(x, s)", x=(2, 5, 3, 4), weights={"s": (5, 1, 1)}),
    case("a slope", "y = PRelu(x, s)", x=(2, 5, 3, 4), weights={"s": (1, 1, 1)}),
    case("a power", "y = Pow(x, e)", x=(2, 5, 3, 4), weights={"e": np.array(3, np.float32)}),
    case("a power of some", "y = Pow(x, e)", x=(2, 5, 3, 4), weights={"e": np.array(0.5, np.float32)}),
] + [
    case(name, f"y = {name}(x)", x=(2, 5, 3))
    for name in (
        "Acos",
        "Asin",
        "Asinh",
        "Atan",
        "Ceil",
        "Cos",
        "Cosh",
        "Round",
        "Sign",
        "Sin",
        "Sinh",
        "Tan",
    )
]


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize(("nodes", "options"), BATCHES + PICKED + ARITHMETIC + REDUCED)
def test_integers(
    nodes: str, options: dict[str, Any], configuration: Configuration, build: Build, tmp_path: Path
):
    kind, how = run_test(node_test(build(nodes, **options), tmp_path), configuration)
    assert (kind, how) in (("DLA", "bit for bit"), ("DLA", "within the tolerance"))


def node_test(model: onnx.ModelProto, folder: Path) -> NodeTest:
    """A model with inputs drawn from a seed and what onnxruntime gives."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    reference = ReferenceModel(path)
    generator = np.random.default_rng(9)
    feeds = {
        port.name: generator.standard_normal([size or 1 for size in port.shape]).astype(np.float32)
        for port in reference.inputs()
    }
    return NodeTest(model, feeds, reference.run(feeds))
