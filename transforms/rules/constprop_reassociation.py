"""Reassociation of constants and removal of neutral elements (docs/internals/onnx-rules.md §2.3)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.rewriting.onnx import Add, Div, MatMul, MatMulInteger, Mul, Sub
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    RewriteResult,
    Template,
    compute,
    const,
    elementwise,
    maybe,
    one_use,
    root,
    value,
    variable,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float, same
from xonnc.transforms.rules.conditions import (
    all_ones,
    all_zeros,
    is_scalar,
    result_is_integer,
    result_is_static,
    x_gives_the_shape,
)
from xonnc.transforms.rules.zero_signs import (
    sign_is_seen,
    sign_unseen_after_adding,
    sign_unseen_after_subtracting,
)

x, y = variable.x, variable.y
c, d = const.c, const.d


def x_and_c_are_tensors(x: SSAValue, c: Constant) -> str | None:
    """x and c are no scalars: with a scalar, moving the constant gains nothing."""
    return "x is a scalar" if is_scalar(x) else "c is a scalar" if c.array.shape in ((), (1,)) else None


def y_and_c_are_tensors(y: SSAValue, c: Constant) -> str | None:
    """y and c are no scalars: with a scalar, moving the constant gains nothing."""
    return x_and_c_are_tensors(y, c)


def reassociation(op: Template) -> dict[str, Rule]:
    """Return the rules of an associative, commutative op, written + here."""
    name = op.name
    return {
        # c + x = x + c
        f"{name}ConstCommutative1": rule(op(c, x), op(x, c)),
        # (x + c) + d = x + (c + d)
        f"{name}ConstAssociative1": rule(op(one_use(op(x, c)), d), op(x, op(c, d))),
        # (x + c) + y = (x + y) + c
        f"{name}ConstAssociative2": rule(
            op(one_use(op(x, c)), y), op(op(x, y), c), where=x_and_c_are_tensors
        ),
        # x + (y + c) = (x + y) + c
        f"{name}ConstAssociative3": rule(
            op(x, one_use(op(y, c))), op(op(x, y), c), where=y_and_c_are_tensors
        ),
        # (x + c) + (y + d) = (x + y) + (c + d)
        f"{name}ConstAssociative4": rule(op(one_use(op(x, c)), one_use(op(y, d))), op(op(x, y), op(c, d))),
    }


def zeros_of_result(root: Operation) -> RewriteResult:
    """Zeros of the shape and type of the result"""
    type_ = root.results[0].type
    shape, element = static_shape(type_), element_type(type_)
    if shape is None or element is None:
        return MatchFailure("the result's shape is not static")
    return np.broadcast_to(np.zeros((), numpy_dtype(element)), shape)


def equals_zero_point_of_rows(c: Constant, az: Constant | None) -> str | None:
    """The left matrix equals its zero points (one per tensor or per row) everywhere."""
    if az is None:
        return all_zeros(c)
    zero = az.array
    if zero.ndim == 1 and c.array.ndim > 1:
        zero = zero.reshape(-1, 1)
    return None if np.all(c.array == zero) else "the left matrix is not its zero point everywhere"


def equals_zero_point(c: Constant, bz: Constant | None) -> str | None:
    """The right matrix equals its zero points (one per tensor or per column) everywhere."""
    zero = 0 if bz is None else bz.array
    return None if np.all(c.array == zero) else "the right matrix is not its zero point everywhere"


def all_finite(e: Constant) -> str | None:
    """e is finite everywhere: distributed over a sum, infinite factors can make NaN (inf - inf)."""
    if not is_float(e.array.dtype) or np.all(np.isfinite(e.array)):
        return None
    return "e is not finite everywhere"


def zeros_unseen(root: Operation, e: Constant) -> str | None:
    """e is 0 nowhere, or nothing shows the sign of zeros: (1 + -2) 0 = -0, but 1 0 + -2 0 = 0"""
    if not is_float(e.array.dtype) or np.all(e.array != 0):
        return None
    return "the sign of a zero is seen" if sign_is_seen(root.results[0]) else None


ZEROS = (result_is_integer, result_is_static)

RULES = rules(
    **reassociation(Add),
    **reassociation(Mul),
    # x + 0 = x
    AddZerosOnRhs=rule(Add(x, c), x, where=(x_gives_the_shape, all_zeros, sign_unseen_after_adding)),
    # (x c + d) e = x (c e) + d e for a finite e
    DistributeMulConst=rule(
        Mul(one_use(Add(one_use(Mul(x, c)), d)), const.e),
        Add(Mul(x, Mul(c, const.e)), Mul(d, const.e)),
        where=(all_finite, zeros_unseen),
    ),
    # x / 1 = x
    DivOnesOnRhs=rule(Div(x, c), x, where=(x_gives_the_shape, all_ones)),
    # (c - az) (x - bz) = 0 if c = az
    MatMulIntegerConstZeroLhs=rule(
        MatMulInteger(c, value.x, maybe.az, value.bz),
        compute(zeros_of_result, root),
        where=(result_is_static, equals_zero_point_of_rows),
    ),
    # (x - az) (c - bz) = 0 if c = bz
    MatMulIntegerConstZeroRhs=rule(
        MatMulInteger(value.x, c, value.az, maybe.bz),
        compute(zeros_of_result, root),
        where=(result_is_static, equals_zero_point),
    ),
    # 0 x = 0
    MatMulZerosOnLhs=rule(MatMul(c, x), compute(zeros_of_result, root), where=(*ZEROS, all_zeros)),
    # x 0 = 0
    MatMulZerosOnRhs=rule(MatMul(x, c), compute(zeros_of_result, root), where=(*ZEROS, all_zeros)),
    # x 1 = x
    MulOnesOnRhs=rule(Mul(x, c), x, where=(x_gives_the_shape, all_ones)),
    # x - c = x + (-c)
    SubConstToNeg=rule(Sub(x, c), Add(x, elementwise(same(np.negative), c))),
    # x - 0 = x
    SubZerosOnRhs=rule(Sub(x, c), x, where=(x_gives_the_shape, all_zeros, sign_unseen_after_subtracting)),
)
