"""Models with one thing changed: drawn by seed, the original left alone, and most of them invalid."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.fuzzing.invalid import mutants
from xonnc.simplifier import simplify

MODEL = parser.parse_model(
    """<ir_version: 10, opset_import: ["": 21]> g (float[1,3,8,8] x, float[4,3,3,3] w, int64[2] i)
        => (float[1,2,6,6] y) <float[4] b = {1, 2, 3, 4}> {
        c = Conv <pads = [0, 0, 0, 0], group: int = 1> (x, w, b)
        y = Gather <axis: int = 1> (c, i) }"""
)
FEEDS = {
    "x": np.ones((1, 3, 8, 8), np.float32),
    "w": np.ones((4, 3, 3, 3), np.float32),
    "i": np.array([0, 3], np.int64),
}


def test_a_seed_draws_the_same_changes_again_and_leaves_the_original():
    before = MODEL.SerializeToString()
    first, again = ([each.change for each in mutants(MODEL, FEEDS, 30, 7)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 10
    assert MODEL.SerializeToString() == before
    assert {name: array.shape for name, array in FEEDS.items()}["x"] == (1, 3, 8, 8)


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_model_is_simplified_or_refused(seed: int):
    refused = 0
    changed = list(mutants(MODEL, FEEDS, 10, seed))
    for mutant in changed:
        try:
            simplify(mutant.model)
        except XonncError:
            refused += 1
    assert 0 < refused < len(changed)
