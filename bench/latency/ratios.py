"""Latency ratios of interleaved rounds: medians of paired rounds, ratios of minima, and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

NOISE = 0.1
"""A result is noisy if the median ratio and the ratio of minima differ by more than this fraction."""

MAX_GEOMETRIC_MEAN, MAX_RATIO = 1.05, 1.25
"""Promised latency relative to onnxruntime: geometric mean over all models, and each model."""


MAX_COMPILE_SECONDS, MAX_RECOMPILE_SECONDS = 15.0, 1.0
"""Promised single-core seconds to compile and run once, and the same with a warm cache."""


def max_megabytes(megabytes: float) -> float:
    """Promised peak memory of compiling a model of a size, in MB."""
    return 2 * megabytes + 200


@dataclass(frozen=True)
class Latency:
    """Latency of a peer on a model: best seconds, and ratios to the baseline (below 1: faster)."""

    best: float
    median: float
    """Median ratio of neighboring rounds."""
    minimum: float
    """Ratio of the best runs."""
    pairs: int

    @property
    def is_noisy(self) -> bool:
        """Whether the two ratios differ by more than `NOISE`."""
        return abs(self.median / self.minimum - 1) > NOISE


def latency(rounds_: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]]) -> Latency:
    """Latency of a peer from the seconds of each run in each round, its own and the baseline's."""
    ratios = [median(own) / median(other) for own, other in zip(rounds_, baseline, strict=True)]
    best = min(map(min, rounds_))
    return Latency(best, median(ratios), best / min(map(min, baseline)), len(ratios))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))
