"""Differences between a model and a simplified one, and which of them are onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from xonnc.fuzzing.differential import DIFFERS, INTERFACE, Original, failure_at
from xonnc.fuzzing.levels import LEVELS
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
