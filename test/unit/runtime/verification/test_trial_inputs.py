"""Made-up inputs: of every kind, and such as a model can take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.contexts import new_context
from xonnc.runtime.reference import ModelParameter, ReferenceModel
from xonnc.runtime.verification.trial_inputs import Feeds, InputConstraints, input_constraints, trial_feeds


def rules_of(text: str, folder: Path) -> tuple[list[ModelParameter], InputConstraints]:
    path = folder / "model.onnx"
    head = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 2]>\ng '
    path.write_bytes(parser.parse_model(head + text).SerializeToString())
    return ReferenceModel(path).inputs(), input_constraints(path, new_context())


def test_inputs_are_made_by_kind():
    ports = [
        ModelParameter("x", (None, 500), np.dtype(np.float32)),
        ModelParameter("i", (50,), np.dtype(np.int64)),
    ]
    normal, spread, zeros = (next(trial_feeds(ports, kind)) for kind in range(3))
    assert normal["x"].shape == (2, 500)
    assert 2 < np.abs(normal["x"]).max() < 6
    assert np.abs(spread["x"]).max() > 500
    assert (spread["x"] == 0).any()
    assert (spread["x"] < 0).any()
    assert not zeros["x"].any()
    assert not zeros["i"].any()
    assert normal["i"].min() < -50
    tamer = [(int(feeds["i"].min()), int(feeds["i"].max())) for feeds in trial_feeds(ports, 0)]
    assert tamer[1:3] == [(0, 1), (0, 0)]


def test_bytes_take_their_whole_range():
    feeds = next(trial_feeds([ModelParameter("x", (5000,), np.dtype(np.int8))], 0))
    assert (feeds["x"].min(), feeds["x"].max()) == (-128, 127)


def test_inputs_that_are_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("xonnc.runtime.verification.trial_inputs.MAX_ELEMENTS", 100)
    port = ModelParameter("x", (None, 50), np.dtype(np.float32))
    assert [feeds["x"].shape[0] for feeds in trial_feeds([port], 0)] == [2, 2, 2, 1, 1, 1]


def test_sizes_follow_from_weights_and_from_each_other(tmp_path: Path):
    ports, rules = rules_of(
        """(float[n, k] x, float[c, h, w, d] image, float[s, b, e] words, float[n, one] scale)
        => (float[n, 2] y, float[c, f, p, q] z, float[s, one, b, 4] r)
        <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2, 5, 1, 1] f = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0},
         float[1, 4, 6] i = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
         float[1, 4, 4] h = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}> {
          scaled = Mul (x, scale)
          y = MatMul (scaled, w)
          z = Conv (image, f)
          r = RNN <hidden_size = 4> (words, i, h)
        }""",
        tmp_path,
    )
    shapes = {name: array.shape for name, array in next(trial_feeds(ports, 0, 0, rules)).items()}
    assert shapes["x"][1] == 3
    assert shapes["image"][1] == 5
    assert shapes["words"][2] == 6
    assert shapes["scale"] == shapes["x"]


def test_sizes_that_meet_are_equal_where_nothing_must_be_broadcast(tmp_path: Path):
    ports, rules = rules_of(
        """(float[b, p, 2] past, float[b, s, 2] x, float[b, t, 1] mask) => (float[b, t, 2] y) {
          all = Concat <axis = 1> (past, x)
          y = Mul (all, mask)
        }""",
        tmp_path,
    )
    feeds = next(trial_feeds(ports, 0, 0, rules))
    past, x, mask = (feeds[name].shape for name in ("past", "x", "mask"))
    assert mask[1] == past[1] + x[1]
    assert past[0] == x[0] == mask[0]


INDICES = """
    (float[v, 5] table, int64[b, s] ids, float[b] places, int64[b, s] attention_mask, int32[b, s] padding)
    => (float[b, s, 5] y, float[b, 5] z, float[b, s] m, float[b, s] p)
    <int64[1] last = {-1}, int64 zero = {0}, float one = {1}, float[7, 5] known> {
      wide = Unsqueeze (ids, last)
      flat = Squeeze (wide, last)
      y = Gather (known, flat)
      whole = Cast <to = 7> (places)
      z = Gather (table, whole)
      m = Cast <to = 1> (attention_mask)
      q = Cast <to = 1> (padding)
      p = Sub (one, q)
    }
