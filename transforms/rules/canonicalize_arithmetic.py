"""One canonical form for arithmetic (docs/internals/onnx-rules.md §3.2, §3.4)."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype, static_shape
from xonnc.rewriting.onnx import (
    Add,
    Cast,
    Clip,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPoolSingleOut,
    Mul,
    Pow,
    ReduceMaxV13,
    ReduceMeanV13,
    Relu,
    Softmax,
    SoftmaxV11,
)
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    Node,
    OperandSpec,
    RewriteResult,
    Template,
    attr,
    const,
    maybe,
    one_use,
    value,
    variable,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float, is_integer
from xonnc.transforms.rules.conditions import rank

x, c = value.x, const.c

MAX_POWER = 64
"""Largest exponent that is expanded: beyond it, the chain of Mul would cost more than Pow."""


def pool_rule(pool: Template, reduction: Template) -> Rule:
    """Return the rule that rewrites a global pool as a reduction over all spatial axes."""

    @rule(pool(x))
    def reduce(x: SSAValue) -> RewriteResult:
        """f(x) over the axes 2, 3, …"""
        axes = rank(x)
        if axes is None or axes < 3:
            return MatchFailure("the rank is not known, or there is nothing to pool")
        return reduction(x, axes=list(range(2, axes)), keepdims=1)

    return reduce


@rule(Clip(one_use(Clip(x, maybe.low1, maybe.high1)), maybe.low2, maybe.high2))
def fuse_clips(
    x: SSAValue, low1: Constant | None, high1: Constant | None, low2: Constant | None, high2: Constant | None
) -> RewriteResult:
    """clip(clip(x, a, b), c, d) = clip(x, max(a, c), min(b, d)) if the intervals meet"""
    if half_bounded((low1, low2), (high1, high2)):
        return MatchFailure("only one of them clips infinities")
    low = _meet(low1, low2, np.maximum)
    high = _meet(high1, high2, np.minimum)
    if low is not None and high is not None and not np.all(low <= high):
        return MatchFailure("the intervals are disjoint")
    return Clip(x, low, high)


def half_bounded(*bounds: tuple[Constant | None, Constant | None]) -> bool:
    """
    Return whether in a pair of bounds one is absent and the other infinite.

    An absent bound of Clip is the largest finite value, which clips infinities; an infinite bound does not.
    """
    return any(
        None in pair and any(each is not None and bool(np.any(np.isinf(each.array))) for each in pair)
        for pair in bounds
    )


def _meet(first: Constant | None, second: Constant | None, choose: np.ufunc) -> np.ndarray | None:
    bounds = [bound.array.reshape(()) for bound in (first, second) if bound is not None]
    if not bounds:
        return None
    return np.asarray(choose(bounds[0], bounds[1])) if len(bounds) == 2 else bounds[0]


@rule(Pow(x, c), bonus=-1)
def power_to_products(root: Operation, x: SSAValue, c: Constant) -> RewriteResult:
    """x^n by repeated squaring, for integers n from 0 to 64"""
    exponents, shape = c.array, static_shape(root.results[0].type)
    element = element_type(x.type)
    if exponents.size != 1 or element is None:
        return MatchFailure("the exponent is not a scalar constant")
    exponent = float(exponents.reshape(()))
    if not 0 <= exponent <= MAX_POWER or exponent != int(exponent):
        return MatchFailure(f"the exponent {exponent} is not an integer in [0, {MAX_POWER}]")
    if int(exponent) == 0:
        if shape is None:
            return MatchFailure("the shape is not static")
        return np.broadcast_to(np.ones((), numpy_dtype(element)), shape)
    if x.type != root.results[0].type:
        return MatchFailure("the result has another type than the base")
    return _product(x, int(exponent), x.type)


def _product(x: SSAValue, exponent: int, type_: Attribute) -> OperandSpec:
    result: OperandSpec = None
    power: SSAValue | Node = x
    while True:
        if exponent & 1:
            result = power if result is None else Mul(result, power).typed(type_)
        exponent >>= 1
        if not exponent:
            return result
        power = Mul(power, power).typed(type_)


@rule(Pow(x, const.exponent), bonus=-1)
def power_of_one_type(x: SSAValue, exponent: Constant) -> RewriteResult:
    """
    x^n with n in the type of x, unless both have one width and kind (or x is a float and n an integer)

    Only if the cast is exact. onnx-mlir casts every n, which can change its parity or its value.
    """
    element = element_type(x.type)
    if element is None:
        return MatchFailure("an element type is not known")
    base, power = numpy_dtype(element), exponent.array.dtype
    if base.itemsize == power.itemsize and (is_float(base) or (is_integer(base) and is_integer(power))):
        return MatchFailure("the types agree")
    if is_integer(base) and is_float(power):
        return MatchFailure("a fractional exponent would be truncated")
    with np.errstate(all="ignore"):
        is_exact = bool(np.all(exponent.array.astype(base).astype(power) == exponent.array))
    return (
        Pow(x, Cast(exponent.attribute, to=element))
        if is_exact
        else MatchFailure("the exponent is not of that type")
    )


@rule(SoftmaxV11(x, axis=attr.axis))
def softmax_to_latest(x: SSAValue, axis: int) -> RewriteResult:
    """Softmax-11 equals Softmax-13 if all axes after `axis` have size 1"""
    after = x.type.get_shape()[axis:][1:] if is_ranked(x.type) else None
    if axis != -1 and (after is None or set(after) - {1}):
        return MatchFailure("the old softmax takes several axes as one")
    return Softmax(x, axis=axis)


@rule(MaxPoolSingleOut(Relu(x).named("relu")))
def relu_after_max_pool(root: Operation, x: SSAValue, relu: Operation) -> RewriteResult:
    """max over relu(x) = relu(max over x), on fewer elements"""
    if rank(x) != 4 or static_shape(root.results[0].type) is None:
        return MatchFailure("only for static images")
    if isinstance(x.owner, Operation) and x.owner.name == "onnx.Conv":
        return MatchFailure("the preceding convolution fuses the Relu")
    return Relu(MaxPoolSingleOut(x, like=root))


RULES = rules(
    # c + y = y + c
    NormalizeAddPattern=rule(Add(c, variable.y), Add(variable.y, c), bonus=-1),
    # c y = y c
    NormalizeMulPattern=rule(Mul(c, variable.y), Mul(variable.y, c), bonus=-1),
    FuseConsecutiveClipsPattern=fuse_clips,
    GlobalAveragePoolPattern=pool_rule(GlobalAveragePool, ReduceMeanV13),
    GlobalMaxPoolPattern=pool_rule(GlobalMaxPool, ReduceMaxV13),
    PowToMulRewritePattern=power_to_products,
    PowConversionRewritePattern=power_of_one_type,
    # relu(relu(x)) = relu(x)
    RemoveRepeatedReluPattern=rule(Relu(Relu(x).named("inner")), Relu(x)),
    SoftmaxV11ToLatestPattern=softmax_to_latest,
    ReorderReluMaxPoolPattern=relu_after_max_pool,
)
