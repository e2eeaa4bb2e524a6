"""
Real numbers between a DequantizeLinear and a QuantizeLinear, and how one pass of the SDP rounds them.

What the pass computes is docs/internals/nvdla-hardware.md §4.2; that its operands are the nearest that 16
bits express is the compiler's promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor, log2
from typing import Protocol

import numpy as np

from oracles.nvdla.rounding import Array, Integers, as_factors, as_sums, saturated, shifted

SPARE_BITS = 8
"""Sums are formed in steps this many bits finer than the result's."""

NEGLIGIBLE = 2.0**-6


@dataclass(frozen=True)
class Grid:
    """Stored integers `n` mean `scale (n - zero)`."""

    scale: float
    zero: int


@dataclass(frozen=True)
class Bound:
    """A limit of real numbers."""

    number: float
    is_least: bool


@dataclass(frozen=True)
class Stored:
    """Integers of 8 bits and what they mean."""

    integers: Integers
    grid: Grid


class Reals(Protocol):
    """A tensor of real numbers that are not rounded yet."""

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """On a grid; appends to `worst` how many steps the engine is from the exact number."""
        ...


@dataclass(frozen=True)
class Affine:
    """`scale * source + bias` for each channel, then bounds and at most one sum."""

    source: Integers
    scale: Array
    bias: Array
    is_fine: bool = False
    """Sums of a convolution: one step of the source is far below one of the result."""
    steps: tuple[Bound | Stored, ...] = ()
    stored: Stored | None = None
    spread: Array | None = None
    """Integers that multiply the source first, one for each row and column."""

    @staticmethod
    def of(stored: Stored) -> Affine:
        """What stored integers mean."""
        scale = np.array([stored.grid.scale])
        return Affine(stored.integers, scale, -stored.grid.zero * scale, stored=stored)

    def then(self, step: Bound | Stored) -> Affine:
        """One more step."""
        return replace(self, steps=(*self.steps, step), stored=None)

    def times(self, factor: Array) -> Affine:
        """Multiplied, each channel by its factor."""
        return replace(self, scale=self.scale * factor, bias=self.bias * factor, stored=None)

    def plus(self, number: Array) -> Affine:
        """With a number added to each channel."""
        return replace(self, bias=self.bias + number, stored=None)

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """One pass of the SDP."""
        if self.stored is not None and self.stored.grid == grid:
            return self.stored.integers
        found = saturated(self._pass(grid), 8)
        exact = np.clip(self._exact() / grid.scale + grid.zero, -128, 127)
        worst.append(float(np.abs(found - exact).max(initial=0.0)))
        return found

    def _pass(self, grid: Grid) -> Integers:
        source = self.source if self.spread is None else saturated(self.source * self._spread(), 32)
        added = next((step for step in self.steps if isinstance(step, Stored)), None)
        rest = 0.0
        if added is not None:
            finer = min(max(floor(log2(added.grid.scale / grid.scale)) + SPARE_BITS, 0), 22)
            unit = added.grid.scale * 2.0**-finer
            own = self.bias - added.grid.zero * added.grid.scale
            if not self.is_fine and own.size == self.scale.size == 1:
                # Steps of a stored cube are too coarse for a bias: what they leave is added at the end.
                whole = np.rint(own / self.scale) * self.scale
                rest, own = float((own - whole).reshape(())), whole
            found = self._bias_and_scale(source, own, unit)
        elif self._is_exact:
            finer, unit = 0, grid.scale
            found = self._bias_and_scale(source, self.bias, unit)
        else:
            finer, unit = 0, grid.scale * 2.0**-SPARE_BITS
            factors, right = as_factors(self.scale / unit)
            scaled = saturated(shifted(source * self._along(factors), right), 32)
            sums, left = as_sums(self.bias / unit)
            found = saturated(scaled + self._along(sums << left), 32)
        for step in self.steps:
            if isinstance(step, Stored):
                found = saturated(found + (step.integers << finer), 32)
            else:
                found = _bounded(found, step, unit)
        return converted(found, unit, grid, rest)

    def _spread(self) -> Integers:
        assert self.spread is not None
        return self.spread.astype(np.int64)

    @property
    def _is_exact(self) -> bool:
        if not np.all(self.scale):
            return False
        units = self.bias / self.scale
        return self.is_fine or bool(np.all(np.abs(units - np.rint(units)) < NEGLIGIBLE))

    def _bias_and_scale(self, source: Integers, bias: Array, unit: float) -> Integers:
        factors, right = as_factors(self.scale / unit)
        sums, left = as_sums(bias / self.scale)
        total = saturated(source + self._along(saturated(sums << left, 32)), 33)
        return saturated(shifted(total * self._along(factors), right), 32)

    def _along(self, numbers: Array) -> Array:
        """One number for each channel, against the source."""
        return numbers.reshape(-1, *(1,) * (self.source.ndim - 2)) if numbers.size > 1 else numbers

    def _exact(self) -> Array:
        source = self.source if self.spread is None else self.source * self.spread
        found = source * self._along(self.scale) + self._along(self.bias)
        for step in self.steps:
            match step:
                case Stored():
                    found = found + step.grid.scale * (step.integers - step.grid.zero)
                case Bound():
                    found = _limited(found, step)
        return found


