"""LSTM with known weights gives what onnxruntime gives, in tiles where it is of the usual kind."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session
from xonnc.runtime.verification.reference_engines import engine_for

BOTH = ', direction="bidirectional"'


def model_of(batch: int | str, attributes: str, has_states: bool, has_bias: bool) -> onnx.ModelProto:
    states = "h0, c0" if has_states else ""
    operands = f"x, w, r, {'b' if has_bias else ''}, , {states}".rstrip(", ")
    count = 2 if BOTH in attributes else 1
    text = f"""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[7, {batch}, 5] x) => (float[7, {count}, {batch}, 20] y, float[{count}, {batch}, 20] h,
                                      float[{count}, {batch}, 20] c) {{
            y, h, c = LSTM<hidden_size=20{attributes}>({operands})
        }}
    """
    model = onnx_parser.parse_model(text)
    generator = np.random.default_rng(6)
    shapes = {"w": (count, 80, 5), "r": (count, 80, 20), "b": (count, 160)}
    if has_states:
        shapes |= {name: (count, batch if isinstance(batch, int) else 1, 20) for name in ("h0", "c0")}
    for name, shape in shapes.items():
        array = generator.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("attributes", "has_states", "has_bias", "tiled"),
    [
        ("", False, True, 1),
        (', direction="reverse"', True, True, 1),
        (', activations=["Sigmoid", "Tanh", "Tanh"]', True, False, 1),
        (BOTH, True, True, 2),
        (BOTH + ', activations=["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Tanh", "Tanh"]', False, False, 2),
        (BOTH + ', activations=["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"]', False, False, 0),
        (", clip=0.5", False, True, 0),
    ],
)
def test_lstm(batch: int, attributes: str, has_states: bool, has_bias: bool, tiled: int):
    """`tiled` directions are made of products in register tiles."""
    session = compared(model_of(batch, attributes, has_states, has_bias), batch)
    kernels = [each.rpartition("_")[0] for line in session.report() for each in line.what.split()]
    assert kernels.count("lstm_cell") == 7 * tiled


@pytest.mark.parametrize("attributes", ["", ', direction="reverse"', BOTH])
def test_batches_of_any_size(attributes: str):
    model = model_of("N", attributes, has_states=False, has_bias=True)
    for batch in (2, 1, 5):
        session = compared(model, batch)
        assert "lstm" in " ".join(line.what for line in session.report())


def compared(model: onnx.ModelProto, batch: int) -> Session:
    """A session whose results are those of onnxruntime."""
    feed = {"x": np.random.default_rng(9).normal(size=(7, batch, 5)).astype(np.float32)}
    session = compile_native(model)
    for name, given in zip("yhc", session.run(None, feed), strict=True):
        expected = engine_for(model).run(feed)[name]
        np.testing.assert_allclose(np.asarray(given, np.float32), expected, rtol=1e-5, atol=1e-6)
    assert session.host_calls() == []
    return session
