"""What follows from a number of elements that a run finds has kernels for any such number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError
from xonnc.native import compile_native, load_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(89)
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


DETECTION = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (best, kinds, shares) {
  most = Constant<value = int64[1] {3}>()
  overlap = Constant<value = float[1] {0.5}>()
  chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
  one = Constant<value = int64[1] {1}>()
  two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>()
  column = Slice(chosen, two, three, one)
  places = Squeeze(column, one)
  middle = Slice(chosen, one, two, one)
  kinds = Cast<to = 1>(middle)
  picked = Gather<axis = 0>(features, places)
  half = Constant<value = float {0.5}>()
  less = Mul(picked, half)
  shares = Softmax<axis = -1>(less)
  best = ReduceMax<keepdims = 0>(less, one)
}
"""


def feeds(least: float) -> dict[str, Array]:
    corners = RANDOM.integers(0, 9, (1, 9, 2)).astype(np.float32)
    sizes = RANDOM.integers(1, 9, (1, 9, 2)).astype(np.float32)
    return {
        "boxes": np.concatenate([corners, corners + sizes], 2),
        "scores": RANDOM.random((1, 2, 9)).astype(np.float32),
        "features": RANDOM.normal(size=(9, 6)).astype(np.float32),
        "least": np.array([least], np.float32),
    }


def compare(session: Session, model: onnx.ModelProto, given: Mapping[str, Array]) -> None:
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    for one, other in zip(session.run(None, given), reference.run(None, given), strict=True):
        numbers = np.asarray(one, np.float64), np.asarray(other, np.float64)
        assert numbers[0].shape == numbers[1].shape
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-6)


def compared(text: str, threads: int = 1) -> Session:
    """Finds many, few, others and none."""
    model = onnx.parser.parse_model(HEAD + text)
    session = compile_native(model, threads=threads)
    for least in (0.0, 0.9, 0.2, 2.0, 0.5):
        compare(session, model, feeds(least))
    return session


@pytest.mark.parametrize("threads", [1, 2])
def test_detections_are_made_of_kernels_to_the_end(threads: int):
    session = compared(DETECTION, threads)
    assert session.host_calls() == []
    assert session.compiled == 1
    assert [line.what for line in session.report() if line.where == "session"] == ["Keep", "Later"]


BROADCAST = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (z, top) {
  most = Constant<value = int64[1] {2}>()
  overlap = Constant<value = float[1] {0.5}>()
  chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
  one = Constant<value = int64[1] {1}>()
  high = Greater(scores, least)
  found = NonZero(high)
  first = Cast<to = 1>(chosen)
  top = Exp(first)
  rows = Transpose<perm = [1, 0]>(found)
  second = Cast<to = 1>(rows)
  x = ReduceSum<keepdims = 0>(first, one)
  y = ReduceSum<keepdims = 1>(second, one)
  sums = Add(x, y)
  z = Neg(sums)
}
"""


def test_sums_of_two_sizes_that_are_found():
    # One of both may have one element and be broadcast.
    session = compared(BROADCAST)
    assert "Later" in [line.what for line in session.report()]
    assert session.host_calls() == []


MASKED = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (picked, written, more) {
  high = Greater(scores, least)
  found = NonZero(high)
  places = Transpose<perm = [1, 0]>(found)
  picked = GatherND(scores, places)
  twice = Add(picked, picked)
  written = ScatterND(scores, places, twice)
  one = Constant<value = int64[1] {1}>()
  zero = Constant<value = int64[1] {0}>()
  two = Constant<value = int64[1] {2}>()
  column = Slice(places, one, two, one)
  whole = Sub(column, one)
  more = GatherND(features, whole)
}
"""


def test_masks_are_read_and_written():
    assert compared(MASKED).host_calls() == []


