"""What the times of interleaved turns say: medians of pairs, ratios of minima, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

NOISE = 0.1
"""Where the median and the ratio of the minima differ by more than this share, there is no verdict."""

MAX_GEOMETRIC_MEAN, MAX_RATIO = 1.05, 1.25
"""Latency against onnxruntime's that is promised for all models together, and for each (issue 5)."""


MAX_COMPILE_SECONDS, MAX_RECOMPILE_SECONDS = 15.0, 1.0
"""Seconds of one core to a model's first answer that are promised, and the second time."""


def max_megabytes(megabytes: float) -> float:
    """Megabytes that compiling a model of a size takes at most, by the promise."""
    return 2 * megabytes + 200


@dataclass(frozen=True)
class Latency:
    """One peer's latency on one model: seconds at best, and against the anchor's (below 1: faster)."""

    best: float
    median: float
    """Of the ratios of turns that followed each other."""
    minimum: float
    """The ratio of the two best runs."""
    pairs: int

    @property
    def is_noisy(self) -> bool:
        """Whether the two ratios contradict each other."""
        return abs(self.median / self.minimum - 1) > NOISE


def latency(rounds_: Sequence[Sequence[float]], baseline: Sequence[Sequence[float]]) -> Latency:
    """The pace by the seconds of each run, turn by turn, of a peer and of the anchor."""
    ratios = [median(own) / median(other) for own, other in zip(rounds_, baseline, strict=True)]
    best = min(map(min, rounds_))
    return Latency(best, median(ratios), best / min(map(min, baseline)), len(ratios))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))
