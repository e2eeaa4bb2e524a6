"""If, Loop and Scan in native code give what the session's own steps and the reference give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Reference

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[np.generic]

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)


def model_of(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def compared(model: onnx.ModelProto, feeds: Mapping[str, Array], threads: int = 1) -> Session:
    """A session that is native alone, and gives what the reference gives, in two runs."""
    session = compile_native(model, threads=threads)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    expected = reference.run(None, feeds)
    for _ in range(2):
        for one, other in zip(session.run(None, feeds), expected, strict=True):
            np.testing.assert_allclose(np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=1e-6)
            assert np.shape(np.asarray(one)) == np.shape(np.asarray(other))
    assert {line.where for line in session.report()} == {"native"}
    return session


BRANCHES = """
model (bool c, float[2,3] x) => (float[2,3] y, float[2,3] z, int64 k) {
  twice = Add(x, x)
  one = Constant<value = int64 {1}>()
  p, z, k = If(c) <
    then_branch = left () => (float[2,3] a, float[2,3] d, int64 e) {
      a = Mul(twice, x)
      d = Identity(x)
      e = Identity(one)
    },
    else_branch = right () => (float[2,3] b, float[2,3] f, int64 g) {
      t = Constant<value = float[1] {3.0}>()
      b = Add(twice, t)
      f = Neg(b)
      g = Constant<value = int64 {7}>()
    }
  >
  y = Neg(p)
}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_reads_what_is_around_it(condition: bool, threads: int):
    compared(model_of(BRANCHES), {"c": np.array(condition), "x": X}, threads)


# As a comparison of one row and one column gives it (openWakeWord's hey_jarvis).
RANK_2_CONDITION = """
model (bool[1,1] c, float[2,3] x) => (float[2,3] y) {
  y = If(c) <
    then_branch = left () => (float[2,3] a) { a = Neg(x) },
    else_branch = right () => (float[2,3] b) { b = Add(x, x) }
  >
}
"""


@pytest.mark.parametrize("condition", [True, False])
def test_a_condition_is_a_single_element_of_any_rank(condition: bool):
    compared(model_of(RANK_2_CONDITION), {"c": np.array([[condition]]), "x": X})


