"""Constant folding of elementwise ops (docs/internals/onnx-rules.md §2.4, §2.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.rewriting.onnx import (
    Abs,
    Add,
    And,
    BitwiseAnd,
    BitwiseNot,
    BitwiseOr,
    BitwiseXor,
    Cast,
    Ceil,
    Clip,
    Cos,
    Div,
    Equal,
    Erf,
    Exp,
    Floor,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Log,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    Reciprocal,
    Relu,
    Round,
    Sigmoid,
    Sign,
    Sin,
    Sqrt,
    Sub,
    Sum,
    Tan,
    Tanh,
    Where,
    Xor,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    Native,
    RewriteResult,
    Template,
    attr,
    compute,
    const,
    consts,
    elementwise,
    maybe,
    root,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms import numerics
from xonnc.transforms.numerics import is_float, is_integer, quiet, same
from xonnc.transforms.rules.constprop_evaluation import evaluated

a, b, c = const.a, const.b, const.c


def unary(op: Template, function: Callable[..., Array]) -> Rule:
    """Return the rule that folds f(c) elementwise, in the type of c."""
    return rule(op(c), elementwise(same(function), c))


def binary(op: Template, function: Callable[..., Array]) -> Rule:
    """Return the rule that folds f(a, b) elementwise with broadcasting."""
    return rule(op(a, b), elementwise(quiet(function), a, b))


def variadic(op: Template, function: Callable[[Array, Array], Array]) -> Rule:
    """Return the rule that folds f(… f(f(c1, c2), c3) …) elementwise with broadcasting."""

    def total(constants: tuple[Constant, ...]) -> RewriteResult:
        if not constants:
            return MatchFailure("there are no operands")
        first, *others = (constant.attribute for constant in constants)
        pool = constants[0].pool
        return reduce(lambda left, right: pool.combine(quiet(function), left, right), others, first)

    return rule(op(consts.constants), compute(total, consts.constants))


def divided(a: Constant, b: Constant) -> RewriteResult:
    """a / b; integer division by 0 is undefined in ONNX and stays for run time"""
    if is_integer(a.array.dtype) and not np.all(b.array):
        return MatchFailure("an integer is divided by zero")
    return a.pool.combine(numerics.divide, a.attribute, b.attribute)


def modulo(a: Constant, b: Constant, fmod: int) -> RewriteResult:
    """a mod b, with the sign of a if `fmod`, else of b; integer division by 0 stays for run time"""
    if is_integer(a.array.dtype) and not np.all(b.array):
        return MatchFailure("an integer is divided by zero")
    return a.pool.combine(numerics.fmod if fmod else numerics.remainder, a.attribute, b.attribute)


def clipped(c: Constant, low: Constant | None, high: Constant | None) -> RewriteResult:
    """min(max(c, low), high)"""
    bounds = [None if bound is None else bound.array.reshape(()) for bound in (low, high)]
    return c.tensor.map(numerics.clip(*bounds))


def chosen(condition: Constant, a: Constant, b: Constant) -> RewriteResult:
    """a where the condition holds, else b"""
    shape = np.broadcast_shapes(condition.array.shape, a.tensor.shape, b.tensor.shape)
    if condition.tensor.is_splat:
        return (a if condition.tensor.splat() else b).tensor.expand(shape)
    return a.pool.combine(np.where, condition.attribute, a.attribute, b.attribute)


def casting(nearest: bool) -> Native:
    """Return the function that casts c; floats are truncated to integers, or rounded if `nearest`."""

    def converted(root: Operation, c: Constant, saturate: int, to: Attribute) -> RewriteResult:
        source, target = c.tensor, numpy_dtype(to)
        # A cast to the same type is the identity, but for float8: it may saturate infinities.
        if source.dtype == target and not (is_float(target) and target.itemsize == 1):
            return c.attribute
        if not (is_number(source.dtype) and is_number(target)):
            return evaluated(root)
        return source.map(numerics.cast(target, bool(saturate), nearest), to)

    return compute(converted, root, c, attr.saturate, attr.to)


def is_number(dtype: np.dtype[np.generic]) -> bool:
    """Return whether NumPy casts such elements as ONNX does: not strings, complex numbers and float8e8m0."""
    return dtype == np.bool_ or is_integer(dtype) or (is_float(dtype) and "e8m0" not in dtype.name)


def cast_rule(nearest: bool) -> Rule:
    """Cast(c), truncating or rounding."""
    return rule(Cast(c, saturate=attr.saturate, to=attr.to), casting(nearest))


UNARY = {
    "AbsofConst": unary(Abs, np.abs),
    "BitwiseNotofConst": unary(BitwiseNot, np.invert),
    "CeilofConst": unary(Ceil, np.ceil),
    "CosofConst": unary(Cos, numerics.once_rounded(np.cos, math.cos)),
    "ErfofConst": unary(Erf, numerics.erf),
    "ExpofConst": unary(Exp, numerics.once_rounded(np.exp)),
    "FloorofConst": unary(Floor, np.floor),
    "LogofConst": unary(Log, numerics.once_rounded(np.log)),
    "NegofConst": unary(Neg, np.negative),
    "NotofConst": unary(Not, np.logical_not),
    "ReciprocalofConst": unary(Reciprocal, numerics.reciprocal),
    "ReluofConst": unary(Relu, numerics.relu),
    "RoundofConst": unary(Round, np.rint),
    "SigmoidofConst": unary(Sigmoid, numerics.sigmoid),
    "SignofConst": unary(Sign, numerics.sign),
    "SinofConst": unary(Sin, numerics.once_rounded(np.sin, math.sin)),
    "SqrtofConst": unary(Sqrt, np.sqrt),
    "TanofConst": unary(Tan, numerics.once_rounded(np.tan, math.tan)),
    "TanhofConst": unary(Tanh, numerics.once_rounded(np.tanh)),
}

BINARY = {
    "AddConstProp": binary(Add, np.add),
    "AndConstPropPattern": binary(And, np.logical_and),
    "BitwiseAndConstPropPattern": binary(BitwiseAnd, np.bitwise_and),
    "BitwiseOrConstPropPattern": binary(BitwiseOr, np.bitwise_or),
    "BitwiseXorConstPropPattern": binary(BitwiseXor, np.bitwise_xor),
    "DivConstProp": rule(Div(a, b), compute(divided, a, b)),
    "EqualConstProp": binary(Equal, np.equal),
    "GreaterConstPropPattern": binary(Greater, np.greater),
    "GreaterOrEqualConstPropPattern": binary(GreaterOrEqual, np.greater_equal),
    "LessConstPropPattern": binary(Less, np.less),
    "LessOrEqualConstPropPattern": binary(LessOrEqual, np.less_equal),
    "ModConstPropPattern": rule(Mod(a, b, fmod=attr.fmod), compute(modulo, a, b, attr.fmod)),
    "MulConstProp": binary(Mul, np.multiply),
    "OrConstPropPattern": binary(Or, np.logical_or),
    "PowConstProp": binary(Pow, numerics.power),
    "SubConstProp": binary(Sub, np.subtract),
    "XorConstPropPattern": binary(Xor, np.logical_xor),
}

RULES = rules(
    **UNARY,
    **BINARY,
    CastofConst=cast_rule(nearest=False),
    ClipConstProp=rule(Clip(c, maybe.low, maybe.high), compute(clipped, c, maybe.low, maybe.high)),
    MaxConstProp=variadic(Max, numerics.maximum),
    MinConstProp=variadic(Min, numerics.minimum),
    SumConstProp=variadic(Sum, np.add),
    WhereConstProp=rule(Where(const.condition, a, b), compute(chosen, const.condition, a, b)),
)

ROUNDING = rules(CastofConst=cast_rule(nearest=True))
"""Replaces the rule of the same name if casts round to nearest."""

EXPANDING = frozenset(
    {*BINARY, "ClipConstProp", "MaxConstProp", "MinConstProp", "SumConstProp", "WhereConstProp"}
)
"""Rules subject to the expansion bound."""
