"""Two models on made-up inputs: what is tried, and which differences count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.equivalence import compare_models, trial_feeds
from xonnc.errors import XonncError
from xonnc.runtime.reference import Port


def saved(path: Path, body: str, signature: str = "(float[n] x) => (float[n] y)") -> Path:
    text = f'<ir_version: 8, opset_import: ["" : 17]> graph {signature} {{ {body} }}'
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return path


def differences(tmp_path: Path, first: str, second: str, signature: str, count: int = 3) -> list[str]:
    found = compare_models(
        saved(tmp_path / "a", first, signature), saved(tmp_path / "b", second, signature), count
    )
    return [one.mismatch or f"{one.largest_error > one.allowed_error}" for one in found]


SAME = "(float[n] x) => (float[n] y)"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("y = Add (x, x)", "a = Neg (x) b = Add (a, a) y = Neg (b)", ["False"]),
        ("y = Abs (x)", "y = Relu (x)", ["True"]),
        ("y = Reciprocal (x)", "y = Identity (x)", ["other elements are infinite or no numbers"]),
        ("y = Sqrt (x)", "a = Abs (x) y = Sqrt (a)", ["other elements are infinite or no numbers"]),
    ],
)
def test_negative_numbers_and_zeros_tell(first: str, second: str, said: list[str], tmp_path: Path):
    assert differences(tmp_path, first, second, SAME) == said


def test_large_numbers_tell(tmp_path: Path):
    clipped = "l = Constant <value_float = -50.0> () h = Constant <value_float = 50.0> () y = Clip (x, l, h)"
    assert differences(tmp_path, clipped, "y = Identity (x)", SAME, 1) == ["False"]
    assert differences(tmp_path, clipped, "y = Identity (x)", SAME, 2) == ["True"]


def test_integers_are_equal_or_not(tmp_path: Path):
    signature = "(int32[4] x) => (int32[4] y)"
    (said,) = differences(tmp_path, "y = Abs (x)", "y = Identity (x)", signature, 1)
    assert said.endswith("of 4 elements differ")


def test_types_and_shapes_count(tmp_path: Path):
    other = "a = Constant <value_ints = [0]> () y = Unsqueeze (x, a)"
    first = saved(tmp_path / "a", "y = Neg (x)")
    second = saved(tmp_path / "b", other, "(float[n] x) => (float[m, k] y)")
    assert compare_models(first, second, 1)[0].mismatch == "float32[1, 2], the original gives float32[2]"


def test_indices_are_found(tmp_path: Path):
    body = "y = Gather (x, i)"
    assert differences(tmp_path, body, body, "(float[n, 3] x, int64[k] i) => (float[k, 3] y)") == ["False"]


def test_windows_need_a_size(tmp_path: Path):
    body = "y = MaxPool <kernel_shape = [20, 20]> (x)"
    assert differences(tmp_path, body, body, "(float[1, 1, h, w] x) => (float[1, 1, p, q] y)") == ["False"]


def test_other_names_are_refused(tmp_path: Path):
    first = saved(tmp_path / "a", "y = Neg (x)")
    for signature, message in (
        ("(float[n] z) => (float[n] y)", "its inputs are not those of the original"),
        ("(float[n] x) => (float[n] z)", "outputs z, but the original's are y"),
    ):
        body = "y = Neg (z)" if "z)" in signature.partition("=>")[0] else "z = Neg (x)"
        with pytest.raises(XonncError, match=message):
            compare_models(first, saved(tmp_path / "b", body, signature), 1)


def test_an_original_that_runs_on_nothing_is_told(tmp_path: Path):
    model = saved(
        tmp_path / "a", "y = MaxPool <kernel_shape = [9]> (x)", "(float[1, 1, 4] x) => (float[1, 1, k] y)"
    )
    with pytest.raises(XonncError, match=r"a: onnxruntime does not (run|open) it: "):
        compare_models(model, model, 1)


def test_inputs_are_made_by_kind():
    ports = [Port("x", (None, 500), np.dtype(np.float32)), Port("i", (50,), np.dtype(np.int64))]
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
    feeds = next(trial_feeds([Port("x", (5000,), np.dtype(np.int8))], 0))
    assert (feeds["x"].min(), feeds["x"].max()) == (-128, 127)


def test_inputs_that_are_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("xonnc.equivalence.MOST_ELEMENTS", 100)
    port = Port("x", (None, 50), np.dtype(np.float32))
    assert [feeds["x"].shape[0] for feeds in trial_feeds([port], 0)] == [2, 2, 2, 1, 1, 1]
