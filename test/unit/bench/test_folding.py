"""The node tests of the onnx package fold, apart from a few with a reason (bench/folding.py)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.constant_folding.page import page
from bench.constant_folding.summary import Tally
from bench.folding import LEAST, verdicts


def test_what_is_constant_folds_to_what_is_expected():
    tally = Tally(verdicts(""))
    assert len(tally.deterministic) > 1000
    assert tally.share >= LEAST, [verdict.case.name for verdict in tally.left]
    assert not [f"{verdict.case.name}: {verdict.reason}" for verdict in tally.wrong]
    assert not [verdict.case.name for verdict in tally.random_folded]
    assert all(verdict.reason for verdict in tally.left)
    text = page(tally)
    assert all(verdict.case.name.removeprefix("test_") in text for verdict in tally.left)
