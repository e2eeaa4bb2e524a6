"""
Reference of maxima, PReLU and products of stored integers in the SDP (docs/internals/nvdla-hardware.md §4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from oracles.nvdla.fixed_point import Array, Integers, factor_operands, rounding_shift, saturate
from oracles.nvdla.requantization import (
    GUARD_BITS,
    Dequantized,
    QuantizationParameters,
    StoredIntegers,
    convert,
    quantize,
)


@dataclass(frozen=True)
class ElementwiseExtremum:
    """Maximum (or minimum) of tensors and constants, each quantized first."""

    parts: Sequence[Dequantized]
    constants: Sequence[Array]
    is_maximum: bool

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """On a grid."""
        pick = np.maximum if self.is_maximum else np.minimum
        result, *others = (part.requantized(qparams, deviations) for part in self.parts)
        for other in (*others, *(quantize(one, qparams) for one in self.constants)):
            result = pick(result, other)
        return result


@dataclass(frozen=True)
class ChannelwisePRelu:
    """`x` where positive, else `slope x`, a slope per channel (axis 1)."""

    source: StoredIntegers
    slopes: Array

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Add guard bits, then multiply negative values."""
        here = self.source.qparams
        finer = (self.source.integers - here.zero_point) << GUARD_BITS
        factors, right = factor_operands(self.slopes)
        broadcast_axis = factors.reshape(-1, *(1,) * (finer.ndim - 2))
        sloped = np.where(finer >= 0, finer, saturate(rounding_shift(finer * broadcast_axis, right), 32))
        return saturate(convert(sloped, here.scale * 2.0**-GUARD_BITS, qparams), 8)


@dataclass(frozen=True)
class ElementwiseProduct:
    """`a b`, and what has the unit of that times a power of two added."""

    a: StoredIntegers
    b: StoredIntegers
    added: StoredIntegers | None = None

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """On a grid."""
        products = (self.a.integers - self.a.qparams.zero_point) * (
            self.b.integers - self.b.qparams.zero_point
        )
        unit = self.a.qparams.scale * self.b.qparams.scale
        if self.added is not None:
            left = round(log2(self.added.qparams.scale / unit))
            products = saturate(products + (self.added.integers << left), 32)
        return saturate(convert(products, unit, qparams), 8)
