"""Resize of the reference evaluator, against onnxruntime and against the evaluator's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of
from xonnc.native import compile_native
from xonnc.runtime.verification.reference_engines import Engine

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(7)

COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")


def model_of(x: Array, attributes: Mapping[str, Any], **operands: Array) -> tuple[onnx.ModelProto, Any]:
    """A Resize of opset 19 with some of `roi`, `scales` and `sizes`, and its feeds."""
    feeds = {"x": x, **operands}
    names = ["x", *(name if name in operands else "" for name in ("roi", "scales", "sizes"))]
    node = helper.make_node("Resize", names, ["y"], **attributes)
    ports = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in feeds.items()
    ]
    made = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), None)
    graph = helper.make_graph([node], "g", ports, [made])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), feeds


def by_peer(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    return np.asarray(Engine(model).run(dict(feeds))["y"])


def by_evaluator(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """What the onnx package's own Resize gives."""
    return np.asarray(cast("Any", ReferenceEvaluator(model)).run(None, dict(feeds))[0])


def found(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    return np.asarray(reference_of(model)(feeds)[0])


def image(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


MODES = ("linear", "cubic", "nearest")
CASES = [
    *((mode, {"coordinate_transformation_mode": each}) for mode in MODES for each in COORDINATES),
    *((mode, {"axes": [3, 2], "keep_aspect_ratio_policy": "not_larger"}) for mode in MODES),
    *((mode, {"axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}) for mode in MODES),
    ("linear", {"antialias": 1}),
    ("cubic", {"antialias": 1}),
    ("cubic", {"exclude_outside": 1}),
    ("cubic", {"antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5}),
    *(("nearest", {"nearest_mode": each}) for each in ("round_prefer_ceil", "floor", "ceil")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sizes_as_in_onnxruntime(case: tuple[str, dict[str, Any]]):
    mode, attributes = case
    for before, after in (((7, 5), (11, 9)), ((11, 8), (5, 16)), ((6, 6), (6, 3))):
        sizes = np.array(after if "axes" in attributes else (1, 2, *after))
        model, feeds = model_of(image(1, 2, *before), {"mode": mode, **attributes}, sizes=sizes)
        np.testing.assert_allclose(found(model, feeds), by_peer(model, feeds), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scales", [(1.5, 2.0), (0.5, 0.75), (2.5, 1.0)])
def test_scales_as_in_the_evaluator_and_onnxruntime(mode: str, scales: tuple[float, float]):
    model, feeds = model_of(image(1, 2, 8, 4), {"mode": mode}, scales=np.array((1, 1, *scales), np.float32))
    np.testing.assert_allclose(found(model, feeds), by_peer(model, feeds), rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(found(model, feeds), by_evaluator(model, feeds), rtol=1e-5, atol=2e-5)


def test_a_coordinate_next_to_an_integer_has_the_right_neighbors():
    """At 7.0 the evaluator's own takes the pixel before it."""
    model, feeds = model_of(image(1, 1, 30, 30), {"mode": "linear"}, sizes=np.array((1, 1, 42, 42)))
    expected = by_peer(model, feeds)
    np.testing.assert_allclose(found(model, feeds), expected, rtol=1e-5, atol=2e-5)
    assert np.abs(by_evaluator(model, feeds) - expected).max() > 0.5


@pytest.mark.parametrize("mode", MODES)
def test_a_crop_has_the_extrapolation_value_outside(mode: str):
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    roi = np.array((0, 0, 0.15, -0.21, 1, 1, 0.83, 1.1), np.float32)
    model, feeds = model_of(
        image(1, 2, 6, 5), {"mode": mode, **attributes}, roi=roi, sizes=np.array((1, 2, 4, 9))
    )
    expected = by_peer(model, feeds)
    assert (expected == 7).any()
    np.testing.assert_allclose(found(model, feeds), expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, np.int32])
def test_element_types(dtype: Any):
    x = (100 * image(1, 1, 5, 4)).astype(dtype)
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    model, feeds = model_of(x, {"mode": "nearest", **attributes}, sizes=np.array((1, 1, 8, 8)))
    expected = by_evaluator(model, feeds)
    np.testing.assert_array_equal(found(model, feeds), expected, strict=True)
    model, feeds = model_of(x, {"mode": "linear"}, sizes=np.array((1, 1, 8, 8)))
    assert (found(model, feeds).dtype, found(model, feeds).shape) == (x.dtype, (1, 1, 8, 8))


def test_infinities_and_nan_count_only_where_they_have_a_weight():
    x = image(1, 1, 6, 6)
    x[0, 0, 2, 3], x[0, 0, 4, 1], x[0, 0, 0, 0] = np.inf, np.nan, -np.inf
    for mode in ("linear", "cubic"):
        model, feeds = model_of(x, {"mode": mode}, scales=np.ones(4, np.float32))
        np.testing.assert_array_equal(found(model, feeds), x)
        model, feeds = model_of(
            x, {"mode": mode, "coordinate_transformation_mode": "asymmetric"}, sizes=np.array((1, 1, 12, 12))
        )
        np.testing.assert_array_equal(found(model, feeds)[..., ::2, ::2], x)


def test_an_empty_batch_and_absent_operands():
    model, feeds = model_of(
        image(0, 1, 4, 4), {"mode": "linear"}, roi=np.zeros(0, np.float32), sizes=np.array((0, 1, 8, 8))
    )
    assert found(model, feeds).shape == (0, 1, 8, 8)
    model, feeds = model_of(image(1, 1, 4, 4), {"mode": "linear"})
    with pytest.raises(XonncError, match="Resize without scales and sizes"):
        reference_of(model)(feeds)


def test_sizes_that_depend_on_data_run_as_in_onnxruntime():
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18]>
        g (float[1,1,h,w] x, float[k] t) => (float[a,b,c,d] y) {
            marked = NonZero(t)
            shape = Shape(marked)
            last = Constant<value_ints = [1]>()
            count = Gather(shape, last)
            ones = Constant<value_ints = [1, 1]>()
            sizes = Concat<axis = 0>(ones, count, count)
            y = Resize<mode = "linear">(x, , , sizes)
        }"""
    )
    feeds = {"x": image(1, 1, 30, 30), "t": np.ones(42, np.float32)}
    result = np.asarray(compile_native(model, cache=False).run(None, feeds)[0])
    np.testing.assert_allclose(result, by_peer(model, feeds), rtol=1e-5, atol=2e-5)
