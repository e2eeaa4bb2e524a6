"""Inputs of models: sizes that are declared, and those that are not."""

from __future__ import annotations

from onnx import parser

from xonnc.runtime.verification.parameters import required_inputs


def test_sizes_without_a_value_or_below_0_are_dynamic():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> m (float[n, 7, 0, 2] x) => (float[n, 7, 0, 2] y)'
        " { y = Abs(x) }"
    )
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -5
    (port,) = required_inputs(model)
    assert port.shape == (None, None, 0, 2)
