"""Batch normalization of float16 with float32 parameters, which opset 15 allows, against the reference."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx.numpy_helper import from_array

import xonnc
from xonnc import simplify
from xonnc.model_check import check_model

VALUES = {"s": [1, 2], "b": [0.5, -1], "m": [0.25, 1], "v": [1.5, 0.25]}
HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float16[2, 2, 3, 3] x) => '
PARAMETERS = ", ".join(f"float {name} = {{0}}" for name in VALUES)


def model_of(body: str, results: str = "float16[2, 2, 3, 3] y", **values: npt.ArrayLike) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f"{HEAD}({results}) <{PARAMETERS}, float16 w = {{0}}> {{{body}}}")
    weights = np.asarray(values.pop("w", [[1, 0.5], [-2, 3]]), np.float16)
    given = {name: np.asarray(each, np.float32) for name, each in (VALUES | values).items()}
    rows = (*given.items(), ("w", weights.reshape(*weights.shape, 1, 1)))
    for tensor in model.graph.initializer:
        tensor.CopyFrom(from_array(dict(rows)[tensor.name], tensor.name))
    return model


def reference(model: onnx.ModelProto, x: npt.NDArray[np.float16]) -> list[npt.NDArray[Any]]:
    return [
        np.asarray(each)
        for each in import_module("onnx.reference").ReferenceEvaluator(model).run(None, {"x": x})
    ]


def native(model: onnx.ModelProto, x: npt.NDArray[np.float16]) -> list[npt.NDArray[Any]]:
    session = xonnc.compile(model, target="cpu")
    assert not session.host_calls()
    return [np.asarray(each) for each in session.run(None, {"x": x})]


X = np.random.default_rng(0).normal(size=(2, 2, 3, 3)).astype(np.float16)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("y = BatchNormalization(x, s, b, m, v)", ["BatchNormalization"]),
        ("c = Conv(x, w) y = BatchNormalization(c, s, b, m, v)", ["Conv"]),
        ("c = ConvTranspose(x, w) y = BatchNormalization(c, s, b, m, v)", ["ConvTranspose"]),
        ("c = BatchNormalization(x, s, b, m, v) y = Conv(c, w)", ["Conv"]),
    ],
)
def test_inference(body: str, left: list[str]) -> None:
    model = model_of(body)
    assert check_model(model) == []
    simplified = simplify(model).proto()
    assert [node.op_type for node in simplified.graph.node] == left
    (expected,) = reference(model, X)
    for found in (*reference(simplified, X), *native(model, X)):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, expected, rtol=4e-3, atol=1e-2)


@pytest.mark.parametrize("op_type", ["Conv", "ConvTranspose"])
def test_factors_outside_float16_are_not_folded(op_type: str) -> None:
    model = model_of(f"c = {op_type}(x, w) y = BatchNormalization(c, s, b, m, v)", s=[1e6, 1], m=[0, 1])
    x = X * np.float16(1e-3)
    (expected,) = reference(model, x)
    assert np.all(np.isfinite(expected))
    simplified = simplify(model).proto()
    (found,) = reference(simplified, x)
    np.testing.assert_allclose(found, expected, rtol=4e-3, atol=1e-2)


def test_factors_outside_float16_on_small_weights_are_folded() -> None:
    """The product fits though the factor does not; it is rounded once."""
    body = "c = Conv(x, w) y = BatchNormalization(c, s, b, m, v)"
    model = model_of(body, s=[1e6, 1], m=[0, 1], w=[[1e-4, 0], [0, 1]])
    simplified = simplify(model).proto()
    assert [node.op_type for node in simplified.graph.node] == ["Conv"]
    (expected,) = reference(model, X)
    (found,) = reference(simplified, X)
    np.testing.assert_allclose(found, expected, rtol=4e-3, atol=1e-1)


def test_training() -> None:
    results = "float16[2, 2, 3, 3] y, float[2] mean, float[2] var"
    model = model_of("y, mean, var = BatchNormalization<training_mode = 1>(x, s, b, m, v)", results)
    assert check_model(model) == []
    y, mean, var = native(model, X)
    wide = X.astype(np.float32)
    own = (wide.mean((0, 2, 3)), wide.var((0, 2, 3)))
    assert (y.dtype, mean.dtype, var.dtype) == (np.float16, np.float32, np.float32)
    for found, running, batch in ((mean, VALUES["m"], own[0]), (var, VALUES["v"], own[1])):
        np.testing.assert_allclose(found, 0.9 * np.array(running) + 0.1 * batch, rtol=1e-5)
    (expected, *_) = reference(model, X)
    np.testing.assert_allclose(y, expected, rtol=4e-3, atol=4e-3)
