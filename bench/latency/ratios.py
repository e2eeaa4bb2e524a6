"""What the times of interleaved turns say: medians of pairs, ratios of minima, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median

NOISE = 0.1
"""Where the median and the ratio of the minima differ by more than this share, there is no verdict."""

GEOMETRIC_MEAN, LARGEST = 1.05, 1.25
"""Latency against onnxruntime's that is promised for all models together, and for each (issue 5)."""


FIRST, AGAIN = 15.0, 1.0
"""Seconds of one core to a model's first answer that are promised, and the second time."""


def most_memory(megabytes: float) -> float:
    """Megabytes that compiling a model of a size takes at most, by the promise."""
    return 2 * megabytes + 200


@dataclass(frozen=True)
class Pace:
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


def pace(turns: Sequence[Sequence[float]], anchor: Sequence[Sequence[float]]) -> Pace:
    """The pace by the seconds of each run, turn by turn, of a peer and of the anchor."""
    ratios = [median(own) / median(other) for own, other in zip(turns, anchor, strict=True)]
    best = min(map(min, turns))
    return Pace(best, median(ratios), best / min(map(min, anchor)), len(ratios))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))
