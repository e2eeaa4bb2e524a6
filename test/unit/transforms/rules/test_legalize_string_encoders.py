"""Strings looked up before they are moved: the same numbers as onnxruntime's."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import onnx.parser
import pytest

from xonnc.native import compile_native

HEAD = '<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 2]>\n'
TABLE = 'keys_strings = ["a", "b", "ü"], values_int64s = [3, 1, 2], default_int64 = 7'
ONE_HOT = "ai.onnx.ml.OneHotEncoder"

MODELS = {
    "columns": f"""m (string[n,2] x) => (int64[n,1] y, int64[n,1] z, string[n,1] same) {{
      i = Constant<value = int64 {{0}}>()
      j = Constant<value = int64 {{1}}>()
      a = ai.onnx.ml.ArrayFeatureExtractor(x, i)
      b = ai.onnx.ml.ArrayFeatureExtractor(x, j)
      y = ai.onnx.ml.LabelEncoder<{TABLE}>(a)
      z = ai.onnx.ml.LabelEncoder<{TABLE}>(b)
      same = Identity(a)
    }}""",
    "movement": f"""m (string[n,2] x) => (int64[m] y, int64[2,n] z) {{
      row = Constant<value = int64[1] {{-1}}>()
      turned = Transpose<perm = [1, 0]>(x)
      flat = Reshape(turned, row)
      y = ai.onnx.ml.LabelEncoder<{TABLE}>(flat)
      z = ai.onnx.ml.LabelEncoder<{TABLE}>(turned)
    }}""",
    "one_hot": f"""m (string[n,2] x) => (float[n,2,3] y, float[2,n,2] z) {{
      picked = Transpose<perm = [1, 0]>(x)
      y = {ONE_HOT}<cats_strings = ["a", "ü", "b"]>(x)
      z = {ONE_HOT}<cats_strings = ["b", "ü"]>(picked)
    }}""",
}


@pytest.mark.parametrize("name", MODELS)
def test_numbers_are_those_of_onnxruntime(name: str):
    model = onnx.parser.parse_model(HEAD + MODELS[name])
    x = np.array([["a", "b"], ["ü", ""], ["b", "c"], ["b", "a"]], np.object_)
    session = compile_native(model)
    found = session.run(None, {"x": x})
    expected = import_module("onnxruntime").InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert session.host_calls() == []
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_array_equal(one, other)


def test_rows_are_gathered_after_the_look_up():
    """onnxruntime 1.32 gathers the first string of each row alone."""
    text = f"""m (string[n,2] x) => (int64[3,2] y) {{
      rows = Constant<value = int64[3] {{0, 1, 0}}>()
      picked = Gather<axis = 0>(x, rows)
      y = ai.onnx.ml.LabelEncoder<{TABLE}>(picked)
    }}"""
    session = compile_native(onnx.parser.parse_model(HEAD + text))
    (found,) = session.run(None, {"x": np.array([["a", "b"], ["ü", "d"]], np.object_)})
    assert np.asarray(found).tolist() == [[3, 1], [2, 7], [3, 1]]
    assert [line.where for line in session.report()] == ["session", "native"]


def test_columns_of_one_table_are_looked_up_once():
    session = compile_native(
        onnx.parser.parse_model(HEAD + MODELS["columns"].replace(", string[n,1] same", ""))
    )
    session.run(None, {"x": np.array([["a", "b"]], np.object_)})
    assert [line.what for line in session.report() if line.where == "session"] == ["LabelEncoder"]
