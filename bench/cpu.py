"""
Native code against onnxruntime and other peers: latency, compile time and memory, model by model.

    python bench/cpu.py [--models resnet50 lstm …] [--threads 1] [--rounds 7] [--json FILE]

The method is that of spec/cpu-performance.md §7: each peer in a process of its own, at its defaults; outputs
are compared first; turns alternate, ABBA; what counts are ratios of neighbouring turns.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.models import NETWORKS, path_of, size_of
from bench.racing.feeds import feeds_for, write_feeds
from bench.racing.figures import GEOMETRIC_MEAN, LARGEST, Pace, geometric_mean, pace
from bench.racing.peers import ANCHOR, OURS, PEERS
from bench.racing.worker import Failed, Ready, Worker

TOLERANCE = 2e-4
"""Largest difference of outputs, relative to the largest number, beyond which a time does not count."""
QUANTIZED_TOLERANCE = 5e-2
"""The same for models with int8: numbers in the middle of two may be rounded either way."""

TURN = 0.25
"""Seconds that a turn takes at least, in whole runs."""
SETTLE = 0.15
"""Seconds between turns: threads of the last may still spin."""


@dataclass
class Row:
    """What was found of one model."""

    model: str
    megabytes: float
    ready: dict[str, Ready] = field(default_factory=dict[str, Ready])
    paces: dict[str, Pace] = field(default_factory=dict[str, Pace])
    failures: dict[str, str] = field(default_factory=dict[str, str])


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table; exit 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--models", nargs="+", default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="writes all figures to a file")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.models if name not in NETWORKS]:
        parser.error(f"no model '{unknown[0]}'; there are {', '.join(NETWORKS)}")
    peers = [name for name in options.peers if PEERS[name].is_there()]
    if ANCHOR not in peers or OURS not in peers:
        parser.error(f"{ANCHOR} and {OURS} must be there")
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}; ratios: median of pairs (of minima)")
    rows: list[Row] = []
    for model in options.models:
        rows.append(measure(model, path_of(model), peers, options.threads, options.rounds))
        print(line(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return conclude(rows)


def measure(model: str, path: Path, peers: Sequence[str], threads: int, rounds: int) -> Row:
    """Compiles a model with each peer, compares what they give, then lets them run in turns."""
    row = Row(model, size_of(path) / 1e6)
    with tempfile.TemporaryDirectory() as folder:
        feeds = Path(folder, "feeds.npz")
        write_feeds(feeds, feeds_for(path))
        workers: dict[str, Worker] = {}
        for name in [ANCHOR, *(name for name in peers if name != ANCHOR)]:
            try:
                workers[name] = Worker(name, path, feeds, threads)
                row.ready[name] = workers[name].ready
            except Failed as failure:
                row.failures[name] = str(failure)
        try:
            _drop_wrong(workers, row, Path(folder))
            _race(workers, row, rounds)
        finally:
            for worker in workers.values():
                worker.end()
    return row


def _drop_wrong(workers: dict[str, Worker], row: Row, folder: Path) -> None:
    """Who gives other outputs than the anchor, or none, does not run."""
    wanted = workers[ANCHOR].outputs(folder / f"{ANCHOR}.npz")
    allowed = QUANTIZED_TOLERANCE if row.model.endswith("qdq") else TOLERANCE
    for name in [name for name in workers if name != ANCHOR]:
        try:
            given = workers[name].outputs(folder / f"{name}.npz")
        except Failed as failure:
            row.failures[name] = str(failure)
        else:
            errors = [_difference(one, other) for one, other in zip(given, wanted, strict=True)]
            if max(errors) <= allowed:
                continue
            row.failures[name] = f"its outputs differ by {max(errors):.1e}"
        workers.pop(name).end()


def _difference(
    one: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
    other: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
) -> float:
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape or not np.isfinite(first).all():
        return float("inf")
    return float(np.abs(first - second).max() / max(np.abs(second).max(), 1e-30))


def _race(workers: dict[str, Worker], row: Row, rounds: int) -> None:
    counts: dict[str, int] = {}
    for name, worker in workers.items():
        counts[name] = max(1, min(1000, int(TURN / min(worker.run(3)))))
    turns: dict[str, list[list[float]]] = {name: [] for name in workers}
    order = list(workers)
    for _ in range(rounds):
        for name in order:
            time.sleep(SETTLE)
            turns[name].append(workers[name].run(counts[name]))
        order.reverse()
    for name in workers:
        row.paces[name] = pace(turns[name], turns[ANCHOR])


def line(row: Row) -> str:
    """A model's row as text."""
    parts = [f"{row.model:<20} {row.megabytes:6.1f} MB"]
    for name in (ANCHOR, OURS, *(name for name in PEERS if name not in (ANCHOR, OURS))):
        if name in row.failures:
            parts.append(f"{name}: {row.failures[name]}")
        elif name in row.paces:
            found, ready = row.paces[name], row.ready[name]
            ratio = "" if name == ANCHOR else f" {found.median:5.2f} ({found.minimum:.2f})"
            noise = " noisy" if found.is_noisy else ""
            parts.append(
                f"{name} {found.best * 1e3:8.2f} ms{ratio}{noise}, compile {ready.seconds:5.2f} s "
                f"{ready.peak:5.0f} MB"
            )
    return " | ".join(parts)


def conclude(rows: Sequence[Row]) -> int:
    """Prints the geometric means; 1 if a promise of the issue is broken."""
    for name in PEERS:
        paces = [row.paces[name] for row in rows if name in row.paces]
        if paces and name != ANCHOR:
            means = [
                geometric_mean([getattr(each, kind) for each in paces]) for kind in ("median", "minimum")
            ]
            print(f"{name}: geometric mean {means[0]:.3f} ({means[1]:.3f}) of {len(paces)} models")
    own = {row.model: row.paces[OURS] for row in rows if OURS in row.paces}
    slow = [f"{model} {found.minimum:.2f}" for model, found in own.items() if found.minimum > LARGEST]
    if slow:
        print(f"above {LARGEST}: {', '.join(slow)}")
    failed = [row.model for row in rows if OURS in row.failures]
    mean = geometric_mean([found.minimum for found in own.values()]) if own else float("inf")
    return 1 if slow or failed or mean > GEOMETRIC_MEAN else 0


if __name__ == "__main__":
    sys.exit(main())
