"""Loops whose sizes follow from the number of the iteration are unrolled, others stay."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Reference
from onnx import parser

import xonnc

RANDOM = np.random.default_rng(17)

CROPS = """g (float[2, 3, 5, 4] images, float[3, 4] boxes) => (float[N, C, H, W] y)
    <int64[3] of = {1, 0, 1}, int64 count = {3}, bool yes = {1}, int64[1] one = {1}, int64[1] zero = {0},
     int64[1] two = {2}, int64[1] four = {4}, int64[2] sizes = {3, 6}, float[2] least = {0, 0},
     float[2] most = {1, 1}, float[0] none = {}> {
        y = Loop(count, yes) <body = crop (int64[1] i, bool go) => (bool on, float[A, B, D] part) {
            on = Identity(go)  j = Add(i, one)
            row = Slice(boxes, i, j, zero)  box = Reshape(row, four)
            first = Slice(box, zero, two)  last = Slice(box, two, four)
            roi = Concat<axis = 0>(least, first, most, last)
            k = Slice(of, i, j)  next = Add(k, one)
            image = Slice(images, k, next, zero)
            shape = Shape(image)  outer = Slice(shape, zero, two)  all = Concat<axis = 0>(outer, sizes)
            crop = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",
                          extrapolation_value = 0.5>(image, roi, none, all)
            part = Squeeze(crop, zero) }>
    }"""


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def test_crops_as_tf2onnx_writes_them():
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["": 15]> {CROPS}')
    session = xonnc.compile(proto, cache=False)
    evaluator: Reference = import_module("onnx.reference").ReferenceEvaluator(proto)
    for _ in range(3):
        corners = np.sort(RANDOM.uniform(-0.2, 1.2, (3, 2, 2)), 1).reshape(3, 4).astype(np.float32)
        feeds = {"images": floats(2, 3, 5, 4), "boxes": corners}
        # The evaluator joins the crops along their own first axis.
        expected = np.asarray(evaluator.run(None, feeds)[0]).reshape(3, 3, 3, 6)
        (found,) = session.run(None, feeds)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
    assert session.host_calls() == []
    assert session.compiled == 1
    assert all(line.where == "native" for line in session.report())


@pytest.mark.parametrize(("count", "is_unrolled"), [(5, True), (300, False)])
def test_a_state_that_grows_from_a_slice(count: int, is_unrolled: bool):
    """Sums of the first i + 1 rows."""
    text = f"""<ir_version: 9, opset_import: ["": 21]>
    g (float[{count}, 3] x) => (float[N, M] y)
    <int64 count = {{{count}}}, bool yes = {{1}}, int64[1] one = {{1}}, int64[1] zero = {{0}}> {{
        y = Loop(count, yes) <body = part (int64 i, bool go) => (bool on, float[M] row) {{
            on = Identity(go)  j = Unsqueeze(i, zero)  end = Add(j, one)
            rows = Slice(x, zero, end, zero)
            row = ReduceSum<keepdims = 0>(rows, zero) }}>
    }}"""
    session = xonnc.compile(parser.parse_model(text), cache=False)
    x = floats(count, 3)
    (found,) = session.run(None, {"x": x})
    np.testing.assert_allclose(np.asarray(found), np.cumsum(x, axis=0), rtol=1e-3, atol=1e-3)
    assert session.host_calls() == []
    assert any(line.what == "Loop" for line in session.report()) != is_unrolled


def test_a_size_that_depends_on_data_stays_in_the_loop():
    text = """<ir_version: 9, opset_import: ["": 21]>
    g (float[8, 3] x, float[80] z) => (float[N, M] y)
    <int64 count = {4}, bool yes = {1}, int64[1] one = {1}, int64[1] zero = {0}> {
        far = ArgMax<axis = 0>(z)
        y = Loop(count, yes) <body = part (int64 i, bool go) => (bool on, float[M] row) {
            on = Identity(go)  j = Unsqueeze(i, zero)  next = Add(j, far)  end = Add(next, one)
            rows = Slice(x, zero, end, zero)
            row = ReduceSum<keepdims = 0>(rows, zero) }>
    }"""
    session = xonnc.compile(parser.parse_model(text), cache=False)
    for most in (0, 2, 30):
        z = np.zeros(80, np.float32)
        z[most] = 1
        x = floats(8, 3)
        (found,) = session.run(None, {"x": x, "z": z})
        expected = [x[: index + most + 1].sum(axis=0) for index in range(4)]
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)
    assert session.compiled == 1
    assert any(line.what == "Loop" for line in session.report())
