"""
Images of integers resized along straight lines between pixels, by ONNX's formula (Resize, mode linear).

The weights are fractions with small denominators, so that the sums are exact integers. Each phase of the
result is a layer, whose sums have a shift of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, lcm

import numpy as np

from oracles.nvdla.fixed_point import Integers

Neighbours = list[tuple[int, Fraction]]
"""Positions of the source, and what each of them counts."""


def neighbours(size: int, factor: int, coordinates: str) -> list[Neighbours]:
    """Between which pixels each place of a row `factor` times as long lies; edges go on outside."""
    result: list[Neighbours] = []
    for index in range(size * factor):
        half = Fraction(1, 2) if "half_pixel" in coordinates else Fraction(0)
        at = min(max((index + half) / factor - half, Fraction(0)), Fraction(size - 1))
        first = floor(at)
        beyond = at - first
        result.append([(first, 1 - beyond), (min(first + 1, size - 1), beyond)])
    return result


def phases(images: Integers, factors: Sequence[int], coordinates: str) -> tuple[list[Integers], int]:
    """The sums of each phase, row by row, and what they are to be divided by."""
    found = images
    unit = 1
    for axis, factor in ((2, factors[0]), (3, factors[1])):
        places = neighbours(found.shape[axis], factor, coordinates)
        denominator = lcm(*(weight.denominator for place in places for _, weight in place))
        rows = [
            sum(np.take(found, [at], axis) * int(weight * denominator) for at, weight in place)
            for place in places
        ]
        found = np.concatenate(rows, axis)
        unit *= denominator
    return [
        found[:, :, row :: factors[0], column :: factors[1]]
        for row in range(factors[0])
        for column in range(factors[1])
    ], unit
