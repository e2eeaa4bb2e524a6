"""
Constant folding of activation functions and other elementwise ops.

Each step is computed and rounded in the type of the operand, as in the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype
from xonnc.rewriting.onnx import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    BitShift,
    CastLike,
    Celu,
    Cosh,
    Dropout,
    DropoutV7,
    DropoutV10,
    DynamicQuantizeLinear,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    IsInf,
    IsNaN,
    LeakyRelu,
    Mean,
    Mish,
    PRelu,
    Selu,
    Shrink,
    Sinh,
    Softplus,
    Softsign,
    Swish,
    ThresholdedRelu,
)
from xonnc.rewriting.patterns import (
    Array,
    AttrName,
    Constant,
    MatchFailure,
    RewriteResult,
    Template,
    attr,
    compute,
    const,
    consts,
    elementwise,
    maybe,
    root,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import (
    cast,
    computed_in,
    erf,
    maximum,
    minimum,
    once_rounded,
    power,
    quiet,
    same,
)
from xonnc.transforms.rules.constprop_elementwise import casting, unary

c = const.c


def parametric(op: Template, function: Callable[..., Array], **given: AttrName) -> Rule:
    """Return the rule that folds f(c, …) elementwise; the further arguments of f are attributes."""

    def mapped(c: Constant, *given: float | str) -> RewriteResult:
        # ONNX attributes are float32: narrower operands are promoted, the attribute is not rounded.
        numbers = [each if isinstance(each, str) else np.float32(each) for each in given]
        return c.tensor.map(same(given_last(function, *numbers)))

    return rule(op(c, like=None, **given), compute(mapped, c, *given.values()))


def given_last(function: Callable[..., Array], *numbers: np.float32 | str) -> Callable[[Array], Array]:
    """Return `function` as a function of one array, with `numbers` bound to the further arguments."""

    def given(x: Array) -> Array:
        return function(x, *numbers)

    return given


def celu(x: Array, alpha: float) -> Array:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))"""
    zero = np.zeros((), x.dtype)
    return maximum(x, zero) + minimum(np.asarray(alpha * np.expm1(x / alpha), x.dtype), zero)


def elu(x: Array, alpha: float) -> Array:
    """x for x ≥ 0, alpha (exp(x) - 1) for x < 0"""
    return np.where(x < 0, alpha * np.expm1(x), x)


def gelu(x: Array, approximate: str) -> Array:
    """x Φ(x), with Φ exact or approximated by tanh; constants are float32, cast to the type of x"""
    half, one, slope, third = (np.float32(n).astype(x.dtype) for n in (0.5, 1, 2 / np.pi, 0.044715))
    if approximate == "tanh":
        inner = np.sqrt(slope) * (x + third * power(x, np.asarray(3).astype(x.dtype)))
        return (half * x) * (one + np.tanh(inner))
    return (half * x) * (one + erf(x / np.sqrt(np.float32(2).astype(x.dtype))))


def hard_sigmoid(x: Array, alpha: float | np.float32, beta: float | np.float32) -> Array:
    """max(0, min(1, alpha x + beta))"""
    return np.maximum(0, np.minimum(1, x * alpha + beta))


def hard_swish(x: Array) -> Array:
    """x hard_sigmoid(x) with alpha 1/6 and beta 1/2"""
    wide = computed_in(x)
    return (wide * hard_sigmoid(wide, wide.dtype.type(1 / 6), wide.dtype.type(0.5))).astype(x.dtype)


def leaky_relu(x: Array, alpha: float) -> Array:
    """x for x ≥ 0, alpha x for x < 0"""
    return np.where(x < 0, x * alpha, x)


def mish(x: Array) -> Array:
    """x tanh(ln(1 + exp(x)))"""
    return x * np.tanh(softplus(x))


def selu(x: Array, alpha: float, gamma: float) -> Array:
    """gamma x for x > 0, gamma alpha (exp(x) - 1) for x ≤ 0"""
    # For x = -0 the reference's exp(x) - 1 is +0 but expm1(x) is -0: adding 0 removes the sign.
    return np.where(x <= 0, alpha * np.expm1(x) + np.zeros((), x.dtype), x) * gamma


