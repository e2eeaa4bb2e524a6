"""Measure a model: compile it with each peer, compare the outputs, then run interleaved rounds."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.latency.feeds import feeds_for, write_feeds
from bench.latency.peers import BASELINE, PEERS, XONNC
from bench.latency.ratios import Latency, latency
from bench.latency.worker import CompileCost, PeerError, Worker
from bench.models import size_of

TOLERANCE = 2e-4
"""Largest allowed error of outputs relative to the largest magnitude; beyond it a peer fails."""
QUANTIZED_TOLERANCE = 5e-2
"""The same for quantized models, where ties may round either way."""

ROUND_SECONDS = 0.25
"""Least duration of a round, in whole runs."""
PAUSE_SECONDS = 0.15
"""Pause between rounds: threads of the previous peer may still spin."""
SLOW_SECONDS = 1.0
"""A peer slower than this, and ten times slower than the baseline, runs only once."""


NOT_IN_MEAN = ("chain5k",)
"""Models left out of the geometric mean: stress tests of one property, not networks."""


@dataclass
class ModelResult:
    """Measurements of one model."""

    model: str
    megabytes: float
    compile_cost: dict[str, CompileCost] = field(default_factory=dict[str, CompileCost])
    """By peer: cost of compiling and running once."""
    recompile_cost: dict[str, CompileCost] = field(default_factory=dict[str, CompileCost])
    """The same in a second process with a warm cache."""
    latencies: dict[str, Latency] = field(default_factory=dict[str, Latency])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    load: float = 0.0
    """Load average of the machine before the measurement."""


def load() -> float:
    """Load average of the last minute, or 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def rows_of(measurements: Sequence[Mapping[str, Any]]) -> list[ModelResult]:
    """Results read from JSON."""

    def compile_cost(row: Mapping[str, Any], name: str) -> dict[str, CompileCost]:
        return {peer: CompileCost(**each) for peer, each in row[name].items()}

    return [
        ModelResult(
            row["model"],
            row["megabytes"],
            compile_cost(row, "compile_cost"),
            compile_cost(row, "recompile_cost"),
            {peer: Latency(**each) for peer, each in row["latencies"].items()},
            row["failures"],
            row["load"],
        )
        for row in measurements
    ]


def measure(
    model: str, path: Path, peers: Sequence[str], threads: int, rounds: int, *, recompile_cost: bool = False
) -> ModelResult:
    """
    Compile a model with each peer, compare the outputs, then run interleaved rounds.

    With `recompile_cost`, peers with a compilation cache start a second time.
    """
    row = ModelResult(model, size_of(path) / 1e6, load=load())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feeds = folder / "feeds.npz"
        write_feeds(feeds, feeds_for(path))
        workers: dict[str, Worker] = {}
        try:
            for peer in sorted(peers, key=lambda peer: peer != BASELINE):
                cached = folder / f"kept-{peer}"
                cached.mkdir()
                try:
                    workers[peer] = Worker(peer, path, feeds, threads, cached)
                    row.compile_cost[peer] = workers[peer].compile_cost
                    if recompile_cost and PEERS[peer].caches_compilation:
                        second = Worker(peer, path, feeds, threads, cached)
                        row.recompile_cost[peer] = second.compile_cost
                        second.end()
                except PeerError as failure:
                    row.failures[peer] = str(failure)
            _drop_wrong_outputs(workers, row, folder)
            _run_rounds(workers, row, rounds)
        finally:
            for worker in workers.values():
                worker.end()
    return row


def _drop_wrong_outputs(workers: dict[str, Worker], row: ModelResult, folder: Path) -> None:
    """Drop peers that fail or whose outputs differ from the baseline's."""
    expected = workers[BASELINE].outputs(folder / f"{BASELINE}.npz")
    allowed = QUANTIZED_TOLERANCE if "qdq" in row.model.lower() else TOLERANCE
    for name in [name for name in workers if name != BASELINE]:
        try:
            given = workers[name].outputs(folder / f"{name}.npz")
        except PeerError as failure:
            row.failures[name] = str(failure)
        else:
            errors = [difference(one, other) for one, other in zip(given, expected, strict=True)]
            if max(errors) <= allowed:
                continue
            row.failures[name] = f"its outputs differ by {max(errors):.1e}"
        workers.pop(name).end()


def difference(
    one: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
    other: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
) -> float:
    """The largest error relative to the largest magnitude; infinite for other shapes and NaN."""
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape or not np.isfinite(first).all():
        return float("inf")
    return float(np.abs(first - second).max() / max(np.abs(second).max(), 1e-30))


def _run_rounds(workers: dict[str, Worker], row: ModelResult, rounds: int) -> None:
    """Run interleaved rounds in ABBA order; peers much slower than the baseline run once."""
    firsts = {name: worker.run(1) for name, worker in workers.items()}
    slow = [
        name
        for name, (seconds,) in firsts.items()
        if name != XONNC and seconds > max(SLOW_SECONDS, 10 * min(firsts[BASELINE]))
    ]
    order = [name for name in workers if name not in slow]
    counts = {name: max(1, min(1000, int(ROUND_SECONDS / min(workers[name].run(3))))) for name in order}
    rounds_: dict[str, list[list[float]]] = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            time.sleep(PAUSE_SECONDS)
            rounds_[name].append(workers[name].run(counts[name]))
        order.reverse()
    for name in order:
        row.latencies[name] = latency(rounds_[name], rounds_[BASELINE])
    for name in slow:
        best = min(map(min, rounds_[BASELINE]))
        row.latencies[name] = latency([firsts[name]], [[best]])
