"""
Calibration: value ranges of a model's tensors, observed over samples.

`minmax` takes the extremes. The other methods choose a clipping limit from a histogram of magnitudes:
`percentile` covers a fixed fraction of the values, `entropy` minimises the Kullback-Leibler divergence of
the distribution after quantization from that before it, and `mse` minimises the mean squared error of
rounding and clipping.
Inputs of a softmax have a range of their own, whatever the method (`_of_scores`). The mean and the extremes
of each channel are recorded as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.executors.executor import Executor, Outcome
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.nvdla.quantization import covering
from xonnc.runtime.magnitude_histogram import magnitude_counts

Array = npt.NDArray[Any]

RunModel = Callable[[Mapping[str, Array]], Sequence[Array]]
"""A function that runs a model: arrays by input name to the list of outputs."""

METHODS = ("mse", "minmax", "percentile", "entropy")
DEFAULT_METHOD = METHODS[0]
BINS = 2048
PERCENTILE = 0.9999
"""The fraction of values that `percentile` covers."""
MAX_CLIPPED = 1e-3
"""The largest fraction of values that `entropy` may clip."""
LEVELS = 128
"""Quantization levels of int8 on one side of zero."""
MAX_SAMPLE_MEANS = 16
"""Samples whose means of channels are kept, one by one: more would take memory, and add little."""


@dataclass
class Histogram:
    """A histogram of magnitudes in equal bins up to the largest."""

    range: Range
    counts: npt.NDArray[np.float64]

    @staticmethod
    def of(found: Range) -> Histogram:
        """An empty histogram for values in a range."""
        return Histogram(found, np.zeros(BINS, np.float64))

    def add(self, numbers: Array) -> None:
        """Count the values of an array."""
        self.counts += magnitude_counts(numbers, self.range.magnitude or 1.0, BINS)

    def cut(self, method: str) -> Range:
        """Return the clipping range that a method chooses."""
        # Without negative values, all levels of int8 cover the one side of zero.
        levels = 2 * LEVELS if self.range.least >= 0 else LEVELS
        match method:
            case "percentile":
                last = _percentile(self.counts)
            case "entropy":
                last = _min_divergence_bins(self.counts, levels)
            case _:
                last = _min_mse_bins(self.counts, self.range)
        limit = (self.range.magnitude or 1.0) * last / BINS
        return replace(
            self.range, least=max(self.range.least, -limit), largest=min(self.range.largest, limit)
        )


def _percentile(counts: Array) -> int:
    """Return the number of bins that hold the fraction `PERCENTILE` of the values."""
    below: Array = np.cumsum(counts)
    return int((below < PERCENTILE * below[-1]).sum()) + 1


def _min_divergence_bins(counts: Array, levels: int) -> int:
    """Return the number of bins to keep for the least Kullback-Leibler divergence after quantization."""
    counts = counts.copy()
    # The bin of zero says nothing about where to cut: ReLUs fill it.
    counts[0] = counts[1]
    if not counts.any():
        return BINS
    beyond: Array = 1 - np.cumsum(counts) / counts.sum()
    # The divergence ignores how far clipped values are from the limit. Channels of small range concentrate in
    # few bins and would make it clip the other channels, so the clipped fraction is limited.
    ends = [end for end in range(levels, BINS + 1, levels // 8) if beyond[end - 1] <= MAX_CLIPPED]
    return min(ends, key=lambda end: _divergence(counts, end, levels))


def _min_mse_bins(counts: Array, found: Range) -> int:
    """Return the number of bins to keep for the least mean squared error of rounding and clipping."""
    middles = np.arange(BINS) + 0.5
    ends = np.arange(BINS // 16, BINS + 1, BINS // 128)
    bin_width = (found.magnitude or 1.0) / BINS

    def error(end: int) -> float:
        limit = end * bin_width
        step = covering(max(found.least, -limit), min(found.largest, limit)).scale / bin_width
        beyond = np.maximum(middles - end, 0.0)
        # Rounding errs evenly by up to half a step; zeros, most of the first bin, stay exact.
        within = float(counts[1:end].sum()) * step**2 / 12
        return within + float(counts @ beyond**2)

    return int(min(ends, key=lambda end: error(int(end))))


def _divergence(counts: Array, end: int, count: int) -> float:
    """
    Return the divergence of the clipped histogram from its quantization to `count` levels, less its bias.

    Each level spreads its sum evenly over its non-empty bins, as in TensorRT's entropy calibration.
    """
    clipped = counts[:end].copy()
    # Clipping moves the values past the limit into the last bin.
    clipped[-1] += counts[end:].sum()
    levels = (np.arange(end) * count) // end
    filled = counts[:end] > 0
    sums = np.bincount(levels, counts[:end], count)
    holders = np.bincount(levels, filled, count)
    rounded = np.where(filled, (sums / np.maximum(holders, 1))[levels], 0.0)
    # Both histograms are divided by the count of all values. `rounded` lacks the clipped ones, so its sum is
    # below 1 and clipping many values raises the divergence.
    exact, rounded = clipped / counts.sum(), rounded / counts.sum()
    is_nonzero = exact > 0
    # `rounded` is zero where clipped values were moved into an empty last bin: they count as lost, with a
    # lower bound that keeps the logarithm finite.
    found = float(
        np.sum(exact[is_nonzero] * np.log(exact[is_nonzero] / np.maximum(rounded[is_nonzero], 1e-9)))
    )
    # Correct the bias of the estimate from a finite sample: (bins - levels) / 2n (Miller and Madow, 1955).
    # Without it, with few values, the limit would fall to where each bin is a level of its own.
    return found - (int(filled.sum()) - int((holders > 0).sum())) / (2 * float(counts.sum()))


@dataclass
class _Channels:
    """Per channel: the sum of its means over images, its minimum and its maximum."""

    totals: npt.NDArray[np.float64]
    lows: npt.NDArray[np.float64]
    highs: npt.NDArray[np.float64]

    @staticmethod
    def of(numbers: Array) -> _Channels | None:
        """Return the statistics of one image; `None` without channels, for a batch, or for Inf or NaN."""
        if numbers.ndim < 2 or numbers.shape[0] != 1 or not numbers.size:
            return None
        others = (0, *range(2, numbers.ndim))
        low, high = (function(numbers, axis=others).astype(np.float64) for function in (np.min, np.max))
        # Inf and NaN are the extremes of their channel.
        if not np.all(np.isfinite(low) & np.isfinite(high)):
            return None
        return _Channels(channel_means(numbers), low, high)

    def with_image(self, other: _Channels) -> _Channels:
        """Merge the statistics of two sets of images."""
        return _Channels(
            self.totals + other.totals,
            np.minimum(self.lows, other.lows),
            np.maximum(self.highs, other.highs),
        )

    def noted(self, found: Range, images: int) -> Range:
        """Add the channels' means and extremes over `images` images to a range."""
        means, lows, highs = (
            tuple(numbers.tolist()) for numbers in (self.totals / images, self.lows, self.highs)
        )
        return replace(found, means=means, lows=lows, highs=highs, images=images)


