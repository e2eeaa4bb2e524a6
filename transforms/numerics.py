"""
Elementwise functions of ONNX on NumPy arrays.

They compute in the type of the operands: integers wrap, floats round as in the ONNX reference. None warns
about infinities or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, wraps

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.rewriting.patterns import Array

Function = Callable[..., Array]


def quiet(function: Callable[..., Array]) -> Function:
    """Return `function` without NumPy's warnings about overflow, infinities and NaN."""

    @wraps(function)
    def silent(*arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays))

    return silent


def is_float(dtype: np.dtype[np.generic]) -> bool:
    """Return whether a NumPy type is a float, those of ml_dtypes included."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def is_integer(dtype: np.dtype[np.generic]) -> bool:
    """Return whether a NumPy type is an integer, those of ml_dtypes included; bool is not."""
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


@quiet
def divide(a: Array, b: Array) -> Array:
    """Divide floats by IEEE 754, integers towards zero."""
    if is_float(a.dtype):
        return np.divide(a, b).astype(a.dtype)
    quotient = np.floor_divide(a, b)
    inexact = (np.multiply(quotient, b) != a) & (np.less(a, 0) != np.less(b, 0))
    return (quotient + inexact).astype(a.dtype)


@quiet
def remainder(a: Array, b: Array) -> Array:
    """Remainder with the sign of the divisor, as in Python; ONNX uses it for floats since opset 28."""
    return np.mod(a, b).astype(a.dtype)


@quiet
def fmod(a: Array, b: Array) -> Array:
    """Remainder with the sign of the dividend, as in C."""
    return np.fmod(a, b).astype(a.dtype)


@quiet
def power(base: Array, exponent: Array) -> Array:
    """Power in the type of the base; integers wrap, a negative exponent truncates 1/b^n."""
    if is_integer(base.dtype):
        if is_integer(exponent.dtype):
            return _integer_power(base, exponent)
        return _to_integer(np.power(base.astype(np.float64), exponent.astype(np.float64)), base.dtype, False)
    if is_integer(exponent.dtype):
        return _whole_power(base, exponent)
    wide = base.dtype if base.dtype == exponent.dtype and base.dtype.itemsize > 2 else np.dtype(np.float64)
    return np.power(base.astype(wide), exponent.astype(wide)).astype(base.dtype)


def _integer_power(base: Array, exponent: Array) -> Array:
    """Integer power modulo 2^64, so that the exponent is not truncated to the type of the base."""
    positive = np.power(base.astype(np.uint64), np.maximum(exponent, 0).astype(np.uint64)).astype(base.dtype)
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    return np.where(exponent < 0, inverse, positive).astype(base.dtype)


def _whole_power(base: Array, exponent: Array) -> Array:
    """
    Float power of |base|, negated for a negative base and an odd exponent: float64 may not represent a large
    exponent's parity.
    """
    size = np.power(np.abs(base.astype(np.float64)), exponent.astype(np.float64))
    is_negative = np.signbit(base.astype(np.float64)) & (exponent % 2 != 0)
    return np.where(is_negative, -size, size).astype(base.dtype)


_ERF = np.frompyfunc(math.erf, 1, 1)


@quiet
def erf(x: Array) -> Array:
    """Error function in float64; for integers, rounded to float32 and then truncated."""
    found = np.asarray(_ERF(x.astype(np.float64))).astype(np.float64)
    return (found if is_float(x.dtype) else found.astype(np.float32)).astype(x.dtype)


@quiet
def maximum(a: Array, b: Array) -> Array:
    """Maximum of IEEE 754-2019: NaN propagates, 0 is larger than -0."""
    found = np.maximum(a, b)
    return np.where((a == 0) & (b == 0), a + b, found).astype(found.dtype) if is_float(found.dtype) else found


@quiet
def minimum(a: Array, b: Array) -> Array:
    """Minimum of IEEE 754-2019: NaN propagates, -0 is smaller than 0."""
    found = np.minimum(a, b)
    if not is_float(found.dtype):
        return found
    return np.where((a == 0) & (b == 0), -(-a + -b), found).astype(found.dtype)


@quiet
def relu(x: Array) -> Array:
    """max(x, 0); NaN propagates, -0 becomes 0."""
    return maximum(x, np.zeros((), x.dtype))


@quiet
def reciprocal(x: Array) -> Array:
    """1 / x."""
    return np.divide(np.ones((), x.dtype), x).astype(x.dtype)


@quiet
def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), for negative x exp(x) / (1 + exp(x)), which does not overflow."""
    wide = x.astype(np.float64)
    raised = np.exp(wide)
    return np.where(wide > 0, 1 / (1 + np.exp(-wide)), raised / (1 + raised)).astype(x.dtype)


@quiet
def sign(x: Array) -> Array:
    """1, 0 or -1; 0 for -0, which keeps its sign in bfloat16 by NumPy."""
    return np.sign(computed_in(x)).astype(x.dtype)


