"""Constants of float16 are folded into weights only where the products fit their type."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx.numpy_helper import from_array

from xonnc import simplify
from xonnc.transforms.numerics import smallest_normal

HEAD = '<ir_version: 8, opset_import: ["": 13]> g (float16[2, 2{image}] x) => (float16[2, 2{image}] y)'
X = np.array([[-1.5, 0.25], [1, 2]], np.float16)
W = [[1, 0.5], [-2, 3]]

AFTER = {
    "Conv": "t = Conv(x, w)",
    "Conv with bias": "t = Conv(x, w, b)",
    "ConvTranspose": "t = ConvTranspose(x, w, b)",
    "Gemm": "t = Gemm(x, w, b)",
    "MatMul": "t = MatMul(x, w)",
}
BEFORE = {"Conv": "y = Conv(t, w)", "Gemm": "y = Gemm(t, w, b)", "MatMul": "y = MatMul(t, w)"}


def model_of(body: str, w: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> onnx.ModelProto:
    """Return a model of a body; its weights are filters of 1×1 where it convolves."""
    image = ", 1, 1" if "Conv" in body else ""
    declared = "<float16 w = {0}, float16 b = {0}, float16 c = {0}>"
    model = onnx.parser.parse_model(f"{HEAD.format(image=image)} {declared} {{{body}}}")
    ones = (1, 1) if image else ()
    weights, bias, constant = (np.asarray(each, np.float16) for each in (w, b, c))
    values = {"w": weights.reshape(*weights.shape, *ones), "b": bias, "c": constant.reshape(-1, *ones)}
    if not image:
        values["c"] = constant
    for tensor in model.graph.initializer:
        tensor.CopyFrom(from_array(values[tensor.name], tensor.name))
    return model


def results(model: onnx.ModelProto, x: npt.NDArray[np.float16]) -> npt.NDArray[Any]:
    evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
    with np.errstate(over="ignore", invalid="ignore"):
        (found,) = evaluator.run(None, {"x": x.reshape(shape)})
    return np.asarray(found)


def check(model: onnx.ModelProto, x: npt.NDArray[np.float16], left: list[str]) -> None:
    """The simplified model has these operators and the values of the original one."""
    simplified = simplify(model).proto()
    assert [node.op_type for node in simplified.graph.node] == left
    expected, found = results(model, x), results(simplified, x)
    assert np.all(np.isfinite(expected)), "the case says nothing"
    assert np.any(expected)
    np.testing.assert_allclose(found, expected, rtol=4e-3, atol=0)


def first(body: str) -> str:
    return body.split(" = ")[1].split("(")[0]


@pytest.mark.parametrize("body", AFTER.values(), ids=AFTER)
@pytest.mark.parametrize(("scaling", "c"), [("Mul", [100, 2]), ("Div", [0.011, 1])])
def test_a_factor_after_that_overflows_the_weights_stays(body: str, scaling: str, c: list[float]) -> None:
    model = model_of(f"{body} y = {scaling}(t, c)", [[1000, 0.5], [2000, 3]], [1, 2], c)
    check(model, X * np.float16(2**-10), [first(body), scaling])


@pytest.mark.parametrize("body", [AFTER[each] for each in ("Conv with bias", "ConvTranspose", "Gemm")])
@pytest.mark.parametrize(("scaling", "c"), [("Mul", [100, 2]), ("Div", [0.011, 1])])
def test_a_factor_after_that_overflows_the_bias_stays(body: str, scaling: str, c: list[float]) -> None:
    model = model_of(f"{body} y = {scaling}(t, c)", [[1, 2], [2, 3]], [-2000, 2], c)
    x = np.array([[1000, 500], [999, 501]], np.float16)
    check(model, x, [first(body), scaling])


@pytest.mark.parametrize("body", [AFTER[each] for each in ("Conv with bias", "ConvTranspose", "Gemm")])
def test_a_sum_that_overflows_the_bias_stays(body: str) -> None:
    model = model_of(f"{body} y = Add(t, c)", np.eye(2), [60000, 2], [60000, 1])
    x = np.array([[-60000, 15000], [-61000, 15000]], np.float16)
    check(model, x, [first(body), "Add"])


@pytest.mark.parametrize("body", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize(("scaling", "c"), [("Mul", 100), ("Div", 0.011)])
def test_a_factor_before_that_overflows_the_weights_stays(body: str, scaling: str, c: float) -> None:
    model = model_of(f"t = {scaling}(x, c) {body}", [[2000, 0.5], [1000, 3]], [1, 2], [c])
    check(model, X * np.float16(2**-14), [scaling, first(body)])


@pytest.mark.parametrize("body", AFTER.values(), ids=AFTER)
def test_a_factor_after_that_makes_weights_denormal_stays(body: str) -> None:
    small = np.array(W) * 1e-3
    model = model_of(f"{body} y = Mul(t, c)", small, [1e-3, 2e-3], [1e-3, 2e-3])
    check(model, X * np.float16(3000), [first(body), "Mul"])


@pytest.mark.parametrize("body", BEFORE.values(), ids=BEFORE)
def test_a_factor_before_that_makes_weights_denormal_stays(body: str) -> None:
    model = model_of(f"t = Mul(x, c) {body}", np.array(W) * 1e-3, [0, 0], [1e-3])
    check(model, X * np.float16(9000), ["Mul", first(body)])


@pytest.mark.parametrize("body", AFTER.values(), ids=AFTER)
def test_factors_that_fit_are_folded(body: str) -> None:
    """One denormal weight beside others does not matter."""
    model = model_of(f"{body} y = Mul(t, c)", [[1, 1e-4], [-2, 3]], [0.5, 2], [0.25, -2])
    (found,) = simplify(model).proto().graph.node
    assert found.op_type == first(body)
    np.testing.assert_allclose(results(simplify(model).proto(), X), results(model, X), rtol=4e-3, atol=1e-3)


def test_a_product_with_batch_normalisation_stays_if_it_overflows() -> None:
    head = HEAD.format(image="")
    body = "t = BatchNormalization(x, s, s, m, v) y = Mul(t, c)"
    declared = "<float16 s = {0}, float16 m = {0}, float16 v = {0}, float16 c = {0}>"
    model = onnx.parser.parse_model(f"{head.replace('13', '15')} {declared} {{{body}}}")
    values = {"s": [1000, 1], "m": [1, 0], "v": [1, 1], "c": [100, 1]}
    for tensor in model.graph.initializer:
        tensor.CopyFrom(from_array(np.asarray(values[tensor.name], np.float16), tensor.name))
    x = np.array([[0, 1], [0.0009766, -1]], np.float16)
    simplified = simplify(model).proto()
    np.testing.assert_allclose(results(simplified, x), results(model, x), rtol=4e-3, atol=2)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(np.float16, 2**-14), (ml_dtypes.bfloat16, 2**-126), (ml_dtypes.float8_e4m3fn, 2**-6)],
)
def test_smallest_normal(dtype: type[np.generic], expected: float) -> None:
    assert smallest_normal(np.dtype(dtype)) == expected
