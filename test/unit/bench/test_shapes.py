"""Inferred shapes are those of the onnx package, or better: a share of `bench/shapes.py`."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import onnx.parser
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.shape_inference.cases import ShapeCase, backend_cases, without_types
from bench.shape_inference.comparison import ShapeDifference, compare_case, unknown_dims
from bench.shape_inference.known_differences import REASONS, reason
from bench.shape_inference.page import page, unexplained

SHARE = 6
"""One case of so many."""


def case(text: str, observed: dict[str, tuple[int, ...]] | None = None) -> ShapeCase:
    header = '<ir_version: 10, opset_import: ["" : 20]> main '
    return ShapeCase("made", without_types(onnx.parser.parse_model(header + text)), observed or {})


def test_nothing_is_less_precise_or_different():
    verdicts = [compare_case(each) for each in islice(backend_cases(), 0, None, SHARE)]
    assert len(verdicts) > 300
    assert unexplained(verdicts) == []
    assert sum(verdict.dims for verdict in verdicts) > 3000
    text = page(verdicts, {"some": 3})
    assert f"from {len(verdicts)} models" in text
    assert "| `some` | 3 |" in text


def test_every_reason_is_needed():
    found = [compare_case(each) for each in backend_cases() if each.name in REASONS]
    assert {verdict.name for verdict in found if verdict.findings} == REASONS.keys()
    assert unexplained(found) == []


def test_a_shape_that_a_run_contradicts_is_found():
    verdict = compare_case(case("(float[2] x) => (float[2] y) { y = Relu(x) }", {"y": (3,)}))
    assert verdict.findings == [ShapeDifference("wrong", "y", "float[2], but the model gave [3]")]
    assert reason("made", verdict.findings[0]) is None


def test_a_contradiction_in_the_model_is_found():
    verdict = compare_case(case("(float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }"))
    assert [finding.kind for finding in verdict.findings] == ["error"]


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("y = Concat<axis = 0>(x, x, x)", []),
        ("s = NonZero(x)  y = Cast<to = 1>(s)", ["s: int64[2, ?]", "y: float[2, ?]"]),
    ],
)
def test_sizes_without_names_are_found(body: str, missing: list[str]):
    made = case(f"(float[N, S] x) => (float[A, B] y) {{ {body} }}")
    assert unknown_dims(made) == missing
