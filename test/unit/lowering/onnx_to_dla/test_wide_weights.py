"""
Weights beyond 8 bits less their zero point, and kernels beyond the core's 32 rows or columns: several
products in one sum, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
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
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target

Array = npt.NDArray[Any]


def saved(
    folder: Path,
    op: str,
    shape: Sequence[int],
    weights: Array,
    zero: Array,
    **attributes: Any,
) -> Path:
    """`op` between QDQ pairs, with weights of a zero point."""
    weight_axis: dict[str, Any] = {"axis": 0} if zero.ndim else {}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "read"),
        helper.make_node("DequantizeLinear", ["w", "v", "n"], ["k"], "weights", **weight_axis),
        helper.make_node(op, ["d", "k"], ["c"], "op", **attributes),
        helper.make_node("QuantizeLinear", ["c", "t", "z"], ["y"], "round"),
    ]
    scale = np.linspace(0.01, 0.02, zero.size).astype(np.float32).reshape(zero.shape)
    constants = {
        "s": np.array(0.03, np.float32),
        "z": np.array(11, np.int8),
        "w": weights,
        "n": zero,
        "v": scale,
    }
    constants["t"] = np.array(0.15, np.float32)
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT8, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def drawn(shape: Sequence[int], kind: type[np.uint8 | np.int8]) -> Array:
    """Integers of 8 bits, both ends among them."""
    bounds = np.iinfo(kind)
    found = np.random.default_rng(5).integers(bounds.min, bounds.max + 1, shape).astype(kind)
    found.reshape(-1)[:2] = bounds.min, bounds.max
    return found


CASES: dict[str, tuple[str, tuple[int, ...], Array, Array, dict[str, Any]]] = {
    "conv": (
        "Conv",
        (1, 6, 7, 9),
        drawn((5, 6, 3, 3), np.uint8),
        np.array(100, np.uint8),
        {"pads": [1, 0, 2, 1], "strides": [2, 1]},
    ),
    "three parts": ("Conv", (1, 3, 5, 5), drawn((4, 3, 1, 1), np.uint8), np.array(0, np.uint8), {}),
    "all below": ("Conv", (1, 3, 5, 5), drawn((4, 3, 2, 2), np.uint8), np.array(255, np.uint8), {}),
    "channels": (
        "Conv",
        (1, 40, 4, 4),
        drawn((9, 40, 3, 3), np.int8),
        np.arange(-60, 66, 14).astype(np.int8),
        {},
    ),
    "groups": ("Conv", (1, 16, 6, 6), drawn((16, 8, 3, 3), np.uint8), np.array(90, np.uint8), {"group": 2}),
    "batch": ("Conv", (2, 4, 4, 4), drawn((3, 4, 2, 2), np.uint8), np.array(90, np.uint8), {}),
    "transposed": (
        "ConvTranspose",
        (1, 4, 5, 5),
        drawn((4, 6, 2, 2), np.uint8),
        np.array(150, np.uint8),
        {"strides": [2, 2]},
    ),
    "matrix": ("MatMul", (1, 20), drawn((20, 7), np.uint8), np.array(133, np.uint8), {}),
    "rows": ("MatMul", (3, 20), drawn((20, 7), np.int8), np.array(-40, np.int8), {}),
    "rows of 37 positions": (
        "MatMul",
        (1, 5, 37),
        drawn((37, 7), np.int8),
        np.array(3, np.int8),
        {},
    ),
    "a kernel longer than the core's": (
        "Conv",
        (1, 5, 70, 9),
        drawn((6, 5, 67, 2), np.int8),
        np.array(0, np.int8),
        {"strides": [2, 1]},
    ),
    "both longer": ("Conv", (1, 3, 35, 43), drawn((4, 3, 33, 40), np.int8), np.array(0, np.int8), {}),
    "longer and dilated": (
        "Conv",
        (1, 4, 1, 90),
        drawn((4, 4, 1, 41), np.uint8),
        np.array(120, np.uint8),
        {"dilations": [1, 2]},
    ),
    "longer and padded": (
        "Conv",
        (1, 5, 9, 40),
        drawn((6, 5, 1, 37), np.int8),
        np.array(0, np.int8),
        {"pads": [0, 18, 0, 18]},
    ),
    "longer and padded, rows": (
        "Conv",
        (1, 9, 20, 5),
        drawn((6, 9, 35, 3), np.uint8),
        np.array(120, np.uint8),
        {"pads": [17, 1, 16, 2], "strides": [2, 1]},
    ),
    "longer, dilated, and padded": (
        "Conv",
        (1, 4, 3, 50),
        drawn((4, 4, 2, 41), np.int8),
        np.array(0, np.int8),
        {"dilations": [1, 2], "pads": [1, 50, 0, 44]},
    ),
    "both longer and padded": (
        "Conv",
        (1, 3, 12, 14),
        drawn((4, 3, 33, 37), np.int8),
        np.array(0, np.int8),
        {"pads": [16, 18, 16, 18]},
    ),
    "longer and padded, by groups": (
        "Conv",
        (1, 16, 1, 30),
        drawn((16, 1, 1, 33), np.int8),
        np.array(0, np.int8),
        {"pads": [0, 16, 0, 16], "group": 16},
    ),
    "gemm": ("Gemm", (1, 20), drawn((7, 20), np.uint8), np.array(20, np.uint8), {"transB": 1}),
}


@pytest.mark.parametrize(
    ("name", "target"),
    # The smallest configuration divides kernels most; the large ones, with other buffers, alternate.
    [
        (name, target)
        for name, large in zip(CASES, cycle(["nv_large", "nv_full"]), strict=False)
        for target in ("nv_small", large)
    ],
)
def test_the_integers_of_the_model(name: str, target: str, tmp_path: Path):
    op, shape, weights, zero, attributes = CASES[name]
    path = saved(tmp_path, op, shape, weights, zero, **attributes)
    hardware = load_target(target)
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, target).loadable)), hardware)
    numbers = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    model = onnx.ModelProto.FromString(path.read_bytes())
    (expected,) = QuantizedReference(model, PlannedLayers(hardware)).run({"x": numbers})
    assert np.array_equal(found.tensor.reshape(expected.shape), expected)
    assert len(np.unique(expected)) >= 6


def test_over_pixels(tmp_path: Path):
    path = saved(tmp_path, "Conv", (1, 3, 5, 5), drawn((4, 3, 2, 2), np.uint8), np.array(255, np.uint8))
    with pytest.raises(RefusalError, match="weights that exceed 8 bits less their zero point, over pixels"):
        compile_model(path, "nv_small", None, None, {"": ImageInput("A8B8G8R8")})
