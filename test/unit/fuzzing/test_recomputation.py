"""Outputs that follow from what native code gives inside a model."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.fuzzing import recomputation
from xonnc.fuzzing.differential import Original
from xonnc.fuzzing.known_differences import is_explained
from xonnc.fuzzing.random_models import Feeds
from xonnc.fuzzing.recomputation import from_lost_nan, from_results, from_ties

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
LEAST = onnx.parser.parse_model(
    HEAD
    + """m (int64[2] x) => (int64[1] y, float[2] h) {
        c = Cast<to = 1>(x)
        h = Exp(c)
        y = ArgMin<axis = 0>(h)
    }"""
)
FEEDS = {"x": np.ones(2, np.int64)}


@pytest.mark.parametrize(("second", "index"), [(2.7182816, 1), (2.5, None), (2.7182818, 0)])
def test_the_least_of_equal_elements_may_be_any(
    monkeypatch: pytest.MonkeyPatch, second: float, index: int | None
) -> None:
    def values(*_: object) -> Feeds:
        return {"h": np.array([2.7182818, second], np.float32)}

    monkeypatch.setattr(recomputation, "_native_values", values)
    found = from_ties(LEAST, FEEDS, "y", by_reference=False)
    assert (None if found is None else found["y"].tolist()) == (None if index is None else [index])
    original = Original(LEAST, [FEEDS])
    zero, one = np.array([0]), np.array([1])
    assert is_explained(original, FEEDS, "y", zero, one) is (index == 1)


def test_native_code_gives_the_values() -> None:
    found = from_ties(LEAST, {"x": np.array([2, 1])}, "y", by_reference=False)
    assert found is not None
    assert found["y"].tolist() == [1]


@pytest.mark.parametrize("output", ["h", "y"])
def test_models_without_such_operators_have_none(output: str) -> None:
    assert from_lost_nan(LEAST, FEEDS, ["GRU"], output, by_reference=False) is None
    assert from_ties(LEAST, FEEDS, "h", by_reference=False) is None


PRODUCTS = onnx.parser.parse_model(
    HEAD
    + """m (int32[3,2] x, int32 n) => (int32[1,1] y) {
        product = ReduceProd(x)
        rest = Mod(product, n)
        y = ReduceSumSquare(rest)
    }"""
)


def test_an_overflow_may_wrap_inside_of_a_model() -> None:
    """The product is 8 · 2^32 + 734789632; onnxruntime takes the greatest int32 instead."""
    feeds = {"x": np.array([[-51, -70], [-64, 32], [75, -64]], np.int32), "n": np.array(100, np.int32)}
    original = Original(PRODUCTS, [feeds])
    expected = original.runs[0][1]["y"]
    assert expected == 47**2
    assert is_explained(original, feeds, "y", expected, np.array([[32**2]], np.int32))
    assert not is_explained(original, feeds, "y", expected, np.array([[33**2]], np.int32))


def test_without_an_overflow_integers_differ() -> None:
    feeds = {"x": np.array([[3, 1], [1, 1], [2, 1]], np.int32), "n": np.array(4, np.int32)}
    original = Original(PRODUCTS, [feeds])
    assert not is_explained(original, feeds, "y", np.array([[4]], np.int32), np.array([[9]], np.int32))


@pytest.mark.parametrize(("value", "is_right"), [(-0.99982303, True), (-0.99982, False)])
def test_a_rounding_of_one_may_remain(monkeypatch: pytest.MonkeyPatch, value: float, is_right: bool) -> None:
    """1 + erf(x) next to 0 has the error of erf(x), which is next to -1."""

    def values(*_: object) -> Feeds:
        return {"t": np.array(value, np.float32)}

    model = onnx.parser.parse_model(
        HEAD + "m (float x) => (float y) { one = Constant<value_float = 1.0>() t = Erf(x) y = Add(t, one) }"
    )
    monkeypatch.setattr(recomputation, "_native_values", values)
    feeds = {"x": np.array(-2.6516504, np.float32)}
    original = Original(model, [feeds])
    expected, found = original.runs[0][1]["y"], np.float32(1) + np.array(value, np.float32)
    assert expected != found
    assert is_explained(original, feeds, "y", expected, found) is is_right


def test_infinite_scales_may_give_infinities() -> None:
    """onnxruntime has `inf - inf`, and the reference evaluator computes no pooling of NaN."""
    model = onnx.parser.parse_model(
        HEAD
        + """m (float[1,1,2] x, float[1] scale, float[1] bias) => (float[1,1,1] y) {
            normal = InstanceNormalization(x, scale, bias)
            y = AveragePool<kernel_shape = [1], strides = [2]>(normal)
        }"""
    )
    feeds = {
        "x": np.array([[[3.75, 4]]], np.float32),
        "scale": np.array([-np.inf], np.float32),
        "bias": np.zeros(1, np.float32),
    }
    original = Original(model, [feeds])
    expected = original.runs[0][1]["y"]
    assert np.isnan(expected).all()
    assert is_explained(original, feeds, "y", expected, np.array([[[np.inf]]], np.float32))
    assert not is_explained(original, feeds, "y", expected, np.array([[[1]]], np.float32))


def test_operators_of_two_results_are_taken_whole() -> None:
    model = onnx.parser.parse_model(
        HEAD
        + """m (float[2,1,3] x, float[1,2,3] w, float[1,2,2] r) => (float[1,2] y) {
            all, last = RNN<hidden_size = 2>(x, w, r)
            y = ReduceMean<axes = [0], keepdims = 0>(last)
        }"""
    )
    feeds = {
        name: np.ones(shape, np.float32)
        for name, shape in zip("xwr", ((2, 1, 3), (1, 2, 3), (1, 2, 2)), strict=True)
    }
    found = from_results(
        model, feeds, ["RNN"], "y", False, lambda expected, given: expected.shape == given.shape
    )
    assert found is not None
    np.testing.assert_allclose(found["y"], [[1, 1]], atol=1e-2)


def test_models_without_results_to_take_have_no_output() -> None:
    assert from_results(PRODUCTS, {}, ["Erf"], "y", False, np.array_equal) is None
    assert from_results(PRODUCTS, {}, ["ReduceSumSquare"], "y", False, np.array_equal) is None
