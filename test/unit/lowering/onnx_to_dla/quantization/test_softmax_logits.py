"""The steps in which the CPU emulator writes a quantized softmax."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

CLASSES = 500


@pytest.mark.parametrize("target", ["nv_small", "nv_large", "nv_full"])
def test_small_shares_are_not_lost(target: str, tmp_path: Path):
    """Of 500 classes none has a share near 1: steps of 1/127 would leave nothing but zeros."""
    generator = np.random.default_rng(4)
    weights = generator.standard_normal((20, CLASSES)).astype(np.float32) / np.float32(10)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["m"], "m"), helper.make_node("Softmax", ["m"], ["y"], "y")],
        "shares",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 20))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, CLASSES))],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "shares.onnx"
    opsets = [helper.make_opsetid("", 13)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    x = generator.standard_normal((1, 20)).astype(np.float32)
    loadable = compile_model(
        path, target, calibrate=lambda module: calibrate_module(module, [{"x": x}])
    ).loadable
    simulator = Simulator(loadable, load_target(target))
    (output,) = simulator.run([x.reshape(simulator.inputs[0].shape)])
    (expected,) = ReferenceModel(path).run({"x": x})
    found = output.numbers.reshape(expected.shape)
    assert expected.max() < 1 / 127
    cosine = float((found * expected).sum() / np.linalg.norm(found) / np.linalg.norm(expected))
    assert cosine > 0.999