BEST = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (gathered, scattered) {
  high = Greater(scores, least)
  found = NonZero(high)
  places = Transpose<perm = [1, 0]>(found)
  picked = GatherND(scores, places)
  high_again = Greater(picked, least)
  numbers = Cast<to = 7>(high_again)
  one = Constant<value = int64[1] {1}>()
  order = Sub(numbers, one)
  gathered = Gather<axis = 0>(picked, order)
  scattered = ScatterElements<axis = 0>(picked, order, picked)
}
"""


def test_indices_of_an_axis_that_may_be_empty():
    # Without elements there are no indices either, so that none is out of range. Export of SSDlite.
    assert compared(BEST).host_calls() == []


CHAINS = {
    "masks": """
  picked = GatherND(scores, places)
  half = Constant<value = float {0.6}>()
  higher = Greater(picked, half)
  found_again = NonZero(higher)
  places_again = Transpose<perm = [1, 0]>(found_again)
  y = GatherND(picked, places_again)
  z = Neg(y)""",
    "conditions": """
  picked = GatherND(scores, places)
  half = Constant<value = float {0.6}>()
  higher = Greater(picked, half)
  y = Compress<axis = 0>(picked, higher)
  column = Unsqueeze(higher, one)
  columns = Concat<axis = 1>(column, column, column)
  flat = Constant<value = int64[1] {-1}>()
  all = Reshape(columns, flat)
  z = Compress(places, all)""",
    "sorted": """
  picked = GatherND(scores, places)
  number = Shape(picked)
  five = Constant<value = int64[1] {5}>()
  both = Concat<axis = 0>(number, five)
  count = ReduceMin<keepdims = 1>(both)
  y, order = TopK<axis = 0, largest = 0>(picked, count)
  z = Gather<axis = 0>(picked, order)""",
    "all_sorted": """
  picked = GatherND(scores, places)
  integers = Cast<to = 7>(picked)
  number = Shape(picked)
  best, order = TopK<axis = 0>(picked, number)
  y = Neg(best)
  ordered, z = TopK<axis = 0>(integers, number)""",
    "unique": """
  two = Constant<value = int64[1] {2}>()
  kinds = Slice(places, one, two, one)
  y, first, inverse, counts = Unique<sorted = 1>(kinds)
  z = Neg(counts)""",
    "suppressed": """
  picked = GatherND(scores, places)
  two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>()
  row = Slice(places, two, three, one)
  rows = Squeeze(row, one)
  corners = Gather<axis = 1>(boxes, rows)
  shape = Constant<value = int64[3] {1, 1, -1}>()
  candidates = Reshape(picked, shape)
  most = Constant<value = int64[1] {20}>()
  overlap = Constant<value = float[1] {0.3}>()
  y = NonMaxSuppression(corners, candidates, most, overlap)
  chosen = Slice(y, two, three, one)
  z = Neg(chosen)""",
    "slices": """
  picked = GatherND(scores, places)
  half = Constant<value = float {0.5}>()
  higher = Greater(picked, half)
  numbers = Cast<to = 7>(higher)
  end = ReduceSum<keepdims = 1>(numbers)
  zero = Constant<value = int64[1] {0}>()
  y = Slice(picked, zero, end, zero)
  z = Exp(y)""",
}
"""What finds sizes among what was found."""


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("threads", [1, 2])
def test_sizes_are_found_one_after_another(chain: str, threads: int):
    head = "m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (y, z)"
    nodes = "high = Greater(scores, least)\n found = NonZero(high)\n places = Transpose<perm = [1, 0]>(found)"
    one = "one = Constant<value = int64[1] {1}>()"
    text = f"{head} {{ {one}\n {nodes} {CHAINS[chain]} }}"
    assert compared(text, threads).host_calls() == []


DECIDED = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (y, z, rank) {
  high = Greater(scores, least)
  found = NonZero(high)
  sizes = Shape(found)
  one = Constant<value = int64 {1}>()
  three = Constant<value = int64 {3}>()
  zero = Constant<value = int64[1] {0}>()
  number = Gather<axis = 0>(sizes, one)
  rank = Gather<axis = 0>(sizes, zero)
  vector = Unsqueeze(number, zero)
  target = Concat<axis = 0>(vector, rank)
  are_many = Greater(number, three)
  y = If(are_many) <then_branch = yes () => (int64[a, b] p) { p = Neg(found) },
    else_branch = no () => (int64[c, d] q) { q = Add(found, found) }>
  z = Expand(one, target)
}
"""