def _bounded(numbers: Integers, bound: Bound, unit: float) -> Integers:
    operands, left = as_sums(np.clip(np.array([bound.number / unit]), -(2.0**45), 2.0**45))
    limit = int(operands[0]) << left
    return np.maximum(numbers, limit) if bound.is_least else np.minimum(numbers, limit)


def converted(numbers: Integers, unit: float, grid: Grid, rest: float = 0.0) -> Integers:
    """The output converter: offset (with what the stages could not add), factor, rounding shift, 17 bits."""
    if unit == grid.scale:
        return saturated(numbers + grid.zero, 17)
    factor, right = as_factors(np.array([unit / grid.scale]))
    offset = round((grid.zero * grid.scale + rest) / unit)
    return saturated(shifted((numbers + offset) * factor, right), 17)


@dataclass(frozen=True)
class Joined:
    """Parts that lie side by side or take turns."""

    parts: Sequence[Reals]
    join: Callable[[list[Integers]], Integers]

    def plus(self, added: Stored) -> Joined:
        """Groups of channels, each with its channels of a stored cube added."""
        parts: list[Reals] = []
        begin = 0
        for part in self.parts:
            assert isinstance(part, Affine), "a convolution makes them"
            end = begin + part.source.shape[1]
            parts.append(part.then(Stored(added.integers[:, begin:end], added.grid)))
            begin = end
        return replace(self, parts=parts)

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """Each part on the grid, joined."""
        return self.join([part.rounded(grid, worst) for part in self.parts])


def side_by_side(parts: Sequence[Reals], axis: int) -> Joined:
    """Parts one behind the other along an axis."""
    return Joined(parts, lambda integers: np.concatenate(integers, axis))


@dataclass(frozen=True)
class Moved:
    """Numbers that are picked or put in another order."""

    source: Reals
    move: Callable[[Integers], Integers]

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """Rounded first, then moved."""
        return self.move(self.source.rounded(grid, worst))


@dataclass(frozen=True)
class Tabled:
    """`function` of stored integers: a lookup table of the CDP has an entry for each of them."""

    source: Stored
    function: Callable[[Array], Array]

    def then(self, function: Callable[[Array], Array]) -> Tabled:
        """With one more function behind."""

        def both(numbers: Array) -> Array:
            return function(self.function(numbers))

        return Tabled(self.source, both)

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """The result of each integer, rounded as QuantizeLinear does."""
        here = self.source.grid
        numbers = (self.source.integers.astype(np.float32) - np.float32(here.zero)) * np.float32(here.scale)
        exact = self.function(numbers.astype(np.float64)) / grid.scale
        places = np.rint(exact.astype(np.float32)) + grid.zero
        found = np.clip(places, -128, 127).astype(np.int64)
        worst.append(float(np.abs(found - np.clip(exact + grid.zero, -128, 127)).max(initial=0.0)))
        return found


def placed(numbers: Array, grid: Grid) -> Integers:
    """The nearest integers on a grid."""
    places = np.rint(numbers.astype(np.float32) / np.float32(grid.scale)) + grid.zero
    return np.clip(places, -128, 127).astype(np.int64)


@dataclass(frozen=True)
class Limited:
    """Numbers within a bound, which is rounded to their grid."""

    source: Reals
    bound: Bound

    def rounded(self, grid: Grid, worst: list[float]) -> Integers:
        """On a grid."""
        limit = placed(np.array(self.bound.number), grid)
        found = self.source.rounded(grid, worst)
        return np.maximum(found, limit) if self.bound.is_least else np.minimum(found, limit)


def bounded(reals: Reals, bound: Bound) -> Reals:
    """With a bound on every number."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Joined():
            return replace(reals, parts=[bounded(part, bound) for part in reals.parts])
        case Moved():
            return replace(reals, source=bounded(reals.source, bound))
        case Tabled():
            return reals.then(lambda numbers: _limited(numbers, bound))
        case _:
            return Limited(reals, bound)


def _limited(numbers: Array, bound: Bound) -> Array:
    limit = np.maximum if bound.is_least else np.minimum
    return limit(numbers, bound.number)
