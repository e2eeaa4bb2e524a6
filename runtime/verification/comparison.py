"""
Comparison of two values: types, shapes and non-float elements exactly, floats within a tolerance.

A value is a tensor, a sequence, a map, or absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log10, nan
from typing import TypeGuard

import ml_dtypes
import numpy as np

from xonnc.runtime.verification.trial_inputs import Array

MAX_ULPS = 1024
MAX_TOLERANCE = 0.02
"""
Tolerance of floats: `MAX_ULPS` machine epsilons of the type, relative to the largest value, at most 2 %.

Folding a factor into weights rounds in another place; fifty layers of that cost some tens of epsilons.
"""


@dataclass(frozen=True)
class Tolerance:
    """Largest allowed difference of floats: `absolute + relative * largest expected magnitude`."""

    relative: float | None = None
    """`None`: `MAX_ULPS` machine epsilons of the element type."""
    absolute: float = 0.0
    narrowest: str = ""
    """The narrowest type of floats that a model computes in, whose epsilon counts for wider outputs too."""

    def relative_for(self, dtype: np.dtype[np.generic]) -> float:
        """The relative tolerance for an element type."""
        if self.relative is not None:
            return self.relative
        # By name: the type annotations of ml_dtypes.finfo are incomplete.
        limits = vars(ml_dtypes)["finfo"]
        epsilons = [float(limits(each).eps) for each in (dtype, self.narrowest) if each != ""]
        return min(MAX_ULPS * max(epsilons), MAX_TOLERANCE)


DEFAULT_TOLERANCE = Tolerance()


@dataclass(frozen=True)
class ValueComparison:
    """The difference of a value from the expected one."""

    mismatch: str = ""
    """A difference that no tolerance allows, such as another shape; empty if there is none."""
    largest_error: float = 0.0
    """The largest absolute difference of finite floats."""
    relative_error: float = 0.0
    """The same relative to the largest finite magnitude of the expected value."""
    allowed: float = 0.0
    """The relative error that the tolerance allows."""
    cosine: float = 1.0
    """Cosine similarity of the finite elements; NaN if it is undefined."""
    snr: float = inf
    """Signal-to-noise ratio in decibels: expected power over the power of the difference."""

    @property
    def passed(self) -> bool:
        """Whether the values agree."""
        return not self.mismatch and self.relative_error <= self.allowed

    def worse(self, other: ValueComparison) -> ValueComparison:
        """The worst of two comparisons of one output."""
        return ValueComparison(
            self.mismatch or other.mismatch,
            max(self.largest_error, other.largest_error),
            max(self.relative_error, other.relative_error),
            max(self.allowed, other.allowed),
            min(self.cosine, other.cosine),
            min(self.snr, other.snr),
        )

    def allowing(self, relative: float) -> ValueComparison:
        """The same with a tolerance of at least `relative`."""
        return replace(self, allowed=max(self.allowed, relative))


def compare_values(
    expected: object, found: object, tolerance: Tolerance = DEFAULT_TOLERANCE
) -> ValueComparison:
    """Compare two values; sequences and maps by the worst of their elements."""
    expected_tensors, found_tensors = tensors_in(expected), tensors_in(found)
    if len(expected_tensors) != len(found_tensors):
        return ValueComparison(f"{len(found_tensors)} tensors, expected {len(expected_tensors)}")
    worst = ValueComparison()
    for a, b in zip(expected_tensors, found_tensors, strict=True):
        worst = worst.worse(compare_tensors(a, b, tolerance))
    return worst


def compare_tensors(
    expected: Array, found: Array, tolerance: Tolerance = DEFAULT_TOLERANCE
) -> ValueComparison:
    """Compare two tensors. NaN equals NaN; 0 equals -0."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        descriptions = (f"{array.dtype}{list(array.shape)}" for array in (found, expected))
        return ValueComparison("{}, expected {}".format(*descriptions), inf, inf, 0.0, nan, -inf)
    if not is_float(expected):
        wrong = np.asarray(expected != found)
        count = int(np.count_nonzero(wrong))
        if not count:
            return ValueComparison()
        index = tuple(int(axis) for axis in np.argwhere(wrong)[0])
        return ValueComparison(
            f"{count} of {expected.size} elements differ, first {list(index)}: {found[index]!s}, "
            f"expected {expected[index]!s}",
            inf,
            inf,
            0.0,
            nan,
            -inf,
        )
    allowed = tolerance.relative_for(expected.dtype)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    special = (a != b) & ~(np.isnan(a) & np.isnan(b)) & (~finite | ~np.isfinite(b))
    mismatch = ""
    if special.any():
        index = tuple(int(axis) for axis in np.argwhere(special)[0])
        count = int(np.count_nonzero(special))
        mismatch = (
            f"{count} of {a.size} elements are infinite or NaN in one only, first {list(index)}: "
            f"{b[index]}, expected {a[index]}"
        )
    both = finite & np.isfinite(b)
    a, b = a[both], b[both]
    largest = float(np.abs(a - b).max(initial=0.0))
    scale = float(np.abs(a).max(initial=0.0)) or 1.0
    error = max(largest - tolerance.absolute, 0.0) / scale if tolerance.absolute else largest / scale
    return ValueComparison(mismatch, largest, error, allowed, cosine_similarity(a, b), _snr(a, b))


def cosine_similarity(a: Array, b: Array) -> float:
    """Cosine similarity of two vectors of finite float64; 1 for equal ones, 0 if only one is zero."""
    # Scaled first: squares of large elements overflow.
    a, b = _scaled(a), _scaled(b)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if lengths == 0.0:
        return 1.0 if np.array_equal(a, b) else 0.0
    return float(a @ b) / lengths


def _scaled(vector: Array) -> Array:
    largest = float(np.abs(vector).max(initial=0.0))
    return vector / largest if largest else vector


def _snr(expected: Array, found: Array) -> float:
    scale = float(np.abs(expected).max(initial=0.0))
    if np.array_equal(expected, found):
        return inf
    if not scale:
        return -inf
    signal, noise = expected / scale, (expected - found) / scale
    with np.errstate(over="ignore"):
        power = float(noise @ noise)
    return 10 * log10(float(signal @ signal) / power) if 0 < power < inf else -inf if power else inf


def is_float(array: Array) -> bool:
    """Whether the elements are real floats, the narrow types of `ml_dtypes` included."""
    return array.dtype.kind == "f" or array.dtype.name.startswith(("bfloat", "float"))


def like_expected(expected: object, found: object) -> object:
    """A result of NVDLA, of four axes and in float16, with axes and float type of the expected one."""
    expected_tensors, found_tensors = tensors_in(expected), tensors_in(found)
    if (
        len(expected_tensors) != 1
        or len(found_tensors) != 1
        or expected_tensors[0].size != found_tensors[0].size
    ):
        return found
    dtype = (
        expected_tensors[0].dtype
        if is_float(expected_tensors[0]) and is_float(found_tensors[0])
        else found_tensors[0].dtype
    )
    return found_tensors[0].reshape(expected_tensors[0].shape).astype(dtype)


def tensors_in(value: object) -> list[Array]:
    """The tensors in an output: a sequence's elements, a map's keys and values, nothing of an absent one."""
    if isinstance(value, np.ndarray):
        return [value]
    if _is_map(value):
        keys = sorted(value, key=str)
        return [np.array(keys), np.array([value[key] for key in keys])]
    if _is_list(value):
        return [part for each in value for part in tensors_in(each)]
    return [] if value is None else [np.asarray(value)]


def _is_map(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)