@dataclass(frozen=True)
class _Observed:
    """A tensor in one run: its extremes, and those of its channels."""

    least: float
    largest: float
    channels: _Channels | None
    means: tuple[float, ...]
    """The mean of each channel over all images of a batch; empty without channels, or for Inf or NaN."""


@dataclass(frozen=True)
class _Observation:
    """
    Runs a model on a sample; both, and the results, can be sent to other processes.

    A sample without ranges gives the extremes of each tensor, one with them the counts of its histogram.
    """

    run: RunModel
    names: Sequence[str]

    def __call__(self, task: tuple[Mapping[str, Array], Mapping[str, Range] | None]) -> dict[str, Any]:
        sample, ranges = task
        found = _values(self.run, self.names, sample)
        if ranges is None:
            return {name: _observed(numbers) for name, numbers in found}
        counts: dict[str, Array] = {}
        for name, numbers in found:
            histogram = Histogram.of(ranges[name])
            histogram.add(numbers)
            counts[name] = histogram.counts
        return counts


def _observed(numbers: Array) -> _Observed:
    channels = _Channels.of(numbers)
    if channels is not None:
        means = tuple(channels.totals.tolist())
        return _Observed(float(channels.lows.min()), float(channels.highs.max()), channels, means)
    means = ()
    if numbers.ndim >= 2 and numbers.size:
        found = channel_means(numbers)
        means = tuple(found.tolist()) if np.all(np.isfinite(found)) else ()
    return _Observed(_extreme(np.min, numbers), _extreme(np.max, numbers), None, means)


def channel_means(numbers: Array) -> npt.NDArray[np.float64]:
    """Return the mean of each channel, which axis 1 counts."""
    return numbers.mean(axis=tuple(axis for axis in range(numbers.ndim) if axis != 1), dtype=np.float64)


