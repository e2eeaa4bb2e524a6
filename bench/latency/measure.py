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
from bench.latency.peers import ANCHOR, OURS, PEERS
from bench.latency.ratios import Pace, pace
from bench.latency.worker import Failed, Ready, Worker
from bench.models import size_of

TOLERANCE = 2e-4
"""Largest difference of outputs, relative to the largest number, beyond which a time does not count."""
QUANTIZED_TOLERANCE = 5e-2
"""The same for models with int8: numbers in the middle of two may be rounded either way."""

TURN = 0.25
"""Seconds that a turn takes at least, in whole runs."""
SETTLE = 0.15
"""Seconds between turns: threads of the last may still spin."""
SLOW = 1.0
"""Seconds of a run from which on one is enough, if it takes ten times as long as the anchor's."""


NO_NETWORKS = ("chain5k",)
"""
Models that no mean is of: they stress one thing a hundred times as much (docs/internals/cpu-kernels.md §3).
"""


@dataclass
class Row:
    """What was found of one model."""

    model: str
    megabytes: float
    ready: dict[str, Ready] = field(default_factory=dict[str, Ready])
    """By peer: what it took to the first answer."""
    again: dict[str, Ready] = field(default_factory=dict[str, Ready])
    """The same in a second process, of those that keep what they compiled."""
    paces: dict[str, Pace] = field(default_factory=dict[str, Pace])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    load: float = 0.0
    """The machine's load average before the model, where there is one: what others computed meanwhile."""


def load() -> float:
    """How many computed in the last minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def rows_of(held: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows that were written as JSON."""

    def ready(row: Mapping[str, Any], name: str) -> dict[str, Ready]:
        return {peer: Ready(**each) for peer, each in row[name].items()}

    return [
        Row(
            row["model"],
            row["megabytes"],
            ready(row, "ready"),
            ready(row, "again"),
            {peer: Pace(**each) for peer, each in row["paces"].items()},
            row["failures"],
            row["load"],
        )
        for row in held
    ]


def measure(
    model: str, path: Path, peers: Sequence[str], threads: int, rounds: int, *, again: bool = False
) -> Row:
    """
    Compiles a model with each peer, compares what they give, then lets them run in turns.

    With `again`, those that keep what they compiled start a second time.
    """
    row = Row(model, size_of(path) / 1e6, load=load())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feeds = folder / "feeds.npz"
        write_feeds(feeds, feeds_for(path))
        workers: dict[str, Worker] = {}
        try:
            for peer in sorted(peers, key=lambda peer: peer != ANCHOR):
                kept = folder / f"kept-{peer}"
                kept.mkdir()
                try:
                    workers[peer] = Worker(peer, path, feeds, threads, kept)
                    row.ready[peer] = workers[peer].ready
                    if again and PEERS[peer].keeps:
                        second = Worker(peer, path, feeds, threads, kept)
                        row.again[peer] = second.ready
                        second.end()
                except Failed as failure:
                    row.failures[peer] = str(failure)
            _drop_wrong(workers, row, folder)
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
    """Lets them run in turns; who is much slower than the anchor runs once."""
    firsts = {name: worker.run(1) for name, worker in workers.items()}
    slow = [
        name
        for name, (seconds,) in firsts.items()
        if name != OURS and seconds > max(SLOW, 10 * min(firsts[ANCHOR]))
    ]
    order = [name for name in workers if name not in slow]
    counts = {name: max(1, min(1000, int(TURN / min(workers[name].run(3))))) for name in order}
    turns: dict[str, list[list[float]]] = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            time.sleep(SETTLE)
            turns[name].append(workers[name].run(counts[name]))
        order.reverse()
    for name in order:
        row.paces[name] = pace(turns[name], turns[ANCHOR])
    for name in slow:
        best = min(map(min, turns[ANCHOR]))
        row.paces[name] = pace([firsts[name]], [[best]])