REPEATED = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (y, z) {
  zero = Constant<value = int64[1] {0}>() one = Constant<value = int64[1] {1}>()
  six = Constant<value = int64[1] {6}>() both = Constant<value = int64[2] {0, 1}>()
  start = Constant<value = int64 {0}>() step = Constant<value = int64 {1}>()
  nine = Constant<value = int64 {9}>() yes = Constant<value = bool {1}>()
  high = Greater(scores, least) flags = Cast<to = 7>(high)
  counts = ReduceSum<keepdims = 0>(flags, both) sum = ReduceSum<keepdims = 0>(counts)
  rows = SplitToSequence<axis = 0>(features, step) times = SplitToSequence<axis = 0>(counts, step)
  none = SequenceEmpty<dtype = 1>()
  parts = Loop(nine, yes, none) <body = repeat (int64 i, bool c, seq(float) s) => (bool c2, seq(float) more) {
    c2 = Identity(c) row = SequenceAt(rows, i) time = SequenceAt(times, i)
    shape = Concat<axis = 0>(time, six) part = Expand(row, shape) more = SequenceInsert(s, part) }>
  x = ConcatFromSequence<axis = 0>(parts) e = Exp(x)
  size = Unsqueeze(sum, zero) shape2 = Concat<axis = 0>(size, six)
  ones = ConstantOfShape<value = float[1] {1}>(shape2)
  numbers = Range(start, sum, step) f = Cast<to = 1>(numbers) column = Unsqueeze(f, one)
  scaled = Mul(column, ones) y = Neg(scaled) more2 = Add(e, ones) z = Tanh(more2)
}
"""


def test_rows_are_repeated_a_number_of_times_that_is_found():
    """As torch exports repeat_interleave, the length regulator of FastSpeech: the loop makes the sizes."""
    called = compared(REPEATED).host_calls()
    assert {"Range", "ConstantOfShape"} <= set(called)
    assert not {"Exp", "Cast", "Neg", "Tanh"} & set(called)


def test_sizes_that_decide_on_a_branch_are_read_again():
    assert compared(DECIDED).host_calls() == []


REGIONS = """
m (float[1,9,4] boxes, float[1,2,9] scores, float[9,6] features, float[1] least) => (y) {
  most = Constant<value = int64[1] {3}>()
  overlap = Constant<value = float[1] {0.5}>()
  chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
  zero = Constant<value = int64[1] {0}>()
  one = Constant<value = int64[1] {1}>()
  two = Constant<value = int64[1] {2}>()
  three = Constant<value = int64[1] {3}>()
  corners = Squeeze(boxes, zero)
  column = Slice(chosen, two, three, one)
  places = Squeeze(column, one)
  first = Slice(chosen, zero, one, one)
  images = Squeeze(first, one)
  regions = Gather<axis = 0>(corners, places)
  shape = Constant<value = int64[4] {1, 1, 9, 6}>()
  image = Reshape(features, shape)
  y = RoiAlign<output_height = 2, output_width = 3, sampling_ratio = 2>(image, regions, images)
}
"""


def test_regions_of_what_is_chosen():
    assert compared(REGIONS).host_calls() == []


def test_strings_need_no_call_of_the_reference():
    text = DETECTION.replace("=> (best, kinds, shares)", "=> (best, kinds, shares, words)")
    text = text.replace(
        "kinds = Cast<to = 1>(middle)", "kinds = Cast<to = 1>(middle)\n words = Cast<to = 8>(places)"
    )
    model = onnx.parser.parse_model(HEAD + text)
    session = compile_native(model)
    given = feeds(0.1)
    best, _, _, words = session.run(None, given)
    assert [int(word) for word in np.asarray(words).tolist()] != []
    assert len(np.asarray(words)) == len(np.asarray(best))
    assert session.host_calls() == []


def test_what_is_saved_finds_other_sizes_too(tmp_path: Path):
    model = onnx.parser.parse_model(HEAD + DETECTION)
    compile_native(model).save(tmp_path)
    loaded = load_native(tmp_path)
    for least in (0.1, 3.0, 0.6):
        compare(loaded, model, feeds(least))


def test_what_is_cached_finds_other_sizes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path))
    for _ in range(2):
        compared(DETECTION)
    assert any(tmp_path.iterdir())


def test_without_python_it_is_refused(tmp_path: Path):
    said = "what depends on a data-dependent shape is run by the session"
    with pytest.raises(RefusalError, match=said):
        compile_artifact(onnx.parser.parse_model(HEAD + DETECTION), tmp_path / "net.c")


LOOPS = """<ir_version: 8, opset_import: ["" : 13]>
    m (float[5] x, int64 count, float[5] mean) => (y, z)
    <bool yes = {1}, int64 two = {2}, float[5] w = {1, -2, 3, 0.5, 2}, float[5] v = {0.25, 1, 0.25, 2, 1.5}> {
      last, rows = Loop (count, yes, x) <body = graph (int64 i, bool c, float[5] a)
        => (bool d, float[5] o, float[5] p) { o = Add (a, w) p = Neg (o) d = Identity (c) }>
      scaled = BatchNormalization (rows, w, x, mean, v)
      doubled, sums = Loop (two, yes, scaled) <body = graph (int64 j, bool e, float[n, 5] b)
        => (bool f, float[n, 5] q, float[1, 5] r) {
          q = Add (b, b) r = ReduceSum <keepdims = 1> (q, zero) f = Identity (e) }>
      y = Sigmoid (doubled)
      far, parts = Loop (two, yes, y) <body = graph (int64 k, bool g, float[n, 5] h)
        => (bool s, float[n, 5] t, float[n, 5] u) { t = Mul (h, h) u = Identity (t) s = Identity (g) }>
      shape = Shape (parts)
      floats = Cast <to = 1> (shape)
      total = ReduceSum <keepdims = 0> (parts)
      z = Mul (floats, total)
    }"""


def test_operators_after_a_loop_over_what_was_found_have_kernels():
    model = onnx.parser.parse_model(LOOPS)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "zero"))
    session = compile_native(model)
    # The reference takes BatchNormalization before opset 14 to be in training.
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(7)
    for count in (3, 1, 7, 2):
        given = {name: rng.normal(size=5).astype(np.float32) for name in ("x", "mean")}
        given["count"] = np.array(count)
        for found, expected in zip(session.run(None, given), peer.run(None, given), strict=True):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
    assert session.host_calls() == []
