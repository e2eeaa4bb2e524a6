"""
Reference of LRN on integers with a lookup table of the CDP (docs/internals/nvdla-hardware.md §4.3, §4.4).

That the table with the least error is used is a property of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oracles.nvdla.fixed_point import Array, Integers, rounding_shift, saturate
from oracles.nvdla.requantization import QuantizationParameters, StoredIntegers

INT8_MIN, INT8_MAX = -128, 127
FRACTION_BITS = 16
MAX_SHIFT = 22
NEAR, FAR = 256, 64
"""Steps of the fine table and of the coarse one."""

SUMS = 4000
"""Sums of squares at which tables are compared, in a geometric sequence."""


@dataclass(frozen=True)
class LrnLookup:
    """`x (bias + scale s)^-beta` of stored integers, `s` the sum of squares of `size` channels."""

    source: StoredIntegers
    size: int
    scale: float
    bias: float
    beta: float

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """9-bit inputs, 16-bit factors, the product shifted to the result."""
        here = self.source.qparams
        centred = saturate(self.source.integers - here.zero_point, 9)
        sums = self._sums(centred)
        scale, factor = self.scale * here.scale**2, here.scale / qparams.scale

        def power(numbers: Array) -> Array:
            return factor * (self.bias + scale * numbers) ** -self.beta

        widest = self.size * max(abs(INT8_MIN - here.zero_point), abs(INT8_MAX - here.zero_point)) ** 2
        table = _best_table(power, widest)
        products = table.read(sums) * centred
        result = saturate(rounding_shift(products + (qparams.zero_point << table.shift), table.shift), 8)
        exact = np.clip(power(sums.astype(np.float64)) * centred + qparams.zero_point, INT8_MIN, INT8_MAX)
        deviations.append(float(np.abs(result - exact).max(initial=0.0)))
        return result

    def _sums(self, centred: Integers) -> Integers:
        half = self.size // 2
        rows = np.pad(centred**2, [(0, 0), (half, half), *[(0, 0)] * (centred.ndim - 2)])
        return np.sum([rows[:, index : index + centred.shape[1]] for index in range(self.size)], axis=0)


@dataclass(frozen=True)
class _Table:
    """257 entries every `2^fine` from 0 on, then 65 every `2^coarse`; all are scaled by `2^shift`."""

    near: Integers
    far: Integers
    fine: int
    coarse: int
    shift: int

    def read(self, sums: Integers) -> Integers:
        """Interpolate with 16 fractional bits; the last entry holds beyond."""
        is_near = sums < NEAR << self.fine
        return np.where(is_near, _between(self.near, self.fine, sums), _between(self.far, self.coarse, sums))

    def nearly(self, sums: Array) -> Array:
        """Interpolate without rounding."""
        near = np.interp(sums, np.arange(NEAR + 1) * 2.0**self.fine, self.near.astype(np.float64))
        far = np.interp(sums, np.arange(FAR + 1) * 2.0**self.coarse, self.far.astype(np.float64))
        return np.where(sums < NEAR * 2.0**self.fine, near, far) * 2.0**-self.shift


def _between(entries: Integers, step: int, sums: Integers) -> Integers:
    last = len(entries) - 1
    index = np.minimum(sums >> step, last - 1)
    part = sums - (index << step)
    fraction = part << (FRACTION_BITS - step) if step <= FRACTION_BITS else part >> (step - FRACTION_BITS)
    low, high = entries[index], entries[index + 1]
    found = saturate(low + rounding_shift((high - low) * fraction, FRACTION_BITS), 16)
    return np.where(sums >> step < last, found, entries[last])


def _best_table(power: Callable[[Array], Array], widest: int) -> _Table:
    """
    Return the table with the least error of the product `x * table(s)`: `|x|` is at most 255 and `sqrt(s)`.
    """
    at_zero = float(power(np.zeros(1))[0])
    shift = max((bits for bits in range(MAX_SHIFT + 1) if at_zero * 2**bits <= 32767), default=0)
    sums = np.unique(np.geomspace(1, max(widest, 2), SUMS).astype(np.int64)).astype(np.float64)
    exact, weight = power(sums), np.minimum(np.sqrt(sums), 255.0)
    most = next(bits for bits in range(64) if NEAR << bits >= widest)

    def entries(count: int, step: int) -> Integers:
        return np.rint(power(np.arange(count + 1) * 2.0**step) * 2.0**shift).astype(np.int64)

    tables = [
        _Table(entries(NEAR, fine), entries(FAR, coarse), fine, coarse, shift)
        for fine in range(most + 1)
        for coarse in range(fine + 1, max(fine + 2, most + 4))
    ]
    return min(tables, key=lambda table: float(np.max(np.abs(table.nearly(sums) - exact) * weight)))
