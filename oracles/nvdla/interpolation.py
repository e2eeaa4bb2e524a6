"""
Linear Resize of integers by ONNX's formula.

The weights are fractions with small denominators, so the sums are exact integers. Each phase of the result is
a layer with a requantization shift of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, lcm

import numpy as np

from oracles.nvdla.fixed_point import Integers

Neighbours = list[tuple[int, Fraction]]
"""Indices of the source and their weights."""


def neighbours(size: int, factor: int, coordinates: str) -> list[Neighbours]:
    """Return the neighbors of each element of an axis that is scaled by `factor`; edges are extended."""
    result: list[Neighbours] = []
    for index in range(size * factor):
        half = Fraction(1, 2) if "half_pixel" in coordinates else Fraction(0)
        at = min(max((index + half) / factor - half, Fraction(0)), Fraction(size - 1))
        first = floor(at)
        beyond = at - first
        result.append([(first, 1 - beyond), (min(first + 1, size - 1), beyond)])
    return result


def phases(images: Integers, factors: Sequence[int], coordinates: str) -> tuple[list[Integers], int]:
    """Return the sums of each phase, row by row, and their common denominator."""
    found = images
    unit = 1
    for axis, factor in ((2, factors[0]), (3, factors[1])):
        neighbours_of = neighbours(found.shape[axis], factor, coordinates)
        denominator = lcm(*(weight.denominator for terms in neighbours_of for _, weight in terms))
        rows = [
            sum(np.take(found, [at], axis) * int(weight * denominator) for at, weight in terms)
            for terms in neighbours_of
        ]
        found = np.concatenate(rows, axis)
        unit *= denominator
    return [
        found[:, :, row :: factors[0], column :: factors[1]]
        for row in range(factors[0])
        for column in range(factors[1])
    ], unit
