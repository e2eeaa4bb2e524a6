"""Evaluation of the scalar operations of kernels (arith, math, krnl) on NumPy scalars, one at a time."""

from __future__ import annotations

import math as libm
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from xonnc.dialects.krnl.math import DecodeOp, ErfOp, RemainderOp
from xonnc.dialects.onnx.types import numpy_dtype

Scalar: TypeAlias = Any
"""A NumPy scalar; integers are signed, `index` is int64."""


class NotInterpretedError(Exception):
    """An operation that the interpreter lacks."""


def dtype_of(type_: Attribute) -> np.dtype[np.generic]:
    """Return the NumPy type of a scalar type; raise `NotInterpretedError` for one that ONNX lacks."""
    if isinstance(type_, IndexType):
        return np.dtype(np.int64)
    try:
        return numpy_dtype(type_)
    except KeyError:
        raise NotInterpretedError(str(type_)) from None


def _unsigned(value: Scalar) -> Scalar:
    """Return the same bits as an unsigned integer."""
    array = np.asarray(value)
    return value if array.dtype == np.bool_ else array.view(f"u{array.dtype.itemsize}")[()]


def _on_unsigned(function: Callable[[Scalar, Scalar], Scalar]) -> Callable[[Scalar, Scalar], Scalar]:
    return lambda a, b: np.asarray(function(_unsigned(a), _unsigned(b))).astype(np.asarray(a).dtype)[()]


def _truncated_quotient(a: Scalar, b: Scalar) -> Scalar:
    """Division of integers towards 0."""
    quotient, remainder = np.floor_divide(a, b), np.remainder(a, b)
    return quotient + type(quotient)(1) if remainder and (a < 0) != (b < 0) else quotient


