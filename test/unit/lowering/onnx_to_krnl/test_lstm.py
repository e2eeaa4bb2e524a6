"""LSTM with known weights gives what onnxruntime gives, in tiles where it is of the usual kind."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.fuzzing.engines import engine_for
from xonnc.native import compile_native


def model_of(batch: int, attributes: str, has_states: bool, has_bias: bool) -> onnx.ModelProto:
    states = "h0, c0" if has_states else ""
    operands = f"x, w, r, {'b' if has_bias else ''}, , {states}".rstrip(", ")
    text = f"""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[7, {batch}, 5] x) => (float[7, 1, {batch}, 20] y, float[1, {batch}, 20] h,
                                      float[1, {batch}, 20] c) {{
            y, h, c = LSTM<hidden_size=20{attributes}>({operands})
        }}
    """
    model = onnx_parser.parse_model(text)
    generator = np.random.default_rng(6)
    shapes = {"w": (1, 80, 5), "r": (1, 80, 20), "b": (1, 160), "h0": (1, batch, 20), "c0": (1, batch, 20)}
    for name, shape in shapes.items():
        array = generator.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("attributes", "has_states", "has_bias", "is_tiled"),
    [
        ("", False, True, True),
        (', direction="reverse"', True, True, True),
        (', activations=["Sigmoid", "Tanh", "Tanh"]', True, False, True),
        (", clip=0.5", False, True, False),
    ],
)
def test_lstm(batch: int, attributes: str, has_states: bool, has_bias: bool, is_tiled: bool):
    model = model_of(batch, attributes, has_states, has_bias)
    feed = {"x": np.random.default_rng(9).normal(size=(7, batch, 5)).astype(np.float32)}
    session = compile_native(model)
    for name, given in zip("yhc", session.run(None, feed), strict=True):
        wanted = engine_for(model).run(feed)[name]
        np.testing.assert_allclose(np.asarray(given, np.float32), wanted, rtol=1e-5, atol=1e-6)
    assert session.host_calls() == []
    kernels = [each.rpartition("_")[0] for line in session.report() for each in line.what.split()]
    assert kernels.count("cell") == (7 if is_tiled else 0)