"""


def test_indices_are_within_their_axis_and_masks_hold_0_and_1(tmp_path: Path):
    values = ", ".join(["0.5"] * 35)
    ports, rules = rules_of(INDICES.replace("known>", f"known = {{{values}}}>"), tmp_path)
    for kind in range(6):
        feeds = next(trial_feeds(ports, kind, kind, rules))
        assert feeds["ids"].min() >= 0
        assert feeds["ids"].max() < 7
        assert feeds["places"].dtype == np.float32
        assert set(feeds["places"]) <= set(range(feeds["table"].shape[0]))
        for name in ("attention_mask", "padding"):
            assert set(feeds[name].ravel()) <= {0, 1}
    drawn = np.concatenate([next(trial_feeds(ports, 0, seed, rules))["ids"].ravel() for seed in range(20)])
    assert set(drawn) == set(range(7))


def test_indices_whose_negatives_are_wrapped_are_within_their_axis(tmp_path: Path):
    ports, rules = rules_of(
        """(float[b, 3] x) => (float[b, 3, 2] y)
        <float[7, 2] table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3}, int64 size = {7}, int64 zero = {0}> {
          ids = Cast <to = 7> (x)
          is_negative = Less (ids, zero)
          is_not = Not (is_negative)
          first = Cast <to = 7> (is_negative)
          second = Cast <to = 7> (is_not)
          wrapped = Add (ids, size)
          a = Mul (first, wrapped)
          b = Mul (ids, second)
          index = Add (a, b)
          y = Gather (table, index)
        }""",
        tmp_path,
    )
    drawn = [next(trial_feeds(ports, kind, 0, rules))["x"] for kind in range(3)]
    assert all(0 <= each.min() and each.max() < 7 for each in drawn)
    assert drawn[0].max() > 2


def test_lengths_of_sequences_are_at_least_1(tmp_path: Path):
    ports, rules = rules_of(
        """(float[s, b] x, int64[b] lengths) => (float[s, b] y) { y = ReverseSequence (x, lengths) }""",
        tmp_path,
    )
    for kind in range(3):
        feeds = next(trial_feeds(ports, kind, 1, rules))
        assert feeds["lengths"].min() >= 1
        assert feeds["lengths"].max() <= feeds["x"].shape[0]


def test_words_are_those_of_the_model_and_others(tmp_path: Path):
    ports, rules = rules_of(
        """(string[n] x) => (int64[n] y) {
          y = ai.onnx.ml.LabelEncoder <keys_strings = ["cat", "dog"], values_int64s = [1, 2]> (x)
        }""",
        tmp_path,
    )
    drawn = {word for seed in range(20) for word in next(trial_feeds(ports, 0, seed, rules))["x"]}
    assert {"cat", "dog", ""} < drawn
    unknown = next(trial_feeds(ports, 2, 0, rules))["x"]
    assert not {"cat", "dog"} & set(unknown)


def test_large_sizes_come_with_a_small_batch(tmp_path: Path):
    ports, rules = rules_of("(float[b, s] x) => (float[b, s] y) { y = Neg (x) }", tmp_path)
    shapes = [feeds["x"].shape for feeds in trial_feeds(ports, 0, 0, rules)]
    assert (2, 4096) in shapes
    assert shapes.index((2, 32)) < shapes.index((32, 32))


def test_a_model_that_cannot_be_imported_asks_for_nothing(tmp_path: Path):
    path = tmp_path / "none.onnx"
    path.write_bytes(b"no model")
    assert input_constraints(path, new_context()) == InputConstraints()


def test_sizes_that_no_operator_equates_are_searched(tmp_path: Path):
    ports, rules = rules_of(
        """(float[b, p, 2] past, int64[b, s] ids, float[b, t] mask) => (float[b, k] y)
        <int64 zero = {0}, int64 one = {1}> {
          first = Shape <start = 1, end = 2> (past)
          second = Shape <start = 1, end = 2> (ids)
          total = Add (first, second)
          count = Squeeze (total)
          indices = Range (zero, count, one)
          y = Gather <axis = 1> (mask, indices)
        }""",
        tmp_path,
    )
    reference = ReferenceModel(tmp_path / "model.onnx")

    def fits(feeds: Feeds) -> bool:
        past, ids, mask = (feeds[name].shape[1] for name in ("past", "ids", "mask"))
        return mask >= past + ids

    feeds = next(feeds for feeds in trial_feeds(ports, 0, 0, rules) if fits(feeds))
    reference.run(feeds)
    assert max(array.shape[1] for array in feeds.values()) <= 8


def test_sizes_that_a_model_reshapes_to_are_tried(tmp_path: Path):
    ports, rules = rules_of(
        """(float[b, s] x) => (float[k, 12] y) <int64[3] shape = {2, 12, 1}, int64[2] flat = {-1, 12}> {
          traced = Reshape (x, shape)
          y = Reshape (traced, flat)
        }""",
        tmp_path,
    )
    assert rules.sizes == (2, 12)
    assert (2, 12) in [feeds["x"].shape for feeds in trial_feeds(ports, 0, 0, rules)]


def test_sizes_leave_windows_a_position_and_fill_the_shapes_they_are_reshaped_to(tmp_path: Path):
    ports, rules = rules_of(
        """(float[t, f] x) => (float[n, 53] y)
        <float[1, 1, 2, 3] w = {1, 1, 1, 1, 1, 1}, int64[2] axes = {0, 1}, int64[2] shape = {-1, 53}> {
          image = Unsqueeze (x, axes)
          c = Conv (image, w)
          y = Reshape (c, shape)
        }""",
        tmp_path,
    )
    assert len(rules.positive) == 2
    assert [divisor for _, divisor in rules.multiples] == [53]
    shapes = {feeds["x"].shape for feeds in trial_feeds(ports, 0, 0, rules)}
    # The least ones: 53 rows of 1 column and 1 row of 53 columns of the convolution.
    assert {(54, 3), (2, 55)} <= shapes
    reference = ReferenceModel(tmp_path / "model.onnx")
    for shape in ((54, 3), (2, 55)):
        (y,) = reference.run({"x": np.ones(shape, np.float32)})
        assert y.shape == (1, 53)


def test_one_size_of_many_is_larger_than_the_others(tmp_path: Path):
    names = "abcdefg"
    inputs = ", ".join(f"float[{name}] x{name}" for name in names)
    nodes = "\n".join(f"n{name} = Shape (x{name})" for name in names)
    ports, rules = rules_of(
        f"""({inputs}) => (int64[k] y) {{
          {nodes}
          y = Concat <axis = 0> ({", ".join(f"n{name}" for name in names)})
        }}""",
        tmp_path,
    )
    shapes = {tuple(array.shape[0] for array in feeds.values()) for feeds in trial_feeds(ports, 0, 0, rules)}
    for position in range(len(names)):
        for common, size in ((1, 2), (1, 8), (2, 1), (2, 4)):
            assert (*(common,) * position, size, *(common,) * (len(names) - 1 - position)) in shapes
