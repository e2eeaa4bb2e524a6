"""Tolerances for the comparison of two results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.fuzzing.rules.values import is_float
from xonnc.rewriting.patterns import Array

Doubles: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Closeness:
    """Tolerance for floats, in units of their type's machine epsilon; all other types must be equal."""

    ulps: float = 0
    """Relative to the magnitude of the element itself."""
    steps: float = 0
    """Relative to its magnitude plus the largest one of inputs and outputs: sums suffer from cancellation."""
    narrow: float = 0
    """The same for types narrower than float32, where every partial sum is rounded."""
    single: bool = False
    """Whether float64 is computed in float32 as well."""

    def allowed(self, epsilon: float, smallest: float, expected: Doubles, scale: float) -> Doubles:
        """Return the allowed difference of each element."""
        size = np.abs(expected)
        steps = self.narrow if epsilon > SINGLE else self.steps
        precision = max(epsilon, SINGLE) if self.single else epsilon
        return self.ulps * precision * np.maximum(size, smallest) + steps * precision * (size + scale)


SINGLE = 2.0**-23
"""Machine epsilon of float32."""

SAME = Closeness()
"""For rules that only move elements."""

FOLDED = Closeness(ulps=1)
"""For a single operator folded from constants."""

REWRITTEN = Closeness(steps=1e-5 / SINGLE, narrow=8)
"""For several operators in another order of computation: 1e-5 of the magnitude for float32."""


def parts(array: Array) -> list[Doubles]:
    """Convert floats to float64, and complex arrays to their real and imaginary parts."""
    if array.dtype.kind == "c":
        both = array.astype(np.complex128)
        return [np.real(both), np.imag(both)]
    return [array.astype(np.float64)]


def precision(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    """Return machine epsilon and the smallest normal number of a float type."""
    info = vars(ml_dtypes)["finfo"](dtype)
    return float(info.eps), float(info.smallest_normal)


def difference(old: Array, new: Array, near: Closeness, scale: float = 0) -> str | None:
    """Describe where two results differ, `None` if they agree; `scale` is the magnitude of the inputs."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return f"{new.dtype}{list(new.shape)} in place of {old.dtype}{list(old.shape)}"
    if old.dtype.kind != "c" and not is_float(old.dtype):
        bad = np.asarray(old != new)
        return None if not bad.any() else f"{new[bad].reshape(-1)[:3]} in place of {old[bad].reshape(-1)[:3]}"
    epsilon, smallest = precision(old.dtype)
    for expected, found in zip(parts(old), parts(new), strict=True):
        finite = np.abs(expected[np.isfinite(expected)])
        most = max(scale, float(finite.max())) if finite.size else scale
        with np.errstate(all="ignore"):
            near_enough = np.abs(found - expected) <= near.allowed(epsilon, smallest, expected, most)
        equal = (
            (expected == found)
            | (np.isnan(expected) & np.isnan(found))
            | (np.isfinite(expected) & near_enough)
        )
        if not equal.all():
            return f"{found[~equal][:3]} in place of {expected[~equal][:3]}"
    return None


def size_of(arrays: list[Array]) -> float:
    """Return the largest finite magnitude among all float arrays, 0 if there is none."""
    most = 0.0
    for array in arrays:
        if is_float(array.dtype):
            wide = np.abs(array.astype(np.float64))
            finite = wide[np.isfinite(wide)]
            most = max(most, float(finite.max())) if finite.size else most
    return most
