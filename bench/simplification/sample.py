"""
One sample: a tool on a model in its own process; `run_sample` starts it, `main` runs in it.

Imports and the simplification of a one-node model come before the clock starts. Memory is the peak RSS beyond
the RSS at that moment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.simplification.memory import begin_peak, peak
from bench.simplification.tools import TOOLS

CHECK = "check"


@dataclass(frozen=True)
class Measurement:
    """Seconds and MB of one run; `start` is the time from process start to the clock's start."""

    seconds: float
    start: float
    peak: float
    operators: dict[str, int]
    """Remaining nodes by operator, if requested."""


@dataclass(frozen=True)
class FailedMeasurement:
    """Why there is no sample."""

    reason: str


def run_sample(
    tool: str, path: Path, limit: float, written: Path | None = None
) -> Measurement | FailedMeasurement:
    """
    Run `tool` on the model at `path` for at most `limit` seconds.

    With `written`, count the nodes and write the model to that file.
    """
    found = _run([tool, str(path), str(time.time()), *([str(written)] if written else [])], limit)
    return found if isinstance(found, FailedMeasurement) else Measurement(**json.loads(found))


def disagreement(original: Path, other: Path, count: int, limit: float) -> str:
    """Difference of the outputs of two models on `count` inputs; empty if they agree."""
    found = _run([CHECK, str(original), str(other), str(count)], limit)
    return found.reason if isinstance(found, FailedMeasurement) else str(json.loads(found))


def _run(arguments: Sequence[str], limit: float) -> str | FailedMeasurement:
    with tempfile.TemporaryDirectory() as folder:
        # A file, because tools print to the standard output.
        report = Path(folder, "report")
        try:
            done = subprocess.run(
                [sys.executable, __file__, str(report), *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return FailedMeasurement(f"over {limit:.0f} s")
        if done.returncode or not report.exists():
            lines = done.stderr.strip().splitlines() or ["no message"]
            return FailedMeasurement(f"exit {done.returncode}: {lines[-1][-300:]}")
        return report.read_text()


def main() -> int:
    """Run the task of the command line and write its result to the report file."""
    report, task, path, *rest = sys.argv[1:]
    if task == CHECK:
        text = json.dumps(_check(Path(path), Path(rest[0]), int(rest[1])))
    else:
        text = json.dumps(asdict(_measure(task, Path(path), float(rest[0]), rest[1:])))
    Path(report).write_text(text)
    return 0


def _measure(name: str, path: Path, started: float, written: Sequence[str]) -> Measurement:
    _pin()
    simplify = TOOLS[name].prepare()
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "first.onnx")
        first.write_bytes(_first_model())
        simplify(first)
    start = time.time() - started
    before = begin_peak()
    begun = time.perf_counter()
    simplified = simplify(path)
    seconds = time.perf_counter() - begun
    largest = peak() - before
    operators = dict(simplified.operators()) if written else {}
    for file in written:
        simplified.write(Path(file))
    return Measurement(seconds, start, largest, operators)


def _first_model() -> bytes:
    """A one-node model for warm-up: modules and operator schemas get loaded."""
    import onnx.parser

    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    return onnx.parser.parse_model(text).SerializeToString()


def _pin() -> None:
    """Pin the process to one core, where supported."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _check(original: Path, other: Path, count: int) -> str:
    from xonnc.tools.equivalence import compare_models

    wrong = [each for each in compare_models(original, other, count) if not each.passed]
    return "; ".join(
        f"{each.output}: {each.mismatch or f'{each.largest_error:.1e} of {each.allowed_error:.1e}'}"
        for each in wrong
    )


if __name__ == "__main__":
    sys.exit(main())
