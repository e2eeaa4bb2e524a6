"""Loops with scan outputs, of which native code runs strips of iterations, give what onnxruntime gives."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Reference, session_of

from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[np.generic]

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
X = np.array([1, -2, 0.5], np.float32)
ENDLESS = np.iinfo(np.int64).max


def compared(text: str, feeds: Mapping[str, Array], threads: int = 1) -> Session:
    """A session that agrees with onnxruntime in two runs, and whose loop runs strips."""
    model = onnx.parser.parse_model(HEAD + text)
    session = session_of(model, threads)
    peer: Reference = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    expected = peer.run(None, feeds)
    for _ in range(2):
        for one, other in zip(session.run(None, feeds), expected, strict=True):
            found, wanted = np.asarray(one), np.asarray(other)
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert session.host_calls() == []
    return session


def operators(session: Session) -> set[str]:
    return {line.what for line in session.report() if line.where == "session"}


# Two carried values change places; scan outputs of ranks 1 and 0, one of them an outer value.
MIXED = """
model (int64 m, bool c, float[3] x, int64 most)
    => (float[3] a, float[3] b, float[n,3] s, int64[n] k, float[n,3] o) {
  twice = Add(x, x)
  a, b, s, k, o = Loop(m, c, x, twice) <
    body = turn (int64 i, bool go, float[3] p, float[3] q)
        => (bool on, float[3] q2, float[3] r, float[3] t, int64 j, float[3] outer) {
      half = Constant<value = float {0.5}>()
      on = Less(i, most)
      q2 = Identity(q)
      h = Mul(p, half)
      r = Add(h, x)
      t = Tanh(r)
      j = Mul(i, i)
      outer = Identity(twice)
    }
  >
}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("goes", [True, False])
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 600, -1])
def test_a_loop_ends_by_its_count(count: int, goes: bool, threads: int):
    feeds = {"m": np.array(count), "c": np.array(goes), "x": X, "most": np.array(ENDLESS)}
    assert operators(compared(MIXED, feeds, threads)) == {"StripMinedLoop"}


@pytest.mark.parametrize("most", [-1, 0, 254, 255, 256, 511])
@pytest.mark.parametrize("count", [256, 300, ENDLESS])
def test_a_loop_ends_by_its_condition(count: int, most: int):
    compared(MIXED, {"m": np.array(count), "c": np.array(True), "x": X, "most": np.array(most)})


SHORTENED = """
model (float[3] x, float most) => (float[3] last, float[n,3] s) {
  m = Constant<value = int64 {COUNT}>()
  last, s = Loop(M, "", x) <
    body = turn (int64[1] i, bool[1] go, float[3] p) => (bool on, float[3] q, float[3] t) {
      q = Add(p, x)
      largest = ReduceMax<keepdims = 0>(q)
      on = Less(largest, most)
      t = Neg(q)
    }
  >
}
"""


@pytest.mark.parametrize("most", [-9, 2.5, 6, 20])
@pytest.mark.parametrize(("count", "name"), [(5, "m"), (0, "m"), (1000, "m"), (1, '""')])
def test_a_condition_ends_a_loop_of_a_constant_or_no_count(count: int, name: str, most: float):
    model = onnx.parser.parse_model(HEAD + SHORTENED.replace("COUNT", str(count)).replace("M,", f"{name},"))
    session = session_of(model)
    last, s = (np.asarray(each) for each in session.run(None, {"x": X, "most": np.array(most, np.float32)}))
    rows: list[Array] = []
    value = X
    for _ in range(count if name == "m" else 1000):
        value = value + X
        rows.append(-value)
        if value.max() >= most:
            break
    np.testing.assert_array_equal(last, value)
    np.testing.assert_array_equal(s, np.array(rows, np.float32).reshape(-1, 3))


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64", "bool", "float16", "double"])
def test_scan_outputs_of_all_types(name: str):
    text = f"""model (int64 m, {name}[2,2] x, {name}[2,2,2] z) => ({name}[2,2] y, {name}[n,2,2] s) {{
      t = Constant<value = bool {{1}}>()
      y, s = Loop(m, t, x) <body = turn (int64 i, bool go, {name}[2,2] p)
          => (bool on, {name}[2,2] q, {name}[2,2] r) {{
        w = Constant<value = int64 {{2}}>()
        rest = Mod(i, w)
        q = Gather(z, rest)
        r = Identity(p)
        on = Identity(go)
      }}>
    }}"""
    dtype = np.dtype("float64" if name == "double" else name)
    x, z = np.array([[1, 0], [1, 1]]).astype(dtype), np.array([[[1, 0]] * 2, [[0, 1]] * 2]).astype(dtype)
    assert operators(compared(text, {"m": np.array(300), "x": x, "z": z})) == {"StripMinedLoop"}


def test_scan_outputs_of_bfloat16():
    model = onnx.parser.parse_model(
        HEAD
        + """model (int64 m, bfloat16[2] x) => (bfloat16[n,2] s) {
          t = Constant<value = bool {1}>()
          s = Loop(m, t) <body = turn (int64 i, bool go) => (bool on, bfloat16[2] r) {
            r = Identity(x) on = Identity(go)
          }>
        }"""
    )
    x = np.array([1.5, np.nan]).astype(ml_dtypes.bfloat16)
    (s,) = compile_native(model).run(None, {"m": np.array(2), "x": x})
    np.testing.assert_array_equal(np.asarray(s).astype(np.float32), np.array([[1.5, np.nan]] * 2))


