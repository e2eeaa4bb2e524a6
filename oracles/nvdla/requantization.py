"""
Reference of requantization: float tensors between DequantizeLinear and QuantizeLinear, in one SDP pass.

The pass computes as in docs/internals/nvdla-hardware.md §4.2; that its operands are the nearest 16-bit ones
is a property of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor, log2
from typing import Protocol

import numpy as np

from oracles.nvdla.fixed_point import (
    Array,
    Integers,
    addend_operands,
    factor_operands,
    rounding_shift,
    saturate,
)

GUARD_BITS = 8
"""Extra fractional bits of sums."""

NEGLIGIBLE = 2.0**-6

STAGES = 2
"""Stages of a pass that take operands in INT8."""


@dataclass(frozen=True)
class QuantizationParameters:
    """Stored integers `n` mean `scale (n - zero_point)`."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class ClampBound:
    """A lower or upper bound."""

    number: float
    is_minimum: bool


@dataclass(frozen=True)
class StoredIntegers:
    """Int8 values and their parameters."""

    integers: Integers
    qparams: QuantizationParameters


class Dequantized(Protocol):
    """A float tensor that is not requantized yet."""

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """
        Return integers with these parameters; append the largest deviation from the exact value to
        `deviations`.
        """
        ...


@dataclass(frozen=True)
class Affine:
    """`scale * source + bias` per channel, then clamps and at most one addition."""

    source: Integers
    scale: Array
    bias: Array
    is_fine: bool = False
    """Whether a unit of the source is far below one of the result, as in sums of a convolution."""
    steps: tuple[ClampBound | StoredIntegers, ...] = ()
    stored: StoredIntegers | None = None
    spread: Array | None = None
    """Integers that multiply the source first, one per position."""

    @staticmethod
    def of(stored: StoredIntegers) -> Affine:
        """Dequantize stored integers."""
        scale = np.array([stored.qparams.scale])
        return Affine(stored.integers, scale, -stored.qparams.zero_point * scale, stored=stored)

    def then(self, step: ClampBound | StoredIntegers) -> Affine:
        """Append a step."""
        return replace(self, steps=(*self.steps, step), stored=None)

    def times(self, factor: Array) -> Affine:
        """Multiply each channel by its factor; an added cube takes a single one."""
        steps = tuple(
            replace(step, qparams=replace(step.qparams, scale=step.qparams.scale * factor.item()))
            if isinstance(step, StoredIntegers)
            else step
            for step in self.steps
        )
        return replace(self, scale=self.scale * factor, bias=self.bias * factor, steps=steps, stored=None)

    def plus(self, number: Array) -> Affine:
        """Add a value to each channel."""
        return replace(self, bias=self.bias + number, stored=None)

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Compute one SDP pass."""
        if self.stored is not None and self.stored.qparams == qparams:
            return self.stored.integers
        result = saturate(self._pass(qparams), 8)
        for bound in self._later_clamps(qparams):
            limit = quantize(np.array(bound.number), qparams)
            result = np.maximum(result, limit) if bound.is_minimum else np.minimum(result, limit)
        exact = np.clip(self.exact() / qparams.scale + qparams.zero_point, -128, 127)
        deviations.append(float(np.abs(result - exact).max(initial=0.0)))
        return result

    def _pass(self, qparams: QuantizationParameters) -> Integers:
        source = self.source if self.spread is None else saturate(self.source * self._spread(), 32)
        added = next((step for step in self.steps if isinstance(step, StoredIntegers)), None)
        rest = 0.0
        if added is not None:
            finer = min(max(floor(log2(added.qparams.scale / qparams.scale)) + GUARD_BITS, 0), 22)
            unit = added.qparams.scale * 2.0**-finer
            own = self.bias - added.qparams.zero_point * added.qparams.scale
            if not self.is_fine and own.size == self.scale.size == 1:
                # Steps of a stored cube are too coarse for a bias: what they leave is added at the end.
                rounded = np.rint(own / self.scale) * self.scale
                rest, own = float((own - rounded).reshape(())), rounded
            found = self._bias_and_scale(source, own, unit)
        elif self._is_exact:
            finer, unit = 0, qparams.scale
            found = self._bias_and_scale(source, self.bias, unit)
        else:
            finer, unit = 0, qparams.scale * 2.0**-GUARD_BITS
            factors, right = factor_operands(self.scale / unit)
            scaled = saturate(rounding_shift(source * self._along(factors), right), 32)
            sums, left = addend_operands(self.bias / unit)
            found = saturate(scaled + self._along(sums << left), 32)
        later = self._later_clamps(qparams)
        for step in self.steps:
            if isinstance(step, StoredIntegers):
                found = saturate(found + (step.integers << finer), 32)
            elif step not in later:
                found = _bounded(found, step, unit)
        return convert(found, unit, qparams, rest)

    def _later_clamps(self, qparams: QuantizationParameters) -> list[ClampBound]:
        """
        Return the clamps that follow in a pass of their own, on rounded integers: a pass has two stages, and
        a ReLU is part of one.
        """
        sums = [index for index, step in enumerate(self.steps) if isinstance(step, StoredIntegers)]
        stages = (self.spread is not None) + (2 if sums or not self._is_exact else 1)
        has_relu = False
        bounds = [step for step in self.steps[sums[0] if sums else 0 :] if isinstance(step, ClampBound)]
        bounds = [bound for bound in bounds if _has_effect(bound, qparams)]
        for index, bound in enumerate(bounds):
            if bound == ClampBound(0.0, True) and not has_relu:
                has_relu = True
            elif stages < STAGES:
                stages, has_relu = stages + 1, False
            else:
                return bounds[index:]
        return []

    def in_units(self, unit: float) -> Integers:
        """Return sums and bias as integers of 32 bits in units of `unit`, without steps."""
        assert self._is_exact
        assert not self.steps
        return self._bias_and_scale(self.source, self.bias, unit)

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
        factors, right = factor_operands(self.scale / unit)
        sums, left = addend_operands(bias / self.scale)
        total = saturate(source + self._along(saturate(sums << left, 32)), 33)
        return saturate(rounding_shift(total * self._along(factors), right), 32)

    def _along(self, numbers: Array) -> Array:
        """Broadcast values per channel against the source."""
        return numbers.reshape(-1, *(1,) * (self.source.ndim - 2)) if numbers.size > 1 else numbers

    def exact(self) -> Array:
        """Return the numbers without rounding."""
        source = self.source if self.spread is None else self.source * self.spread
        result = source * self._along(self.scale) + self._along(self.bias)
        for step in self.steps:
            match step:
                case StoredIntegers():
                    result = result + step.qparams.scale * (step.integers - step.qparams.zero_point)
                case ClampBound():
                    result = _limited(result, step)
        return result


def _has_effect(bound: ClampBound, qparams: QuantizationParameters) -> bool:
    level = bound.number / qparams.scale + qparams.zero_point
    return level > -127.5 if bound.is_minimum else level < 126.5


def _bounded(numbers: Integers, bound: ClampBound, unit: float) -> Integers:
    operands, left = addend_operands(np.clip(np.array([bound.number / unit]), -(2.0**45), 2.0**45))
    limit = int(operands[0]) << left
    return np.maximum(numbers, limit) if bound.is_minimum else np.minimum(numbers, limit)


def convert(numbers: Integers, unit: float, qparams: QuantizationParameters, rest: float = 0.0) -> Integers:
    """
    Apply the output converter: offset (with the rest of the bias), factor, rounding shift, 17-bit saturation.
    """
    if unit == qparams.scale:
        return saturate(numbers + qparams.zero_point, 17)
    factor, right = factor_operands(np.array([unit / qparams.scale]))
    offset = round((qparams.zero_point * qparams.scale + rest) / unit)
    return saturate(rounding_shift((numbers + offset) * factor, right), 17)


@dataclass(frozen=True)
class Concatenated:
    """Parts that are concatenated or interleaved."""

    parts: Sequence[Dequantized]
    join: Callable[[list[Integers]], Integers]

    def plus(self, added: StoredIntegers) -> Concatenated:
        """Add a stored cube to groups of channels."""
        parts: list[Dequantized] = []
        begin = 0
        for part in self.parts:
            assert isinstance(part, Affine), "a convolution makes them"
            end = begin + part.source.shape[1]
            parts.append(part.then(StoredIntegers(added.integers[:, begin:end], added.qparams)))
            begin = end
        return replace(self, parts=parts)

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Requantize each part, then join."""
        return self.join([part.requantized(qparams, deviations) for part in self.parts])


