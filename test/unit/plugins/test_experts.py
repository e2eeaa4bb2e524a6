"""Mixtures of experts: what the router gives, what is refused, and experts that no token goes to."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import xonnc
from xonnc.errors import XonncError

HEAD = '<ir_version: 8, opset_import: ["": 21, "com.microsoft": 1]>'
QUANTIZED = f"""{HEAD}
    g (float[t, 32] x, float[t, 4] r, float[t, 4] rw, uint8[4, 16, 16] w, float[4, 16] ws, uint8[4, 32, 8] u,
       float[4, 32] us, uint8[4, 8] wz, uint8[4, 16] uz) => (float[t, 32] y)
    {{ y = com.microsoft.QMoE <k = 2, activation_type = "silu"ATTRIBUTES>
      (x, r, w, ws, , u, us, , , , , ZEROS, , WEIGHTS) }}"""
PLAIN = f"""{HEAD}
    g (float[t, 8] x, float[t, 3] r, float[3, 16, 8] w, float[3, 8, 8] u, float[3, 16, 8] v)
    => (float[t, 8] y)
    {{ y = com.microsoft.MoE <activation_type = "swiglu", swiglu_fusion = 1> (x, r, w, , u) }}"""


def results(session: Any, feeds: dict[str, Any]) -> list[Any]:
    """The outputs."""
    return session.run(None, feeds)


def quantized(attributes: str, weights: str, zeros: str) -> onnx.ModelProto:
    """A model with constant weights."""
    text = QUANTIZED.replace("ATTRIBUTES", attributes).replace("ZEROS", zeros).replace("WEIGHTS", weights)
    model, rng = onnx.parser.parse_model(text), np.random.default_rng(1)
    used = model.graph.node[0].input
    for value in list(model.graph.input):
        shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
        if value.name not in used:
            model.graph.input.remove(value)
        elif value.type.tensor_type.elem_type == onnx.TensorProto.UINT8 or value.name in ("ws", "us"):
            is_scale = value.name in ("ws", "us")
            array: Any = rng.uniform(0.01, 0.05, shape) if is_scale else rng.integers(0, 256, shape)
            array = array.astype(np.float32 if is_scale else np.uint8)
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
    return model


@pytest.mark.parametrize("attributes", ["", ", normalize_routing_weights = 1"])
@pytest.mark.parametrize("weights", ["", "rw"])
@pytest.mark.parametrize("zeros", [", ", "wz, uz"])
def test_what_a_router_gives(attributes: str, weights: str, zeros: str):
    model = quantized(attributes, weights, zeros)
    session, rng = xonnc.compile(model), np.random.default_rng(2)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    for tokens in (1, 5):
        feeds: dict[str, Any] = {"x": rng.normal(size=(tokens, 32)), "r": rng.normal(size=(tokens, 4))}
        feeds |= {"rw": rng.uniform(0.1, 1, (tokens, 4))} if weights else {}
        feeds = {name: each.astype(np.float32) for name, each in feeds.items()}
        for one, other in zip(results(session, feeds), results(peer, feeds), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    assert session.host_calls() == []


def test_what_experts_give_that_no_token_goes_to_counts_nothing():
    model, rng = onnx.parser.parse_model(PLAIN), np.random.default_rng(3)
    shapes = {"x": (2, 8), "w": (3, 16, 8), "u": (3, 8, 8)}
    feeds: dict[str, Any] = {name: rng.normal(size=each).astype(np.float32) for name, each in shapes.items()}
    feeds["r"] = np.array([[0, 1, 0], [3, 0, 2]], np.float32)
    feeds["v"] = feeds["w"]
    feeds["w"][2] = np.inf
    feeds["u"][2] = np.nan
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    (expected,), (found,) = results(peer, feeds), results(xonnc.compile(model), feeds)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("swiglu_fusion = 1", "swiglu_fusion = 2"), "swiglu_fusion 2), is not supported; export with"),
        (("w, , u)", "w, , u, , v)"), "a gate in weights of its own (fc3)"),
        (('"swiglu"', '"geglu"'), "activation_type"),
    ],
)
def test_what_is_refused(change: tuple[str, str], message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(onnx.parser.parse_model(PLAIN.replace(*change)))
