"""Sums over constants become constants: reductions and matrix products (spec/onnx-rules-fold… §1.4)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import ml_dtypes
import numpy as np

from xonnc.rewriting.onnx import (
    Gemm,
    MatMul,
    MatMulInteger,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
)
from xonnc.rewriting.patterns import Array, Constant, Declined, Outcome, Template, attr, compute, const, maybe
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import divide, is_float, matmul, quiet
from xonnc.transforms.rules.constprop_movement import normalised, whole
from xonnc.transforms.rules.limits import too_much_work

a, b, c = const.a, const.b, const.c

Reduction = Callable[[Array, tuple[int, ...], bool], Array]


def reduction(op: Template, function: Reduction) -> Rule:
    """f over some axes, all of them if none is given"""

    def reduced(c: Constant, axes: Constant | None, keepdims: int, noop_with_empty_axes: int) -> Outcome:
        array = c.array
        wanted = whole(axes) or ()
        if not wanted and noop_with_empty_axes:
            return c.attribute
        places = normalised(wanted or tuple(range(array.ndim)), array.ndim)
        if places is None:
            return Declined(f"axes {list(wanted)} are out of range for rank {array.ndim}")
        with np.errstate(all="ignore"):
            return np.asarray(function(array, places, bool(keepdims))).astype(array.dtype, copy=False)

    return rule(
        op(c, maybe.axes, keepdims=attr.keepdims, noop_with_empty_axes=attr.noop),
        compute(reduced, c, maybe.axes, attr.keepdims, attr.noop),
    )


def lowest(dtype: np.dtype[np.generic]) -> Array:
    """What the maximum of nothing is: minus infinity, or the smallest integer."""
    return np.array(-np.inf if is_float(dtype) else _limits(dtype)[0], dtype)


def highest(dtype: np.dtype[np.generic]) -> Array:
    """What the minimum of nothing is: infinity, or the largest integer."""
    return np.array(np.inf if is_float(dtype) else _limits(dtype)[1], dtype)


def _limits(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    if dtype == np.bool_:
        return 0, 1
    limits = ml_dtypes.iinfo(dtype)
    return int(limits.min), int(limits.max)


def largest(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """max; NaN wins"""
    return np.maximum.reduce(array, axis=axes, keepdims=keep, initial=lowest(array.dtype))


def smallest(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """min; NaN wins"""
    return np.minimum.reduce(array, axis=axes, keepdims=keep, initial=highest(array.dtype))


def total(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Integers wrap in their own width"""
    return np.sum(array, axis=axes, keepdims=keep, dtype=array.dtype)


def product(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """Integers wrap in their own width"""
    return np.prod(array, axis=axes, keepdims=keep, dtype=array.dtype)


def mean(array: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """The sum by the number of elements; integers wrap in their own width and are truncated"""
    if not is_float(array.dtype):
        count = np.array(prod(array.shape[axis] for axis in axes), array.dtype)
        return divide(total(array, axes, keep), count)
    wide = array if array.dtype.itemsize >= 4 else array.astype(np.float64)
    return np.mean(wide, axis=axes, keepdims=keep)


def multiplied(a: Constant, b: Constant) -> Outcome:
    """a b"""
    if a.array.ndim == 0 or b.array.ndim == 0:
        return Declined("a scalar is no matrix")
    floats = is_float(a.array.dtype)
    return too_much_work(a.array.shape, b.array.shape, floats) or matmul(a.array, b.array)


def multiplied_integers(a: Constant, b: Constant, az: Constant | None, bz: Constant | None) -> Outcome:
    """(a - az) (b - bz) in 32 bits"""
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
) -> Outcome:
    """alpha a' b' + beta c"""
    left = a.array.T if transa else a.array
    right = b.array.T if transb else b.array
    scale = quiet(_scaled)
    if (refusal := too_much_work(left.shape, right.shape, is_float(left.dtype))) is not None:
        return refusal
    found = scale(matmul(left, right), alpha)
    return found if c is None else np.add(found, scale(c.array, beta)).astype(left.dtype)


def _scaled(array: Array, factor: Array) -> Array:
    """Integers by a factor that is no integer round to the nearest."""
    if float(factor) == 1.0:
        return array
    if is_float(array.dtype):
        return (array * np.asarray(factor, array.dtype)).astype(array.dtype)
    return np.rint(array.astype(np.float64) * float(factor)).astype(array.dtype)


RULES = rules(
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
"""The rules that the expansion bound holds back."""