# Both sums change places in each turn, and a branch in the loop counts the even ones.
FIBONACCI = """
model (int64 m, bool c, float[3] x) => (float[3] a, float[3] b, int64 n) {
  one = Constant<value = float[3] {1.0, 1.0, 2.0}>()
  zero = Constant<value = int64 {0}>()
  a, b, n = Loop(m, c, x, one, zero) <
    body = turn (int64 i, bool go, float[3] p, float[3] q, int64 k)
        => (bool on, float[3] q2, float[3] r, int64 k2) {
      r = Add(p, q)
      q2 = Identity(q)
      most = Constant<value = float {50.0}>()
      largest = ReduceMax<keepdims = 0>(r)
      on = Less(largest, most)
      two = Constant<value = int64 {2}>()
      rest = Mod(i, two)
      even = Equal(rest, zero)
      k2 = If(even) <
        then_branch = yes () => (int64 up) { o = Constant<value = int64 {1}>() up = Add(k, o) },
        else_branch = no () => (int64 same) { same = Identity(k) }
      >
    }
  >
}
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("iterations", "goes"), [(0, True), (1, True), (5, True), (100, True), (5, False)])
def test_a_loop_ends_by_its_count_or_its_condition(iterations: int, goes: bool, threads: int):
    feeds = {"m": np.array(iterations), "c": np.array(goes), "x": np.array([0, 1, 1], np.float32)}
    compared(model_of(FIBONACCI), feeds, threads)


# Declared as tf2onnx does: iteration number and condition of one element.
WITHOUT_COUNT = """
model (float[3] x) => (float[3] y) {
  t = Constant<value = bool {1}>()
  y = Loop("", t, x) <
    body = turn (int64[1] i, bool[1] go, float[3] before) => (bool[1] on, float[3] after) {
      f = Cast<to = 1>(i)
      after = Add(before, f)
      four = Constant<value = int64[1] {4}>()
      on = Less(i, four)
    }
  >
}
"""


def test_a_loop_without_a_count_ends_by_its_condition():
    session = compile_native(model_of(WITHOUT_COUNT))
    (given,) = session.run(None, {"x": np.ones(3, np.float32)})
    np.testing.assert_array_equal(np.asarray(given), np.full(3, 11))
    assert {line.where for line in session.report()} == {"native"}


SCANNED = """
model (float[3] x) => (float[3] last, float[4,3] each, int64[4] iterations) {
  m = Constant<value = int64 {4}>()
  last, each, iterations = Loop(m, "", x) <
    body = turn (int64 i, bool go, float[3] before) => (bool go2, float[3] after, float[3] seen, int64 j) {
      after = Add(before, x)
      seen = Identity(before)
      j = Mul(i, i)
      go2 = Identity(go)
    }
  >
}
"""


def test_a_loop_with_a_constant_trip_count_stacks_scan_outputs():
    session = compile_native(model_of(SCANNED))
    x = np.array([1, -2, 0.5], np.float32)
    last, each, iterations = session.run(None, {"x": x})
    assert {line.where for line in session.report()} == {"native"}
    np.testing.assert_array_equal(np.asarray(last), 5 * x)
    np.testing.assert_array_equal(np.asarray(each), np.outer([1, 2, 3, 4], x))
    np.testing.assert_array_equal(np.asarray(iterations), [0, 1, 4, 9])


def scan_of(axis: int, backwards: int, out_axis: int, out_backwards: int) -> str:
    shape = [3, 2]
    whole, out = list(shape), list(shape)
    whole.insert(axis, 4)
    out.insert(out_axis if out_axis >= 0 else len(out) + 1 + out_axis, 4)
    return f"""
    model (float[2] s, float{whole} x) => (float[2] last, float{out} each) {{
      last, each = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
        scan_input_directions = [{backwards}], scan_output_axes = [{out_axis}],
        scan_output_directions = [{out_backwards}],
        body = turn (float[2] before, float[3,2] part) => (float[2] after, float[3,2] seen) {{
          axes = Constant<value = int64[1] {{0}}>()
          sum = ReduceSum<keepdims = 0>(part, axes)
          after = Add(before, sum)
          seen = Add(part, after)
        }}
      > (s, x)
    }}"""


@pytest.mark.parametrize(
    "axes", [(0, 0, 0, 0), (1, 1, 2, 1), (2, 0, 1, 1), (0, 1, -1, 0)], ids=lambda axes: str(axes)
)
def test_a_scan_goes_along_axes_in_both_directions(axes: tuple[int, int, int, int]):
    axis, backwards, out_axis, out_backwards = axes
    session = compile_native(model_of(scan_of(*axes)))
    s, shape = np.array([1, -1], np.float32), [3, 2]
    shape.insert(axis, 4)
    x = np.arange(24, dtype=np.float32).reshape(shape)
    last, each = session.run(None, {"s": s, "x": x})
    assert {line.where for line in session.report()} == {"native"}
    seen: list[npt.NDArray[np.float32]] = []
    for iteration in range(3, -1, -1) if backwards else range(4):
        s = s + np.take(x, iteration, axis).sum(axis=0)
        seen.append(np.take(x, iteration, axis) + s)
    np.testing.assert_allclose(np.asarray(last), s)
    np.testing.assert_allclose(np.asarray(each), np.stack(seen[::-1] if out_backwards else seen, out_axis))


RECURRENT = """
model (uint8[1,3] h, int32[4,1,3] x) => (uint8[1,3] last, int32[4,1,3] each)
<int8[3,3] weights = {1, -1, 2, 0, 3, -2, 1, 1, -3}, int32 low = {0}, int32 high = {255}>
{
  last, each = Scan <num_scan_inputs = 1,
    body = turn (uint8[1,3] before, int32[1,3] part) => (uint8[1,3] after, int32[1,3] seen) {
      product = MatMulInteger(before, weights)
      seen = Add(product, part)
      clamped = Clip(seen, low, high)
      after = Cast<to = 2>(clamped)
    }
  > (h, x)
}
"""


def test_a_scan_whose_body_multiplies_by_packed_weights_is_compiled():
    x = np.linspace(-20, 90, 12).astype(np.int32).reshape(4, 1, 3)
    compared(model_of(RECURRENT), {"h": np.array([[1, 200, 0]], np.uint8), "x": x})


PICKS = """
model (bool c, int64[2] i, int64 m, float[3] x) => (float[2] y) {
  t = Constant<value = bool {1}>()
  zero = Constant<value = float[2] {0.0, 0.0}>()
  y = If(c) <
    then_branch = some () => (float[2] a) {
      a = Loop(m, t, zero) <
        body = turn (int64 n, bool go, float[2] before) => (bool on, float[2] after) {
          at = Add(i, n)
          [pick] picked = Gather(x, at)
          after = Add(before, picked)
          on = Identity(go)
        }
      >
    },
    else_branch = none () => (float[2] b) { b = Identity(zero) }
  >
}
"""


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_index_out_of_range_in_any_turn_ends_a_run_that_takes_it(unsafe: bool):
    session = compile_native(model_of(PICKS), unsafe=unsafe)
    feeds = {
        "c": np.array(True),
        "i": np.array([0, 1]),
        "m": np.array(2),
        "x": np.array([1, 2, 4], np.float32),
    }
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), [3, 6])
        wrong = feeds | {"m": np.array(4)}
        if unsafe:
            session.run(None, wrong)
            continue
        # Iterations 2 and 3 are out of range; the last one is the farthest out.
        with pytest.raises(XonncError, match="pick: index 4 is out of range: axis 0 has 3 elements"):
            session.run(None, wrong)
        np.testing.assert_array_equal(
            np.asarray(session.run(None, wrong | {"c": np.array(False)})[0]), [0, 0]
        )
    assert {line.where for line in session.report()} == {"native"}


def appending(axis: int, new_axis: int) -> str:
    return f"""
    model (float[2,3] x) => (float[2,3] last, float y) {{
      m = Constant<value = int64 {{4}}>()
      t = Constant<value = bool {{1}}>()
      s = SequenceEmpty<dtype = 1>()
      last, l = Loop(m, t, x, s) <
        body = turn (int64 i, bool go, float[2,3] before, seq(float) list)
            => (bool on, float[2,3] after, seq(float) longer) {{
          after = Add(before, x)
          longer = SequenceInsert(list, after)
          on = Identity(go)
        }}
      >
      y = ConcatFromSequence<axis = {axis}, new_axis = {new_axis}>(l)
    }}"""


@pytest.mark.parametrize(("axis", "new_axis"), [(0, 1), (1, 1), (-1, 1), (0, 0), (1, 0), (-1, 0)])
def test_what_a_loop_appends_to_a_list_is_stacked(axis: int, new_axis: int):
    """As TorchScript exports loops over time steps."""
    model = model_of(appending(axis, new_axis))
    model.graph.output[1].type.tensor_type.ClearField("shape")
    session = compile_native(model)
    last, y = session.run(None, {"x": X})
    parts = [X * iteration for iteration in range(2, 6)]
    join = np.stack if new_axis else np.concatenate
    np.testing.assert_array_equal(np.asarray(last), 5 * X)
    np.testing.assert_array_equal(np.asarray(y), join(parts, axis))
    assert {line.where for line in session.report()} == {"native"}


LEFT: Sequence[tuple[str, str, Mapping[str, Array]]] = [
    (
        "as many results as a run finds",
        """model (int64 m, float[2] x) => (float[n,2] y) {
          t = Constant<value = bool {1}>()
          y = Loop(m, t) <body = turn (int64 i, bool go) => (bool on, float[2] s) {
            s = Neg(x) on = Identity(go)
          }>
        }""",
        {"m": np.array(3), "x": np.ones(2, np.float32)},
    ),
    (
        "shapes that grow",
        """model (int64 m, float[k] x) => (float[n] y) {
          t = Constant<value = bool {1}>()
          y = Loop(m, t, x) <body = turn (int64 i, bool go, float[q] b) => (bool on, float[r] a) {
            a = Concat<axis = 0>(b, x) on = Identity(go)
          }>
        }""",
        {"m": np.array(3), "x": np.ones(2, np.float32)},
    ),
    (
        "keys and values that grow",
        """model (int64 m, float[1,k,4] c, float[1,1,4] x) => (float[1,1,4] y, float[1,n,4] all) {
          t = Constant<value = bool {1}>()
          y, all = Loop(m, t, x, c) <
            body = turn (int64 i, bool go, float[1,1,4] q, float[1,p,4] before)
                => (bool on, float[1,1,4] a, float[1,r,4] after) {
              after = Concat<axis = 1>(before, q)
              turned = Transpose<perm = [0, 2, 1]>(after)
              scores = MatMul(q, turned)
              shares = Softmax(scores)
              mixed = MatMul(shares, after)
              a = Tanh(mixed)
              on = Identity(go)
            }
          >
        }""",
        {
            "m": np.array(5),
            "c": np.ones((1, 2, 4), np.float32),
            "x": np.array([[[1, -1, 0.5, 2]]], np.float32),
        },
    ),
    (
        "branches of different shapes",
        """model (float[2,3] x) => (float[n,3] y) {
          zero = Constant<value = float {0.0}>()
          sum = ReduceSum<keepdims = 0>(x)
          c = Greater(sum, zero)
          z = If(c) <then_branch = a () => (float[2,3] p) { p = Neg(x) },
                     else_branch = b () => (float[4,3] q) { q = Concat<axis = 0>(x, x) }>
          t = Tanh(z)
          y = Mul(t, z)
        }""",
        {"x": X},
    ),
]


@pytest.mark.parametrize(("text", "feeds"), [each[1:] for each in LEFT], ids=[each[0] for each in LEFT])
def test_dynamic_shapes_are_left_to_the_session(text: str, feeds: Mapping[str, Array]):
    model = model_of(text)
    session = compile_native(model)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    for one, other in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
        assert np.shape(np.asarray(one)) == np.shape(np.asarray(other))
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)
    assert "session" in {line.where for line in session.report()}
    assert session.host_calls() == []


def test_a_scan_of_strings_is_left_to_the_session():
    text = """model (string s, string[3] x) => (string last, string[3] each) {
      last, each = Scan<num_scan_inputs = 1, body = turn (string b, string p) => (string a, string e) {
        a = StringConcat(b, p)
        e = Identity(a)
      }>(s, x)
    }"""
    session = compile_native(model_of(text))
    feeds = {"s": np.array("<", np.object_), "x": np.array(["a", "", "c"], np.object_)}
    last, each = session.run(None, feeds)
    assert [np.asarray(each).tolist() for each in (last, each)] == ["<ac", ["<a", "<a", "<ac"]]
    assert {line.where for line in session.report()} == {"session"}


def test_a_profile_has_one_line_for_a_loop():
    session = compile_native(model_of(SCANNED), profile=True)
    session.run(None, {"x": np.ones(3, np.float32)})
    kernels = [line.kernel for line in session.profile()]
    assert sum("loop_counter" in kernel for kernel in kernels) == 1
    assert len(kernels) > 1


FITS_SOMETIMES = """
model (bool c, float[n,2] x) => (float[n,2] y) {
  y = If(c) <
    then_branch = left () => (float[n,2] a) { a = Neg(x) },
    else_branch = right () => (float[n,2] b) {
      t = Constant<value = float[3,2] {1, 2, 3, 4, 5, 6}>()
      [sum] b = Add(x, t)
    }
  >
}
"""


def test_a_branch_without_valid_shapes_is_an_assertion():
    session = compile_native(model_of(FITS_SOMETIMES))
    x = np.ones((2, 2), np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(session.run(None, {"c": np.array(True), "x": x})[0]), -x)
        assert {line.where for line in session.report()} == {"native"}
        with pytest.raises(XonncError, match=r"^sum: Add: "):
            session.run(None, {"c": np.array(False), "x": x})


SHAPE_DETERMINED = """
model (int64 rate, float[n] x) => (float[m] y) {
  fast = Constant<value = int64 {16000}>()
  is_fast = Equal(rate, fast)
  y = If(is_fast) <
    then_branch = left () => (float[p] a) {
      s = Constant<value = int64[2] {2, -1}>()
      r = Reshape(x, s)
      axes = Constant<value = int64[1] {0}>()
      a = ReduceSum<keepdims = 0>(r, axes)
    },
    else_branch = right () => (float[q] b) {
      s = Constant<value = int64[2] {3, -1}>()
      r = Reshape(x, s)
      axes = Constant<value = int64[1] {0}>()
      b = ReduceSum<keepdims = 0>(r, axes)
    }
  >
}
"""


def test_a_branch_that_an_input_chooses_is_compiled_alone():
    """As in a model of voice activity for two sample rates: each has its own network and shapes."""
    session = compile_native(model_of(SHAPE_DETERMINED))
    x = np.arange(4, dtype=np.float32)
    (given,) = session.run(None, {"rate": np.array(16000), "x": x})
    np.testing.assert_array_equal(np.asarray(given), [2, 4])
    assert {line.where for line in session.report()} == {"native"}
    (given,) = session.run(None, {"rate": np.array(8000), "x": x[:3]})
    np.testing.assert_array_equal(np.asarray(given), [3])
    with pytest.raises(XonncError, match="Reshape"):
        session.run(None, {"rate": np.array(8000), "x": x})


# As tf2onnx writes a Keras layer: no limit, a comparison of floats, and weights that the loop carries.
WHILE_LOOP = """
model (float[4,2,3] x, float[2,3] h) => (float[N,2,3] y, float[2,3] last) {
  none = Constant<value = int32 {0}>()
  steps = Constant<value = int32 {4}>()
  true = Constant<value = bool {1}>()
  w = Constant<value = float[3,3] {1.0, 0.5, -0.5, 0.25, -1.0, 0.5, 2.0, 0.0, 0.125}>()
  axes = Constant<value = int64[3] {1, 0, 2}>()
  n, last, s, v, rows = Loop(, true, none, h, steps, w) <
    body = turn (int64 i, bool go, int32 k, float[2,3] p, int32 s0, float[3,3] v0)
        => (bool on, int32 k2, float[2,3] q, int32 s1, float[3,3] v1, float[2,3] row) {
      one = Constant<value = int32 {1}>()
      k2 = Add(k, one)
      part = Gather(x, k)
      product = MatMul(p, v0)
      sum = Add(product, part)
      q = Tanh(sum)
      row = Identity(q)
      s1 = Identity(s0)
      v1 = Identity(v0)
      fk = Cast<to = 1>(k2)
      fs = Cast<to = 1>(s0)
      on = Less(fk, fs)
    }
  >
  lengths = Constant<value = int64[2] {4, 3}>()
  back = ReverseSequence<batch_axis = 1, time_axis = 0>(rows, lengths)
  y = Neg(back)
}
"""


def test_a_loop_that_counts_in_floats_has_results_of_static_shape():
    """What reads its scan outputs is compiled too, although the model does not give the trip count."""
    random = np.random.default_rng(0)
    x = random.normal(size=(4, 2, 3)).astype(np.float32)
    state = h = random.normal(size=(2, 3)).astype(np.float32)
    w = np.array([[1, 0.5, -0.5], [0.25, -1, 0.5], [2, 0, 0.125]], np.float32)
    rows = np.empty((4, 2, 3), np.float32)
    for index, row in enumerate(x):
        state = rows[index] = np.tanh(state @ w + row)
    # The reference evaluator stacks scan outputs of rank 2 wrongly.
    expected = np.stack([-rows[::-1, 0], -rows[[2, 1, 0, 3], 1]], 1)
    session = compile_native(model_of(WHILE_LOOP))
    y, last = map(np.asarray, session.run(None, {"x": x, "h": h}))
    np.testing.assert_allclose(y.astype(np.float32), expected, rtol=1e-5)
    np.testing.assert_allclose(last.astype(np.float32), rows[-1], rtol=1e-5)
    assert {line.where for line in session.report()} == {"native"}


@pytest.mark.parametrize("condition", [1, 0])
@pytest.mark.parametrize("count", [5, 1, 0])
def test_a_carried_value_of_another_rank_than_the_initial_one(count: int, condition: int):
    model = onnx.parser.parse_model(
        f"""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[3, 4] x) => (float[A, B] y) {{
            m = Constant<value = int64 {{{count}}}>() c = Constant<value = bool {{{condition}}}>()
            s = Constant<value = float {{1.5}}>()
            y = Loop(m, c, s) <
                body = b (int64 i, bool go, float before) => (bool on, float[3, 4] z)
                {{ z = Relu(x) on = Identity(go) }}
            >
        }}
        """
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.node[-1].attribute[0].g.input[2].type.tensor_type.ClearField("shape")
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    (found,) = compile_native(model).run(None, {"x": x})
    expected = np.maximum(x, 0) if count and condition else np.float32(1.5)
    np.testing.assert_array_equal(np.asarray(found), expected)
