"""Images of integers resized by lines between pixels, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from quantized_models import quantized_model, simulated

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import load_target

CASES: list[tuple[tuple[int, ...], tuple[float, float], str]] = [
    ((1, 3, 4, 5), (2, 2), "half_pixel"),
    ((1, 16, 3, 5), (2, 3), "asymmetric"),
    ((1, 33, 3, 4), (1, 4), "pytorch_half_pixel"),
    ((1, 5, 1, 6), (2, 2), "half_pixel"),
    ((1, 5, 6, 1), (3, 2), "asymmetric"),
    ((1, 5, 1, 1), (3, 2), "half_pixel"),
    ((1, 4, 2, 3), (6, 8), "half_pixel"),
    ((2, 3, 3, 3), (2, 2), "half_pixel"),
    # Smaller images: strided convolutions.
    ((1, 3, 8, 12), (0.5, 0.25), "half_pixel"),
    ((1, 20, 9, 7), (0.5, 0.5), "half_pixel"),
    ((1, 3, 8, 12), (0.5, 0.25), "asymmetric"),
    ((1, 4, 9, 6), (1 / 3, 2), "pytorch_half_pixel"),
    ((1, 4, 9, 6), (1 / 9, 1 / 6), "pytorch_half_pixel"),
    ((1, 4, 9, 6), (1 / 9, 1 / 6), "half_pixel"),
    # Ratios of integers: phases of a strided convolution, whose last positions are cropped.
    ((1, 5, 6, 8), (1.5, 0.75), "half_pixel"),
    ((1, 9, 5, 7), (1.5, 2 / 3), "half_pixel"),
    ((1, 3, 5, 4), (0.6, 2.4), "asymmetric"),
    ((1, 3, 7, 5), (1.2, 1), "half_pixel"),
    # A step of 9 elements, beyond the engine's strides.
    ((1, 3, 18, 4), (1 / 9, 1), "half_pixel"),
    # Corners on corners: of 7 rows from 4 each second one is between two.
    ((1, 3, 4, 8), (1.75, 1.875), "align_corners"),
    ((1, 3, 5, 8), (0.6, 0.25), "align_corners"),
]


def checked_resize(
    shape: tuple[int, ...],
    factors: tuple[float, float],
    coordinates: str,
    zero: int,
    target: str,
    folder: Path,
) -> float:
    """Compare every integer of a linear Resize with the reference; return its error in onnxruntime."""
    attributes: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    resize = helper.make_node("Resize", ["d", "", "f"], ["c"], "resize", **attributes)
    model = quantized_model([resize], shape, zero, f=np.array([1, 1, *factors], np.float32))
    found, expected, numbers = simulated(model, target, folder)
    assert np.array_equal(found, expected)
    (by_floats,) = Onnxruntime(folder / "model.onnx").run({"x": numbers})
    return float(np.abs((expected - zero) * 0.017 - by_floats).max())


@pytest.mark.covering(2)
@pytest.mark.parametrize("zero", [0, -21])
@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize(("shape", "factors", "coordinates"), CASES)
def test_the_integers_of_the_model(
    shape: tuple[int, ...],
    factors: tuple[float, float],
    coordinates: str,
    target: str,
    zero: int,
    tmp_path: Path,
):
    error = checked_resize(shape, factors, coordinates, zero, target, tmp_path)
    # The reference itself, against another one: rounded once, half a step.
    assert error <= 0.01701


@pytest.mark.covering(2)
@pytest.mark.parametrize("zero", [0, -21])
@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
@pytest.mark.parametrize(
    ("shape", "factors", "coordinates"),
    [((1, 9, 12, 13), (2, 2), "align_corners"), ((1, 3, 3, 2), (12.5, 13.5), "half_pixel")],
)
def test_rows_before_columns_where_phases_are_many(
    shape: tuple[int, ...],
    factors: tuple[float, float],
    coordinates: str,
    target: str,
    zero: int,
    tmp_path: Path,
):
    error = checked_resize(shape, factors, coordinates, zero, target, tmp_path)
    # Rounded twice: half a step of the source, and half of the result.
    assert error <= 0.5 * 0.03 + 0.01701


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize(
    ("shape", "factors", "kernel", "strides", "pads"),
    [
        # Of three rows from a row each the last is not read.
        ((1, 1, 1, 3), (3, 1), (3, 2), (2, 1), (1, 0, 0, 0)),
        # Of six rows from two the first two are read.
        ((1, 4, 2, 5), (3, 1), (2, 2), (5, 1), (0, 0, 0, 0)),
        ((1, 4, 2, 5), (3, 2), (1, 1), (7, 3), (0, 0, 0, 0)),
        ((1, 20, 2, 2), (4, 3), (3, 3), (6, 4), (0, 0, 0, 0)),
    ],
)
def test_rows_that_a_pooling_does_not_read_are_not_computed(
    shape: tuple[int, ...],
    factors: tuple[int, int],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, ...],
    target: str,
    tmp_path: Path,
):
    resize = helper.make_node("Resize", ["d", "", "f"], ["e"], "resize", mode="linear")
    pool = helper.make_node("MaxPool", ["e"], ["c"], "pool", kernel_shape=kernel, strides=strides, pads=pads)
    model = quantized_model([resize, pool], shape, 0, f=np.array([1, 1, *factors], np.float32))
    found, expected, _ = simulated(model, target, tmp_path)
    assert np.array_equal(found, expected)


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize(
    ("axis", "taken"),
    [
        *((2, rows) for rows in ((1, 3), (2, 3), (4, 6), (5, 6))),
        *((3, columns) for columns in ((0, 1), (1, 3), (3, 4), (4, 6), (2, 4), (5, 8))),
    ],
)
def test_rows_and_columns_that_a_slice_does_not_take_are_not_computed(
    axis: int, taken: tuple[int, int], target: str, tmp_path: Path
):
    nodes = [
        helper.make_node("Resize", ["d", "", "f"], ["e"], "resize", mode="linear"),
        helper.make_node("Slice", ["e", "begin", "end", "axis"], ["c"], "slice"),
    ]
    factors = np.ones(4, np.float32)
    factors[axis] = 3
    begin, end = (np.array([each]) for each in taken)
    model = quantized_model(nodes, (1, 5, 2, 3), 0, f=factors, begin=begin, end=end, axis=np.array([axis]))
    found, expected, _ = simulated(model, target, tmp_path)
    assert np.array_equal(found, expected)


@pytest.mark.covering(2)
@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"])
@pytest.mark.parametrize("factor", [2, 3, 1.75])
def test_the_nearest_pixel_is_taken(factor: float, coordinates: str, rounding: str, tmp_path: Path):
    attributes = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    node = helper.make_node("Resize", ["d", "", "f"], ["c"], "resize", mode="nearest", **attributes)
    model = quantized_model([node], (1, 1, 1, 4), 0, f=np.array([1, 1, 1, factor], np.float32))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4) / 4
    (expected,) = Onnxruntime(path).run({"x": x})
    hardware = load_target("nv_small")
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, "nv_small").loadable)), hardware)
    (found,) = simulator.run([x.reshape(simulator.inputs[0].shape)])
    pixels = np.asarray(expected, np.float32).reshape(-1)
    given = np.asarray(found.numbers, np.float32).reshape(-1)
    np.testing.assert_array_equal(np.rint(4 * given), np.rint(4 * pixels))


@pytest.mark.parametrize(
    ("shape", "attributes", "slot", "factors"),
    [
        ((1, 3, 9, 12), {}, "scales", (0.5, 0.25)),
        ((1, 3, 5, 8), {}, "scales", (2**0.5, 0.7)),
        ((1, 3, 5, 8), {}, "sizes", (7, 3)),
        ((1, 3, 8), {}, "scales", (0.75,)),
        ((1, 3, 5, 8), {"coordinate_transformation_mode": "align_corners"}, "sizes", (9, 3)),
        ((1, 3, 5, 8), {"coordinate_transformation_mode": "align_corners"}, "sizes", (1, 1)),
        ((1, 3, 5, 8), {"coordinate_transformation_mode": "pytorch_half_pixel"}, "sizes", (1, 1)),
        ((1, 3, 5, 8), {"coordinate_transformation_mode": "half_pixel_symmetric"}, "sizes", (10, 4)),
        ((1, 3, 4, 8), {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]}, "sizes", (6, 13)),
    ],
)
def test_lines_between_floats(
    shape: tuple[int, ...],
    attributes: dict[str, Any],
    slot: str,
    factors: tuple[float, float],
    tmp_path: Path,
):
    given = np.array(factors if "axes" in attributes else (1, shape[1], *factors))
    if slot == "scales":
        given[1] = 1
    names = ["x", "", "f"] if slot == "scales" else ["x", "", "", "f"]
    node = helper.make_node("Resize", names, ["y"], "resize", mode="linear", **attributes)
    graph = helper.make_graph(
        [node],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(given.astype(np.float32 if slot == "scales" else np.int64), "f")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    hardware = load_target("nv_full")
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, "nv_full").loadable)), hardware)
    numbers = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    (expected,) = Onnxruntime(path).run({"x": numbers})
    np.testing.assert_allclose(
        np.asarray(found.numbers, np.float32).reshape(expected.shape), expected, atol=4e-3
    )