def shrink(x: Array, bias: float, lambd: float) -> Array:
    """x + bias below -lambd, x - bias above lambd, 0 between them"""
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def softplus(x: Array) -> Array:
    """ln(1 + exp(x))"""
    return np.logaddexp(np.zeros((), x.dtype), x)


def softsign(x: Array) -> Array:
    """x / (1 + |x|)"""
    return np.divide(x, 1 + np.abs(x))


def swish(x: Array, alpha: float) -> Array:
    """x / (1 + exp(-alpha x))"""
    return x * (1 / (1 + np.exp(-alpha * x))).astype(x.dtype)


def thresholded(x: Array, alpha: float) -> Array:
    """x above alpha, else 0"""
    return np.where(x > alpha, x, 0)


def infinite(c: Constant, negative: int, positive: int) -> RewriteResult:
    """IsInf: whether an element is an infinity of one of the selected signs"""

    @quiet
    def found(x: Array) -> Array:
        signs = (x > 0) & bool(positive) | (x < 0) & bool(negative)
        return np.isinf(x) & signs

    return c.pool.combine(found, c.attribute)


def shifted(a: Constant, b: Constant, direction: str) -> RewriteResult:
    """a << b or a >> b; a shift by all bits or more gives 0 (-1 for a negative a shifted right)"""

    @quiet
    def shift(a: Array, b: Array) -> Array:
        bits = a.dtype.itemsize * 8
        inside = (b >= 0) & (b < bits)
        count = np.where(inside, b, 0).astype(a.dtype)
        if direction == "LEFT":
            return np.where(inside, np.left_shift(a, count), 0).astype(a.dtype)
        return np.where(inside, np.right_shift(a, count), np.where(a < 0, -1, 0).astype(a.dtype))

    if direction not in ("LEFT", "RIGHT"):
        return MatchFailure(f"direction {direction!r} is neither LEFT nor RIGHT")
    return a.pool.combine(shift, a.attribute, b.attribute)


def mean(constants: tuple[Constant, ...]) -> RewriteResult:
    """(c1 + c2 + …) / n, broadcast"""
    if not constants:
        return MatchFailure("there are no operands")
    count = len(constants)

    @quiet
    def total(*arrays: Array) -> Array:
        found = arrays[0]
        for array in arrays[1:]:
            found = found + array
        return (found / count).astype(arrays[0].dtype)

    return constants[0].pool.combine(total, *(constant.attribute for constant in constants))


def leaky(x: Array, slope: Array) -> Array:
    """x for x ≥ 0, slope x for x < 0"""
    return np.where(x < 0, x * slope, x)


def one_way(c: Constant, slope: Constant) -> str | None:
    """The slope broadcasts to c."""
    shape = c.type.get_shape()
    try:
        expected = np.broadcast_shapes(shape, slope.type.get_shape())
    except ValueError:
        expected = ()
    return None if expected == shape else f"the slope does not broadcast to {list(shape)}"


def cast_like(root: Operation, c: Constant, target: SSAValue, saturate: int) -> RewriteResult:
    """c in the element type of another value"""
    element = element_type(target.type)
    return (
        MatchFailure("the element type is not known")
        if element is None
        else _cast(root, c, saturate, element)
    )


_cast: Callable[[Operation, Constant, int, Attribute], RewriteResult] = casting(nearest=False).call


def dropped(root: Operation, c: Constant, training: Constant | None) -> RewriteResult:
    """c with an all-true mask, unless `training_mode` is true"""
    if training is not None and np.any(training.array):
        return MatchFailure("training_mode is true")
    return _unmasked(root, c)


def dropped_before(root: Operation, c: Constant) -> RewriteResult:
    """c; opsets before 12 do not define the mask at inference"""
    if root.results[1].first_use is not None:
        return MatchFailure("the mask is read")
    return (c.attribute, None)


def _unmasked(root: Operation, c: Constant) -> RewriteResult:
    mask = root.results[1].type
    if mask == NONE:
        return (c.attribute, None)
    element = element_type(mask)
    ones = np.ones((), np.bool_ if element is None else numpy_dtype(element))
    return (c.attribute, np.broadcast_to(ones, c.type.get_shape()))


