"""
Extremes, slopes and products of stored integers as the NVDLA's SDP gives them
(docs/internals/nvdla-hardware.md §4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.nvdla.affine import SPARE_BITS, Grid, Reals, Stored, converted, placed
from oracles.nvdla.rounding import Array, Integers, as_factors, saturated, shifted


@dataclass(frozen=True)
class Extreme:
    """The greatest (or least) of tensors and constants, each rounded first."""

    parts: Sequence[Reals]
    constants: Sequence[Array]
    is_greatest: bool

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """On a grid."""
        pick = np.maximum if self.is_greatest else np.minimum
        found, *others = (part.rounded(grid, worst) for part in self.parts)
        for other in (*others, *(placed(one, grid) for one in self.constants)):
            found = pick(found, other)
        return found


@dataclass(frozen=True)
class Sloped:
    """`x` where positive, else `slope x`, a slope for each channel (axis 1)."""

    source: Stored
    slopes: Array

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """On a grid: more bits behind the point, then negative numbers are multiplied."""
        here = self.source.grid
        finer = (self.source.integers - here.zero) << SPARE_BITS
        factors, right = as_factors(self.slopes)
        along = factors.reshape(-1, *(1,) * (finer.ndim - 2))
        sloped = np.where(finer >= 0, finer, saturated(shifted(finer * along, right), 32))
        return saturated(converted(sloped, here.scale * 2.0**-SPARE_BITS, grid), 8)


@dataclass(frozen=True)
class Product:
    """`a b`."""

    a: Stored
    b: Stored

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """On a grid."""
        products = (self.a.integers - self.a.grid.zero) * (self.b.integers - self.b.grid.zero)
        return saturated(converted(products, self.a.grid.scale * self.b.grid.scale, grid), 8)
