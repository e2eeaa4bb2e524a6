"""Products with packed weights as C source, under sanitizers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from c_programs import outputs_of
from onnx import helper


def test_panels_that_columns_do_not_fill_are_not_read_past(tmp_path: Path):
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
    ports = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [5, size])
        for name, size in (("x", k), ("y", n))
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    x = rng.normal(size=(5, k)).astype(np.float32)
    real = (values - np.repeat(zeros, block, 0)) * np.repeat(scales, block, 0)
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    (y,) = outputs_of(tmp_path, model, [x], [x @ real.astype(np.float32)], flags=flags)
    np.testing.assert_allclose(y, x @ real, rtol=1e-4, atol=1e-4)
