"""Changed models as C source: what their program reads is what it is fed."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import which

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from bench.sanitizers import ENDED, RAN, outcome_of
from xonnc.errors import XonncError
from xonnc.fuzzing.invalid import InvalidModel

HEAD = '<ir_version: 10, opset_import: ["": 21]> g '

X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


def outcome(text: str, feeds: Mapping[str, npt.NDArray[np.generic]]) -> str:
    return outcome_of(InvalidModel("none", parser.parse_model(HEAD + text), dict(feeds)), ())


@pytest.mark.skipif(which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("shape", ["2,3", "N,M"])
def test_a_valid_model_runs(shape: str):
    text = f"(float[{shape}] x, int64[1] i) => (float[A,B] y) {{ y = Gather (x, i) }}"
    assert outcome(text, {"x": X, "i": np.array([1])}) == RAN
    assert outcome(text, {"x": X, "i": np.array([2])}) == ENDED


def test_inputs_that_do_not_fit_are_refused():
    text = "(float[2,3] x) => (float[2,3] y) { y = Neg (x) }"
    with pytest.raises(XonncError, match="float64 was fed"):
        outcome(text, {"x": X.astype(np.float64)})
