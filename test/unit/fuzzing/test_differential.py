"""Differences between a model and a simplified one, and which of them are onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from xonnc.fuzzing.differential import DIFFERS, Original, failure_at
from xonnc.fuzzing.levels import LEVELS

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