def test_a_row_may_be_larger_than_a_strip():
    text = """model (int64 m, float[300,300] x) => (float[300,300] y, float[n,300,300] s) {
      t = Constant<value = bool {1}>()
      y, s = Loop(m, t, x) <body = turn (int64 i, bool go, float[300,300] p)
          => (bool on, float[300,300] q, float[300,300] r) {
        q = Neg(p) r = Sigmoid(p) on = Identity(go)
      }>
    }"""
    compared(text, {"m": np.array(3), "x": np.linspace(-2, 2, 90000, dtype=np.float32).reshape(300, 300)})


# An inner loop and a branch in the body; an operator reads the scan output of data-dependent size.
NESTED = """
model (int64 m, float[3] x) => (float[p,3] y, float[3] total) {
  t = Constant<value = bool {1}>()
  two = Constant<value = int64 {2}>()
  zero = Constant<value = int64 {0}>()
  last, s = Loop(m, t, x) <
    body = outer (int64 i, bool go, float[3] before) => (bool on, float[3] after, float[3] seen) {
      inner = Loop(two, t, before) <
        body = turn (int64 j, bool going, float[3] p) => (bool goes, float[3] q) {
          q = Tanh(p)
          goes = Identity(going)
        }
      >
      rest = Mod(i, two)
      even = Equal(rest, zero)
      after = If(even) <
        then_branch = yes () => (float[3] up) { up = Add(inner, x) },
        else_branch = no () => (float[3] same) { same = Identity(inner) }
      >
      seen = Neg(after)
      on = Identity(go)
    }
  >
  y = Concat<axis = 0>(s, s)
  axes = Constant<value = int64[1] {0}>()
  sum = ReduceSum<keepdims = 0>(s, axes)
  total = Add(sum, last)
}
"""


@pytest.mark.parametrize("count", [0, 3, 300])
def test_bodies_with_control_flow_and_readers_of_the_results(count: int):
    compared(NESTED, {"m": np.array(count), "x": X})


def test_an_outer_loop_that_grows_calls_an_inner_loop_of_strips():
    text = """model (int64 m, float[3] x) => (float[r,3] y) {
      t = Constant<value = bool {1}>()
      one = Constant<value = int64[1] {0}>()
      start = Unsqueeze(x, one)
      y = Loop(m, t, start) <body = outer (int64 i, bool go, float[q,3] p) => (bool on, float[w,3] r) {
        s = Loop(i, t) <body = turn (int64 j, bool g) => (bool o, float[3] e) {
          f = Cast<to = 1>(j) e = Mul(x, f) o = Identity(g)
        }>
        r = Concat<axis = 0>(p, s)
        on = Identity(go)
      }>
    }"""
    compared(text, {"m": np.array(5), "x": X})


def test_an_index_out_of_range_in_a_later_strip_names_its_node():
    text = """model (int64 m, float[3] x) => (float[n] s) {
      t = Constant<value = bool {1}>()
      h = Constant<value = int64 {100}>()
      s = Loop(m, t) <body = turn (int64 i, bool go) => (bool on, float e) {
        at = Div(i, h)
        [pick] e = Gather(x, at)
        on = Identity(go)
      }>
    }"""
    session = compared(text, {"m": np.array(300), "x": X})
    with pytest.raises(XonncError, match="pick: index 3 is out of range: axis 0 has 3 elements"):
        session.run(None, {"m": np.array(301), "x": X})


def test_results_of_one_run_do_not_change_in_the_next():
    feeds = {"m": np.array(300), "c": np.array(True), "x": X, "most": np.array(ENDLESS)}
    session = compared(MIXED, feeds)
    first = [np.asarray(each) for each in session.run(None, feeds)]
    copies = [each.copy() for each in first]
    session.run(None, feeds | {"x": 2 * X})
    for one, other in zip(first, copies, strict=True):
        np.testing.assert_array_equal(one, other)


EMPTY = """model (int64 m, float[0,3] x) => (float[n,0,3] s) {
  t = Constant<value = bool {1}>()
  s = Loop(m, t) <body = turn (int64 i, bool go) => (bool on, float[0,3] e) {
    e = Neg(x) on = Identity(go)
  }>
}"""


def test_empty_tensors_are_left_to_the_session():
    session = compile_native(onnx.parser.parse_model(HEAD + EMPTY))
    (s,) = session.run(None, {"m": np.array(4), "x": np.empty((0, 3), np.float32)})
    assert np.shape(np.asarray(s)) == (4, 0, 3)


DYNAMIC = """model (int64 m, float[b,3] x) => (float[b,3] y, float[n,b,3] s) {
  t = Constant<value = bool {1}>()
  y, s = Loop(m, t, x) <body = turn (int64 i, bool go, float[b,3] p)
      => (bool on, float[b,3] q, float[b,3] r) {
    q = Tanh(p) r = Add(q, x) on = Identity(go)
  }>
}"""


def test_dynamic_shapes_of_inputs():
    for size in (0, 1, 5):
        x = np.linspace(-1, 1, 3 * size, dtype=np.float32).reshape(size, 3)
        compared(DYNAMIC, {"m": np.array(300), "x": x})


def test_code_without_python_refuses_a_number_of_iterations_that_depends_on_the_run(tmp_path: Path):
    model = onnx.parser.parse_model(HEAD + MIXED)
    said = "the number of iterations depends on the run, so that strips of it are run by the session"
    with pytest.raises(RefusalError, match=said):
        compile_artifact(model, tmp_path / "net.c")
