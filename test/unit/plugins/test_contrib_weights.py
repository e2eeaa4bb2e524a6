"""Products with constant weights of 4 and 8 bits, as quantizers of language models write them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest

import xonnc

Array = npt.NDArray[Any]


def weights_model(rows: int | str, bits: int, block: int, has_zero_points: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(bits * block)
    k, n = 2 * block, 5
    blocks, size = k // block, block * bits // 8
    initializers = {
        "w": rng.integers(0, 256, (n, blocks, size), np.uint8),
        "s": rng.uniform(0.01, 0.1, n * blocks).astype(np.float32),
    }
    if has_zero_points:
        initializers["z"] = rng.integers(0, 256, n * ((blocks * bits + 7) // 8), np.uint8)
    node = onnx.helper.make_node(
        "MatMulNBits",
        ["x", *initializers],
        ["y"],
        "n",
        domain="com.microsoft",
        K=k,
        N=n,
        bits=bits,
        block_size=block,
    )
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [info("x", onnx.TensorProto.FLOAT, [rows, k])],
        [info("y", onnx.TensorProto.FLOAT, [rows, n])],
        [onnx.numpy_helper.from_array(held, name) for name, held in initializers.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def onnxruntime_result(model: onnx.ModelProto, x: Array) -> Array:
    session = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.parametrize("rows", [3, "m"])
@pytest.mark.parametrize("has_zero_points", [False, True])
@pytest.mark.parametrize(("bits", "block"), [(4, 16), (4, 32), (4, 128), (8, 32)])
def test_constant_weights(bits: int, block: int, has_zero_points: bool, rows: int | str):
    model = weights_model(rows, bits, block, has_zero_points)
    x = np.random.default_rng(1).normal(size=(3, 2 * block)).astype(np.float32)
    session = xonnc.compile(model)
    found = np.asarray(session.run(None, {"x": x})[0])
    expected = onnxruntime_result(model, x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))
    assert not session.host_calls()
