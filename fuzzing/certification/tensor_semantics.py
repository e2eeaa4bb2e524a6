"""The meaning of reductions, products, windows and normalisations, as terms of each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

import numpy as np

from xonnc.fuzzing.certification.scalar_semantics import Scalars
from xonnc.fuzzing.certification.terms import Attributes, Term, TermArray

Operands: TypeAlias = "list[TermArray | None]"
Tensorwise: TypeAlias = "Callable[[Scalars, Attributes, Operands], TermArray]"


class NoMeaningError(Exception):
    """An operator, or a case of one, without a meaning here."""


class EmptyOperandError(NoMeaningError):
    """An operand without elements, about which there is nothing to prove."""


def broadcast(function: Callable[[list[Term]], Term], *arrays: TermArray) -> TermArray:
    """Apply a function to the elements at each index of arrays that broadcast."""
    if not arrays:
        raise NoMeaningError("no operands")
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    made = np.empty(flat[0].size, np.object_)
    made[:] = [function(list(terms)) for terms in zip(*flat, strict=True)]
    return made.reshape(shape)


def present(operands: Operands, index: int) -> TermArray:
    """Return an operand that must be there."""
    found = operands[index] if index < len(operands) else None
    if found is None:
        raise NoMeaningError("an operand is absent")
    return found


def integers(array: TermArray | None) -> list[int] | None:
    """Return the integers of a known operand."""
    if array is None:
        return None
    found = [term.value for term in array.reshape(-1)]
    if not all(isinstance(value, int) for value in found):
        raise NoMeaningError("axes are computed at run time")
    return [int(value) for value in found if isinstance(value, int)]


def along_axes(array: TermArray, axes: Sequence[int], function: Callable[[list[Term]], Term]) -> TermArray:
    """Reduce axes to one element each."""
    axes = sorted(axis % array.ndim for axis in axes)
    remaining = [axis for axis in range(array.ndim) if axis not in axes]
    shape = tuple(array.shape[axis] for axis in remaining)
    rows = (
        array.transpose([*remaining, *axes]).reshape((int(np.prod(shape, dtype=np.int64)), -1))
        if array.size
        else None
    )
    if rows is None:
        raise EmptyOperandError("a reduction of nothing")
    made = np.empty(len(rows), np.object_)
    made[:] = [function(list(row)) for row in rows]
    return made.reshape([1 if axis in axes else size for axis, size in enumerate(array.shape)])


Reduction: TypeAlias = "Callable[[Scalars, list[Term]], Term]"


def _sum(s: Scalars, terms: list[Term]) -> Term:
    return s.total(terms, terms[0])


def _squares(s: Scalars, terms: list[Term]) -> Term:
    return _sum(s, [s.same("mul", term, term) for term in terms])


def mean(s: Scalars, terms: list[Term]) -> Term:
    """Return the mean of terms."""
    return s.same("div", _sum(s, terms), s.number(len(terms), terms[0]))


REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceMean": mean,
    "ReduceMax": lambda s, x: s.chain("max", x),
    "ReduceMin": lambda s, x: s.chain("min", x),
    "ReduceProd": lambda s, x: s.chain("mul", x),
    "ReduceL1": lambda s, x: _sum(s, [s.same("abs", term) for term in x]),
    "ReduceL2": lambda s, x: s.same("sqrt", _squares(s, x)),
    "ReduceSumSquare": _squares,
    "ReduceLogSum": lambda s, x: s.same("log", _sum(s, x)),
    "ReduceLogSumExp": lambda s, x: s.same("log", _sum(s, [s.same("exp", term) for term in x])),
}


def reduction(function: Reduction) -> Tensorwise:
    """Return the meaning of a reduction; axes are an operand or an attribute."""

    def reduce(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
        x = present(operands, 0)
        axes = integers(operands[1]) if len(operands) > 1 else attributes.get("axes")
        if not axes:
            if attributes.get("noop_with_empty_axes") == 1:
                return (
                    x
                    if function not in (_squares, REDUCTIONS["ReduceL1"])
                    else broadcast(partial(function, s), x)
                )
            axes = range(x.ndim)
        if not isinstance(axes, Sequence | range):
            raise NoMeaningError("axes are no list")
        chosen = [int(axis) % max(1, x.ndim) for axis in cast("Sequence[int]", axes)]
        made = (
            along_axes(x, chosen, lambda terms: function(s, terms))
            if x.ndim
            else broadcast(partial(function, s), x)
        )
        if attributes.get("keepdims", 1) == 1 or not x.ndim:
            return made
        return made.reshape([size for axis, size in enumerate(x.shape) if axis not in chosen])

    return reduce


def matrix_product(s: Scalars, a: TermArray, b: TermArray) -> TermArray:
    """Return the matrix product, as NumPy broadcasts it."""
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    outer = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    rows = np.broadcast_to(rows, (*outer, *rows.shape[-2:]))
    columns = np.broadcast_to(columns, (*outer, *columns.shape[-2:]))
    made = np.empty((*outer, rows.shape[-2], columns.shape[-1]), np.object_)
    for index in np.ndindex(*made.shape):
        left, right = rows[(*index[:-2], index[-2])], columns[(*index[:-2], slice(None), index[-1])]
        if not len(left):
            raise EmptyOperandError("a product of empty matrices")
        made[index] = s.total([s.same("mul", *pair) for pair in zip(left, right, strict=True)], left[0])
    shape = list(made.shape)
    if b.ndim == 1:
        shape.pop()
    if a.ndim == 1:
        shape.pop(-1 if b.ndim == 1 else -2)
    return made.reshape(shape)


def _matmul(s: Scalars, _: Attributes, operands: Operands) -> TermArray:
    return matrix_product(s, present(operands, 0), present(operands, 1))


def _gemm(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    a, b = present(operands, 0), present(operands, 1)
    a = a.T if attributes.get("transA") == 1 else a
    b = b.T if attributes.get("transB") == 1 else b
    made = _scaled(s, matrix_product(s, a, b), attributes.get("alpha", 1.0))
    if len(operands) < 3 or operands[2] is None:
        return made
    c = _scaled(s, operands[2], attributes.get("beta", 1.0))
    return broadcast(lambda x: s.same("add", *x), made, c)


def _scaled(s: Scalars, array: TermArray, factor: object) -> TermArray:
    if factor == 1 or not isinstance(factor, int | float):
        return array
    return broadcast(lambda t: s.same("mul", s.number(factor, t[0]), t[0]), array)


def integer_list(attributes: Attributes, name: str, default: list[int]) -> list[int]:
    """Return the integers of an attribute."""
    found = attributes.get(name)
    if isinstance(found, int):
        return [found]
    # A list of integers, as the op definition has it.
    return list(map(int, cast("Sequence[int]", found))) if isinstance(found, Sequence) and found else default


def _channels(array: TermArray, rank: int) -> TermArray:
    return array.reshape((-1, *[1] * (rank - 2)))


def _batch_norm(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x = present(operands, 0)
    scale, bias, center, spread = (
        _channels(present(operands, index), max(2, x.ndim)) for index in range(1, 5)
    )
    if x.ndim == 1:
        scale, bias, center, spread = (part.reshape(-1) for part in (scale, bias, center, spread))
    return broadcast(lambda t: normalised(s, attributes, *t), x, center, spread, scale, bias)


def normalised(
    s: Scalars, attributes: Attributes, x: Term, center: Term, spread: Term, *affine: Term
) -> Term:
    """Return (x - center) / sqrt(spread + epsilon), times a scale, plus a bias."""
    epsilon = attributes.get("epsilon", 1e-5)
    found = s.same("add", spread, s.number(epsilon if isinstance(epsilon, float) else 1e-5, spread))
    found = s.same("div", s.same("sub", x, center), s.same("sqrt", found))
    for function, term in zip(("mul", "add"), affine, strict=False):
        found = s.same(function, found, term)
    return found


def _over_axes(
    s: Scalars, attributes: Attributes, x: TermArray, axes: Sequence[int], centered: bool
) -> TermArray:
    center = along_axes(x, axes, lambda terms: mean(s, terms))
    zero = s.number(0, x.reshape(-1)[0])
    center = center if centered else np.full_like(center, zero)
    moved = broadcast(lambda x: s.same("sub", *x), x, center) if centered else x
    spread = along_axes(moved, axes, lambda terms: mean(s, [s.same("mul", term, term) for term in terms]))
    return broadcast(lambda t: normalised(s, attributes, *t), x, center, spread)


def _layer_norm(centered: bool) -> Tensorwise:
    def normalise(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
        x = present(operands, 0)
        axis = integer_list(attributes, "axis", [-1])[0] % x.ndim
        made = _over_axes(s, attributes, x, range(axis, x.ndim), centered)
        for function, operand in zip(("mul", "add"), operands[1:], strict=False):
            if operand is not None:
                made = broadcast(partial(s.apply_to, function), made, operand)
        return made

    return normalise


def _instance_norm(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x = present(operands, 0)
    made = _over_axes(s, attributes, x, range(2, x.ndim), True)
    scale, bias = (_channels(present(operands, index), x.ndim) for index in (1, 2))
    return broadcast(lambda t: s.same("add", s.same("mul", t[0], t[1]), t[2]), made, scale, bias)


def _group_norm(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x = present(operands, 0)
    groups = integer_list(attributes, "num_groups", [1])[0]
    split = x.reshape((x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    made = _over_axes(s, attributes, split, range(2, split.ndim), True).reshape(x.shape)
    scale, bias = (present(operands, index) for index in (1, 2))
    if len(scale) == groups != x.shape[1]:
        scale, bias = (np.repeat(part, x.shape[1] // groups) for part in (scale, bias))
    scale, bias = _channels(scale, x.ndim), _channels(bias, x.ndim)
    return broadcast(lambda t: s.same("add", s.same("mul", t[0], t[1]), t[2]), made, scale, bias)


def _softmax(logarithm: bool) -> Tensorwise:
    def softmax(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
        x = present(operands, 0)
        axis = [integer_list(attributes, "axis", [-1])[0]]
        largest = along_axes(x, axis, lambda terms: s.chain("max", terms))
        moved = broadcast(lambda x: s.same("sub", *x), x, largest)
        raised = broadcast(lambda t: s.same("exp", t[0]), moved)
        total = along_axes(raised, axis, lambda terms: s.total(terms, terms[0]))
        if logarithm:
            return broadcast(lambda t: s.same("sub", t[0], s.same("log", t[1])), moved, total)
        return broadcast(lambda x: s.same("div", *x), raised, total)

    return softmax


def _global_pool(function: Reduction) -> Tensorwise:
    def pool(s: Scalars, _: Attributes, operands: Operands) -> TermArray:
        x = present(operands, 0)
        return along_axes(x, range(2, x.ndim), lambda terms: function(s, terms))

    return pool


def _clip_by_operands(s: Scalars, _: Attributes, operands: Operands) -> TermArray:
    bounds = [*operands[1:], None, None][:2]
    low, high = (None if bound is None else cast("Term", bound.reshape(-1)[0]) for bound in bounds)
    return broadcast(lambda t: s.clip(t[0], low, high), present(operands, 0))


def _as_single(s: Scalars, terms: list[Term]) -> Term:
    return terms[0] if terms[0].dtype == "float32" else s.terms.apply("cast", "float32", *terms)


def _scaler(s: Scalars, attributes: Attributes, operands: Operands) -> TermArray:
    x = broadcast(
        partial(_as_single, s),
        present(operands, 0),
    )
    for name, function in (("offset", "sub"), ("scale", "mul")):
        numbers = attributes.get(name)
        if isinstance(numbers, Sequence):
            row = s.terms.literals(np.array(numbers, np.float32))
            x = broadcast(partial(s.apply_to, function), x, row)
    return x


TENSORWISE: dict[str, Tensorwise] = {
    **{name: reduction(function) for name, function in REDUCTIONS.items()},
    "MatMul": _matmul,
    "Gemm": _gemm,
    "BatchNormalizationInferenceMode": _batch_norm,
    "LayerNormalization": _layer_norm(True),
    "RMSNormalization": _layer_norm(False),
    "RMSLayerNormalization": _layer_norm(False),
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "GroupNormalizationV18": _group_norm,
    "Softmax": _softmax(False),
    "LogSoftmax": _softmax(True),
    "GlobalAveragePool": _global_pool(mean),
    "GlobalMaxPool": _global_pool(lambda s, x: s.chain("max", x)),
    "Clip": _clip_by_operands,
    "Scaler": _scaler,
}
"""Operators with one result whose elements depend on several elements."""
