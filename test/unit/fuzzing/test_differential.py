"""Differences between a model and a simplified one, and which of them are onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from xonnc.fuzzing.differential import DIFFERS, INTERFACE, SHAPE_ERRORS, Original, failure_at
from xonnc.fuzzing.levels import LEVELS
from xonnc.model_check import check_model
from xonnc.runtime.verification.tolerance import disagreement

HEAD = '<ir_version: 8, opset_import: ["" : 12]>'

OUTER = f"""{HEAD} g (float[2] x) => (float[2, 2] y) <float[2] c = {{2, -0.5}}, float[1] one = {{1}}> {{
    p = Einsum <equation = "i,j->ij"> (x, c)
    y = Div (one, p)
}}"""

PRODUCT = f"""{HEAD} g (float[2] x) => (float[2, 2] y) <float[2] c = {{2, -0.5}}, float[1] one = {{1}}> {{
    h = Unsqueeze <axes = [1]> (x)
    p = Mul (h, c)
    y = Div (one, p)
}}"""

OTHER = OUTER.replace("Div (one, p)", "Sub (one, p)")


@pytest.mark.parametrize(("made", "fails"), [(PRODUCT, False), (OTHER, True)])
def test_what_the_reference_finds_equal_is_no_difference(
    made: str, fails: bool, monkeypatch: pytest.MonkeyPatch
):
    original = onnx.parser.parse_model(OUTER)
    model = onnx.parser.parse_model(made)
    # A product with zero has a sign, which onnxruntime's Einsum drops: 1 / -0 is another infinity.
    feeds = {"x": np.array([0.5, 0.0], np.float32)}
    monkeypatch.setitem(LEVELS, "other", lambda _: model)
    failure = failure_at(Original(original, [feeds]), "other")
    assert (failure is not None and failure.kind == DIFFERS) == fails


def test_elements_on_the_edge_of_an_integer_are_all_found_to_be() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> m (float16[88] x) => (float16[88] y) { y = Floor(x) }'
    )
    feeds = {"x": np.full(88, -1, np.float16)}
    original = Original(model, [feeds])
    below = {"y": np.full(88, -2, np.float16)}
    assert not disagreement(original.runs[0][1], below, lambda: original.perturbed(feeds))
    feeds = {"x": np.full(88, -1.5, np.float16)}
    original = Original(model, [feeds])
    above = {"y": np.full(88, -1, np.float16)}
    assert disagreement(original.runs[0][1], above, lambda: original.perturbed(feeds))


@pytest.mark.parametrize(("size", "kind"), [("[n]", None), ("", INTERFACE)])
def test_a_rank_that_is_declared_wrongly_may_be_corrected(
    monkeypatch: pytest.MonkeyPatch, size: str, kind: str | None
) -> None:
    """As torch declares results of If whose branches have different ranks."""
    text = '<ir_version: 8, opset_import: ["" : 17]> m (float x) => (float{} y) {{ y = Relu(x) }}'
    original = onnx.parser.parse_model(text.format(size))
    made = onnx.parser.parse_model(text.format("" if size else "[1]"))
    monkeypatch.setitem(LEVELS, "other", lambda _: made)
    failure = failure_at(Original(original, [{"x": np.array(1, np.float32)}]), "other")
    assert (None if failure is None else failure.kind) == kind


@pytest.mark.parametrize(
    ("inputs", "body"),
    [
        ("float[2,6] a, float[0,5] b", "Pow(a, b)"),
        ("float[2,6] a, float[3] b", "Max(a, b)"),
        ("bool[2,6] c, float[2,6] a, float[5] b", "Where(c, a, b)"),
        ("float[2,6] a, int64[5] b", "ReverseSequence <time_axis = 0, batch_axis = 1> (a, b)"),
        ("float[2,6] a, float[5,3] b", "MatMul(a, b)"),
        ("float[2,6] a, float[5,3] b", "Gemm(a, b)"),
        ("float[2,6] a, float[3,5] b", "Concat <axis = 0> (a, b)"),
        ("float[1,3,4,4] a, float[2,2,3,3] b", "Conv(a, b)"),
        ("float[1,3,4,4] a, float[2,2,3,3] b", "ConvTranspose(a, b)"),
        ("float[2,6] a, float[5] b", "PRelu(a, b)"),
        ("float[2,6] a, float[5] b", "LayerNormalization(a, b)"),
        ("float[1,3,6] a, float[5] b", "InstanceNormalization(a, b, b)"),
        ("float[1,3,6] a, float[5] b", "BatchNormalization(a, b, b, b, b)"),
        ("float[2,6] a, int64[3,6] b", "GatherElements <axis = 1> (a, b)"),
        ("float[3,1,2] a, float[1,8,3] b, float[1,8,2] c", "LSTM <hidden_size = 2> (a, b, c)"),
        ("float[2,6] a, int64[2] s", "Reshape(a, five)"),
        ("float[2,6] a, int64[2] s", "Expand(a, five)"),
        ("float[2,6] a, int64[2] s", "Squeeze(a, one)"),
        ("float[2,6] a, float[3,5] b", 'Einsum <equation = "ij,jk->ik"> (a, b)'),
    ],
)
def test_errors_of_sizes_are_known_by_their_text(inputs: str, body: str) -> None:
    head = '<ir_version: 8, opset_import: ["": 17]>'
    constants = "<int64[2] five = {5, 5}, int64[1] one = {1}>"
    found = check_model(
        onnx.parser.parse_model(f"{head} g ({inputs}) => (float[] y) {constants} {{ y = {body} }}")
    )
    assert found
    assert all(SHAPE_ERRORS.search(str(each)) for each in found), found
