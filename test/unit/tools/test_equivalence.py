"""Two models on made-up inputs: what is tried, and which differences count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.runtime.verification.comparison import tensors_in
from xonnc.simplifier import simplify
from xonnc.tools.equivalence import compare_models


def saved(path: Path, body: str, signature: str = "(float[n] x) => (float[n] y)") -> Path:
    text = f'<ir_version: 8, opset_import: ["" : 17]> graph {signature} {{ {body} }}'
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return path


def differences(tmp_path: Path, first: str, second: str, signature: str, count: int = 3) -> list[str]:
    found = compare_models(
        saved(tmp_path / "a", first, signature), saved(tmp_path / "b", second, signature), count
    )
    return [one.mismatch.split(",")[0] or f"{one.largest_error > one.allowed_error}" for one in found]


SAME = "(float[n] x) => (float[n] y)"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("y = Add (x, x)", "a = Neg (x) b = Add (a, a) y = Neg (b)", ["False"]),
        ("y = Abs (x)", "y = Relu (x)", ["True"]),
        ("y = Reciprocal (x)", "y = Identity (x)", ["1 of 3 elements are infinite or NaN in one only"]),
        ("y = Sqrt (x)", "a = Abs (x) y = Sqrt (a)", ["1 of 2 elements are infinite or NaN in one only"]),
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
    assert compare_models(first, second, 1)[0].mismatch == "float32[1, 2], expected float32[2]"


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
    with pytest.raises(XonncError, match=r"a: onnxruntime does not (run|open) it: .*"):
        compare_models(model, model, 1)


def test_an_original_that_takes_no_made_up_input_is_told(tmp_path: Path):
    model = saved(
        tmp_path / "a",
        "y = Gather (x, i)",
        "(float[2, n] x) => (float[1, n] y) <int64[1] i = {9}>",
    )
    with pytest.raises(XonncError, match=r"takes none of \d+ made-up inputs; --overwrite-input-shape"):
        compare_models(model, model, 1)


RANDOM = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y, float[4] z) { n = RandomNormalLike (x) y = Add (x, n) z = Neg (x) }
"""


def test_an_output_that_is_random_in_itself_is_told_and_others_are_compared(tmp_path: Path):
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    first.write_bytes(parser.parse_model(RANDOM).SerializeToString())
    # Another number of nodes before it is another seed in onnxruntime.
    wrong = RANDOM.replace("n = ", "w = Identity (x) v = Abs (w) n = ").replace("z = Neg (x)", "z = Abs (x)")
    second.write_bytes(parser.parse_model(wrong).SerializeToString())
    random, compared = compare_models(first, second, 2)
    assert (random.is_random, random.passed) == (True, True)
    assert (compared.is_random, compared.passed) == (False, False)


def test_a_random_output_of_another_shape_differs(tmp_path: Path):
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    first.write_bytes(parser.parse_model(RANDOM).SerializeToString())
    wrong = RANDOM.replace("y = Add (x, n)", "a = Add (x, n) y = Concat <axis = 0> (a, a)")
    second.write_bytes(parser.parse_model(wrong.replace("float[4] y", "float[8] y")).SerializeToString())
    random, _ = compare_models(first, second, 1)
    assert random.mismatch == "float32[8], expected float32[4]"
    assert not random.is_random


MAPS = """
    <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 2]>
    g (float[n, 2] x) => (seq(map(int64, float)) y) {
      y = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (x)
    }
"""


def test_maps_and_sequences_are_compared(tmp_path: Path):
    files = [tmp_path / f"{name}.onnx" for name in "abc"]
    texts = (
        MAPS,
        MAPS.replace("[3, 5]", "[3, 6]"),
        MAPS.replace("y = ai", "m = Neg (x)\n y = ai").replace("5]> (x)", "5]> (m)"),
    )
    for path, text in zip(files, texts, strict=True):
        path.write_bytes(parser.parse_model(text).SerializeToString())
    same, other_key, other_value = (compare_models(files[0], path, 1)[0] for path in files)
    assert same.passed
    assert other_key.mismatch == "1 of 2 elements differ, first [1]: 6, expected 5"
    assert not other_value.passed


def test_parts_of_outputs():
    a = np.arange(3)
    assert [part.tolist() for part in tensors_in([{2: 0.5, 1: 1.5}, a])] == [[1, 2], [1.5, 0.5], [0, 1, 2]]
    assert tensors_in(None) == []


SATURATED = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 4, 40, 40] x) => (float[1, 2, 40, 40] y)
      <float[2, 4, 1, 1] w = {0.3, 0.7, -0.2, 0.9, 0.11, -0.6, 0.4, 0.17}, float[2] scale = {0.7, 1.3},
       float[2] shift = {-15.3, -15.7}, float[2] mean = {0.37, -0.19}, float[2] variance = {1.7, 0.6}> {
      c = Conv (x, w)
      b = BatchNormalization (c, scale, shift, mean, variance)
      y = Sigmoid (b)
    }
"""


def test_rounding_errors_of_a_saturated_sigmoid_are_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    first.write_bytes(parser.parse_model(SATURATED).SerializeToString())
    simplify(first).write(second)
    assert compare_models(first, second, 1)[0].passed
    monkeypatch.setattr("xonnc.tools.equivalence.NOISE_FACTOR", 0)
    found = compare_models(first, second, 1)[0]
    assert found.largest_error > 0.001
    assert not found.passed


def test_a_difference_beyond_what_optimisations_change_counts(tmp_path: Path):
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    first.write_bytes(parser.parse_model(SATURATED).SerializeToString())
    second.write_bytes(parser.parse_model(SATURATED.replace("-15.3", "-13.3")).SerializeToString())
    assert not compare_models(first, second, 1)[0].passed


def test_a_sigmoid_of_nothing_but_rounding_error_is_the_same(tmp_path: Path):
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    text = SATURATED.replace("-15.3", "-17.9").replace("-15.7", "-18.1")
    first.write_bytes(parser.parse_model(text).SerializeToString())
    simplify(first).write(second)
    found = compare_models(first, second, 1)[0]
    assert found.passed
    assert found.largest_error > 0.02


def test_however_much_optimisations_change_2_percent_are_the_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("xonnc.tools.equivalence.NOISE_FACTOR", 1e9)
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    first.write_bytes(parser.parse_model(SATURATED).SerializeToString())
    shifted = [SATURATED.replace("-15.3", shift) for shift in ("-5.3", "-5.1")]
    for path, text in zip((first, second), shifted, strict=True):
        path.write_bytes(parser.parse_model(text).SerializeToString())
    found = compare_models(first, second, 1)[0]
    assert not found.passed
    assert found.allowed_error <= 0.02 < found.largest_error
