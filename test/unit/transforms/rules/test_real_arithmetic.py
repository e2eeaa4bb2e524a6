"""Without fast math, no rule fires whose certificate assumes real numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from xonnc import simplify
from xonnc.transforms.optimization_levels import FAST_MATH, passes_of
from xonnc.transforms.recompose_onnx import standard_rules
from xonnc.transforms.rules.real_arithmetic import COMPARED_WITHIN_TOLERANCE, OVER_REALS, PROVEN_OVER_REALS
from xonnc.transforms.simplify_onnx import MAX_OPSET, rules_within

ROOT = Path(__file__).parents[4]
HEAD = '<ir_version: 9, opset_import: ["": 17]> '

ASSOCIATED = (
    "m ({0}[n] x) => ({0}[n] y) <{0}[3] a = {{1, 2, 3}}, {0}[3] b = {{4, 5, 6}}> "
    "{{ t = Add(x, a) y = Add(t, b) }}"
)
NORMALIZED = """
m (float[1, 2, 4] x) => (float[1, 2, 4] y) <float[2, 2, 1] w = {1, 2, 3, 4}, float[2] s = {1.1, 0.9},
  float[2] b = {0.1, -0.2}, float[2] m = {0.3, 0.7}, float[2] v = {1.5, 0.7}>
{ c = Conv(x, w) y = BatchNormalization(c, s, b, m, v) }
"""
SCALED = (
    "m (float[2, 3] x) => (float[2, 4] y) <float k = {0.3}, float[3, 4] w> { t = Mul(x, k) y = MatMul(t, w) }"
)


def _rules() -> set[str]:
    return {*rules_within(None, passes_of(3)), *standard_rules(MAX_OPSET)}


def _operators(text: str, *disabled: str) -> list[str]:
    model = onnx.parser.parse_model(HEAD + text)
    return [node.op_type for node in simplify(model, disable_pass=disabled).proto().graph.node]


def test_these_are_the_rules_whose_certificates_assume_reals():
    page = (ROOT / "docs/rewrite-certificates.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", page, re.MULTILINE)
    assert len(rows) > 500
    assumed = {rule for rule, assumption in rows if "reals" in assumption}
    assert set(PROVEN_OVER_REALS) == assumed & _rules()


def test_the_others_have_no_certificate_that_is_a_proof():
    page = (ROOT / "docs/rewrite-certificates.md").read_text()
    for rule in COMPARED_WITHIN_TOLERANCE:
        assert f"| `{rule}` | instances |" in page
    assert OVER_REALS <= _rules()


@pytest.mark.parametrize(
    ("text", "fast", "exact"),
    [
        (ASSOCIATED.format("float"), ["Add"], ["Add", "Add"]),
        (ASSOCIATED.format("int64"), ["Add"], ["Add"]),
        (NORMALIZED, ["Conv"], ["Conv", "BatchNormalization"]),
        (
            SCALED.replace("> {", f" = {{{', '.join(map(str, range(12)))}}}> {{"),
            ["MatMul"],
            ["Mul", "MatMul"],
        ),
    ],
    ids=["sums", "integers", "normalization", "scale"],
)
def test_without_fast_math_floats_are_rounded_where_the_model_says(
    text: str, fast: list[str], exact: list[str]
):
    assert _operators(text) == fast
    assert _operators(text, FAST_MATH) == exact


def test_results_are_those_of_the_model_bit_for_bit():
    runtime = pytest.importorskip("onnxruntime")
    model = onnx.parser.parse_model(HEAD + NORMALIZED)
    x = np.random.default_rng(3).standard_normal((1, 2, 4)).astype(np.float32)
    exact = simplify(model, disable_pass=[FAST_MATH]).proto()
    options = runtime.SessionOptions()
    # The engine itself folds the normalization otherwise.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    ours, theirs = (
        runtime.InferenceSession(each.SerializeToString(), options).run(None, {"x": x})[0]
        for each in (exact, model)
    )
    np.testing.assert_array_equal(ours, theirs)
