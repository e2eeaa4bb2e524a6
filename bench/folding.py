"""
How much of what is constant folds: `python bench/folding.py [--only TEXT] [--write docs/folding.md]`.

Takes every node test of `onnx.backend.test` (operators written out by their functions too), makes constants
of its inputs, runs shape inference and constant propagation, and compares what is left with the expected
outputs. Exits 1 if fewer than 97 % of the deterministic cases fold, if one folds to something else than
expected, or if one folds that draws random numbers (issue 3, item 2).
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
"""So much of the deterministic cases must fold."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--write", type=Path, help="where the page goes that tells what does not fold")
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
    """What becomes of every case with `only` in its name."""
    with warnings.catch_warnings():
        # The package's own tests divide by zero and look for NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        return [fold_case(case) for case in backend_cases() if only in case.name]


if __name__ == "__main__":
    sys.exit(main())
