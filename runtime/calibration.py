"""
Ranges of a model's values, from running it on samples with onnxruntime.

`minmax` takes the extremes. `percentile` leaves out the rarest values on either side; `entropy` cuts where
the distribution of the rounded numbers is nearest to that of the exact ones (Kullback-Leibler divergence).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.runtime.reference import Reference

Array = npt.NDArray[Any]

METHODS = ("minmax", "percentile", "entropy")
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

    @staticmethod
    def of(found: Range) -> Histogram:
        """An empty one for numbers in a range."""
        return Histogram(found.least, found.largest, np.zeros(BINS, np.float64))

    def add(self, numbers: Array) -> None:
        """Counts numbers."""
        reach = max(abs(self.least), abs(self.largest)) or 1.0
        self.counts += np.histogram(np.abs(numbers), bins=BINS, range=(0.0, reach))[0]

    def cut(self, method: str) -> Range:
        """The range that a method chooses."""
        reach = max(abs(self.least), abs(self.largest)) or 1.0
        last = _percentile(self.counts) if method == "percentile" else _least_divergence(self.counts)
        limit = reach * last / BINS
        return Range(max(self.least, -limit), min(self.largest, limit))


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
) -> Ranges:
    """
    The range of each output of `model` and of each input over all samples (arrays by input name).

    Every value that is to be calibrated is an output of the model. `step` is told how many runs are done, how
    many there are and of what. Raises `XonncError` for no samples, or if onnxruntime fails.
    """
    if not samples:
        raise XonncError("no samples to calibrate with")
    reference = Reference(model)
    names = [port.name for port in reference.outputs()]
    runs = len(samples) * (1 if method == "minmax" else 2)
    extremes: dict[str, Range] = {}
    for number, sample in enumerate(samples, 1):
        for name, numbers in _values(reference, names, sample):
            found = extremes.get(name, Range(np.inf, -np.inf))
            extremes[name] = Range(
                min(found.least, _extreme(np.min, numbers)), max(found.largest, _extreme(np.max, numbers))
            )
        if step is not None:
            step(number, runs, "ranges")
    if method == "minmax":
        return extremes
    histograms = {name: Histogram.of(found) for name, found in extremes.items()}
    for number, sample in enumerate(samples, 1):
        for name, numbers in _values(reference, names, sample):
            histograms[name].add(numbers)
        if step is not None:
            step(len(samples) + number, runs, "histograms")
    return {name: histogram.cut(method) for name, histogram in histograms.items()}


def _values(
    reference: Reference, names: Sequence[str], sample: Mapping[str, Array]
) -> list[tuple[str, Array]]:
    found = [*sample.items(), *zip(names, reference.run(sample), strict=True)]
    return [(name, numbers) for name, numbers in found if numbers.dtype.kind == "f"]


def _extreme(function: Callable[[Array], Any], numbers: Array) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(function(finite)) if finite.size else 0.0
