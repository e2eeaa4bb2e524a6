"""A model's race: each peer compiles it, what they give is compared, then they run in turns."""

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
"""Largest difference of outputs, relative to the largest number, beyond which a time does not count."""
QUANTIZED_TOLERANCE = 5e-2
"""The same for models with int8: numbers in the middle of two may be rounded either way."""

ROUND_SECONDS = 0.25
"""Seconds that a turn takes at least, in whole runs."""
PAUSE_SECONDS = 0.15
"""Seconds between turns: threads of the last may still spin."""
SLOW_SECONDS = 1.0
"""Seconds of a run from which on one is enough, if it takes ten times as long as the anchor's."""


NOT_IN_MEAN = ("chain5k",)
"""Models left out of the geometric mean: stress tests of one property, not networks."""


@dataclass
class ModelResult:
    """What was found of one model."""

    model: str
    megabytes: float
    compile_cost: dict[str, CompileCost] = field(default_factory=dict[str, CompileCost])
    """By peer: what it took to the first answer."""
    recompile_cost: dict[str, CompileCost] = field(default_factory=dict[str, CompileCost])
    """The same in a second process, of those that keep what they compiled."""
    latencies: dict[str, Latency] = field(default_factory=dict[str, Latency])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    load: float = 0.0
    """The machine's load average before the model, where there is one: what others computed meanwhile."""


def load() -> float:
    """How many computed in the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def rows_of(held: Sequence[Mapping[str, Any]]) -> list[ModelResult]:
    """Rows that were written as JSON."""

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
        for row in held
    ]


def measure(
    model: str, path: Path, peers: Sequence[str], threads: int, rounds: int, *, recompile_cost: bool = False
) -> ModelResult:
    """
    Compiles a model with each peer, compares what they give, then lets them run in turns.

    With `recompile_cost`, those that keep what they compiled start a second time.
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
    """Who gives other outputs than the anchor, or none, does not run."""
    wanted = workers[BASELINE].outputs(folder / f"{BASELINE}.npz")
    allowed = QUANTIZED_TOLERANCE if row.model.endswith("qdq") else TOLERANCE
    for name in [name for name in workers if name != BASELINE]:
        try:
            given = workers[name].outputs(folder / f"{name}.npz")
        except PeerError as failure:
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


def _run_rounds(workers: dict[str, Worker], row: ModelResult, rounds: int) -> None:
    """Lets them run in turns; who is much slower than the anchor runs once."""
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
