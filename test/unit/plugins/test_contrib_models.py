"""Models that onnxruntime's tools write, with operators of com.microsoft, in native code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import pytest
from onnx import TensorProto, helper, numpy_helper

import xonnc
from xonnc.runtime.reference import open_session

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.contrib_models import contrib_names, largest_error, session_of
from bench.latency.feeds import feeds_for
from bench.zoo import convolutional, optimized, recurrent, transformers

SHAPE = (1, 3, 8, 8)


def model() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "b": (4,), "w2": (4, 5), "b2": (5,)}
    weights = [
        numpy_helper.from_array((rng.normal(size=shape) * 0.2).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["a"], kernel_shape=[3, 3], pads=[1] * 4),
        helper.make_node("Sigmoid", ["a"], ["s"]),
        helper.make_node("Mul", ["a", "s"], ["m"]),
        helper.make_node("Add", ["m", "a"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Images:
    """Drawn calibration data, as the quantizer reads it."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self._rest: Iterator[Mapping[str, Any]] = iter(
            [{"x": rng.normal(size=SHAPE).astype(np.float32)} for _ in range(8)]
        )

    def get_next(self) -> Mapping[str, Any] | None:
        """The next feeds, `None` after the last."""
        return next(self._rest, None)


def test_static_quantization_with_integer_operators(tmp_path: Path):
    quantization: Any = import_module("onnxruntime.quantization")
    source, path = tmp_path / "model.onnx", tmp_path / "quantized.onnx"
    source.write_bytes(model().SerializeToString())
    reader: Any = type("Reader", (Images, quantization.CalibrationDataReader), {})()
    quantization.quantize_static(
        str(source), str(path), reader, quant_format=quantization.QuantFormat.QOperator
    )
    quantized = onnx.load_model_from_string(path.read_bytes())
    names = {node.op_type for node in quantized.graph.node if node.domain == "com.microsoft"}
    assert names >= {"QGemm", "QLinearAdd", "QLinearGlobalAveragePool", "QLinearMul", "QLinearSigmoid"}
    x: Any = np.random.default_rng(2).normal(size=SHAPE).astype(np.float32)
    session, _ = open_session(path.read_bytes(), "model")
    (expected,) = session.run(None, {"x": x})
    compiled = xonnc.compile(quantized)
    (found,) = compiled.run(None, {"x": x})
    # At most one quantization step of the output: a tie may be rounded either way.
    (last,) = (node for node in quantized.graph.node if quantized.graph.output[0].name in node.output)
    scales = {each.name: onnx.numpy_helper.to_array(each) for each in quantized.graph.initializer}
    step = float(scales[last.input[1]].reshape(-1)[0])
    np.testing.assert_allclose(np.asarray(found, np.float32), np.asarray(expected), atol=1.01 * step)
    assert not compiled.host_calls()


def bert() -> onnx.ModelProto:
    return transformers.bert("bert", 1, 64, 2, sequence=16, vocabulary=1000)


SMALL: dict[str, tuple[Callable[[], onnx.ModelProto], set[str]]] = {
    "static": (
        lambda: optimized.statically_quantized(convolutional.mnist_cnn()),
        {"QGemm"},
    ),
    "dynamic": (lambda: optimized.dynamically_quantized(recurrent.lstm(24, 40, 7)), {"DynamicQuantizeLSTM"}),
    "dynamic, then graph optimizer": (
        lambda: optimized.graph_optimized(optimized.dynamically_quantized(bert())),
        {"DynamicQuantizeMatMul", "MatMulIntegerToFloat", "SkipLayerNormalization", "FusedMatMul", "Gelu"},
    ),
    "graph optimizer": (
        lambda: optimized.graph_optimized(bert()),
        {"FusedGemm", "FusedMatMul", "Gelu", "SkipLayerNormalization"},
    ),
}
"""Generators of models by onnxruntime's tools, and operators of com.microsoft that they must have."""


def agrees_with_onnxruntime(made: onnx.ModelProto, names: set[str], folder: Path) -> None:
    """Require the operators to be there, and native code to give the answers without the host."""
    assert set(contrib_names(made)) >= names
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    feeds = feeds_for(path)
    # Graph optimization changes how dynamically quantized models round.
    expected = session_of(path, "ORT_DISABLE_ALL").run(None, feeds)
    session = xonnc.compile(str(path))
    assert largest_error(session.run(None, feeds), expected) < 2e-3
    assert not session.host_calls()


@pytest.mark.parametrize("kind", SMALL)
def test_models_that_tools_write(kind: str, tmp_path: Path):
    make, names = SMALL[kind]
    agrees_with_onnxruntime(make(), names, tmp_path)


def test_models_of_the_transformer_optimizer(tmp_path: Path):
    pytest.importorskip("sympy")
    fused = optimized.transformer_optimized(bert(), "bert", 2, 64)
    agrees_with_onnxruntime(fused, {"Gelu", "SkipLayerNormalization"}, tmp_path)


def test_models_of_the_four_bit_quantizer(tmp_path: Path):
    pytest.importorskip("onnx_ir")
    agrees_with_onnxruntime(optimized.four_bit(bert()), {"MatMulNBits"}, tmp_path)
