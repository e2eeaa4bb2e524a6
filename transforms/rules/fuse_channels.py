"""
Fold per-channel constants into convolutions and batch normalisations, in one step each.

The canonicalisation rules do the same by arithmetic on constants, ten rewrites per batch normalisation. Here
per-channel values are computed at once; only the product with the weights is lazy.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.rewriting.onnx import Add, BatchNormalizationInferenceMode, Conv, Mul
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    RewriteResult,
    attr,
    const,
    maybe,
    one_use,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.canonicalize_convolution import per_channel
from xonnc.transforms.rules.conditions import is_finite
from xonnc.transforms.rules.narrow_floats import OUT_OF_RANGE, is_narrow, leave_range, overflows, wide

x = value.x
statistics = (const.scale, const.bias, const.mean, const.var)
convolution = one_use(Conv(x, const.w, maybe.b).named("conv"))

FIRST = 10
"""Pattern benefit, above that of the canonicalisation rules for the same ops."""


def normalisation(scale: Constant, mean: Constant, var: Constant, epsilon: float) -> tuple[Array, Array]:
    """Return d = scale / sqrt(var + epsilon) and d · mean per channel."""
    factor = wide(scale.array) / np.sqrt(wide(var.array) + np.float32(epsilon))
    return factor, factor * wide(mean.array)


def like(c: Constant, array: Array) -> Array:
    """Return an array rounded to the element type of a constant."""
    return array.astype(numpy_dtype(c.type.element_type))


def scaled(w: Constant, factor: Array) -> Attribute:
    """Return the weights times a factor per output channel, computed lazily and rounded once."""
    array = (wide(factor) if is_narrow(w) else like(w, factor)).reshape(-1, *per_output(w))
    return w.pool.combine(np.multiply, w.attribute, w.pool.create(array), to=w.type.element_type)


def per_output(w: Constant) -> tuple[int, ...]:
    """Return sizes of 1 for the axes of the weights after that of the output channels."""
    return (1,) * (len(w.type.get_shape()) - 1)


def leaves_range(w: Constant, factor: Array, bias: Array) -> bool:
    """Return whether scaled weights or a bias leave the range of the weights' type."""
    if not is_narrow(w):
        return False
    return leave_range(w, wide(w.array) * wide(factor).reshape(-1, *per_output(w)), bias)


@rule(BatchNormalizationInferenceMode(convolution, *statistics, epsilon=attr.epsilon), bonus=FIRST)
def batch_norm_into_conv(
    root: Operation,
    conv: Operation,
    x: SSAValue,
    w: Constant,
    b: Constant | None,
    scale: Constant,
    bias: Constant,
    mean: Constant,
    var: Constant,
    epsilon: float,
) -> RewriteResult:
    """d (conv(x, w) + b - mean) + bias = conv(x, d w) + (d b + bias - d mean), d = scale / sqrt(var + e)"""
    factor, moved = normalisation(scale, mean, var, epsilon)
    if not np.all(np.isfinite(factor)):
        return MatchFailure("a factor is not finite")
    shift = wide(bias.array) - moved + (0 if b is None else factor * wide(b.array))
    if leaves_range(w, factor, shift):
        return OUT_OF_RANGE
    return Conv(x, scaled(w, factor), like(w, shift), like=conv)


@rule(Mul(convolution, const.c), where=is_finite, bonus=FIRST)
def product_into_conv(
    root: Operation, conv: Operation, x: SSAValue, w: Constant, b: Constant | None, c: Constant
) -> RewriteResult:
    """c (conv(x, w) + b) = conv(x, c w) + c b for a finite c"""
    factor = per_channel(c, root, conv.operands[1])
    if isinstance(factor, MatchFailure):
        return factor
    products = wide(factor.array()) * wide(np.zeros(1) if b is None else b.array)
    if leaves_range(w, factor.array(), products):
        return OUT_OF_RANGE
    return Conv(x, scaled(w, factor.array()), None if b is None else like(b, products), like=conv)


@rule(Add(convolution, const.c), bonus=FIRST)
def sum_into_conv(
    root: Operation, conv: Operation, x: SSAValue, w: Constant, b: Constant | None, c: Constant
) -> RewriteResult:
    """conv(x, w) + b + c = conv(x, w) + (b + c)"""
    bias = per_channel(c, root, conv.operands[1])
    if isinstance(bias, MatchFailure):
        return bias
    if b is None:
        return Conv(x, conv.operands[1], bias, like=conv)
    total = wide(b.array) + wide(bias.array())
    return OUT_OF_RANGE if overflows(b, total) else Conv(x, conv.operands[1], like(b, total), like=conv)


normalised = one_use(BatchNormalizationInferenceMode(x, *statistics, epsilon=attr.epsilon).named("norm"))


@rule(Mul(normalised, const.c), where=is_finite, bonus=FIRST)
def product_into_batch_norm(
    root: Operation, norm: Operation, x: SSAValue, scale: Constant, bias: Constant, c: Constant
) -> RewriteResult:
    """c (d (x - mean) + bias) = (c d) (x - mean) + c bias for a finite c"""
    factor = per_channel(c, root, norm.operands[1])
    if isinstance(factor, MatchFailure):
        return factor
    parameters = (scale, bias)
    products = [wide(factor.array()) * wide(each.array) for each in parameters]
    if any(leave_range(each, product) for each, product in zip(parameters, products, strict=True)):
        return OUT_OF_RANGE
    rounded = (like(each, product) for each, product in zip(parameters, products, strict=True))
    return BatchNormalizationInferenceMode(x, *rounded, *norm.operands[3:], like=norm)


@rule(Add(normalised, const.c), bonus=FIRST)
def sum_into_batch_norm(
    root: Operation, norm: Operation, x: SSAValue, bias: Constant, c: Constant
) -> RewriteResult:
    """d (x - mean) + bias + c = d (x - mean) + (bias + c)"""
    added = per_channel(c, root, norm.operands[1])
    if isinstance(added, MatchFailure):
        return added
    total = wide(bias.array) + wide(added.array())
    if overflows(bias, total):
        return OUT_OF_RANGE
    _, scale, _, mean, var = norm.operands
    return BatchNormalizationInferenceMode(x, scale, like(bias, total), mean, var, like=norm)


RULES = rules(
    FuseConstantBatchNormConv=batch_norm_into_conv,
    FuseConstantProductBatchNorm=product_into_batch_norm,
    FuseConstantProductConv=product_into_conv,
    FuseConstantSumBatchNorm=sum_into_batch_norm,
    FuseConstantSumConv=sum_into_conv,
)
