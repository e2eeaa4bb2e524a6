"""
Linear Resize of integers by ONNX's formula.

The weights are fractions with small denominators, so the sums are exact integers. Each phase of the result is
a layer with a requantization shift of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm

import numpy as np

from oracles.nvdla.fixed_point import Integers

MAX_STRIDE = 8
"""The largest stride of a convolution."""

MAX_PHASES = 256
"""Phases of rows and columns that are computed at once."""

Neighbours = list[tuple[int, Fraction]]
"""Indices of the source and their weights."""


@dataclass(frozen=True)
class ResizedAxis:
    """An axis that becomes `after` long; coordinates are divided by `scale`."""

    before: int
    after: int
    scale: Fraction
    coordinates: str

    @property
    def period(self) -> int:
        """The number of results after which the weights are those of the first again, of one layer."""
        if self.before == 1 or self._step().denominator > MAX_STRIDE:
            return self.after
        return min(self._step().numerator, self.after)

    def _step(self) -> Fraction:
        if self.coordinates != "align_corners":
            return self.scale
        length = self.scale * self.before
        return (length - 1) / (self.before - 1) if length > 1 else Fraction(1)

    def _position(self, index: int) -> Fraction:
        if self.before == 1 or (self.coordinates == "pytorch_half_pixel" and self.scale * self.before == 1):
            return Fraction(0)
        half = Fraction(1, 2) if "half_pixel" in self.coordinates else Fraction(0)
        return (index + half) / self._step() - half

    def neighbours(self) -> list[Neighbours]:
        """Return the neighbors of each element of the result; edges are extended."""
        result: list[Neighbours] = []
        for index in range(self.after):
            at = min(max(self._position(index), Fraction(0)), Fraction(self.before - 1))
            first = floor(at)
            beyond = at - first
            result.append([(first, 1 - beyond), (min(first + 1, self.before - 1), beyond)])
        return result


def unchanged(size: int) -> ResizedAxis:
    """Return an axis that stays as it is."""
    return ResizedAxis(size, size, Fraction(1), "asymmetric")


def phases(images: Integers, axes: Sequence[ResizedAxis]) -> tuple[list[Integers], int]:
    """Return the sums of each phase of rows and columns, row by row, and their common denominator."""
    found = images
    unit = 1
    for axis, along in enumerate(axes, 2):
        neighbours_of = along.neighbours()
        denominator = lcm(*(weight.denominator for terms in neighbours_of for _, weight in terms))
        rows = [
            sum(np.take(found, [at], axis) * int(weight * denominator) for at, weight in terms)
            for terms in neighbours_of
        ]
        # All phases have as many elements; the last results are cropped again.
        rows += [rows[-1]] * (-len(rows) % along.period)
        found = np.concatenate(rows, axis)
        unit *= denominator
    return [
        found[:, :, row :: axes[0].period, column :: axes[1].period]
        for row in range(axes[0].period)
        for column in range(axes[1].period)
    ], unit
