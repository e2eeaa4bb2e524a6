"""Means over kernels of more than 8, which the PDP does not take, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from quantized_models import quantized_model, simulated

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.onnx_to_dla.operators.pooling import whole_factors
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import load_target


@pytest.mark.covering(2)
@pytest.mark.parametrize("zero", [0, -21])
@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
@pytest.mark.parametrize(
    ("attributes", "is_rounded_once"),
    [
        ({"kernel_shape": [9, 9], "strides": [4, 4], "pads": [4, 4, 4, 4], "count_include_pad": 1}, True),
        ({"kernel_shape": [3, 17], "strides": [2, 8], "pads": [0, 8, 0, 8], "count_include_pad": 1}, True),
        ({"kernel_shape": [11, 2]}, True),
        # A single window, with strides that no convolution has.
        ({"kernel_shape": [16, 22], "strides": [16, 22], "pads": [0] * 4}, True),
        ({"kernel_shape": [25, 3], "strides": [9, 1], "pads": [8, 0, 4, 0], "count_include_pad": 1}, True),
        # Windows next to each other, and rows that none reads.
        ({"kernel_shape": [9, 12], "strides": [9, 12]}, False),
        ({"kernel_shape": [9, 3], "strides": [9, 3]}, False),
        # Strides that no convolution has; a kernel that the PDP takes, whose means it rounds.
        ({"kernel_shape": [11, 11], "strides": [11, 11]}, True),
        ({"kernel_shape": [3, 2], "strides": [11, 9], "pads": [1, 1, 1, 0], "count_include_pad": 1}, False),
    ],
    ids=str,
)
def test_the_integers_of_the_model(
    attributes: dict[str, Any], is_rounded_once: bool, target: str, zero: int, tmp_path: Path
):
    pool = helper.make_node("AveragePool", ["d"], ["c"], "pool", **attributes)
    found, expected, numbers = simulated(quantized_model([pool], (1, 19, 20, 26), zero), target, tmp_path)
    assert np.array_equal(found, expected)
    (by_floats,) = Onnxruntime(tmp_path / "model.onnx").run({"x": numbers})
    # Means of blocks are rounded to half a step of the source by each of two reciprocals.
    blocks = 0 if is_rounded_once else 0.03
    assert np.abs((expected - zero) * 0.017 - by_floats).max() <= 0.01701 + blocks


def test_factors_that_the_pdp_takes():
    assert whole_factors(1) == (1,)
    assert whole_factors(8) == (8,)
    assert whole_factors(60) == (2, 5, 6)
    assert whole_factors(22) == ()


def test_means_of_cut_windows_whose_columns_are_computed_as_rows(tmp_path: Path):
    attributes: dict[str, Any] = {"kernel_shape": [9, 3], "strides": [1, 11], "pads": [2, 1, 0, 0]}
    pool = helper.make_node("AveragePool", ["d"], ["c"], "pool", **attributes)
    model = quantized_model([pool], (1, 5, 12, 26), -21)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    simulator = Simulator(
        parse_loadable(to_bytes(compile_model(path, "nv_small").loadable)), load_target("nv_small")
    )
    numbers = np.random.default_rng(8).standard_normal((1, 5, 12, 26)).astype(np.float32)
    (by_floats,) = Onnxruntime(path).run({"x": numbers})
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    assert np.abs(found.numbers.reshape(by_floats.shape) - by_floats).max() <= 0.01701
