"""How near two results have to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from rule_values import is_float

from xonnc.rewriting.patterns import Array

Doubles: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Closeness:
    """What floats may be apart, in units of the precision of their type; the rest is equal."""

    ulps: float = 0
    """Of the size of the number itself."""
    steps: float = 0
    """Of its size and that of the largest number that goes in or comes out: sums lose digits."""
    narrow: float = 0
    """The same for types with fewer digits than 32-bit floats, whose every sum is rounded."""
    single: bool = False
    """Whether doubles are computed in single precision too."""

    def allowed(self, epsilon: float, smallest: float, wanted: Doubles, scale: float) -> Doubles:
        """The difference allowed for each element."""
        size = np.abs(wanted)
        steps = self.narrow if epsilon > SINGLE else self.steps
        precision = max(epsilon, SINGLE) if self.single else epsilon
        return self.ulps * precision * np.maximum(size, smallest) + steps * precision * (size + scale)


SINGLE = 2.0**-23
"""The precision of 32-bit floats."""

SAME = Closeness()
"""What only moves elements."""

FOLDED = Closeness(ulps=1)
"""What one operator computes from constants."""

REWRITTEN = Closeness(steps=1e-5 / SINGLE, narrow=8)
"""What several operators compute in another order: 1e-5 of the size for 32-bit floats."""


def parts(array: Array) -> list[Doubles]:
    """Floats as doubles; complex numbers as two arrays."""
    if array.dtype.kind == "c":
        both = array.astype(np.complex128)
        return [np.real(both), np.imag(both)]
    return [array.astype(np.float64)]


def precision(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    """The distance from 1 to the next float, and the smallest one with all its digits."""
    info = vars(ml_dtypes)["finfo"](dtype)
    return float(info.eps), float(info.smallest_normal)


def difference(old: Array, new: Array, near: Closeness, scale: float = 0) -> str | None:
    """Where two results differ, `None` if they agree; `scale` is the size of what was computed with."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return f"{new.dtype}{list(new.shape)} in place of {old.dtype}{list(old.shape)}"
    if old.dtype.kind != "c" and not is_float(old.dtype):
        bad = np.asarray(old != new)
        return None if not bad.any() else f"{new[bad].reshape(-1)[:3]} in place of {old[bad].reshape(-1)[:3]}"
    epsilon, smallest = precision(old.dtype)
    for wanted, found in zip(parts(old), parts(new), strict=True):
        finite = np.abs(wanted[np.isfinite(wanted)])
        most = max(scale, float(finite.max())) if finite.size else scale
        with np.errstate(all="ignore"):
            near_enough = np.abs(found - wanted) <= near.allowed(epsilon, smallest, wanted, most)
        equal = (wanted == found) | (np.isnan(wanted) & np.isnan(found)) | (np.isfinite(wanted) & near_enough)
        if not equal.all():
            return f"{found[~equal][:3]} in place of {wanted[~equal][:3]}"
    return None


def size_of(arrays: list[Array]) -> float:
    """The largest finite number among floats, 0 if there is none."""
    most = 0.0
    for array in arrays:
        if is_float(array.dtype):
            wide = np.abs(array.astype(np.float64))
            finite = wide[np.isfinite(wide)]
            most = max(most, float(finite.max())) if finite.size else most
    return most
