"""Tensors that a Loop appends to, collected as scan outputs: the same results as onnxruntime's."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import onnx.parser
import pytest

from xonnc.native import compile_native

GROWING = """<ir_version: 8, opset_import: ["" : 17]>
m (int64 count, float[2,3] x) => (float[2,3] last, float[a,3] rows, float[2,b] columns) {
  t = Constant<value = bool {1}>()
  last, rows, columns = Loop(count, t, x, x, x) <
    body = turn (int64 i, bool go, float[2,3] before, float[c,3] all, float[2,d] wide)
        => (bool on, float[2,3] after, float[e,3] longer, float[2,f] wider) {
      most = Constant<value = int64 {4}>()
      half = Constant<value = float {0.5}>()
      on = Less(i, most)
      after = Mul(before, half)
      longer = Concat<axis = 0>(all, after)
      wider = Concat<axis = -1>(wide, before)
    }
  >
}"""


@pytest.mark.parametrize("count", [0, 1, 3, 300])
def test_appended_rows_are_those_of_onnxruntime(count: int):
    model = onnx.parser.parse_model(GROWING)
    feeds = {"count": np.array(count), "x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    session = compile_native(model)
    found = session.run(None, feeds)
    expected = import_module("onnxruntime").InferenceSession(model.SerializeToString()).run(None, feeds)
    assert session.host_calls() == []
    assert "StripMinedLoop" in [line.what for line in session.report()]
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_array_equal(one, other)


def test_a_loop_of_constant_count_is_native_code():
    text = GROWING.replace("int64 count, ", "").replace("{4}", "{9}")
    text = text.replace("t = Constant", "count = Constant<value = int64 {5}>()\n  t = Constant")
    text = text.replace("on = Less(i, most)", "on = Identity(go)")
    session = compile_native(onnx.parser.parse_model(text))
    last, rows, columns = session.run(None, {"x": np.ones((2, 3), np.float32)})
    assert [line.where for line in session.report()] == ["native"]
    shapes = [each.shape for each in (last, rows, columns) if isinstance(each, np.ndarray)]
    assert shapes == [(2, 3), (12, 3), (2, 18)]
    assert np.asarray(rows)[:, 0].tolist() == [1, 1, *(0.5 ** (each // 2 + 1) for each in range(10))]