def side_by_side(parts: Sequence[Dequantized], axis: int) -> Concatenated:
    """Concatenate parts along an axis."""
    return Concatenated(parts, lambda integers: np.concatenate(integers, axis))


@dataclass(frozen=True)
class MovedElements:
    """Elements that are selected or reordered."""

    source: Dequantized
    move: Callable[[Integers], Integers]

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Requantize, then move."""
        return self.move(self.source.requantized(qparams, deviations))


@dataclass(frozen=True)
class TableLookup:
    """`function` of stored integers: a lookup table of the CDP with an entry for each."""

    source: StoredIntegers
    function: Callable[[Array], Array]

    def then(self, function: Callable[[Array], Array]) -> TableLookup:
        """Compose with another function."""

        def both(numbers: Array) -> Array:
            return function(self.function(numbers))

        return TableLookup(self.source, both)

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Return the result of each integer, rounded as QuantizeLinear does."""
        here = self.source.qparams
        numbers = (self.source.integers.astype(np.float32) - np.float32(here.zero_point)) * np.float32(
            here.scale
        )
        exact = self.function(numbers.astype(np.float64)) / qparams.scale
        levels = np.rint(exact.astype(np.float32)) + qparams.zero_point
        result = np.clip(levels, -128, 127).astype(np.int64)
        deviations.append(
            float(np.abs(result - np.clip(exact + qparams.zero_point, -128, 127)).max(initial=0.0))
        )
        return result


def quantize(numbers: Array, qparams: QuantizationParameters) -> Integers:
    """Quantize as QuantizeLinear does."""
    levels = np.rint(numbers.astype(np.float32) / np.float32(qparams.scale)) + qparams.zero_point
    return np.clip(levels, -128, 127).astype(np.int64)


@dataclass(frozen=True)
class Clamped:
    """A tensor within a bound, which is quantized with the same parameters."""

    source: Dequantized
    bound: ClampBound

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Requantize and clamp."""
        limit = quantize(np.array(self.bound.number), qparams)
        found = self.source.requantized(qparams, deviations)
        return np.maximum(found, limit) if self.bound.is_minimum else np.minimum(found, limit)


def clamped(reals: Dequantized, bound: ClampBound) -> Dequantized:
    """Apply a clamp."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Concatenated():
            return replace(reals, parts=[clamped(part, bound) for part in reals.parts])
        case MovedElements():
            return replace(reals, source=clamped(reals.source, bound))
        case TableLookup():
            return reals.then(lambda numbers: _limited(numbers, bound))
        case _:
            return Clamped(reals, bound)


def _limited(numbers: Array, bound: ClampBound) -> Array:
    limit = np.maximum if bound.is_minimum else np.minimum
    return limit(numbers, bound.number)
