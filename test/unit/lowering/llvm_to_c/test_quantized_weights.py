"""Products with packed weights as C source, under sanitizers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from c_programs import outputs_of
from onnx import helper


@pytest.mark.parametrize(("rows", "is_integer"), [(5, False), (25, False), (5, True)])
def test_panels_that_columns_do_not_fill_are_not_read_past(tmp_path: Path, rows: int, is_integer: bool):
    rng = np.random.default_rng(3)
    k, n, block = 32, 37, 16
    values, zeros = rng.integers(-8, 8, (k, n)), rng.integers(-8, 8, (k // block, n))
    scales = rng.uniform(0.1, 1, zeros.shape).astype(np.float32)
    constants = [
        helper.make_tensor("w", onnx.TensorProto.INT4, values.shape, values.reshape(-1).tolist()),
        helper.make_tensor("s", onnx.TensorProto.FLOAT, scales.shape, scales.reshape(-1).tolist()),
        helper.make_tensor("z", onnx.TensorProto.INT4, zeros.shape, zeros.reshape(-1).tolist()),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["b"], axis=0, block_size=block),
        helper.make_node("MatMul", ["x", "b"], ["y"]),
    ]
    floats, info = onnx.TensorProto.FLOAT, helper.make_tensor_value_info
    inputs = [info("x", floats, [rows, k])]
    x = rng.normal(size=(rows, k)).astype(np.float32)
    feeds, activations = [x], x
    if is_integer:
        nodes.insert(0, helper.make_node("DequantizeLinear", ["q", "f"], ["x"], axis=1, block_size=block))
        inputs = [info("q", onnx.TensorProto.INT8, [rows, k]), info("f", floats, [rows, k // block])]
        feeds = [rng.integers(-128, 128, (rows, k)).astype(np.int8), np.abs(x[:, : k // block])]
        activations = feeds[0] * np.repeat(feeds[1], block, 1)
    graph = helper.make_graph(nodes, "g", inputs, [info("y", floats, [rows, n])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    real = (values - np.repeat(zeros, block, 0)) * np.repeat(scales, block, 0)
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    expected = activations.astype(np.float64) @ real
    (y,) = outputs_of(tmp_path, model, feeds, [expected.astype(np.float32)], flags=flags)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-2 if is_integer else 1e-4)
