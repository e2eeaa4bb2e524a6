"""Images of integers resized by lines between pixels, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.sweep import PlannedLayers
from xonnc.compiler import compile_model
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import load_target

CASES: list[tuple[tuple[int, ...], tuple[int, int], str]] = [
    ((1, 3, 4, 5), (2, 2), "half_pixel"),
    ((1, 16, 3, 5), (2, 3), "asymmetric"),
    ((1, 33, 3, 4), (1, 4), "pytorch_half_pixel"),
    ((1, 5, 1, 6), (2, 2), "half_pixel"),
    ((1, 5, 6, 1), (3, 2), "asymmetric"),
    ((1, 5, 1, 1), (3, 2), "half_pixel"),
    ((1, 4, 2, 3), (6, 8), "half_pixel"),
    ((2, 3, 3, 3), (2, 2), "half_pixel"),
]


@pytest.mark.parametrize("zero", [0, -21])
@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize(("shape", "factors", "coordinates"), CASES)
def test_the_integers_of_the_model(
    shape: tuple[int, ...], factors: tuple[int, int], coordinates: str, target: str, zero: int, tmp_path: Path
):
    attributes: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "read"),
        helper.make_node("Resize", ["d", "", "f"], ["c"], "resize", **attributes),
        helper.make_node("QuantizeLinear", ["c", "t", "z"], ["r"], "round"),
        helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"], "give"),
    ]
    constants: dict[str, npt.NDArray[Any]] = {
        "s": np.array(0.03, np.float32),
        "t": np.array(0.017, np.float32),
        "z": np.array(zero, np.int8),
        "f": np.array([1, 1, *factors], np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    hardware = load_target(target)
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, target).loadable)), hardware)
    numbers = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    (expected,) = QuantizedReference(model, PlannedLayers(hardware)).run({"x": numbers})
    assert np.array_equal(found.tensor.reshape(expected.shape), expected)
    # The reference itself, against another one: rounded once, half a step.
    (by_floats,) = Onnxruntime(path).run({"x": numbers})
    assert np.abs((expected - zero) * 0.017 - by_floats).max() <= 0.01701
