"""Activations of other precisions in a quantized model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

from bench.nvdla_precision import with_activations
from xonnc.runtime.reference import open_session

SCALE, ZERO = 0.5, 96

MODEL = f"""
<ir_version: 8, opset_import: ["": 17]>
g (float[1, 4, 3] x) => (float[1, 4, 3] z)
<float s = {{{SCALE}}}, uint8 p = {{{ZERO}}}, float w = {{3}}, float t = {{0.25}}, int8 q = {{2}}>
{{
  u = Mul (x, w)
  a = QuantizeLinear (u, s, p)
  y = DequantizeLinear (a, s, p)
  c = DequantizeLinear (q, t)
  z = Add (y, c)
}}
"""

X = np.array([-40, -16.2, -0.17, -0.0, 0, 0.05, 0.08, 0.0834, 1.3, 20, 26.6, 60], np.float32).reshape(1, 4, 3)


def outputs(model: onnx.ModelProto) -> npt.NDArray[Any]:
    session, _ = open_session(model.SerializeToString(), "model")
    return session.run(None, {"x": X})[0]


def test_8_bits_are_those_of_the_model():
    model = onnx.parser.parse_model(MODEL)
    assert outputs(with_activations(model, 8)).tolist() == outputs(model).tolist()


@pytest.mark.parametrize("bits", [8, 9, 10])
@pytest.mark.parametrize("is_clipped", [True, False])
def test_activations_are_rounded_to_steps(bits: int, is_clipped: bool):
    found = outputs(with_activations(onnx.parser.parse_model(MODEL), bits, is_clipped))
    step = SCALE / 2 ** (bits - 8)
    numbers = np.float32(3) * X
    if is_clipped:
        numbers = np.clip(numbers, -ZERO * SCALE, (255 - ZERO) * SCALE)
    np.testing.assert_array_equal(found, np.rint(numbers / step) * step + 0.5)


def test_activations_in_float():
    found = outputs(with_activations(onnx.parser.parse_model(MODEL), None))
    np.testing.assert_array_equal(found, np.float32(3) * X + np.float32(0.5))
