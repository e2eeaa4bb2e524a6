"""
Unary functions by the ONNX definitions, and the CPU emulator's softmax (docs/internals/nvdla-hardware.md
§2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracles.nvdla.fixed_point import Array, Integers, half_ties_away
from oracles.nvdla.requantization import Affine, QuantizationParameters, StoredIntegers

INT8_MIN, INT8_MAX = -128, 127


def _sigmoid(numbers: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(numbers, -700, 700)))


def finite(numbers: Array) -> Array:
    """Replace NaN by 0 and infinities by large values."""
    return np.nan_to_num(numbers, posinf=1e30, neginf=-1e30)


FUNCTIONS: Mapping[str, Callable[[Array, Mapping[str, Any]], Array]] = {
    "Abs": lambda x, _: np.abs(x),
    "Acos": lambda x, _: finite(np.arccos(x)),
    "Acosh": lambda x, _: finite(np.arccosh(x)),
    "Asin": lambda x, _: finite(np.arcsin(x)),
    "Asinh": lambda x, _: np.arcsinh(x),
    "Atan": lambda x, _: np.arctan(x),
    "Atanh": lambda x, _: finite(np.arctanh(x)),
    "Ceil": lambda x, _: np.ceil(x),
    "Cos": lambda x, _: np.cos(x),
    "Cosh": lambda x, _: finite(np.cosh(x)),
    "Exp": lambda x, _: np.exp(x),
    "Floor": lambda x, _: np.floor(x),
    "HardSigmoid": lambda x, of: np.clip(of.get("alpha", 0.2) * x + of.get("beta", 0.5), 0.0, 1.0),
    "HardSwish": lambda x, _: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
    "LeakyRelu": lambda x, of: np.where(x > 0, x, of.get("alpha", 0.01) * x),
    "Neg": lambda x, _: -x,
    "Round": lambda x, _: np.rint(x),
    "Sigmoid": lambda x, _: _sigmoid(x),
    "Sign": lambda x, _: np.sign(x),
    "Sin": lambda x, _: np.sin(x),
    "Sinh": lambda x, _: finite(np.sinh(x)),
    "Tan": lambda x, _: np.tan(x),
    "Tanh": lambda x, _: np.tanh(x),
}
"""Unary functions by operator type."""


def power(numbers: Array, exponent: float) -> Array:
    """`x^exponent`, 0 where it is NaN."""
    with np.errstate(all="ignore"):
        return finite(numbers**exponent)


@dataclass(frozen=True)
class EmulatedSoftmax:
    """Softmax of the CPU emulator: float16 in and out, float32 sums, results truncated to integers."""

    source: StoredIntegers

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Requantize; with an asymmetric result the emulator uses a scale of 1/127 first."""
        step = QuantizationParameters(float(np.float32(1 / INT8_MAX)), 0) if qparams.zero_point else qparams
        integers = self.source.integers.reshape(-1).astype(np.float32)
        numbers = half_ties_away(integers * np.float32(self.source.qparams.scale))
        powers = np.exp(numbers - numbers.max())
        shares = half_ties_away(powers / np.cumsum(powers, dtype=np.float32)[-1])
        found = np.clip(np.trunc(shares / np.float32(step.scale)), INT8_MIN, INT8_MAX).astype(np.int64)
        return Affine.of(StoredIntegers(found.reshape(self.source.integers.shape), step)).requantized(
            qparams, deviations
        )
