"""
Coverage of constant folding: `python bench/folding.py [--only TEXT] [--write docs/folding.md]`.

Takes every node test of `onnx.backend.test`, operators expanded by their function bodies included, makes its
inputs constants, runs shape inference and constant propagation, and compares the constants with the expected
outputs. Exits 1 if fewer than 97 % of the deterministic cases fold, if one folds to a wrong value, or if a
case with random operators folds.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.constant_folding.cases import backend_cases
from bench.constant_folding.page import page
from bench.constant_folding.summary import FoldingSummary
from bench.constant_folding.verdicts import FoldingVerdict, fold_case
from xonnc.formats.atomic_write import atomic_write

MIN_FOLDED = 0.97
"""Least fraction of the deterministic cases that must fold."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", default="", help="cases whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--write", type=Path, help="write the page of cases that do not fold to this file")
    options = parser.parse_args()
    started = time.perf_counter()
    summary = FoldingSummary(verdicts(options.only))
    for verdict in summary.unfolded:
        print(f"{verdict.case.name}: {'WRONG: ' if verdict.wrong else ''}{verdict.reason}")
    print(*summary.lines(), f"{time.perf_counter() - started:.1f} s", sep="\n")
    if options.write is not None:
        with atomic_write(options.write) as stream:
            stream.write(page(summary).encode())
    return (
        0 if summary.fraction_folded >= MIN_FOLDED and not summary.wrong and not summary.random_folded else 1
    )


def verdicts(only: str) -> Sequence[FoldingVerdict]:
    """Fold every case whose name contains `only`."""
    with warnings.catch_warnings():
        # Some cases divide by zero on purpose.
        warnings.simplefilter("ignore", RuntimeWarning)
        return [fold_case(case) for case in backend_cases() if only in case.name]


if __name__ == "__main__":
    sys.exit(main())
