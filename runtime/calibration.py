"""
Ranges of a model's values, from running it on samples with onnxruntime.

`minmax` takes the extremes. `percentile` leaves out the rarest values on either side; `entropy` cuts where
the distribution of the rounded numbers is nearest to that of the exact ones (Kullback-Leibler divergence);
`mse` where the mean square of what changes is the least.
Scores of a softmax reach from the greatest of all down to where the lowest of the samples' greatest ones
leaves them no share, whatever the method. The mean of each channel is noted as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.runtime.reference import Reference

Array = npt.NDArray[Any]

METHODS = ("minmax", "percentile", "entropy", "mse")
BINS = 2048
KEPT = 0.9999
"""The share of numbers that `percentile` covers."""
LEVELS = 128
"""Steps of symmetric integers on one side of zero."""


@dataclass
class Histogram:
    """How often magnitudes fall into equal bins up to the largest."""

    least: float
    largest: float
    counts: npt.NDArray[np.float64]
    means: tuple[float, ...] = ()

    @staticmethod
    def of(found: Range) -> Histogram:
        """An empty one for numbers in a range."""
        return Histogram(found.least, found.largest, np.zeros(BINS, np.float64), found.means)

    def add(self, numbers: Array) -> None:
        """Counts numbers."""
        reach = max(abs(self.least), abs(self.largest)) or 1.0
        self.counts += np.histogram(np.abs(numbers), bins=BINS, range=(0.0, reach))[0]

    def cut(self, method: str) -> Range:
        """The range that a method chooses."""
        reach = max(abs(self.least), abs(self.largest)) or 1.0
        match method:
            case "percentile":
                last = _percentile(self.counts)
            case "entropy":
                last = _least_divergence(self.counts)
            case _:
                last = _least_error(self.counts, 2 * LEVELS if self.least >= 0 else LEVELS)
        limit = reach * last / BINS
        return Range(max(self.least, -limit), min(self.largest, limit), self.means)


def _percentile(counts: Array) -> int:
    """How many bins hold the share that is kept."""
    below: Array = np.cumsum(counts)
    return int((below < KEPT * below[-1]).sum()) + 1


def _least_divergence(counts: Array) -> int:
    """How many bins to keep so that rounding them to the levels loses the least information."""
    counts = counts.copy()
    # The bin of zero says nothing about where to cut: ReLUs fill it.
    counts[0] = counts[1]
    if not counts.any():
        return BINS
    ends = range(LEVELS, BINS + 1, LEVELS // 8)
    return min(ends, key=lambda end: _divergence(counts, end))


def _least_error(counts: Array, levels: int) -> int:
    """How many bins to keep so that the mean square of what rounding and cutting change is the least."""
    middles = np.arange(BINS) + 0.5
    ends = np.arange(BINS // 16, BINS + 1, BINS // 128)

    def error(end: int) -> float:
        step = end / levels
        beyond = np.maximum(middles - end, 0.0)
        # Rounding errs evenly by up to half a step; zeros, most of the first bin, stay exact.
        within = float(counts[1:end].sum()) * step**2 / 12
        return within + float(counts @ beyond**2)

    return int(min(ends, key=lambda end: error(int(end))))


def _divergence(counts: Array, end: int) -> float:
    kept = counts[:end].copy()
    kept[-1] += counts[end:].sum()
    levels = (np.arange(end) * LEVELS) // end
    filled = counts[:end] > 0
    sums = np.bincount(levels, counts[:end], LEVELS)
    holders = np.bincount(levels, filled, LEVELS)
    rounded = np.where(filled, (sums / np.maximum(holders, 1))[levels], 0.0)
    if not rounded.sum():
        return np.inf
    exact, rounded = kept / kept.sum(), rounded / rounded.sum()
    there = exact > 0
    # What falls on an empty level counts as lost.
    return float(np.sum(exact[there] * np.log(exact[there] / np.maximum(rounded[there], 1e-9))))


def calibrate(
    model: Path,
    samples: Sequence[Mapping[str, Array]],
    method: str = "minmax",
    step: Callable[[int, int, str], None] | None = None,
    scores: Mapping[str, float] | None = None,
) -> Ranges:
    """
    The range of each output of `model` and of each input over all samples (arrays by input name).

    Every value that is to be calibrated is an output of the model. `scores` are values that only a softmax
    reads, and how far below a sample's greatest one they count. `step` is told how many runs are done, how
    many there are and of what. Raises `XonncError` for no samples, or if onnxruntime fails.
    """
    if not samples:
        raise XonncError("no samples to calibrate with")
    reference = Reference(model)
    names = [port.name for port in reference.outputs()]
    runs = len(samples) * (1 if method == "minmax" else 2)
    extremes: dict[str, Range] = {}
    totals: dict[str, Array] = {}
    lowest: dict[str, float] = dict.fromkeys(scores or {}, np.inf)
    for number, sample in enumerate(samples, 1):
        for name, numbers in _values(reference, names, sample):
            found = extremes.get(name, Range(np.inf, -np.inf))
            extremes[name] = Range(
                min(found.least, _extreme(np.min, numbers)), max(found.largest, _extreme(np.max, numbers))
            )
            if (means := _channel_means(numbers)) is not None:
                totals[name] = totals[name] + means if name in totals else means
            if name in lowest:
                lowest[name] = min(lowest[name], _extreme(np.max, numbers))
        if step is not None:
            step(number, runs, "ranges")
    for name, total in totals.items():
        extremes[name] = replace(extremes[name], means=tuple((total / len(samples)).tolist()))
    counting = {
        name: _of_scores(extremes[name], lowest[name], depth)
        for name, depth in (scores or {}).items()
        if name in extremes
    }
    if method == "minmax":
        return extremes | counting
    histograms = {name: Histogram.of(found) for name, found in extremes.items()}
    for number, sample in enumerate(samples, 1):
        for name, numbers in _values(reference, names, sample):
            histograms[name].add(numbers)
        if step is not None:
            step(len(samples) + number, runs, "histograms")
    return {name: histogram.cut(method) for name, histogram in histograms.items()} | counting


def _values(
    reference: Reference, names: Sequence[str], sample: Mapping[str, Array]
) -> list[tuple[str, Array]]:
    found = [*sample.items(), *zip(names, reference.run(sample), strict=True)]
    return [(name, numbers) for name, numbers in found if numbers.dtype.kind == "f"]


def _of_scores(found: Range, lowest: float, depth: float) -> Range:
    """
    From `depth` below the lowest of the samples' greatest scores to half their spread above the highest: if
    the greatest score of another image and the next were both cut off, nobody could tell which is which.
    """
    largest = found.largest + (found.largest - lowest) / 2
    return replace(found, least=max(found.least, lowest - depth), largest=largest)


def _channel_means(numbers: Array) -> npt.NDArray[np.float64] | None:
    """The mean of each channel of one image; `None` for what has none."""
    if numbers.ndim < 2 or numbers.shape[0] != 1 or not np.all(np.isfinite(numbers)):
        return None
    return numbers.mean(axis=(0, *range(2, numbers.ndim)), dtype=np.float64)


def _extreme(function: Callable[[Array], Any], numbers: Array) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(function(finite)) if finite.size else 0.0
