"""Pairs of QuantizeLinear and DequantizeLinear: their scales in the types of values."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import AnyFloat, TensorType, f16, f32
from xdsl.ir import Block

from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import QdqPair


@pytest.mark.parametrize(
    ("element", "scale", "expected"),
    [
        (f32, 0.1, float(np.float32(0.1))),
        (f16, 0.1, float(np.float16(0.1))),
        (f16, 6e-8, float(np.float16(6e-8))),
        (f16, 1e-9, None),
        (f32, 1e-9, float(np.float32(1e-9))),
        (f32, 1e-60, None),
        (f16, 65504.0, 65504.0),
        (f16, 1e6, None),
        (f32, 1e39, None),
    ],
)
def test_scales_have_the_type_of_the_value(element: AnyFloat, scale: float, expected: float | None):
    (value,) = Block(arg_types=[TensorType(element, [2])]).args
    pair = QdqPair(scale, 3).in_type_of(value)
    assert pair == (None if expected is None else QdqPair(expected, 3))