def calibrate(
    run: RunModel,
    names: Sequence[str],
    samples: Sequence[Mapping[str, Array]],
    method: str = DEFAULT_METHOD,
    step: Callable[[int, int, str], None] | None = None,
    scores: Mapping[str, float] | None = None,
    executor: Executor | None = None,
) -> Ranges:
    """
    Return the range of each output of a model and of each input over all samples (arrays by input name).

    `run` computes the outputs called `names`, which include every tensor to calibrate. `scores` maps each
    tensor that only a softmax reads to the distance below a sample's maximum at which a score no longer
    contributes. `step` reports progress: runs done, runs in all, and the current phase. With an executor its
    workers run the samples; `run` is then sent to them. The ranges are the same. Raises `XonncError` if there
    are no samples.
    """
    if not samples:
        raise XonncError("no samples to calibrate with")
    runs = len(samples) * (1 if method == "minmax" else 2)
    observe = _Observation(run, names)

    def results(ranges: Mapping[str, Range] | None) -> Iterator[dict[str, Any]]:
        """Run all samples; yield what they give, in their order."""
        phase, before = ("ranges", 0) if ranges is None else ("histograms", len(samples))
        tasks = [(sample, ranges) for sample in samples]
        found = map(observe, tasks) if executor is None else _in_order(executor.run(observe, tasks))
        for number, each in enumerate(found, 1):
            yield each
            if step is not None:
                step(before + number, runs, phase)

    extremes, lowest = _extremes(results(None), len(samples))
    counting = {
        name: _of_scores(extremes[name], lowest[name], depth)
        for name, depth in (scores or {}).items()
        if name in extremes
    }
    if method == "minmax":
        return extremes | counting
    histograms = {name: Histogram.of(found) for name, found in extremes.items()}
    # Workers need the limits of the bins alone.
    limits = {name: Range(found.least, found.largest) for name, found in extremes.items()}
    for counts in results(limits):
        for name, numbers in counts.items():
            histograms[name].counts += numbers
    return {name: histogram.cut(method) for name, histogram in histograms.items()} | counting


def _extremes(
    results: Iterable[Mapping[str, _Observed]], images: int
) -> tuple[dict[str, Range], dict[str, float]]:
    """Return the range of each tensor over all samples, and the smallest of the samples' maxima."""
    extremes: dict[str, Range] = {}
    channels: dict[str, _Channels] = {}
    means: dict[str, list[tuple[float, ...]]] = {}
    lowest: dict[str, float] = {}
    for number, observed in enumerate(results):
        for name, one in observed.items():
            found = extremes.get(name, Range(np.inf, -np.inf))
            extremes[name] = Range(min(found.least, one.least), max(found.largest, one.largest))
            if one.channels is not None:
                known = channels.get(name)
                channels[name] = one.channels if known is None else known.with_image(one.channels)
            lowest[name] = min(lowest.get(name, np.inf), one.largest)
            if number < MAX_SAMPLE_MEANS:
                means.setdefault(name, []).append(one.means)
    for name, found in channels.items():
        extremes[name] = found.noted(extremes[name], images)
    for name, found in means.items():
        if all(found):
            extremes[name] = replace(extremes[name], sample_means=tuple(found))
    return extremes, lowest


def _in_order(outcomes: Iterable[Outcome[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield results in the order of their tasks: sums of floats depend on the order."""
    waiting: dict[int, dict[str, Any]] = {}
    due = 0
    for outcome in outcomes:
        waiting[outcome.index] = outcome.value()
        while due in waiting:
            yield waiting.pop(due)
            due += 1


def _values(run: RunModel, names: Sequence[str], sample: Mapping[str, Array]) -> list[tuple[str, Array]]:
    # Sequences and maps, which models may have beside tensors, have no range.
    found: list[tuple[str, object]] = [*sample.items(), *zip(names, run(sample), strict=True)]
    tensors = [(name, cast("Array", value)) for name, value in found if isinstance(value, np.ndarray)]
    return [(name, tensor) for name, tensor in tensors if tensor.dtype.kind == "f"]


def _of_scores(found: Range, lowest: float, depth: float) -> Range:
    """
    Return the range of softmax inputs: from `depth` below the lowest of the samples' maxima upwards.

    The upper end is extended by half the spread of the maxima: if the two largest scores of an image were
    both clipped, their order would be lost.
    """
    largest = found.largest + (found.largest - lowest) / 2
    return replace(found, least=max(found.least, lowest - depth), largest=largest)


def _extreme(function: Callable[[Array], Any], numbers: Array) -> float:
    finite = numbers[np.isfinite(numbers)]
    return float(function(finite)) if finite.size else 0.0