def dynamically_quantized(c: Constant) -> RewriteResult:
    """
    DynamicQuantizeLinear: quantized values, scale and zero point, by the function body of ONNX

    For all-zero or empty input the scale is 0, and so are the values.
    """
    x, zero = c.array.astype(np.float32), np.float32(0)
    with np.errstate(all="ignore"):
        low, high = (np.float32(reach(x, initial=zero)) for reach in (np.min, np.max))
        scale = np.float32((high - low) / np.float32(255))
        point = bytes_of(np.rint(np.clip(zero - low / scale, zero, np.float32(255))))
        return bytes_of(np.rint(x / scale) + point), np.asarray(scale), point


def bytes_of(x: Array) -> Array:
    """Round floats to uint8, saturating; NaN becomes 0"""
    return cast(np.dtype(np.uint8), saturate=True, nearest=False)(np.asarray(x))


RULES = rules(
    AcosofConst=unary(Acos, once_rounded(np.arccos, math.acos)),
    AcoshofConst=unary(Acosh, once_rounded(np.arccosh)),
    AsinofConst=unary(Asin, once_rounded(np.arcsin, math.asin)),
    AsinhofConst=unary(Asinh, once_rounded(np.arcsinh)),
    AtanofConst=unary(Atan, once_rounded(np.arctan, math.atan)),
    AtanhofConst=unary(Atanh, once_rounded(np.arctanh)),
    BitShiftofConst=rule(
        BitShift(const.a, const.b, direction=attr.direction),
        compute(shifted, const.a, const.b, attr.direction),
    ),
    CastLikeofConst=rule(
        CastLike(c, value.target, saturate=attr.saturate),
        compute(cast_like, root, c, value.target, attr.saturate),
    ),
    CeluofConst=parametric(Celu, celu, alpha=attr.alpha),
    CoshofConst=unary(Cosh, once_rounded(np.cosh)),
    DropoutofConst=rule(Dropout(c, value.ratio, maybe.training), compute(dropped, root, c, maybe.training)),
    DropoutV10ofConst=rule(DropoutV10(c), compute(dropped_before, root, c)),
    DropoutV7ofConst=rule(DropoutV7(c), compute(dropped_before, root, c)),
    DynamicQuantizeLinearofConst=rule(DynamicQuantizeLinear(c), compute(dynamically_quantized, c)),
    EluofConst=parametric(Elu, elu, alpha=attr.alpha),
    GeluofConst=parametric(Gelu, gelu, approximate=attr.approximate),
    HardSigmoidofConst=parametric(HardSigmoid, hard_sigmoid, alpha=attr.alpha, beta=attr.beta),
    HardSwishofConst=unary(HardSwish, hard_swish),
    IsInfofConst=rule(
        IsInf(c, detect_negative=attr.negative, detect_positive=attr.positive),
        compute(infinite, c, attr.negative, attr.positive),
    ),
    IsNaNofConst=rule(IsNaN(c), elementwise(quiet(np.isnan), c)),
    LeakyReluofConst=parametric(LeakyRelu, leaky_relu, alpha=attr.alpha),
    MeanofConst=rule(Mean(consts.constants), compute(mean, consts.constants)),
    MishofConst=unary(Mish, once_rounded(mish)),
    PReluofConst=rule(PRelu(c, const.slope), elementwise(same(leaky), c, const.slope), where=one_way),
    SeluofConst=parametric(Selu, selu, alpha=attr.alpha, gamma=attr.gamma),
    ShrinkofConst=parametric(Shrink, shrink, bias=attr.bias, lambd=attr.lambd),
    SinhofConst=unary(Sinh, once_rounded(np.sinh)),
    SoftplusofConst=unary(Softplus, once_rounded(softplus)),
    SoftsignofConst=unary(Softsign, softsign),
    SwishofConst=parametric(Swish, swish, alpha=attr.alpha),
    ThresholdedReluofConst=parametric(ThresholdedRelu, thresholded, alpha=attr.alpha),
)

EXPANDING = frozenset({"BitShiftofConst", "MeanofConst"})
"""Rules subject to the expansion bound."""
