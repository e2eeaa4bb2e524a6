"""
Histograms of magnitudes in equal bins, exactly as `numpy.histogram` of float64 counts them, in less time.

A float32 magnitude is in bin `floor(x * bins / reach)`. The product is off by less than `MAX_ERROR` bins, so
that only numbers near an edge are compared with it. An edge is rounded up to float32: no float32 number is in
between.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BLOCK: Final = 2**15
"""Numbers at a time, which stay in the cache."""

MAX_ERROR: Final = 2.0**-9
"""More than a product of float32 is off, in bins, for up to `MAX_BINS`."""

MAX_BINS: Final = 2**12

MIN_REACH: Final = 1e-30
"""For a smaller reach the factor might be infinite in float32."""


def magnitude_counts(numbers: Array, reach: float, bins: int) -> npt.NDArray[np.float64]:
    """
    Return how many magnitudes are in each of equal bins from 0 to `reach`; others, and NaN, are left out.

    Parameters:
        numbers: floats of any shape.
        reach: the end of the last bin, which belongs to it; above 0.
        bins: the number of bins.

    Example:
        >>> magnitude_counts(np.array([0.0, -0.5, 1.0], np.float32), 1.0, 2)
        array([1., 2.])
    """
    flat = numbers.reshape(-1)
    if numbers.dtype == np.float16:
        flat = flat.astype(np.float32)
    if flat.dtype != np.float32 or bins > MAX_BINS or reach < MIN_REACH:
        # In float64: bins of float16 values would be narrower than the spacing of float16.
        magnitudes = np.abs(flat.astype(np.float64))
        return np.histogram(magnitudes, bins=bins, range=(0.0, reach))[0].astype(np.float64)
    counts = np.zeros(bins, np.int64)
    edges = np.linspace(0.0, reach, bins + 1)
    above = _rounded_up(edges)
    # The largest number that is not beyond the end.
    last = above[-1] if float(above[-1]) == reach else np.nextafter(above[-1], np.float32(0))
    factor = np.float32(bins / reach)
    for begin in range(0, flat.size, BLOCK):
        block = np.abs(flat[begin : begin + BLOCK])
        if not block.max() <= last:
            block = block[block <= last]
        positions = block * factor
        found = positions.astype(np.intp)
        nearest = np.rint(positions)
        np.abs(np.subtract(positions, nearest, out=positions), out=positions)
        # All of 0 and near it are in the first bin.
        near = np.flatnonzero((positions < MAX_ERROR) & (nearest > 0))
        if near.size:
            edge = nearest[near].astype(np.intp)
            found[near] = edge - (block[near] < above[edge])
        np.minimum(found, bins - 1, out=found)
        counts += np.bincount(found, minlength=bins)
    return counts.astype(np.float64)


def _rounded_up(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the smallest float32 numbers that are not below these."""
    rounded = numbers.astype(np.float32)
    return np.where(rounded < numbers, np.nextafter(rounded, np.float32(np.inf)), rounded)
