"""Constant folding of reductions and matrix products (docs/internals/onnx-rules.md §2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import ml_dtypes
import numpy as np

from xonnc.rewriting.onnx import (
    Gemm,
    MatMul,
    MatMulInteger,
    ReduceL1,
    ReduceL1V13,
    ReduceL2,
    ReduceL2V13,
    ReduceLogSum,
    ReduceLogSumExp,
    ReduceLogSumExpV13,
    ReduceLogSumV13,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    ReduceSumSquare,
    ReduceSumSquareV13,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    RewriteResult,
    Template,
    attr,
    compute,
    const,
    maybe,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import cast, computed_in, divide, is_float, matmul, quiet
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised
from xonnc.transforms.rules.folding_limits import too_much_work

a, b, c = const.a, const.b, const.c

Reduction = Callable[[Array, tuple[int, ...], bool], Array]


def reduction(op: Template, function: Reduction, changes_elements: bool = False) -> Rule:
    """
    Return the rule that folds a reduction over an operand of axes; without axes, over all of them.

    With `noop_with_empty_axes` and no axes, nothing is reduced, but each element is still mapped (such as to
    its square) if `changes_elements`.
    """

    def reduced(
        c: Constant, axes: Constant | None, keepdims: int, noop_with_empty_axes: int
    ) -> RewriteResult:
        array = c.array
        axis_values = int_values_of(axes) or ()
        is_noop = not axis_values and bool(noop_with_empty_axes)
        if is_noop and not changes_elements:
            return c.attribute
        reduced_axes = () if is_noop else normalised(axis_values or tuple(range(array.ndim)), array.ndim)
        if reduced_axes is None:
            return MatchFailure(f"axes {list(axis_values)} are out of range for rank {array.ndim}")
        with np.errstate(all="ignore"):
            return np.asarray(function(array, reduced_axes, bool(keepdims))).astype(array.dtype, copy=False)

    return rule(
        op(c, maybe.axes, keepdims=attr.keepdims, noop_with_empty_axes=attr.noop),
        compute(reduced, c, maybe.axes, attr.keepdims, attr.noop),
    )


def reduction_by_property(op: Template, function: Reduction) -> Rule:
    """Return the rule that folds a reduction over an attribute of axes, as before opset 18; absent: all."""

    def reduced(c: Constant, axes: Sequence[int] | None, keepdims: int) -> RewriteResult:
        array = c.array
        reduced_axes = normalised(tuple(axes or ()) or tuple(range(array.ndim)), array.ndim)
        if reduced_axes is None:
            return MatchFailure(f"axes {axes} are out of range for rank {array.ndim}")
        with np.errstate(all="ignore"):
            return np.asarray(function(array, reduced_axes, bool(keepdims))).astype(array.dtype, copy=False)

    return rule(op(c, axes=attr.axes, keepdims=attr.keepdims), compute(reduced, c, attr.axes, attr.keepdims))


def lowest(dtype: np.dtype[np.generic]) -> Array:
    """Return the maximum of an empty set: -inf, or the smallest integer."""
    return np.array(-np.inf if is_float(dtype) else _limits(dtype)[0], dtype)


def highest(dtype: np.dtype[np.generic]) -> Array:
    """Return the minimum of an empty set: inf, or the largest integer."""
    return np.array(np.inf if is_float(dtype) else _limits(dtype)[1], dtype)


def _limits(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    if dtype == np.bool_:
        return 0, 1
    limits = ml_dtypes.iinfo(dtype)
    return int(limits.min), int(limits.max)


def largest(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Maximum; NaN propagates"""
    return np.maximum.reduce(array, axis=axes, keepdims=keep, initial=lowest(array.dtype))


