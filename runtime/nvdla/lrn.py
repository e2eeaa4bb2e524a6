"""
The CDP's normalisation across channels on `[height, width, lanes]` arrays (docs/internals/nvdla-hardware.md
§4.4).
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.cdp_lookup import UNIT
from xonnc.runtime.nvdla.floating_point import SINGLE_MAX, add, multiply, single_to_fp17
from xonnc.runtime.nvdla.lookup_table import LookupTable


def normalise_integers(x: I64, lut: LookupTable, size: int, keep_sum: bool, keep_factor: bool) -> I64:
    """
    `lut(sum of squares) * x`; `x` is zero outside the channels.

    `keep_sum` looks up the channel itself instead of the sum, `keep_factor` leaves out the last product.
    """
    sums = x if keep_sum else _window_sum_integers(x * x, size)
    factors = UNIT.look_up_integers(lut, sums)
    return factors if keep_factor else factors * x


def _window_sum_integers(squares: I64, size: int) -> I64:
    half = size // 2
    padded = np.pad(squares, ((0, 0), (0, 0), (half, half)))
    channels = squares.shape[2]
    return np.sum([padded[:, :, i : i + channels] for i in range(size)], axis=0)


def normalise_singles(x: F32, lut: LookupTable, size: int, keep_sum: bool, keep_factor: bool) -> F32:
    """`normalise_integers` on fp17 values: squares and sums in fp32, factors and product in fp17."""
    sums = x if keep_sum else _window_sum_singles(multiply(x, x), size)
    factors = UNIT.look_up_singles(lut, sums)
    return factors if keep_factor else single_to_fp17(x * factors)


def _window_sum_singles(squares: F32, size: int) -> F32:
    half = size // 2
    padded = np.pad(squares, ((0, 0), (0, 0), (half, half)))
    channels = squares.shape[2]

    def pair(distance: int) -> F32:
        """The two neighbours this far away, added to each other first as the adder tree does."""
        below = padded[:, :, half - distance : half - distance + channels]
        above = padded[:, :, half + distance : half + distance + channels]
        return add(below, above)

    total = add(pair(1), squares)
    for distance in range(2, half + 1):
        total = add(total, pair(distance))
    return np.minimum(total, SINGLE_MAX)