def computed_in(x: Array) -> Array:
    """Return floats narrower than 32 bits as float32, as native code computes; integers as float64."""
    if not is_float(x.dtype):
        return x.astype(np.float64)
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def once_rounded(function: Callable[..., Array], scalar: Callable[[float], float] | None = None) -> Function:
    """
    Return `function` of floats in float64, rounded once.

    Doubles are left to `scalar`, the function of the C library that native code calls: vectorized ones of
    NumPy differ from it in the last bit, by processor.
    """

    @quiet
    def rounded(x: Array) -> Array:
        if scalar is not None and x.dtype == np.float64:
            results = [_defined(scalar, value) for value in x.reshape(-1).tolist()]
            return np.array(results, np.float64).reshape(x.shape)
        return np.asarray(function(x.astype(np.float64))).astype(x.dtype)

    return rounded


def _defined(scalar: Callable[[float], float], value: float) -> float:
    """Return a function of a number, NaN outside of its domain."""
    try:
        return scalar(value)
    except ValueError:
        return math.nan


def same(function: Callable[..., Array]) -> Function:
    """Return `function` with its result cast to the type of its first operand."""

    @wraps(function)
    def preserving(*arrays: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays)).astype(arrays[0].dtype, copy=False)

    return preserving


def clip(low: Array | None, high: Array | None) -> Function:
    """min(max(x, low), high); an absent bound is the limit of the finite numbers."""

    @quiet
    def clipped(x: Array) -> Array:
        raised, limit = x, np.array(largest(x.dtype) if is_float(x.dtype) else 0, x.dtype)
        if low is not None or is_float(x.dtype):
            raised = maximum(x, -limit if low is None else low.astype(x.dtype))
        if high is None and not is_float(x.dtype):
            return raised.astype(x.dtype)
        return minimum(raised, limit if high is None else high.astype(x.dtype)).astype(x.dtype)

    return clipped


@cache
def largest(dtype: np.dtype[np.generic]) -> float:
    """Return the largest finite number of a float type."""
    if dtype.name in ("float16", "float32", "float64"):
        return float(np.finfo(dtype.name).max)
    return float(np.max(_finite_numbers(dtype), initial=0))


@cache
def smallest_normal(dtype: np.dtype[np.generic]) -> float:
    """Return the smallest positive number of a float type that has all its digits."""
    if dtype.name in ("float16", "float32", "float64"):
        return float(np.finfo(dtype.name).smallest_normal)
    every = _finite_numbers(dtype)
    denormal, after_one = (np.min(every, where=every > bound, initial=np.inf) for bound in (0, 1))
    return float(denormal / (after_one - 1))


def _finite_numbers(dtype: np.dtype[np.generic]) -> npt.NDArray[np.float32]:
    """Return all finite numbers of a float type of one or two bytes."""
    bits = np.arange(1 << 8 * dtype.itemsize).astype(f"uint{8 * dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        every = bits.view(dtype).astype(np.float32)
    return every[np.isfinite(every)]


def cast(to: np.dtype[np.generic], saturate: bool, nearest: bool) -> Function:
    """
    ONNX Cast to `to` (docs/internals/onnx-rules.md §2.6).

    Float to integer truncates (rounds to nearest even if `nearest`), NaN becomes 0, and out-of-range values
    saturate; non-zero is true; 8-bit floats saturate if `saturate`.
    """

    @quiet
    def converted(x: Array) -> Array:
        if to == np.bool_:
            return np.not_equal(x, np.zeros((), x.dtype))
        if is_float(x.dtype) and to.name.startswith(("float4_", "float6_")):
            # There is no NaN in these types.
            x = np.where(np.isnan(x), np.zeros((), x.dtype), x).astype(x.dtype)
        if is_float(x.dtype) and is_integer(to):
            if ml_dtypes.iinfo(to).bits < 8:
                # The node tests of the onnx package expect that what does not fit wraps.
                return _to_integer(x, np.dtype(np.int32), nearest).astype(to)
            return _to_integer(x, to, nearest)
        if saturate and to.itemsize == 1 and is_float(to) and not is_integer(to):
            limit = largest(to)
            wide = x.astype(np.float32)
            return np.where(np.isnan(wide), wide, np.clip(wide, -limit, limit)).astype(to)
        if is_integer(x.dtype) and ml_dtypes.iinfo(x.dtype).bits < 8:
            # numpy has no conversion from one integer type of ml_dtypes to another.
            x = x.astype(np.int8)
        return x.astype(to)

    return converted


def _to_integer(x: Array, to: np.dtype[np.generic], nearest: bool) -> Array:
    wide = x.astype(np.float64)
    rounded = np.rint(wide) if nearest else np.trunc(wide)
    limits = ml_dtypes.iinfo(to)
    low, high = int(limits.min), int(limits.max)
    inside = np.where((rounded >= low) & (rounded < float(high) + 1), rounded, 0)
    found = inside.astype(np.uint64 if low == 0 else np.int64).astype(to)
    found = np.where(rounded < low, np.array(low, to), found)
    return np.where(rounded >= high, np.array(high, to), found).astype(to)


@quiet
def matmul(a: Array, b: Array) -> Array:
    """`a @ b` in the type of `a`; float16 is accumulated in float32."""
    if is_float(a.dtype) and a.dtype.itemsize < 4:
        return np.asarray(np.matmul(a.astype(np.float32), b.astype(np.float32))).astype(a.dtype)
    return np.asarray(np.matmul(a, b))
