"""
Equalization of the channels of residual streams, concatenations and what else joins channels between linear
operators (`channel_groups.py`), with factors that all values of a group share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.func import FuncOp

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.formats.nvdla.quantization import covering
from xonnc.lowering.onnx_to_dla.quantization.channel_groups import ChannelGroup, channel_groups
from xonnc.lowering.onnx_to_dla.quantization.channel_ranges import ends_of, scaled
from xonnc.lowering.onnx_to_dla.quantization.equalization import EXPONENTS, is_path_start
from xonnc.lowering.onnx_to_dla.quantization.linear_operators import (
    kernels_of,
    scale_results,
    set_kernels,
)
from xonnc.lowering.onnx_to_dla.quantization.read_kernels import ReadKernels
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges

Array = npt.NDArray[Any]

MAX_RATIO = 8.0
"""
The largest ratio between factors of two channels. The biases of an SDP pass share a shift: with 64 those of
the larger factors are rounded to a step of the result (ShuffleNet: noise of 0.34 instead of 0.20).
"""

ITERATIONS = 400
"""Steps of the descent to the factors with the least noise."""

FIRST_STEP, LAST_STEP = 0.5, 0.01
"""How much the logarithm of a factor changes at most in the first and the last step."""

FIRST_SHARPNESS, LAST_SHARPNESS = 4.0, 64.0
"""Exponents of the soft maxima of channels in the first and the last step."""


def equalize_groups(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """
    Scale the weights of `function` so that the channels of residual streams use the int8 range equally.

    Updates `ranges` to the scaled values. Groups of which a value has no ranges per channel stay unchanged.
    What `equalize` scales, paths from one linear operator, is left to it.
    """
    for group in channel_groups(function):
        if not all(is_path_start(op) for op, _ in group.producers):
            _equalize(group, ranges, pool)


@dataclass(frozen=True)
class _Read:
    """A value that consumers read: the ends of the group's channels in it, 0 for those that it lacks."""

    least: Array
    largest: Array
    kernels: tuple[tuple[ReadKernels, Array], ...]
    """Those of the consumers, with the channels that they read."""

    @property
    def peaks(self) -> Array:
        """The largest magnitude of each channel."""
        return np.maximum(-self.least, self.largest)

    def noise(self, factors: Array) -> float:
        """Return the sum of the consumers' ratios of noise to signal, with these factors of channels."""
        least, largest = self.least * factors, self.largest * factors
        step = covering(float(least.min()), float(largest.max())).scale
        greatest, total = self.peaks * factors, 0.0
        for kernels, columns in self.kernels:
            # What is read of a residual stream is one signal. The mean of the ratios of all kernels would be
            # that of the few that read next to nothing.
            noise = float(kernels.noise(factors[columns], greatest[columns], step).sum())
            total += noise / (float(kernels.signal.sum()) or 1.0)
        return total


def _equalize(group: ChannelGroup, ranges: ValueRanges, pool: DisposablePool) -> None:
    read = _read_values(group, ranges)
    if read is None:
        return
    best = _minimize_noise(group, read)
    factors = min(
        (best**exponent for exponent in EXPONENTS), key=lambda one: sum(each.noise(one) for each in read)
    )
    if np.all(factors == 1.0):
        return
    for op, columns in group.producers:
        scale_results(op, np.zeros(1), factors[columns], pool)
    for op, _, columns in group.consumers:
        kernels = kernels_of(op)
        set_kernels(op, kernels / factors[columns].reshape(kernels.shape[0], 1, -1, 1), pool)
    for value, columns in group.values:
        found = ranges.of(value)
        if found is not None and len(found.lows) == columns.size:
            # Not shifted: an addition would need the sum of its operands' shifts.
            own = scaled(value, found, np.zeros(columns.size), factors[columns], min(found.lows) >= 0)
            ranges.set(value, own)


def _read_values(group: ChannelGroup, ranges: ValueRanges) -> list[_Read] | None:
    """Return what consumers read; `None` if a value has no ranges per channel."""
    columns_of_values, result = dict(group.values), list[_Read]()
    for value in dict.fromkeys(value for _, value, _ in group.consumers):
        found, columns = ranges.of(value), columns_of_values.get(value)
        if found is None or columns is None or len(found.lows) != columns.size:
            return None
        least, largest = np.zeros(group.fixed.size), np.zeros(group.fixed.size)
        lows, highs = ends_of(value, found, min(found.lows) >= 0)
        np.minimum.at(least, columns, lows)
        np.maximum.at(largest, columns, highs)
        peaks = np.maximum(-least, largest)
        kernels = [(ReadKernels.of(op, peaks[own]), own) for op, one, own in group.consumers if one is value]
        result.append(_Read(least, largest, tuple(kernels)))
    return result


def _minimize_noise(group: ChannelGroup, read: Sequence[_Read]) -> Array:
    """
    Return the factors with which activations have the least noise; weights are not counted.

    A value is rounded to steps in proportion to its largest channel, `max(p f)` of peaks and factors. Of the
    noise in a channel its consumers read a part `a / f ** 2`. The sum of `max(p f) ** 2 * a / f ** 2` is
    convex in the logarithms of the factors: a descent finds them, with maxima that become sharper.
    """
    terms: list[tuple[Array, Array]] = []
    for each in read:
        sensitivity = np.zeros(group.fixed.size)
        for kernels, columns in each.kernels:
            np.add.at(sensitivity, columns, kernels.sensitivity())
        peak = float(each.peaks.max())
        if peak and sensitivity.any():
            heights = np.log(np.maximum(each.peaks / peak, 1 / MAX_RATIO))
            terms.append((heights, sensitivity * peak**2))
    logs = np.zeros(group.fixed.size)
    for done in np.linspace(0, 1, ITERATIONS):
        sharpness = FIRST_SHARPNESS * (LAST_SHARPNESS / FIRST_SHARPNESS) ** done
        gradient = np.zeros(logs.size)
        for heights, sensitivity in terms:
            # Channels that the value lacks have no part in its maximum, since nothing reads them from it.
            reached = np.where(sensitivity > 0, heights + logs, -np.inf)
            top = reached.max()
            shares = np.exp(sharpness * (reached - top))
            noise = sensitivity * np.exp(2 * (top - logs))
            gradient += noise.sum() * shares / shares.sum() - noise
        gradient[group.fixed] = 0.0
        largest = float(np.abs(gradient).max())
        if not largest:
            break
        logs -= (FIRST_STEP + (LAST_STEP - FIRST_STEP) * done) * gradient / largest
        if not group.fixed.any():
            logs -= logs.min()
        logs[~group.fixed] = np.clip(logs[~group.fixed], -log(MAX_RATIO), log(MAX_RATIO))
    return np.exp(logs)
