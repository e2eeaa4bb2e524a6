"""Taps farther apart than the core's dilation: 1x1 convolutions of what each reads, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.sweep import PlannedLayers
from xonnc.compiler import compile_model
from xonnc.dialects.dla.types import CubeShape
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.performance import performance
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.operators import convolution
from xonnc.lowering.onnx_to_dla.operators.wide_dilation import inner_taps, is_wide
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "deeplabv3 on 160x160": ((1, 20, 10, 10), (8, 20, 3, 3), {"dilations": [36, 36], "pads": [36] * 4}),
    "its first branch": ((1, 17, 10, 11), (9, 17, 3, 3), {"dilations": [12, 12], "pads": [12] * 4}),
    "four taps at a corner": ((1, 5, 41, 43), (8, 5, 3, 3), {"dilations": [36, 36], "pads": [36] * 4}),
    "taps that overlap": ((1, 9, 76, 40), (10, 9, 3, 3), {"dilations": [36, 36], "pads": [36] * 4}),
    "strides": (
        (1, 5, 41, 43),
        (8, 5, 3, 3),
        {"dilations": [36, 36], "pads": [36] * 4, "strides": [2, 3]},
    ),
    "no padding": ((1, 5, 73, 74), (8, 5, 3, 3), {"dilations": [36, 36]}),
    "rows alone": ((1, 5, 41, 9), (8, 5, 3, 3), {"dilations": [36, 1], "pads": [36, 1, 36, 1]}),
    "even kernels": ((1, 5, 41, 41), (8, 5, 2, 2), {"dilations": [40, 33], "pads": [20, 16, 20, 17]}),
    "depthwise": ((1, 6, 41, 41), (6, 1, 3, 3), {"group": 6, "dilations": [36, 36], "pads": [36] * 4}),
    "depthwise, one tap": (
        (1, 16, 9, 9),
        (16, 1, 3, 3),
        {"group": 16, "dilations": [18, 18], "pads": [18] * 4},
    ),
    "padding alone too wide": ((1, 5, 40, 40), (8, 5, 3, 3), {"dilations": [32, 32], "pads": [32] * 4}),
    "one dimension": ((1, 5, 80), (8, 5, 3), {"dilations": [36], "pads": [36] * 2}),
    "batch": ((2, 5, 10, 10), (8, 5, 3, 3), {"dilations": [36, 36], "pads": [36] * 4}),
    "1x1": ((1, 5, 10, 10), (8, 5, 1, 1), {"dilations": [36, 36]}),
    "an outer tap": ((1, 5, 10, 10), (8, 5, 3, 3), {"dilations": [20, 20], "pads": [40, 0, 0, 40]}),
    "more taps than channels": (
        (1, 136, 1, 130),
        (136, 1, 1, 87),
        {"group": 136, "dilations": [1, 2], "pads": [0, 86, 0, 86]},
    ),
}
"""Shapes of input and weights, and attributes."""


def saved(folder: Path, name: str, *, floats: bool = False) -> Path:
    """A convolution, between QDQ pairs unless it is of `floats`."""
    shape, weights_shape, attributes = CASES[name]
    random = np.random.default_rng(4)
    constants: dict[str, Array] = {
        "s": np.array(0.03, np.float32),
        "z": np.array(-11, np.int8),
        "w": random.integers(-127, 128, weights_shape).astype(np.int8),
        "v": np.linspace(0.01, 0.02, weights_shape[0]).astype(np.float32),
        "n": np.zeros(weights_shape[0], np.int8),
        "b": random.integers(-3000, 3000, weights_shape[0]).astype(np.int32),
        "t": np.array(0.1, np.float32),
    }
    constants["u"] = (constants["s"] * constants["v"]).astype(np.float32)
    constants["o"] = np.zeros(weights_shape[0], np.int32)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "v", "n"], ["k"], axis=0),
        helper.make_node("DequantizeLinear", ["b", "u", "o"], ["a"], axis=0),
        helper.make_node("Conv", ["d", "k", "a"], ["c"], "op", **attributes),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "t", "z"], ["y"]),
    ]
    if floats:
        constants = {
            "w": random.standard_normal(weights_shape),
            "b": random.standard_normal(weights_shape[0]),
        }
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], "op", **attributes),
            helper.make_node("Relu", ["c"], ["y"]),
        ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT if floats else TensorProto.INT8, None)],
        [
            numpy_helper.from_array(array.astype(np.float32) if floats else array, key)
            for key, array in constants.items()
        ],
    )
    path = folder / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def simulated(path: Path, target: str, numbers: Array) -> Any:
    """What a target gives."""
    loadable = parse_loadable(to_bytes(compile_model(path, target).loadable))
    simulator = Simulator(loadable, load_target(target))
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    return found


def cycles_of(path: Path) -> int:
    """The cycles of a model on nv_small."""
    return performance(compile_model(path, "nv_small").loadable, load_target("nv_small")).cycles


def inputs(name: str) -> Array:
    return np.random.default_rng(8).standard_normal(CASES[name][0]).astype(np.float32)


@pytest.mark.parametrize("target", ["nv_small", "nv_large", "nv_full"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "one dimension"])
def test_the_integers_of_the_model(name: str, target: str, tmp_path: Path):
    """The reference has no convolutions of one dimension."""
    path, numbers = saved(tmp_path, name), inputs(name)
    found = simulated(path, target, numbers)
    model = onnx.ModelProto.FromString(path.read_bytes())
    (expected,) = QuantizedReference(model, PlannedLayers(load_target(target))).run({"x": numbers})
    assert np.array_equal(found.tensor.reshape(expected.shape), expected)
    assert len(np.unique(expected)) >= 6


@pytest.mark.parametrize("name", [name for name in CASES if name != "more taps than channels"])
def test_fp16(name: str, tmp_path: Path):
    path, numbers = saved(tmp_path, name, floats=True), inputs(name)
    found = simulated(path, "nv_full", numbers)
    (expected,) = ReferenceModel(path).run({"x": numbers})
    error = np.abs(found.numbers.reshape(expected.shape) - expected).max()
    assert error < 2e-3 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["its first branch", "depthwise, one tap"])
def test_fewer_multiplications_where_one_tap_reads_the_input(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The same integers as with all taps, which these dilations allow."""
    path, numbers = saved(tmp_path, name), inputs(name)
    found, cycles = simulated(path, "nv_small", numbers), cycles_of(path)

    def none(*_: object) -> None:
        return None

    monkeypatch.setattr(convolution, "inner_taps", none)
    assert np.array_equal(simulated(path, "nv_small", numbers).tensor, found.tensor)
    assert cycles < 0.8 * cycles_of(path)


