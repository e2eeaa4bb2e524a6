"""Outputs that follow from what native code gives inside a model."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.fuzzing import recomputation
from xonnc.fuzzing.differential import Original
from xonnc.fuzzing.known_differences import is_explained
from xonnc.fuzzing.random_models import Feeds
from xonnc.fuzzing.recomputation import from_lost_nan, from_ties

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
LEAST = onnx.parser.parse_model(
    HEAD
    + """m (int64[2] x) => (int64[1] y, float[2] h) {
        c = Cast<to = 1>(x)
        h = Exp(c)
        y = ArgMin<axis = 0>(h)
    }"""
)
FEEDS = {"x": np.ones(2, np.int64)}


@pytest.mark.parametrize(("second", "index"), [(2.7182816, 1), (2.5, None), (2.7182818, 0)])
def test_the_least_of_equal_elements_may_be_any(
    monkeypatch: pytest.MonkeyPatch, second: float, index: int | None
) -> None:
    def values(*_: object) -> Feeds:
        return {"h": np.array([2.7182818, second], np.float32)}

    monkeypatch.setattr(recomputation, "_native_values", values)
    found = from_ties(LEAST, FEEDS, "y", by_reference=False)
    assert (None if found is None else found["y"].tolist()) == (None if index is None else [index])
    original = Original(LEAST, [FEEDS])
    zero, one = np.array([0]), np.array([1])
    assert is_explained(original, FEEDS, "y", zero, one) is (index == 1)


def test_native_code_gives_the_values() -> None:
    found = from_ties(LEAST, {"x": np.array([2, 1])}, "y", by_reference=False)
    assert found is not None
    assert found["y"].tolist() == [1]


@pytest.mark.parametrize("output", ["h", "y"])
def test_models_without_such_operators_have_none(output: str) -> None:
    assert from_lost_nan(LEAST, FEEDS, ["GRU"], output, by_reference=False) is None
    assert from_ties(LEAST, FEEDS, "h", by_reference=False) is None
