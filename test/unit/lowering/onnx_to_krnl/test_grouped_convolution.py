"""Grouped convolutions of channel-blocked images: of whole blocks, of parts of a block, and others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Reference
from onnx import numpy_helper

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(5)

LANES = resolve_processor("cpu").vector_bytes // 4


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(x: Array, weights: Array, attributes: str, images: str = "") -> onnx.ModelProto:
    sizes = ",".join([images or str(x.shape[0]), *map(str, x.shape[1:])])
    result = ",".join(f"d{axis}" for axis in range(x.ndim))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[{sizes}] x) => (float[{result}] y) '
        f"{{ c = Conv<{attributes}>(x, w, b) s = Sigmoid(c) y = Mul(c, s) }}"
    )
    bias = floats(weights.shape[0])
    model.graph.initializer.extend(
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")]
    )
    return model


def results(model: onnx.ModelProto, x: Array, threads: int = 1) -> tuple[Array, Array, list[str]]:
    """Results, those of the reference evaluator, and the names of the kernels."""
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model, cache=False, threads=threads)
    found = np.asarray(session.run(None, {"x": x})[0], np.float32)
    kernels = [name for line in session.report() for name in line.what.split()]
    return found, np.asarray(reference.run(None, {"x": x})[0], np.float32), kernels


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("groups", "depth", "filters", "image", "attributes"),
    [
        (2, LANES, 3 * LANES, (1, 7, 7), "pads=[1,1,1,1]"),
        # Three groups of seven blocks: panels of a group, the last of each narrower.
        (3, LANES, 7 * LANES, (1, 6, 19), "pads=[1,1,1,1]"),
        (4, 2 * LANES, LANES, (3, 9, 8), "pads=[1,1,1,1],strides=[2,2]"),
        (2, LANES, LANES, (1, 11, 10), "pads=[2,2,2,2],dilations=[2,2]"),
        # Parts of a block.
        (8, LANES // 2, LANES // 2, (1, 7, 7), "pads=[1,1,1,1]"),
        (8, LANES // 4, LANES // 4, (2, 5, 33), "pads=[1,1,1,1]"),
        (16, 2, 2, (1, 6, 6), "strides=[2,1]"),
        # Blocks of two groups each, and numbers of filters that are not those of channels: row-major.
        (2, 3 * LANES // 2, 3 * LANES // 2, (1, 7, 7), "pads=[1,1,1,1]"),
        (4, LANES // 2, LANES, (1, 7, 7), "pads=[1,1,1,1]"),
        (5, 3, 5, (1, 4, 4), "pads=[1,1,1,1]"),
    ],
)
def test_groups(
    groups: int, depth: int, filters: int, image: tuple[int, int, int], attributes: str, threads: int
):
    images, rows, columns = image
    x = floats(images, groups * depth, rows, columns)
    weights = floats(groups * filters, depth, 3, 3) / np.float32(3 * np.sqrt(depth))
    found, expected, kernels = results(model_of(x, weights, f"group={groups},{attributes}"), x, threads)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    is_blocked = not depth % LANES and not filters % LANES
    is_part = 1 < depth == filters and not LANES % depth
    assert any(each.startswith("conv") for each in kernels) == (is_blocked or is_part)


def test_one_spatial_axis():
    x, weights = floats(2, 4 * LANES, 30), floats(2 * LANES, 2 * LANES, 3) / np.float32(9)
    found, expected, kernels = results(model_of(x, weights, "group=2,pads=[1,1]"), x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not any(each.startswith("gemm") for each in kernels)


@pytest.mark.parametrize("depth", [LANES, LANES // 2])
def test_a_dynamic_number_of_images(depth: int):
    x, weights = floats(3, 4 * depth, 6, 6), floats(4 * depth, depth, 3, 3) / np.float32(9)
    found, expected, _ = results(model_of(x, weights, "group=4", "n"), x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("depth", [LANES, LANES // 2, LANES // 4])
def test_numbers_that_are_not_finite_stay_in_their_group(depth: int, number: float):
    x, weights = floats(1, 4 * depth, 5, 5), floats(4 * depth, depth, 3, 3)
    x[0, depth] = number
    found, _, _ = results(model_of(x, weights, "group=4,pads=[1,1,1,1]"), x)
    assert not np.isfinite(found[:, depth : 2 * depth]).all(axis=(0, 2, 3)).any()
    assert np.isfinite(np.delete(found, range(depth, 2 * depth), axis=1)).all()


@pytest.mark.covering(1)
@pytest.mark.parametrize("images", ["", "n"])
@pytest.mark.parametrize(
    ("channels", "filters", "window", "attributes"),
    [
        # Channel-blocked: rows of the window in a loop, columns unrolled or in a loop of them.
        (2 * LANES, 1, (9, 9), "pads=[4,4,4,4]"),
        (LANES + 3, 1, (11, 7), "pads=[5,3,5,3],strides=[2,2]"),
        (LANES, 1, (13, 6), "pads=[12,5,12,5],dilations=[2,2]"),
        (LANES, 1, (2, 67), "pads=[1,33,1,33]"),
        (LANES, 1, (3, 64), "pads=[1,32,1,32]"),
        (LANES, 1, (1, 31), "pads=[0,15,0,15]"),
        # Row-major: few channels, several filters of each.
        (3, 1, (9, 9), "pads=[4,4,4,4]"),
        (3, 2, (13, 5), "pads=[6,4,6,4],strides=[1,2],dilations=[1,2]"),
        (2 * LANES, 2, (3, 3), "pads=[1,1,1,1]"),
        (5, 3, (3, 2), "strides=[2,1]"),
    ],
)
def test_depthwise_windows(
    channels: int, filters: int, window: tuple[int, int], attributes: str, images: str
):
    x, weights = floats(2, channels, 15, 21), floats(channels * filters, 1, *window) / np.float32(9)
    found, expected, kernels = results(model_of(x, weights, f"group={channels},{attributes}", images), x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert any(each.startswith("depthwise") for each in kernels)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_depthwise_windows_of_numbers_that_are_not_finite(number: float):
    x, weights = floats(1, LANES, 20, 20), np.abs(floats(LANES, 1, 9, 9))
    x[0, 1, 3, 19] = number
    found, _, _ = results(model_of(x, weights, f"group={LANES},pads=[4,4,4,4]"), x)
    reached = np.zeros((1, LANES, 20, 20), bool)
    reached[0, 1, :8, 15:] = True
    np.testing.assert_array_equal(~np.isfinite(found) | (found == 0), reached)


def test_depthwise_volumes():
    x, weights = floats(1, 4, 6, 7, 8), floats(4, 1, 5, 5, 5) / np.float32(9)
    found, expected, kernels = results(model_of(x, weights, "group=4,pads=[2,2,2,2,2,2]"), x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert any(each.startswith("depthwise") for each in kernels)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "window", "attributes"),
    [
        # Panels of some rows, of parts of rows, and of whole rows with one plane each.
        ((2, 3, LANES + 8, 5, 28, 28), (3, 3), "pads=[1,1,1,1]"),
        ((1, 2, LANES + 8, 7, 4, 3 * 16 * LANES), (3, 2), "pads=[1,0,1,1],strides=[2,1]"),
        ((1, 3, 10, 2, 33, 32), (3, 3), "dilations=[2,1],pads=[2,1,2,1]"),
        ((2, 1, 3, 9, 6, 8, 2 * LANES), (3, 3, 3), "pads=[1,1,1,1,1,1]"),
        ((1, 2, 5, 4, 6, 9, 8 * LANES), (2, 3, 1), "strides=[2,1,1],pads=[0,1,0,1,1,0]"),
        ((2, 3, 5, 6, 8 * LANES), (5,), "pads=[2,2]"),
        # Rows that fill no vectors: gathered in order, then packed.
        ((1, 2, 9, 3, 13, 17), (3, 3), "pads=[1,1,1,1]"),
    ],
)
def test_pixels_gathered_into_panels(
    shape: tuple[int, ...], window: tuple[int, ...], attributes: str, threads: int
):
    images, groups, depth, filters, *sizes = shape
    x, weights = floats(images, groups * depth, *sizes), floats(groups * filters, depth, *window)
    weights /= np.float32(np.sqrt(weights[0].size))
    found, expected, kernels = results(model_of(x, weights, f"group={groups},{attributes}"), x, threads)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert any(each.startswith("gemm") for each in kernels)
