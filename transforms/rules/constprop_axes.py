"""Constant folding along an axis: softmax, norms, cumulative sums, sorting, Einsum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from xonnc.rewriting.onnx import (
    LRN,
    ArgMax,
    ArgMin,
    CumProd,
    CumSum,
    Einsum,
    Hardmax,
    HardmaxV11,
    LogSoftmax,
    LogSoftmaxV11,
    LpNormalization,
    ReverseSequence,
    Softmax,
    SoftmaxV11,
    TopK,
    Unique,
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
    consts,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import computed_in, is_float, quiet
from xonnc.transforms.rules.constprop_movement import int_values_of, normalised

c = const.c

MAX_PRODUCTS = 1 << 24
"""Maximum number of products that a folded Einsum sums."""


def axis_rule(op: Template, function: Callable[[Array, int], Array]) -> Rule:
    """Return the rule that folds f(c, axis), for an f that preserves the shape."""

    def computed(c: Constant, axis: int) -> RewriteResult:
        array = c.array
        axes = normalised([axis], array.ndim)
        if axes is None:
            return MatchFailure(f"there is no axis {axis}")
        return array if array.size == 0 else np.asarray(quiet(function)(array, axes[0])).astype(array.dtype)

    return rule(op(c, axis=attr.axis), compute(computed, c, attr.axis))


def as_rows(op: Template, function: Callable[[Array, int], Array]) -> Rule:
    """Return the rule that folds f of each row of c, flattened to a matrix at `axis` as up to opset 12."""

    def computed(c: Constant, axis: int) -> RewriteResult:
        array = c.array
        if not -array.ndim <= axis < max(1, array.ndim):
            return MatchFailure(f"there is no axis {axis}")
        axes = axis % array.ndim if array.ndim else 0
        if array.size == 0:
            return c.attribute
        rows = array.reshape(prod(array.shape[:axes]), -1)
        return np.asarray(quiet(function)(rows, 1)).astype(array.dtype).reshape(array.shape)

    return rule(op(c, axis=attr.axis), compute(computed, c, attr.axis))


def softmax(x: Array, axis: int) -> Array:
    """exp(x) / sum(exp(x)); the maximum is subtracted first, so that exp does not overflow"""
    raised = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return raised / np.sum(raised, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int) -> Array:
    """x - log(sum(exp(x))); the maximum is subtracted first, so that exp does not overflow"""
    moved = x - np.max(x, axis=axis, keepdims=True)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


def hardmax(x: Array, axis: int) -> Array:
    """1 at the first maximum, else 0"""
    found = np.zeros_like(x)
    np.put_along_axis(found, np.expand_dims(np.argmax(x, axis=axis), axis), 1, axis)
    return found


def normalised_by(c: Constant, axis: int, p: int) -> RewriteResult:
    """x divided by its p-norm along an axis; 0 where the norm is 0"""
    array = c.array
    axes = normalised([axis], array.ndim)
    if axes is None or p not in (1, 2):
        return MatchFailure(f"axis {axis}, p {p}")
    with np.errstate(all="ignore"):
        sizes = np.abs(computed_in(array))
        total = np.sum(sizes if p == 1 else sizes * sizes, axis=axes[0], keepdims=True)
        norm = total if p == 1 else np.sqrt(total)
        return np.where(norm == 0, 0, array / np.where(norm == 0, 1, norm)).astype(array.dtype)


def local_response(c: Constant, size: int, alpha: float, beta: float, bias: float) -> RewriteResult:
    """x / (bias + alpha / size · s)^beta, s the sum of squares over a window of `size` channels"""
    array = c.array
    if array.ndim < 3 or size < 1:
        return MatchFailure("there are no channels")
    with np.errstate(all="ignore"):
        squares = np.square(computed_in(array))
    before = (size - 1) // 2
    pads = [(0, 0)] * array.ndim
    pads[1] = (before, size - 1 - before)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(squares, pads), size, axis=1)
    with np.errstate(all="ignore"):
        return (array / np.power(bias + alpha / size * np.sum(windows, axis=-1), beta)).astype(array.dtype)


def extremum(op: Template, function: Callable[..., Array]) -> Rule:
    """Return the rule that folds ArgMax or ArgMin: the first index of an extremum, or the last."""

    def found(c: Constant, axis: int, keepdims: int, last: int) -> RewriteResult:
        array = c.array
        axes = normalised([axis], array.ndim)
        if axes is None or array.shape[axes[0]] == 0:
            return MatchFailure(f"there is nothing along axis {axis}")
        if last:
            # NumPy returns the first index of several: find that in the reversed array.
            reversed_ = np.flip(array, axes[0])
            where = array.shape[axes[0]] - 1 - function(reversed_, axis=axes[0], keepdims=bool(keepdims))
        else:
            where = function(array, axis=axes[0], keepdims=bool(keepdims))
        return np.asarray(where).astype(np.int64)

    return rule(
        op(c, axis=attr.axis, keepdims=attr.keepdims, select_last_index=attr.last),
        compute(found, c, attr.axis, attr.keepdims, attr.last),
    )


def cumulative(op: Template, function: Callable[..., Array], neutral: int) -> Rule:
    """Return the rule that folds a cumulative sum or product; integers wrap."""

    def summed(c: Constant, axis: Constant, exclusive: int, reverse: int) -> RewriteResult:
        array = c.array
        axis_values = int_values_of(axis) or ()
        axes = normalised(axis_values, array.ndim)
        if axes is None or len(axes) != 1:
            return MatchFailure(f"{list(axis_values)} is no axis")
        source = np.flip(array, axes[0]) if reverse else array
        with np.errstate(all="ignore"):
            sums = np.asarray(function(source, axis=axes[0], dtype=array.dtype))
            if neutral == 0:
                # Sums start from 0, so that none is -0.
                sums = sums + np.zeros((), array.dtype)
        if exclusive:
            # Shift by one element: the neutral element first, the total of all elements dropped.
            size = array.shape[axes[0]]
            first = np.full(
                [1 if n == axes[0] else s for n, s in enumerate(array.shape)], neutral, array.dtype
            )
            leading = np.take(sums, range(max(0, size - 1)), axis=axes[0])
            sums = np.concatenate([first, leading], axis=axes[0]) if size else sums
        return np.flip(sums, axes[0]) if reverse else sums

    return rule(
        op(c, const.axis, exclusive=attr.exclusive, reverse=attr.reverse),
        compute(summed, c, const.axis, attr.exclusive, attr.reverse),
    )


def top(c: Constant, k: Constant, axis: int, largest: int) -> RewriteResult:
    """The k largest or smallest in order, and their indices; of equal elements the first"""
    array, count = c.array, int_values_of(k) or ()
    axes = normalised([axis], array.ndim)
    if axes is None or len(count) != 1 or not 0 <= count[0] <= array.shape[axes[0]]:
        return MatchFailure(f"axis {axis} has no {list(count)} elements")
    if is_float(array.dtype) and np.any(np.isnan(array)):
        return MatchFailure("NaN has no order")
    if largest:
        # A stable ascending sort of the reversed array, read backwards, is descending with the lowest index
        # first among equals.
        back = np.argsort(np.flip(array, axes[0]), axis=axes[0], kind="stable")
        order = array.shape[axes[0]] - 1 - np.flip(back, axes[0])
    else:
        order = np.argsort(array, axis=axes[0], kind="stable")
    order = np.take(order, range(count[0]), axis=axes[0]).astype(np.int64)
    return (np.take_along_axis(array, order, axes[0]), order)


def reversed_sequences(c: Constant, lengths: Constant, batch_axis: int, time_axis: int) -> RewriteResult:
    """The first `length` elements of each batch entry in reversed order along the time axis"""
    array, counts = c.array, int_values_of(lengths) or ()
    axes = normalised([batch_axis, time_axis], array.ndim)
    if axes is None or sorted(axes) != [0, 1]:
        return MatchFailure(f"axes {batch_axis} and {time_axis} are not the first two")
    size = array.shape[axes[1]]
    if len(counts) != array.shape[axes[0]] or any(not 0 <= count <= size for count in counts):
        return MatchFailure(f"lengths {list(counts)} do not fit {list(array.shape)}")
    result = np.array(array)
    for index, count in enumerate(counts):
        source = array[index] if axes[0] == 0 else array[:, index]
        target = result[index] if axes[0] == 0 else result[:, index]
        target[:count] = source[:count][::-1]
    return result


def unique(c: Constant, axis: int | None, ordered: int) -> RewriteResult:
    """The distinct slices, the index of their first occurrences, the inverse indices and the counts"""
    array = c.array.reshape(-1) if axis is None else c.array
    axes = normalised([axis or 0], array.ndim)
    if axes is None or array.size == 0:
        return MatchFailure(f"there is nothing along axis {axis}")
    if is_float(array.dtype) and np.any(np.isnan(array)):
        return MatchFailure("NaN is not equal to itself")
    slices = np.moveaxis(array, axes[0], 0)
    keys = [tuple(each) for each in _comparable(slices)]
    firsts: dict[tuple[object, ...], int] = {}
    for number, key in enumerate(keys):
        firsts.setdefault(key, number)
    found = sorted(firsts) if ordered else list(firsts)
    positions = {key: number for number, key in enumerate(found)}
    inverse = np.array([positions[key] for key in keys], np.int64)
    first = np.array([firsts[key] for key in found], np.int64)
    counts = np.bincount(inverse, minlength=len(found)).astype(np.int64)
    return (np.take(array, first, axis=axes[0]), first, inverse, counts)


def _comparable(slices: Array) -> Sequence[Sequence[object]]:
    """Return the elements of each slice as Python objects that can be compared and hashed."""
    flat = slices.reshape(len(slices), -1)
    if flat.dtype == np.object_:
        return [[each.encode() if isinstance(each, str) else each for each in row] for row in flat.tolist()]
    if flat.dtype.kind == "c":
        return [[(each.real, each.imag) for each in row] for row in flat.tolist()]
    return (flat.astype(np.float64) if is_float(flat.dtype) else flat).tolist()


def einsum(constants: tuple[Constant, ...], equation: str) -> RewriteResult:
    """Einsum: sums of products; integers wrap"""
    arrays = [constant.array for constant in constants]
    written = equation.replace(" ", "")
    terms = written.partition("->")[0].split(",")
    if len(terms) != len(arrays) or not arrays:
        return MatchFailure(f"{equation!r} has {len(terms)} operands, not {len(arrays)}")
    products = 1
    for label, size in _sizes(terms, arrays).items():
        products *= size if label else max(1, size)
    if products > MAX_PRODUCTS:
        return MatchFailure(f"{products} products to sum, {MAX_PRODUCTS} are allowed")
    dtype = arrays[0].dtype
    # Accumulate narrow floats in float32, so that the sum is rounded once.
    wide = [array.astype(np.float32) if is_float(dtype) and dtype.itemsize < 4 else array for array in arrays]
    try:
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum(written, *wide)).astype(dtype)
    except ValueError as error:
        return MatchFailure(f"{equation!r}: {error}")


def _sizes(terms: Sequence[str], arrays: Sequence[Array]) -> dict[str, int]:
    """Return the size per label; under the empty label, the largest product of the ellipsis's dimensions."""
    sizes: dict[str, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        before, dots, after = term.partition("...")
        last = array.ndim - len(after)
        for label, size in (
            *zip(before, array.shape, strict=False),
            *zip(after, array.shape[last:], strict=False),
        ):
            sizes[label] = max(sizes.get(label, 1), size)
        if dots:
            sizes[""] = max(sizes.get("", 1), prod(array.shape[len(before) : last]))
    return sizes


RULES = rules(
    ArgMaxofConst=extremum(ArgMax, np.argmax),
    ArgMinofConst=extremum(ArgMin, np.argmin),
    CumProdofConst=cumulative(CumProd, np.cumprod, 1),
    CumSumofConst=cumulative(CumSum, np.cumsum, 0),
    EinsumofConst=rule(
        Einsum(consts.constants, equation=attr.equation), compute(einsum, consts.constants, attr.equation)
    ),
    HardmaxV11ofConst=as_rows(HardmaxV11, hardmax),
    HardmaxofConst=axis_rule(Hardmax, hardmax),
    LRNofConst=rule(
        LRN(c, size=attr.size, alpha=attr.alpha, beta=attr.beta, bias=attr.bias),
        compute(local_response, c, attr.size, attr.alpha, attr.beta, attr.bias),
    ),
    LogSoftmaxV11ofConst=as_rows(LogSoftmaxV11, log_softmax),
    LogSoftmaxofConst=axis_rule(LogSoftmax, log_softmax),
    LpNormalizationofConst=rule(
        LpNormalization(c, axis=attr.axis, p=attr.p), compute(normalised_by, c, attr.axis, attr.p)
    ),
    ReverseSequenceofConst=rule(
        ReverseSequence(c, const.lengths, batch_axis=attr.batch, time_axis=attr.time),
        compute(reversed_sequences, c, const.lengths, attr.batch, attr.time),
    ),
    SoftmaxV11ofConst=as_rows(SoftmaxV11, softmax),
    SoftmaxofConst=axis_rule(Softmax, softmax),
    TopKofConst=rule(
        TopK(c, const.k, axis=attr.axis, largest=attr.largest),
        compute(top, c, const.k, attr.axis, attr.largest),
    ),
    UniqueofConst=rule(
        Unique(c, axis=attr.axis, sorted=attr.ordered), compute(unique, c, attr.axis, attr.ordered)
    ),
)

EXPANDING = frozenset({"EinsumofConst"})
"""Rules subject to the expansion bound."""
