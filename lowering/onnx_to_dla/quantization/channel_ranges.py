"""Ranges of the channels of a value, as samples show them, and those of shifted and scaled channels."""

from __future__ import annotations

from dataclasses import replace
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.types import static_shape
from xonnc.formats.nvdla.calibration import Range

Array = npt.NDArray[Any]

EULER = 0.5772156649
"""The Euler-Mascheroni constant."""

REACH = 3.5
"""Standard deviations from the middle of a channel that its range must cover."""

PRIOR_VALUES = 4
"""
The number of values with which a channel's variance counts three quarters in its estimate, and the mean of
all channels' variances one quarter. With more values that quarter falls by the square of their number, since
channels may differ by orders of magnitude.
"""

ASSUMED_IMAGES = 32
"""The number of images behind ranges that do not say it: tables of other tools or earlier versions."""


def scaled(value: SSAValue, found: Range, centers: Array, factors: Array, is_rectified: bool) -> Range:
    """Return the range of a value whose channels are shifted and scaled."""
    corrections = np.array(found.bias_corrections) * factors if found.bias_corrections else np.zeros(0)
    means, lows, highs, *sample_means = (
        tuple(((np.array(values) - centers) * factors).tolist()) if values else ()
        for values in (found.means, found.lows, found.highs, *found.sample_means)
    )
    least, largest = ends_of(value, found, is_rectified)
    return replace(
        found,
        least=float(((least - centers) * factors).min()),
        largest=float(((largest - centers) * factors).max()),
        means=means,
        lows=lows,
        highs=highs,
        bias_corrections=tuple(corrections.tolist()),
        sample_means=tuple(sample_means),
    )


def ends_of(value: SSAValue, found: Range, is_rectified: bool) -> tuple[Array, Array]:
    """
    Return lower and upper ends of the channels, clipped to the range of the tensor before they are widened.

    Samples show less of a channel the fewer values it has: those of a 1x1 result of four images reach one
    standard deviation on average. So each channel's range covers `REACH` standard deviations, estimated from
    its own values and, if these are few, from those of all channels. Many values show the whole range, and
    nothing is widened.
    """
    least, largest = (np.clip(each, found.least, found.largest) for each in (found.lows, found.highs))
    shape = static_shape(value.type)
    assert shape is not None, "paths have static shapes"
    count = (found.images or ASSUMED_IMAGES) * prod(shape[2:])
    # A ReLU's results are the upper half of a distribution around zero.
    lower = -largest if is_rectified else least
    middle, half = (lower + largest) / 2, (largest - lower) / 2
    squares = np.square(half / _expected_maximum(count))
    common = (PRIOR_VALUES / (PRIOR_VALUES + count)) ** 2
    deviation = np.sqrt((1 - common) * squares + common * squares.mean())
    reach = np.maximum(half, REACH * deviation) if _expected_maximum(count) < REACH else half
    return least if is_rectified else middle - reach, middle + reach


def _expected_maximum(count: int) -> float:
    """Return the mean of the largest of `count` normal numbers, in standard deviations (Fisher, Tippett)."""
    root = sqrt(2 * log(max(count, 2)))
    return root - (log(log(max(count, 2))) + log(4 * pi)) / (2 * root) + EULER / root
