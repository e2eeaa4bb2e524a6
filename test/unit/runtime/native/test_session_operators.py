"""Branches, loops and lists of tensors that the session runs, their bodies in native code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.formats.native.program import BodyProgram, Program, ProgramValue, SessionStep, Storage, TensorSpec
from xonnc.native import compile_native, load_native
from xonnc.runtime.native.instance import Executable, Instance
from xonnc.runtime.native.session import Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
X12 = np.eye(3, 4, dtype=np.float32)
X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)


def session_of(text: str) -> Session:
    return compile_native(onnx.parser.parse_model(HEAD + text))


def numbers(held: object) -> npt.NDArray[np.float64]:
    return np.asarray(held, np.float64)


BRANCHES = """
model (float[2,3] x) => (float[n,3] y) {
  twice = Add(x, x)
  zero = Constant<value = float {0.0}>()
  sum = ReduceSum<keepdims = 0>(x)
  c = Greater(sum, zero)
  z = If(c) <
    then_branch = left () => (float[2,3] a) { a = Mul(twice, x) },
    else_branch = right () => (float[4,3] b) {
      t = Constant<value = float[1] {3.0}>()
      u = Add(twice, t)
      b = Concat<axis = 0>(u, x)
    }
  >
  y = Neg(z)
}
"""


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_reads_what_is_around_it(condition: bool):
    session = session_of(BRANCHES)
    x = X + 1 if condition else X - 1
    given = session.run(None, {"x": x})[0]
    expected = 2 * x * x if condition else np.concatenate([2 * x + 3, x])
    np.testing.assert_array_equal(numbers(given), -expected)
    assert [line.what for line in session.report() if line.where == "session"] == ["If", "Later"]
    assert session.host_calls() == []


LOOP = """
model (int64 m, bool c, float[3] x) => (float[3] total, float[n,3] each) {
  total, each = Loop(m, c, x) <
    body = turn (int64 i, bool go, float[3] before) => (bool on, float[3] after, float[3] seen) {
      f = Cast<to = 1>(i)
      after = Add(before, f)
      four = Constant<value = int64 {4}>()
      on = Less(i, four)
      seen = Mul(after, x)
    }
  >
}
"""


@pytest.mark.parametrize(("iterations", "done"), [(3, 3), (100, 5), (0, 0)])
def test_a_loop_ends_by_its_count_or_its_condition(iterations: int, done: int):
    session = session_of(LOOP)
    x = np.array([1, 2, 3], np.float32)
    total, each = session.run(None, {"m": np.array(iterations), "c": np.array(True), "x": x})
    sums = [x + sum(range(iteration + 1)) for iteration in range(done)]
    np.testing.assert_array_equal(numbers(total), sums[-1] if sums else x)
    assert numbers(each).shape == (done, 3)
    np.testing.assert_array_equal(numbers(each), np.array([total * x for total in sums]).reshape(done, 3))
    assert session.host_calls() == []


def test_a_condition_that_does_not_hold_keeps_a_loop_from_starting():
    feeds = {"m": np.array(3), "c": np.array(False), "x": np.ones(3, np.float32)}
    assert numbers(session_of(LOOP).run(None, feeds)[1]).shape == (0, 3)


SCAN = """
model (float[2] s, float[3,4,2] x) => (float[2] last, float[3,2,4] each) {
  last, each = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                     scan_output_axes = [2], scan_output_directions = [1],
    body = turn (float[2] before, float[3,2] part) => (float[2] after, float[3,2] seen) {
      axes = Constant<value = int64[1] {0}>()
      sum = ReduceSum<keepdims = 0>(part, axes)
      after = Add(before, sum)
      seen = Add(part, after)
    }
  > (s, x)
}
"""


def test_a_scan_goes_along_an_axis_backwards():
    session = session_of(SCAN)
    s, x = np.array([1, -1], np.float32), np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    last, each = session.run(None, {"s": s, "x": x})
    expected = np.zeros((3, 2, 4), np.float32)
    for iteration in range(3, -1, -1):
        s = s + x[:, iteration].sum(axis=0)
        expected[:, :, iteration] = x[:, iteration] + s
    np.testing.assert_allclose(numbers(last), s)
    np.testing.assert_allclose(numbers(each), expected)
    assert session.host_calls() == []


LISTS = """
model (float[2,3] x, int64 i) => (float[2,3] y, int64 count, float[4,3] joined) {
  twice = Add(x, x)
  list = SequenceConstruct(x, twice)
  longer = SequenceInsert(list, x, i)
  shorter = SequenceErase(longer, i)
  y = SequenceAt(longer, i)
  count = SequenceLength(longer)
  joined = ConcatFromSequence<axis = 0>(shorter)
}
"""


@pytest.mark.parametrize("position", [0, 1, -1])
def test_lists_of_tensors(position: int):
    session = session_of(LISTS)
    y, count, joined = session.run(None, {"x": X, "i": np.array(position)})
    tensors = [X, 2 * X]
    tensors.insert(position, X)
    np.testing.assert_array_equal(numbers(y), tensors[position])
    assert numbers(count) == 3
    del tensors[position]
    np.testing.assert_array_equal(numbers(joined), np.concatenate(tensors))
    assert session.host_calls() == []


def test_a_position_outside_of_a_list_is_refused():
    with pytest.raises(XonncError, match=r"position 7 is not among 2 tensors"):
        session_of(LISTS).run(None, {"x": X, "i": np.array(7)})


SPLIT = """
model (float[2,5] x, int64 p) => (int64 count, float[2,n] first) {
  parts = SplitToSequence<axis = 1>(x, p)
  zero = Constant<value = int64 {0}>()
  first = SequenceAt(parts, zero)
  count = SequenceLength(parts)
}
"""


def test_parts_of_a_tensor():
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    count, first = session_of(SPLIT).run(None, {"x": x, "p": np.array(2)})
    assert numbers(count) == 3
    np.testing.assert_array_equal(numbers(first), x[:, :2])


@pytest.mark.parametrize("keepdims", [0, 1])
def test_parts_outlive_the_memory_of_the_whole(keepdims: int):
    """A value computed after the split may take the memory of what was split."""
    session = session_of(
        """
        model (float[3,1] x, float[3] z, bool c) => (float[3] other, float[] part) {
          whole = Mul(x, x)
          parts = SplitToSequence<keepdims = KEEP>(whole)
          moved = Add(z, z)
          other = If(c) <
            then_branch = left () => (float[3] a) { a = Identity(moved) },
            else_branch = right () => (float[3] b) { b = Neg(moved) }
          >
          one = Constant<value = int64 {1}>()
          part = SequenceAt(parts, one)
        }""".replace("KEEP", str(keepdims)).replace(
            "float[] part", "float[1,1] part" if keepdims else "float[1] part"
        )
    )
    feeds = {"x": np.array([[2], [3], [4]], np.float32), "z": np.ones(3, np.float32), "c": np.array(True)}
    other, part = session.run(None, feeds)
    np.testing.assert_array_equal(numbers(other), [2, 2, 2])
    np.testing.assert_array_equal(numbers(part).reshape(-1), [9])


LISTED = SPLIT.replace("int64 p", "int64[m] p")


@pytest.mark.parametrize("sizes", [[5], [2, 3], [0, 5], [2, 0, 3], [1, 1, 1, 1, 1]])
def test_parts_of_listed_sizes(sizes: list[int]):
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    count, first = session_of(LISTED).run(None, {"x": x, "p": np.array(sizes)})
    assert numbers(count) == len(sizes)
    np.testing.assert_array_equal(numbers(first), x[:, : sizes[0]])


@pytest.mark.parametrize("sizes", [[4], [6], [-1, 6], [2, 2], [6, -1]])
def test_listed_sizes_that_are_no_parts_are_refused(sizes: list[int]):
    text = rf"split sizes {re.escape(str(sizes))} do not sum to the axis size 5"
    with pytest.raises(XonncError, match=text):
        session_of(LISTED).run(None, {"x": np.zeros((2, 5), np.float32), "p": np.array(sizes)})


def test_parts_of_no_size_are_refused():
    with pytest.raises(XonncError, match=r"split sizes 0 do not sum to the axis size 5"):
        session_of(SPLIT).run(None, {"x": np.zeros((2, 5), np.float32), "p": np.array(0)})


def test_what_grows_from_turn_to_turn_is_of_no_fixed_shape():
    text = """
    model (int64 m, float[1] x) => (float[n] y) {
      y = Loop(m, , x) <
        body = turn (int64 i, bool go, float[1] before) => (bool go, float[n] after) {
          after = Concat<axis = 0>(before, before)
        }
      >
    }
    """
    session = session_of(text)
    given = session.run(None, {"m": np.array(3), "x": np.ones(1, np.float32)})[0]
    np.testing.assert_array_equal(numbers(given), np.ones(8))
    assert session.host_calls() == []


def test_a_body_is_not_given_another_shape_than_its_code_is_for():
    x = np.zeros((2, 3), np.float32)
    body = Program(
        inputs=[TensorSpec("0", 0, (3,), x.dtype)], values=[ProgramValue(Storage.INPUT, (3,), x.dtype)]
    )
    values = [ProgramValue(Storage.INPUT, (), np.dtype(bool)), ProgramValue(Storage.INPUT, (2, 3), x.dtype)]
    ports = [TensorSpec("c", 0, (), np.dtype(bool)), TensorSpec("x", 1, (2, 3), x.dtype)]
    step = SessionStep("If", "choice", {}, [0], [], [BodyProgram(body, [1])] * 2)
    instance = Instance(Executable(Program(values=values, steps=[step], inputs=ports), {}, None))
    message = r"choice: its body is given float32\[2, 3\], the model says float32\[3\]"
    with pytest.raises(XonncError, match=message):
        instance.run([np.array(True), x])


FINDS = """
model (float[3,4] x) => (int64[2,n] y, int64[2,n] z) {
  y = NonZero(x)
  w = Relu(x)
  z = NonZero(w)
}
"""


def test_what_is_found_is_cut_to_what_there_is(tmp_path: Path):
    session = session_of(FINDS)
    for shift in (0, 3, -9):
        x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5 + shift
        first, second = session.run(None, {"x": x})
        np.testing.assert_array_equal(numbers(first), np.nonzero(x))
        np.testing.assert_array_equal(numbers(second), np.nonzero(x > 0))
    assert session.host_calls() == []
    assert [line.what for line in session.report() if line.where == "session"] == ["Keep"] * 2
    session.save(tmp_path)
    loaded = load_native(tmp_path)
    np.testing.assert_array_equal(numbers(loaded.run(["y"], {"x": X12})[0]), np.nonzero(X12))


AXES = {
    "joined": "y = ConcatFromSequence<axis = AXIS>(s)",
    "stacked": "y = ConcatFromSequence<axis = AXIS, new_axis = 1>(s)",
    "split": "z = Constant<value_int = 0>()\n x = SequenceAt(s, z)\n t = SplitToSequence<axis = AXIS>(x)\n"
    " y = SequenceAt(t, z)",
}


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("axis", [3, -4, 2**40])
def test_an_axis_that_a_tensor_does_not_have_is_refused_by_the_run(name: str, axis: int):
    # Only a run knows the rank of what is in a sequence.
    text = f"model (seq(float[]) s) => (float[n] y) {{ {AXES[name].replace('AXIS', str(axis))} }}"
    model = onnx.parser.parse_model(HEAD + text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    session = compile_native(model)
    with pytest.raises(XonncError, match=f"axis {axis} is out of range for rank"):
        session.run(None, {"s": [X, X]})


def test_a_tensor_that_a_loop_appends_to():
    session = session_of("""
        model (int64[1,s] start, int64 count, int64[k] steps) => (int64[1,t] row, int64[u,k] sums) {
          on = Constant<value = bool {1}>()
          one = Constant<value = int64[1] {1}>()
          row, sums = Loop(count, on, start) <body = turn (int64 i, bool c, int64[1,n] old) =>
            (bool go, int64[1,m] new, int64[k] sum) {
            total = ReduceSum<keepdims = 1>(old, one)
            next = Add(total, i)
            new = Concat<axis = 1>(old, next)
            flat = ReduceMax<keepdims = 0>(new)
            sum = Mul(steps, flat)
            go = Identity(c)
          }>
        }""")
    for count, steps in ((5, [1, 2]), (2, [3]), (5, [4, 5]), (9, [1, 1, 1]), (0, [2])):
        row, expected = [1, 2], list[npt.NDArray[np.int64]]()
        for iteration in range(count):
            row.append(sum(row) + iteration)
            expected.append(np.array(steps) * max(row))
        feeds = {"start": np.array([[1, 2]]), "count": np.array(count), "steps": np.array(steps)}
        found, sums = session.run(None, feeds)
        np.testing.assert_array_equal(numbers(found), [row])
        if count:
            np.testing.assert_array_equal(numbers(sums), expected)
    assert session.host_calls() == []


LENGTHS = """
model (float[n] x, float[m] z) => (float[k] y) {
  y = Scan <num_scan_inputs = 2,
    body = turn (float a, float b) => (float c) { c = Add(a, b) }
  > (x, z)
}
"""


@pytest.mark.parametrize(("left", "right"), [(2, 3), (3, 2), (0, 1)])
def test_a_scan_goes_along_inputs_of_one_length(left: int, right: int):
    session = session_of(LENGTHS)
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(numbers(session.run(None, {"x": x, "z": x})[0]), [2, 2, 2])
    text = f"y: Scan: the scanned axes have lengths {min(left, right)} and {max(left, right)}"
    with pytest.raises(XonncError, match=text):
        session.run(None, {"x": np.ones(left, np.float32), "z": np.ones(right, np.float32)})


GROWING = """
model (int64 m, float[1] x) => (float[n,k] each) {
  last, each = Loop(m, , x) <
    body = turn (int64 i, bool go, float[a] before) => (bool on, float[b] after, float[c] seen) {
      on = Identity(go)
      after = Concat<axis = 0>(before, x)
      seen = Identity(after)
    }
  >
}
"""


def test_rows_of_a_loop_have_one_shape():
    session = session_of(GROWING)
    x = np.ones(1, np.float32)
    assert numbers(session.run(None, {"m": np.array(1), "x": x})[0]).shape == (1, 2)
    with pytest.raises(XonncError, match=r"scan outputs of shapes \[2\] and \[3\]"):
        session.run(None, {"m": np.array(2), "x": x})


def test_an_empty_list_has_no_shape_to_concatenate():
    session = session_of("model (seq(float[n]) x) => (float[k] y) { y = ConcatFromSequence<axis = 0>(x) }")
    assert numbers(session.run(None, {"x": [np.ones(2, np.float32)] * 2})[0]).shape == (4,)
    with pytest.raises(XonncError, match="an empty sequence cannot be concatenated"):
        session.run(None, {"x": []})


def test_an_empty_optional_has_no_element():
    session = session_of("model (optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }")
    np.testing.assert_array_equal(numbers(session.run(None, {"x": np.ones(2, np.float32)})[0]), [1, 1])
    with pytest.raises(XonncError, match="the optional value is empty"):
        session.run(None, {"x": None})