def smallest(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Minimum; NaN propagates"""
    return np.minimum.reduce(array, axis=axes, keepdims=keep, initial=highest(array.dtype))


def total(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Sum; integers wrap in their own width, and the sum of -0 alone is 0"""
    return np.sum(array, axis=axes, keepdims=keep, dtype=array.dtype, initial=0)


def sizes(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """L1 norm: the sum of absolute values, in the element type"""
    return total(np.abs(array), axes, keep)


def squares(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Sum of squares, in the element type"""
    return total(np.multiply(array, array), axes, keep)


def in_floats(function: Reduction) -> Reduction:
    """
    Return `function` computed in float64 for integers, float32 for float16; integer results are truncated.
    """

    def reduced(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
        found = np.asarray(function(computed_in(array), axes, keep))
        return cast(array.dtype, saturate=True, nearest=False)(found)

    return reduced


@in_floats
def length(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """L2 norm: the square root of the sum of squares"""
    return np.sqrt(squares(array, axes, keep))


@in_floats
def log_sum(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """log sum x"""
    return np.log(total(array, axes, keep))


@in_floats
def log_sum_exp(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """log(sum(exp(x - m))) + m, with m the maximum if finite, else 0, so that inf - inf does not occur"""
    most = largest(array, axes, keep=True)
    moved = np.exp(array - np.where(np.isfinite(most), most, 0))
    return np.log(total(moved, axes, keep)) + np.reshape(
        np.where(np.isfinite(most), most, 0), np.sum(moved, axis=axes, keepdims=keep).shape
    )


def product(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Product; integers wrap in their own width"""
    return np.prod(array, axis=axes, keepdims=keep, dtype=array.dtype)


def mean(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Sum divided by the number of elements; integer sums wrap in their own width, quotients are truncated"""
    if not is_float(array.dtype):
        count = np.array(prod(array.shape[axis] for axis in axes), array.dtype)
        return divide(total(array, axes, keep), count)
    wide = array if array.dtype.itemsize >= 4 else array.astype(np.float64)
    return np.mean(wide, axis=axes, keepdims=keep)


def multiplied(a: Constant, b: Constant) -> RewriteResult:
    """a b"""
    if a.array.ndim == 0 or b.array.ndim == 0:
        return MatchFailure("a scalar is no matrix")
    floats = is_float(a.array.dtype)
    return too_much_work(a.array.shape, b.array.shape, floats) or matmul(a.array, b.array)


def multiplied_integers(a: Constant, b: Constant, az: Constant | None, bz: Constant | None) -> RewriteResult:
    """(a - az) (b - bz) in int32"""
    if (refusal := too_much_work(a.array.shape, b.array.shape, is_float=False)) is not None:
        return refusal
    left, right = a.array.astype(np.int32), b.array.astype(np.int32)
    if az is not None:
        zero = az.array.astype(np.int32)
        left = left - (zero.reshape(-1, 1) if zero.ndim == 1 and left.ndim > 1 else zero)
    if bz is not None:
        right = right - bz.array.astype(np.int32)
    return np.matmul(left, right)


def general(
    a: Constant, b: Constant, c: Constant | None, alpha: float, beta: float, transa: int, transb: int
) -> RewriteResult:
    """Gemm: alpha a' b' + beta c; integers with factors other than 1 in float64, then truncated"""
    left = a.array.T if transa else a.array
    right = b.array.T if transb else b.array
    if (refusal := too_much_work(left.shape, right.shape, is_float(left.dtype))) is not None:
        return refusal
    # With beta 0, C is not read (as in BLAS): NaN and infinities in it do not propagate.
    added = None if c is None or beta == 0 else c.array
    return quiet(_scaled_sum)(matmul(left, right), added, alpha, beta)


def _scaled_sum(product: Array, c: Array | None, alpha: float, beta: float) -> Array:
    element = product.dtype
    if not is_float(element) and (alpha, beta) != (1.0, 1.0):
        # As in the reference, the sum is truncated, not each term.
        wide = product.astype(np.float64) * alpha
        return (wide if c is None else wide + c.astype(np.float64) * beta).astype(element)
    found = _scaled(product, alpha)
    return found if c is None else np.add(found, _scaled(c, beta)).astype(element)


def _scaled(array: Array, factor: float) -> Array:
    return array if factor == 1.0 else (array * np.asarray(factor, array.dtype)).astype(array.dtype)


BY_FORMULA: Mapping[str, tuple[Template, Template, Reduction]] = {
    "ReduceL1": (ReduceL1, ReduceL1V13, sizes),
    "ReduceL2": (ReduceL2, ReduceL2V13, length),
    "ReduceLogSum": (ReduceLogSum, ReduceLogSumV13, log_sum),
    "ReduceLogSumExp": (ReduceLogSumExp, ReduceLogSumExpV13, log_sum_exp),
    "ReduceSumSquare": (ReduceSumSquare, ReduceSumSquareV13, squares),
}
"""
Reductions that map each element: operators with axes as operand and as attribute, and the function.

They are not left to the reference evaluator: it squares integers in their own type before it takes a root,
sums 32-bit integers in 64 bits, and returns NaN for the logarithm of an infinite sum.
"""

RULES = rules(
    **{f"{name}ofConst": reduction(new, function, True) for name, (new, _, function) in BY_FORMULA.items()},
    **{
        f"{name}V13ofConst": reduction_by_property(old, function)
        for name, (_, old, function) in BY_FORMULA.items()
    },
    GemmConstProp=rule(
        Gemm(a, b, maybe.c, alpha=attr.alpha, beta=attr.beta, transA=attr.transa, transB=attr.transb),
        compute(general, a, b, maybe.c, attr.alpha, attr.beta, attr.transa, attr.transb),
    ),
    MatMulIntegerOfConsts=rule(
        MatMulInteger(a, b, maybe.az, maybe.bz), compute(multiplied_integers, a, b, maybe.az, maybe.bz)
    ),
    MatMulOfConsts=rule(MatMul(a, b), compute(multiplied, a, b)),
    ReduceMaxConstProp=reduction(ReduceMax, largest),
    ReduceMeanConstProp=reduction(ReduceMean, mean),
    ReduceMinConstProp=reduction(ReduceMin, smallest),
    ReduceProdConstProp=reduction(ReduceProd, product),
    ReduceSumConstProp=reduction(ReduceSum, total),
)

EXPANDING = frozenset({"GemmConstProp", "MatMulIntegerOfConsts", "MatMulOfConsts"})
"""Rules subject to the expansion bound."""
