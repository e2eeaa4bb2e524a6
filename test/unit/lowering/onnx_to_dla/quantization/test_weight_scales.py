"""Channels with small weights and an ordinary bias, as training leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.lowering.onnx_to_dla.builders.kernels import quantize_kernels
from xonnc.lowering.onnx_to_dla.quantization.weight_scales import coarser_scales
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target

Array = npt.NDArray[Any]


def parameters(small: float, count: int = 16) -> tuple[Array, Array]:
    """Weights of 1x1 kernels, a quarter of them small, and biases."""
    generator = np.random.default_rng(3)
    weights = generator.standard_normal((count, 24, 1, 1)).astype(np.float32) / 5
    weights[::4] *= small
    return weights, generator.standard_normal(count).astype(np.float32)


@pytest.mark.parametrize("operator", ["Conv", "Gemm"])
@pytest.mark.parametrize("small", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-20])
def test_small_weights_of_a_channel_leave_the_biases_of_others_exact(
    small: float, operator: str, tmp_path: Path
):
    weights, biases = parameters(small)
    is_conv = operator == "Conv"
    shape = (1, 24, 6, 5) if is_conv else (1, 24)
    constants = {"w": weights if is_conv else np.ascontiguousarray(weights[:, :, 0, 0].T), "b": biases}
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "w", "b"], ["y"])],
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    generator = np.random.default_rng(4)
    samples = [{"x": generator.uniform(-1, 1, shape).astype(np.float32)} for _ in range(2)]
    compilation = compile_model(path, "nv_small", calibrate=lambda each: calibrate_module(each, samples))
    simulator = Simulator(compilation.loadable, load_target("nv_small"))
    for sample in samples:
        (output,) = simulator.run([sample["x"].reshape(simulator.inputs[0].shape)])
        columns = sample["x"].reshape(24, -1)
        expected = weights[:, :, 0, 0] @ columns + biases[:, np.newaxis]
        assert output.grid is not None
        found = np.asarray(output.numbers, np.float64).reshape(expected.shape)
        steps = np.abs(found - expected) / output.grid.scale
        assert steps.max() < 2.5
        assert steps.mean() < 0.6


def test_ordinary_weights_keep_their_scales():
    weights, biases = parameters(1.0)
    assert coarser_scales(weights, biases, 0.02, 5) is None
    assert coarser_scales(weights, 0 * biases, 0.02, 0) is None
    # Too small for their bias alone, but it is 0 here.
    weights, biases = parameters(1e-9)
    biases[::4] = 0
    assert coarser_scales(weights, biases, 0.02, 0) is None


def test_scales_never_become_finer():
    weights, biases = parameters(1e-7)
    scales = coarser_scales(weights, biases, 0.02, -7)
    assert scales is not None
    given = quantize_kernels(weights).scales
    assert np.all(scales >= given)
    assert np.all(scales[1::4] < 2 * given[1::4])
    assert np.all(scales[::4] > 100 * given[::4])
