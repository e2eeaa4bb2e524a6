"""Channels with weights around 1e-18, as training leaves them, whose result is added to another value."""

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
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]
CHANNELS = 24


SHAPES = {"Conv": (1, CHANNELS, 6, 5), "Gemm": (1, CHANNELS)}


def residual(path: Path, operator: str, weights: Array, bias: Array | None, alpha: float = 1.0) -> Path:
    """Write a model that adds its input to the result of a linear operator."""
    is_conv, shape = operator == "Conv", SHAPES[operator]
    constants = {"w": weights.reshape(CHANNELS, CHANNELS, 1, 1) if is_conv else weights.T.copy()}
    constants |= {} if bias is None else {"b": bias}
    nodes = [
        helper.make_node(operator, ["x", *constants], ["p"]),
        helper.make_node("Add", ["p", "x"], ["y"]),
    ]
    if operator == "Gemm":
        nodes[0].attribute.append(helper.make_attribute("alpha", alpha))
    graph = helper.make_graph(
        nodes,
        "residual",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def largest_error(path: Path, sizes: tuple[int, ...]) -> float:
    """Return the largest error of the simulator's results in quantization steps, on one of two samples."""
    # The range of the input is far from symmetric: it has a zero point, which the bias of the sum subtracts.
    generator = np.random.default_rng(4)
    samples = [{"x": generator.uniform(-0.25, 4, sizes).astype(np.float32)} for _ in range(2)]
    compilation = compile_model(path, "nv_small", calibrate=lambda each: calibrate_module(each, samples))
    simulator = Simulator(compilation.loadable, load_target("nv_small"))
    (output,) = simulator.run([samples[0]["x"].reshape(simulator.inputs[0].shape)])
    (expected,) = ReferenceModel(path).run(samples[0])
    assert output.grid is not None
    found = np.asarray(output.numbers, np.float64).reshape(expected.shape)
    return float(np.abs(found - expected).max()) / output.grid.scale


@pytest.mark.parametrize(
    ("operator", "has_bias"),
    [("Conv", False), ("Conv", True), ("Gemm", True)],
)
def test_dead_channels_before_an_addition(operator: str, has_bias: bool, tmp_path: Path):
    generator = np.random.default_rng(3)
    weights = generator.standard_normal((CHANNELS, CHANNELS)).astype(np.float32) / 5
    weights[::4] *= np.float32(1e-18)
    bias = generator.standard_normal(CHANNELS).astype(np.float32)
    bias[::4] *= np.float32(1e-16)
    path = residual(tmp_path / "model.onnx", operator, weights, bias if has_bias else None)
    assert largest_error(path, SHAPES[operator]) < 3


@pytest.mark.parametrize("operator", ["Conv", "Gemm"])
@pytest.mark.parametrize("factor", [1e-3, 1e-4, 1e-6])
def test_a_branch_beside_which_its_sum_is_large(operator: str, factor: float, tmp_path: Path):
    """In units of such a branch's sums the zero point of what is added takes more bits than a factor has."""
    generator = np.random.default_rng(3)
    weights, bias = (
        (factor * generator.standard_normal(shape)).astype(np.float32)
        for shape in ((CHANNELS, CHANNELS), CHANNELS)
    )
    path = residual(tmp_path / "model.onnx", operator, weights, bias)
    assert largest_error(path, SHAPES[operator]) < 3


@pytest.mark.parametrize("factor", [3e-6, 1e-6, 3e-7])
def test_a_branch_of_large_kernels(factor: float, tmp_path: Path):
    """With 2,304 weights kernels of 1e-6 are not negligible, but what is added overflows in their units."""
    shape, generator = (1, 256, 6, 5), np.random.default_rng(3)
    weights = (factor * generator.standard_normal((256, 256, 3, 3))).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["p"], pads=[1, 1, 1, 1]),
            helper.make_node("Add", ["p", "x"], ["y"]),
        ],
        "residual",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    assert largest_error(path, shape) < 3


def test_small_weights_that_alpha_multiplies_stay(tmp_path: Path):
    generator = np.random.default_rng(3)
    weights = generator.standard_normal((CHANNELS, CHANNELS)).astype(np.float32) * np.float32(1e-6)
    path = residual(tmp_path / "model.onnx", "Gemm", weights, np.ones(CHANNELS, np.float32), alpha=1e5)
    assert largest_error(path, SHAPES["Gemm"]) < 3
