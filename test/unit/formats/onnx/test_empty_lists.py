"""Attributes that are lists without an element, which some exporters write for what they leave out."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

from xonnc.contexts import new_context
from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

HEAD = '<ir_version: 6, opset_import: ["": 13, "ai.onnx.ml": 2]> g '

MODELS = {
    "GRU.activations": "(float[1,2,3] x, float[1,3,3] w, float[1,3,1] r) => (float[1,1,2,1] y) "
    "{ [n] y = GRU <hidden_size: int = 1> (x, w, r) }",
    "LSTM.activations": "(float[1,2,3] x, float[1,4,3] w, float[1,4,1] r) => (float[1,1,2,1] y) "
    "{ [n] y = LSTM <hidden_size: int = 1> (x, w, r) }",
    "RNN.activations": "(float[1,2,3] x, float[1,1,3] w, float[1,1,1] r) => (float[1,1,2,1] y) "
    "{ [n] y = RNN <hidden_size: int = 1> (x, w, r) }",
    "Resize.axes": "(float[1,2,3] x) => (float[1,4,3] y) <float[3] s = {1, 2, 1}> "
    "{ [n] y = Resize (x, , s) }",
    "LabelEncoder.values_strings": "(float[1,2,3] x) => (int64[1,2,3] y) { [n] y = ai.onnx.ml.LabelEncoder "
    "<keys_floats = [1.0, 2.0], values_int64s = [7, 8]> (x) }",
    "LabelEncoder.keys_strings": "(float[1,2,3] x) => (int64[1,2,3] y) { [n] y = ai.onnx.ml.LabelEncoder "
    "<keys_floats = [1.0, 2.0], values_int64s = [7, 8]> (x) }",
    "Conv.pads": "(float[1,2,3] x, float[4,2,2] w) => (float[1,4,2] y) { [n] y = Conv (x, w) }",
    "MaxPool.strides": "(float[1,2,3] x) => (float[1,2,2] y) { [n] y = MaxPool <kernel_shape = [2]> (x) }",
    "ReduceMax.axes": "(float[1,2,3] x) => (float[1,1,1] y) { [n] y = ReduceMax (x) }",
}
"""Models that mean the same with the list as without it."""


def run(session: Session) -> npt.NDArray[np.generic]:
    feeds: dict[str, npt.NDArray[np.float32]] = {}
    for port in session.inputs:
        shape = [size or 1 for size in port.shape or ()]
        feeds[port.name] = (np.arange(prod(shape)) / 8 - 1).astype(np.float32).reshape(shape)
    (found,) = session.run(None, feeds)
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("case", MODELS)
def test_an_empty_list_is_the_default(case: str):
    operator, name = case.split(".")
    plain = parser.parse_model(HEAD + MODELS[case])
    if operator == "Resize":
        plain.opset_import[0].version = 19
    model = onnx.ModelProto.FromString(plain.SerializeToString())
    kind = (
        onnx.AttributeProto.STRINGS
        if "strings" in name or name == "activations"
        else onnx.AttributeProto.INTS
    )
    model.graph.node[0].attribute.add(name=name, type=kind)
    np.testing.assert_array_equal(run(compile_native(model)), run(compile_native(plain)))
    assert models_equal(model, export_proto(import_proto(model, new_context()))) == []


@pytest.mark.parametrize("shape", ["float[2,1]", "float[N,M]", "float"])
@pytest.mark.parametrize("operator", ["Squeeze", "Unsqueeze"])
def test_no_axes_are_squeezed_if_the_list_is_empty(operator: str, shape: str):
    model = parser.parse_model(
        f'<ir_version: 6, opset_import: ["": 11]> g ({shape} x) => (float y) {{ y = {operator} (x) }}'
    )
    for info in (*model.graph.input, *model.graph.output):
        if not info.type.tensor_type.shape.dim:
            info.type.tensor_type.ClearField("shape")
    model.graph.node[0].attribute.add(name="axes", type=onnx.AttributeProto.INTS)
    (found,) = compile_native(model).run(None, {"x": np.ones((2, 1), np.float32)})
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 1)