def test_which_taps_read_the_input():
    source = CubeShape(4, 10, 10)
    found = inner_taps(source, Window2D((3, 3), (1, 1), (12, 10), (12, 10, 12, 10)))
    assert found is not None
    assert [region.firsts for region in found] == [{1: 0}, {1: 0}]
    assert inner_taps(source, Window2D((3, 3), (1, 1), (12, 9), (12, 9, 12, 9))) is None
    assert inner_taps(source, Window2D((1, 1))) is None
    assert inner_taps(source, Window2D((3, 3), (1, 1), (12, 12))) is None


def test_what_the_core_does_itself():
    assert not is_wide(CubeShape(5, 40, 40), Window2D((3, 3), (1, 1), (31, 31), (31, 31, 31, 31)))
    assert is_wide(CubeShape(5, 40, 40), Window2D((3, 3), (1, 1), (32, 1), (32, 1, 32, 1)))
    assert is_wide(CubeShape(5, 40, 40), Window2D((2, 3), (1, 1), (1, 33)))
    # Dense kernels have other limits.
    assert not is_wide(CubeShape(5, 40, 40), Window2D((3, 3), (1, 1), (1, 1), (40, 0, 0, 0)))


def test_results_of_padding_alone(tmp_path: Path):
    CASES["beyond"] = (1, 5, 40, 40), (8, 5, 2, 2), {"dilations": [60, 33], "pads": [50, 33, 40, 33]}
    try:
        path = saved(tmp_path, "beyond")
    finally:
        del CASES["beyond"]
    with pytest.raises(RefusalError, match=r"op .*dilations \[60, 33\] \(the core takes up to 32\), with"):
        compile_model(path, "nv_small")
