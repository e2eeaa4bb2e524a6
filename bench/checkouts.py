"""
Native code of this checkout against that of another one and onnxruntime, on one core.

    python bench/checkouts.py FOLDER [--models resnet50 …] [--kernels conv …] [--seconds 6] [--json FILE]
    python bench/checkouts.py --read FILE … --title "AMD Zen 5" --page docs/native-performance.md

FOLDER is another checkout in which `make` has linked the package once. Three processes on one core run
alternately for a few milliseconds each, at least one run. Times are those of the processor, as others may
run on the same core: minima, and in brackets the ratio of the tenth percentiles. Where the two ratios differ
by more than a tenth, other processes disturbed the measurement.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.kernels import CASES, build_model
from bench.latency.feeds import feeds_for, write_feeds
from bench.latency.measure import NOT_IN_MEAN, QUANTIZED_TOLERANCE, TOLERANCE, difference
from bench.latency.page import heading, replace_section
from bench.latency.peers import BASELINE, XONNC
from bench.latency.ratios import NOISE, geometric_mean
from bench.latency.task import Array
from bench.latency.worker import PeerError, Worker
from bench.models import NETWORKS, path_of

BEFORE = "before"
TURN_SECONDS = 0.02
"""Least duration of a process's runs before the next process runs."""


@dataclass
class Comparison:
    """Processor time of each run of a model, in seconds, by process."""

    name: str
    is_kernel: bool
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def best(self, who: str) -> float:
        """The least time."""
        return min(self.seconds[who])

    def ratios(self, who: str, other: str) -> tuple[float, float]:
        """Ratio of the minima and of the tenth percentiles."""
        tenths = [float(np.percentile(self.seconds[each], 10)) for each in (who, other)]
        return self.best(who) / self.best(other), tenths[0] / tenths[1]


def compare(name: str, path: Path, checkout: Path, seconds: float, *, is_kernel: bool) -> Comparison:
    """Compile a model in three processes, compare the outputs, and run them alternately."""
    row = Comparison(name, is_kernel)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        feeds = folder / "feeds.npz"
        write_feeds(feeds, feeds_for(path))
        workers: dict[str, Worker] = {}
        answers: dict[str, Sequence[Array]] = {}
        try:
            for who in (BASELINE, XONNC, BEFORE):
                cache = folder / who
                cache.mkdir()
                peer = BASELINE if who == BASELINE else XONNC
                try:
                    workers[who] = Worker(
                        peer, path, feeds, 1, cache, checkout=checkout if who == BEFORE else None
                    )
                    outputs = workers[who].outputs(folder / f"{who}.npz")
                except PeerError as failure:
                    row.failures[who] = str(failure)
                    workers.pop(who).end()
                    continue
                answers[who] = outputs
            is_quantized = any(each in name for each in ("qdq", "int8", "Integer"))
            for who, outputs in answers.items():
                worst = max(difference(*each) for each in zip(outputs, answers[BASELINE], strict=True))
                if worst > (QUANTIZED_TOLERANCE if is_quantized else TOLERANCE):
                    row.failures[who] = f"its outputs differ by {worst:.1e}"
            _run(workers, row, seconds)
        finally:
            for worker in workers.values():
                worker.end()
    return row


def _run(workers: dict[str, Worker], row: Comparison, seconds: float) -> None:
    counts = {
        who: max(1, min(2000, int(TURN_SECONDS / min(worker.run(3))))) for who, worker in workers.items()
    }
    row.seconds = {who: [] for who in workers}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(row.seconds[BASELINE]) < 5:
        for who, worker in workers.items():
            row.seconds[who] += worker.cpu_seconds(counts[who])


def table(rows: Sequence[Comparison]) -> str:
    """The table in Markdown, and the geometric means of networks."""
    is_kernel = rows[0].is_kernel
    unit, scale = ("us", 1e6) if is_kernel else ("ms", 1e3)
    lines = [
        f"| {'kernel' if is_kernel else 'network'} | {unit} | {unit} {BEFORE} | {BASELINE} {unit} "
        f"| ratio | ratio {BEFORE} | now to {BEFORE} |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    pairs = ((XONNC, BASELINE), (BEFORE, BASELINE), (XONNC, BEFORE))
    for row in rows:
        if row.failures:
            reasons = "; ".join(f"{who}: {text}" for who, text in row.failures.items())
            lines.append(f"| {row.name} | {reasons} |" + "  |" * 5)
            continue
        times = [f"{row.best(who) * scale:.2f}" for who in (XONNC, BEFORE, BASELINE)]
        lines.append(f"| {' | '.join([row.name, *times, *(_ratio(row, *pair) for pair in pairs)])} |")
    counted = [row for row in rows if not row.failures and row.name not in NOT_IN_MEAN]
    if not counted:
        return "\n".join(lines)
    means = [[geometric_mean([row.ratios(*pair)[at] for row in counted]) for at in (0, 1)] for pair in pairs]
    cells = [f"{least:.2f} ({tenth:.2f})" for least, tenth in means]
    lines.append(f"| geometric mean of {len(counted)} | | | | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratio(row: Comparison, who: str, other: str) -> str:
    least, tenth = row.ratios(who, other)
    return f"{least:.2f} ({tenth:.2f}){chr(92) + '*' if abs(least / tenth - 1) > NOISE else ''}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; exit 1 if an output differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("checkout", type=Path, nargs="?", help="the folder of another checkout")
    parser.add_argument("--models", nargs="*", metavar="NAME", help="networks; all if none is named")
    parser.add_argument("--kernels", nargs="*", metavar="TEXT", help="kernels whose names contain a text")
    parser.add_argument("--seconds", type=float, default=6.0, help="duration of the runs of each")
    parser.add_argument("--json", type=Path, help="write all measurements to FILE")
    parser.add_argument("--read", nargs="+", type=Path, default=[], help="read earlier measurements")
    parser.add_argument("--page", type=Path, help="write the tables to their section of a page")
    parser.add_argument("--title", default="Two checkouts", help="title of the section: the processor")
    parser.add_argument("--text", default="", help="text before the tables")
    given = parser.parse_args(arguments)
    rows = [Comparison(**row) for path in given.read for row in json.loads(path.read_text())]
    if not given.read:
        if given.checkout is None:
            parser.error("the folder of another checkout is missing")
        rows = list(_measure(given))
    tables = [
        table(of) for of in ([row for row in rows if row.is_kernel == kind] for kind in (False, True)) if of
    ]
    print("\n\n".join(tables))
    if given.page is not None:
        replace_section(given.page, heading(given.title, 1), "\n\n".join(filter(None, [given.text, *tables])))
    return 1 if any(row.failures for row in rows) else 0


def _measure(given: argparse.Namespace) -> Sequence[Comparison]:
    rows: list[Comparison] = []

    def add(name: str, path: Path, *, is_kernel: bool) -> None:
        rows.append(compare(name, path, given.checkout, given.seconds, is_kernel=is_kernel))
        if not rows[-1].failures:
            print(table(rows[-1:]).splitlines()[2], flush=True)
        else:
            print(name, rows[-1].failures, flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps([asdict(row) for row in rows]))

    if given.models is not None:
        for name in given.models or NETWORKS:
            add(name, path_of(name), is_kernel=False)
    if given.kernels is not None:
        with tempfile.TemporaryDirectory() as folder:
            for number, case in enumerate(CASES):
                if not given.kernels or any(text in case.name for text in given.kernels):
                    path = Path(folder, f"{number}.onnx")
                    path.write_bytes(build_model(case).SerializeToString())
                    add(case.name, path, is_kernel=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
