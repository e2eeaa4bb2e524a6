"""The node tests of the onnx package fold, apart from a few with a reason (bench/folding.py)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.constant_folding.page import page
from bench.constant_folding.summary import FoldingSummary
from bench.folding import MIN_FOLDED, verdicts


def test_what_is_constant_folds_to_what_is_expected():
    summary = FoldingSummary(verdicts(""))
    assert len(summary.deterministic) > 1000
    assert summary.fraction_folded >= MIN_FOLDED, [verdict.case.name for verdict in summary.unfolded]
    assert not [f"{verdict.case.name}: {verdict.reason}" for verdict in summary.wrong]
    assert not [verdict.case.name for verdict in summary.random_folded]
    assert all(verdict.reason for verdict in summary.unfolded)
    text = page(summary)
    assert all(verdict.case.name.removeprefix("test_") in text for verdict in summary.unfolded)