def _selected(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    return a if condition else b


def _through_libm(function: Callable[..., float]) -> Callable[..., Scalar]:
    """Evaluate in double precision, NaN outside of the domain."""

    def evaluated(*values: Scalar) -> Scalar:
        try:
            return type(values[0])(function(*map(float, values)))
        except (ValueError, OverflowError):
            return type(values[0])(np.nan)

    return evaluated


def _fused_multiply_add(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """`a b + c`, rounded once."""
    # Products of float32 do not overflow in double precision.
    plain = type(a)(np.float64(a) * np.float64(b) + np.float64(c))
    if not all(map(np.isfinite, (a, b, c))):
        return plain
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0 or abs(exact) > np.finfo(np.float64).max:
        return plain
    number = float(exact)
    away = exact - Fraction(number)
    # Rounded to odd in double precision, it is not rounded twice.
    if away and plain.dtype != np.float64 and np.float64(number).view(np.int64) % 2 == 0:
        number = libm.nextafter(number, libm.inf if away > 0 else -libm.inf)
    return type(plain)(number)


FUNCTIONS: Mapping[type[Operation], Callable[..., Scalar]] = {
    arith.AddfOp: np.add,
    arith.AddiOp: np.add,
    arith.AndIOp: np.bitwise_and,
    arith.DivfOp: np.divide,
    arith.DivSIOp: _truncated_quotient,
    arith.DivUIOp: _on_unsigned(np.floor_divide),
    arith.MaximumfOp: np.maximum,
    arith.MaxSIOp: np.maximum,
    arith.MaxUIOp: _on_unsigned(np.maximum),
    arith.MinimumfOp: np.minimum,
    arith.MinSIOp: np.minimum,
    arith.MinUIOp: _on_unsigned(np.minimum),
    arith.MulfOp: np.multiply,
    arith.MuliOp: np.multiply,
    arith.NegfOp: np.negative,
    arith.OrIOp: np.bitwise_or,
    arith.RemSIOp: np.fmod,
    arith.RemUIOp: _on_unsigned(np.remainder),
    arith.SelectOp: _selected,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.ShRUIOp: _on_unsigned(np.right_shift),
    arith.SubfOp: np.subtract,
    arith.SubiOp: np.subtract,
    arith.XOrIOp: np.bitwise_xor,
    math.AbsFOp: np.abs,
    math.AcosOp: np.arccos,
    math.AsinOp: np.arcsin,
    math.AtanOp: np.arctan,
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: np.cos,
    math.CoshOp: np.cosh,
    math.ExpOp: np.exp,
    math.FloorOp: np.floor,
    math.FmaOp: _fused_multiply_add,
    math.LogOp: np.log,
    math.PowFOp: np.power,
    math.RoundEvenOp: np.rint,
    math.SinOp: np.sin,
    math.SinhOp: np.sinh,
    math.SqrtOp: np.sqrt,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.TruncOp: np.trunc,
    ErfOp: _through_libm(libm.erf),
    RemainderOp: np.fmod,
}
"""Operations that are a function of their operands, in their type."""

CONVERSIONS: frozenset[type[Operation]] = frozenset(
    (
        arith.ExtFOp,
        arith.ExtSIOp,
        arith.IndexCastOp,
        arith.SIToFPOp,
        arith.TruncFOp,
        arith.TruncIOp,
    )
)
"""Conversions that are NumPy's `astype`, but for booleans."""

# By the number of the predicate; the ordered comparisons of floats are 1 to 6, the unordered ones 8 to 13.
ORDERED: Sequence[Callable[[Scalar, Scalar], Scalar]] = (
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
)
SIGNED: Sequence[Callable[[Scalar, Scalar], Scalar]] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)


def evaluate_scalar(op: Operation, operands: Sequence[Scalar]) -> Scalar:
    """Return the result of an operation; raise `NotInterpretedError` for one that is not scalar."""
    function = FUNCTIONS.get(type(op))
    if function is not None:
        return function(*operands)
    type_ = op.results[0].type if op.results else None
    match op:
        case arith.ConstantOp(value=IntegerAttr(value=value) | FloatAttr(value=value)):
            return np.asarray(value.data).astype(dtype_of(op.result.type))[()]
        case arith.CmpfOp(predicate=predicate):
            return _compare_floats(predicate.value.data, *operands)
        case arith.CmpiOp(predicate=predicate):
            number = predicate.value.data
            if number < len(SIGNED):
                return SIGNED[number](*operands)
            return SIGNED[number - 4](*map(_unsigned, operands))
        case DecodeOp():
            encoded = dtype_of(op.format)
            return np.asarray(operands[0]).view(encoded).astype(np.float32)[()]
        case _ if type_ is None or not operands:
            raise NotInterpretedError(op.name)
        case _:
            return _converted(op, operands[0], dtype_of(type_))


def _converted(op: Operation, value: Scalar, dtype: np.dtype[np.generic]) -> Scalar:
    array = np.asarray(value)
    match op:
        case arith.BitcastOp():
            return array.view(dtype)[()]
        case arith.ExtUIOp() | arith.UIToFPOp():
            return np.asarray(_unsigned(value)).astype(dtype)[()]
        case arith.TruncIOp() if dtype == np.bool_:
            return np.bool_(int(value) & 1)
        case arith.ExtSIOp() | arith.SIToFPOp() if array.dtype == np.bool_:
            return np.asarray(-int(value)).astype(dtype)[()]
        case arith.FPToSIOp() | arith.FPToUIOp():
            return _saturated(float(value), dtype, isinstance(op, arith.FPToSIOp))
        case _ if type(op) in CONVERSIONS:
            return array.astype(dtype)[()]
        case _:
            raise NotInterpretedError(op.name)


def _saturated(value: float, dtype: np.dtype[np.generic], is_signed: bool) -> Scalar:
    """Convert a float to the nearest integer in range, NaN to 0."""
    bits = 8 * dtype.itemsize
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if np.isinf(value):
        integer = high if value > 0 else low
    else:
        integer = 0 if np.isnan(value) else min(max(int(value), low), high)
    return np.asarray(integer, f"{'i' if is_signed else 'u'}{dtype.itemsize}").view(dtype)[()]


def _compare_floats(predicate: int, a: Scalar, b: Scalar) -> Scalar:
    if predicate in (0, 15):
        return np.bool_(predicate == 15)
    is_unordered = bool(np.isnan(a) or np.isnan(b))
    if predicate in (7, 14):
        return np.bool_(is_unordered == (predicate == 14))
    if is_unordered:
        return np.bool_(predicate > 7)
    return ORDERED[predicate - (1 if predicate < 7 else 8)](a, b)
