"""
Compare inferred shapes with those of the onnx package: `python bench/shapes.py [--only TEXT] [--write FILE]`.

Takes all models of `onnx.backend.test`, operators expanded by their function bodies included, and those of
`bench/models.py`. Removes their `value_info` and output shapes and infers all shapes from the inputs.

Exits 1 if a shape is less precise than that of `onnx.shape_inference` with `strict_mode` and `data_prop`, if
it differs without an entry in `bench/shape_inference/known_differences.py`, if it contradicts an output of
the test data, or if a model with dynamic batch and sequence length has a dimension that is neither static nor
symbolic.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.shape_inference.cases import backend_cases, benchmark_cases, dynamic_cases
from bench.shape_inference.comparison import ShapeVerdict, compare_case, unknown_dims
from bench.shape_inference.page import page, unexplained
from xonnc.formats.atomic_write import atomic_write


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", default="", help="cases whose name contains TEXT", metavar="TEXT")
    parser.add_argument("--no-models", action="store_true", help="only the cases of the onnx package")
    parser.add_argument("--write", type=Path, help="write the page of differences to this file")
    options = parser.parse_args()
    started = time.perf_counter()
    found = list(verdicts(options.only, not options.no_models))
    bad = unexplained(found)
    for name, finding in bad:
        print(f"{name}: {finding.value}: {finding.kind}: {finding.what}")
    dims, only_ours = sum(each.dims for each in found), sum(each.only_ours for each in found)
    print(
        f"{len(found)} models, {dims} dimensions compared, {only_ours} known to xonnc only, {len(bad)} errors"
    )
    dynamic = {} if options.no_models else {case.name: len(unknown_dims(case)) for case in dynamic_cases()}
    print(f"{sum(dynamic.values())} values with unknown dimensions in models with dynamic inputs")
    print(f"{time.perf_counter() - started:.1f} s")
    if options.write is not None:
        with atomic_write(options.write) as stream:
            stream.write(page(found, dynamic).encode())
    return 1 if bad or any(dynamic.values()) else 0


def verdicts(only: str, with_models: bool) -> Iterator[ShapeVerdict]:
    """Compare every case whose name contains `only`."""
    models = benchmark_cases() if with_models else ()
    return (compare_case(case) for case in chain(backend_cases(), models) if only in case.name)


if __name__ == "__main__":
    sys.exit(main())
