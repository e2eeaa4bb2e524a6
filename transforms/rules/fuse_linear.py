"""
Fold per-channel scales and offsets into weights and biases of adjacent linear ops.

Linear ops are Conv, ConvTranspose, Gemm and MatMul with constant weights. The results are equal up to float
rounding (docs/internals/onnx-rules.md §9.1, nos. 19, 20 and "missing fusions").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import is_ranked, numpy_dtype
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    Add,
    BatchNormalizationInferenceMode,
    Conv,
    ConvTranspose,
    ConvTransposeV1,
    Div,
    Flatten,
    Gemm,
    MatMul,
    Mul,
    Reshape,
)
from xonnc.rewriting.patterns import (
    Array,
    Constant,
    MatchFailure,
    Node,
    RewriteResult,
    Template,
    attr,
    const,
    maybe,
    one_use,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.linear_weights import ChannelValues, LinearWeights, numbers
from xonnc.transforms.rules.narrow_floats import OUT_OF_RANGE, overflows

x, w, b, c = value.x, const.w, maybe.b, const.c
statistics = (const.scale, const.bias, const.mean, const.var)

NOT_PER_CHANNEL = MatchFailure("the constant is not one finite value per channel")
NOT_FINITE = MatchFailure(
    "the normalised weights are not finite: infinities of both signs would meet in the bias"
)
product = MatMul(x, w).named("product")

SHARED = MatchFailure("the weights have other uses, so that they would be duplicated")


def normalisation(
    scale: Constant, bias: Constant, mean: Constant, var: Constant, epsilon: float
) -> tuple[ChannelValues, ChannelValues] | None:
    """Return scale and offset of a batch normalisation, if finite."""
    g, h, m, v = (each.array.astype(np.float64) for each in (scale, bias, mean, var))
    if g.ndim != 1 or not g.shape == h.shape == m.shape == v.shape or np.any(v + epsilon <= 0):
        return None
    factor = g / np.sqrt(v + epsilon)
    offset = h - m * factor
    return (factor, offset) if np.all(np.isfinite(factor)) and np.all(np.isfinite(offset)) else None


def read_once(found: SSAValue) -> bool:
    """Return whether an op result has one use."""
    return isinstance(found, OpResult) and found.has_one_use()


def bias_of(b: Constant | None, weights: LinearWeights, beta: float = 1.0) -> ChannelValues | None:
    """Return beta times the bias per channel, or `None` if the bias differs by row."""
    count = weights.channels(False)
    if b is None:
        return np.zeros(count)
    return None if (found := numbers(b, 2, -1, count)) is None else found * beta


def typed(array: ChannelValues, like: Constant) -> Array:
    """Return channel values in the element type of a constant."""
    return array.astype(numpy_dtype(like.type.element_type))


# Scales and offsets after the linear op.


def conv_norm(template: Template) -> Rule:
    """Return the rule that folds a batch normalisation into the convolution before it."""
    inner = one_use(template(x, w, b)).named("conv")

    @rule(BatchNormalizationInferenceMode(inner, *statistics, epsilon=attr.epsilon), bonus=2)
    def fold(
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
        """d (conv(x, w) + b - mean) + bias = conv(x, d w) + (d (b - mean) + bias), in one step"""
        found, weights = normalisation(scale, bias, mean, var, epsilon), LinearWeights(conv, w)
        if found is None or len(found[0]) != weights.channels(False):
            return NOT_PER_CHANNEL
        factor, offset = found
        before = bias_of(b, weights)
        if before is None:
            return NOT_PER_CHANNEL
        after = before * factor + offset
        scaled = weights.scaled(factor, False, after)
        if isinstance(scaled, MatchFailure):
            return scaled
        return template(x, scaled, typed(after, w), like=conv)

    return fold


@rule(
    BatchNormalizationInferenceMode(
        one_use(Gemm(x, w, b, alpha=attr.alpha, beta=attr.beta)).named("gemm"),
        *statistics,
        epsilon=attr.epsilon,
    )
)
def gemm_norm(
    gemm: Operation,
    x: SSAValue,
    w: Constant,
    b: Constant | None,
    beta: float,
    scale: Constant,
    bias: Constant,
    mean: Constant,
    var: Constant,
    epsilon: float,
) -> RewriteResult:
    """d (a x w + q b - mean) + bias = a x (w d) + (d (q b - mean) + bias), d per column"""
    found, weights = normalisation(scale, bias, mean, var, epsilon), LinearWeights(gemm, w)
    before = bias_of(b, weights, beta)
    if found is None or before is None or len(found[0]) != weights.channels(False):
        return NOT_PER_CHANNEL
    factor, offset = found
    after = before * factor + offset
    scaled = weights.scaled(factor, False, after)
    if isinstance(scaled, MatchFailure):
        return scaled
    return Gemm(x, scaled, typed(after, w), like=gemm, beta=1.0)


@rule(
    BatchNormalizationInferenceMode(one_use(MatMul(x, w)).named("product"), *statistics, epsilon=attr.epsilon)
)
def product_norm(
    product: Operation,
    x: SSAValue,
    w: Constant,
    scale: Constant,
    bias: Constant,
    mean: Constant,
    var: Constant,
    epsilon: float,
) -> RewriteResult:
    """d (x w - mean) + bias = x (w d) + (bias - d mean), d per column"""
    if rank(x) != 2 or len(w.tensor.shape) != 2:
        return MatchFailure("an operand is no matrix")
    found, weights = normalisation(scale, bias, mean, var, epsilon), LinearWeights(product, w)
    if found is None or len(found[0]) != weights.channels(False):
        return NOT_PER_CHANNEL
    factor, offset = found
    scaled = weights.scaled(factor, False, offset)
    if isinstance(scaled, MatchFailure):
        return scaled
    return Gemm(x, scaled, typed(offset, w), alpha=1.0, beta=1.0, transA=0, transB=0)


def norm_of_rows(reshaping: Template) -> tuple[Rule, Rule]:
    """Return rules for a batch normalization of the rows of a product of tensors, without and with a bias."""
    shape = (value.shape,) if reshaping.name == "Reshape" else ()

    def rows(linear: Node) -> Node:
        return one_use(reshaping(one_use(linear), *shape).named("reshape"))

    def folded(
        reshape: Operation,
        product: Operation,
        w: Constant,
        before: ChannelValues | None,
        found: tuple[ChannelValues, ChannelValues] | None,
    ) -> RewriteResult:
        weights, matrix = LinearWeights(product, w), reshape.results[0].type
        if rank(product.results[0]) is None or len(w.tensor.shape) != 2 or not is_ranked(matrix):
            return MatchFailure("a rank is not known, or the weights are no matrix")
        columns = weights.channels(False)
        if len(matrix.get_shape()) != 2 or matrix.get_shape()[-1] != columns:
            return MatchFailure("rows of the product may not be rows of the matrix")
        if found is None or before is None or len(found[0]) != columns:
            return NOT_PER_CHANNEL
        factor, offset = found
        after = before * factor + offset
        scaled = weights.scaled(factor, False, after)
        if isinstance(scaled, MatchFailure):
            return scaled
        made = product.results[0].type
        sums = Add(MatMul(product.operands[0], scaled).typed(made), typed(after, w)).typed(made)
        return reshaping(sums, *reshape.operands[1:], like=reshape)

    @rule(BatchNormalizationInferenceMode(rows(product), *statistics, epsilon=attr.epsilon))
    def plain(
        reshape: Operation,
        product: Operation,
        w: Constant,
        scale: Constant,
        bias: Constant,
        mean: Constant,
        var: Constant,
        epsilon: float,
    ) -> RewriteResult:
        """d (reshape(x w) - mean) + bias = reshape(x (w d) + (bias - d mean)), d per column"""
        nothing = np.zeros(len(bias.array.reshape(-1)))
        return folded(reshape, product, w, nothing, normalisation(scale, bias, mean, var, epsilon))

    @rule(BatchNormalizationInferenceMode(rows(Add(one_use(product), c)), *statistics, epsilon=attr.epsilon))
    def with_bias(
        reshape: Operation,
        product: Operation,
        w: Constant,
        c: Constant,
        scale: Constant,
        bias: Constant,
        mean: Constant,
        var: Constant,
        epsilon: float,
    ) -> RewriteResult:
        """d (reshape(x w + c) - mean) + bias = reshape(x (w d) + (d (c - mean) + bias)), d per column"""
        before = numbers(c, rank(product.results[0]), -1, w.tensor.shape[-1])
        return folded(reshape, product, w, before, normalisation(scale, bias, mean, var, epsilon))

    return plain, with_bias


def channel_axis(op: Operation) -> int:
    """Return the channel axis of the data."""
    return 1 if op.name.startswith("onnx.Conv") else -1


def factor_after(linear: Node, scaling: Template) -> Rule:
    """Fold a scale per output channel into weights and bias."""
    divides = scaling.name == "Div"

    @rule(scaling(one_use(linear), c))
    def scale(
        root: Operation, linear: Operation, x: SSAValue, w: Constant, b: Constant | None, c: Constant
    ) -> RewriteResult:
        """c (w x + b) = (c w) x + c b, c per channel"""
        weights = LinearWeights(linear, w)
        factor = factor_of_result(root, weights, c, divides)
        if isinstance(factor, MatchFailure):
            return factor
        before = bias_of(b, weights)
        if before is None:
            return NOT_PER_CHANNEL
        after = before / factor if divides else before * factor
        scaled = weights.scaled(factor, False, after, divides)
        if isinstance(scaled, MatchFailure):
            return scaled
        return template(x, scaled, None if b is None else typed(after, w), like=linear)

    template = linear.template
    return scale


def factor_after_product(scaling: Template) -> Rule:
    """Return the rule that folds a scale per column of a product into the weights."""
    divides = scaling.name == "Div"

    @rule(scaling(one_use(MatMul(x, w).named("linear")), c))
    def scale(root: Operation, linear: Operation, x: SSAValue, w: Constant, c: Constant) -> RewriteResult:
        """c (x w) = x (c w), c per column"""
        weights = LinearWeights(linear, w)
        factor = factor_of_result(root, weights, c, divides)
        if isinstance(factor, MatchFailure):
            return factor
        scaled = weights.scaled(factor, False, divides=divides)
        return scaled if isinstance(scaled, MatchFailure) else MatMul(x, scaled)

    return scale


def factor_of_result(
    root: Operation, weights: LinearWeights, c: Constant, divides: bool
) -> ChannelValues | MatchFailure:
    """Return c as one factor per output channel, if it can be folded into the weights."""
    result_rank = rank(weights.op.results[0])
    if len(weights.w.tensor.shape) < 2 or rank(root.results[0]) != result_rank:
        return MatchFailure("the weights are a vector, or the rank changes")
    factor = numbers(c, result_rank, channel_axis(weights.op), weights.channels(False))
    if factor is None or (divides and not np.all(factor)):
        return NOT_PER_CHANNEL
    return factor if read_once(weights.op.operands[1]) else SHARED


def offset_after(linear: Node) -> Rule:
    """Fold an offset per output channel into the bias."""

    @rule(Add(one_use(linear), c))
    def shift(
        root: Operation, linear: Operation, x: SSAValue, w: Constant, b: Constant | None, c: Constant
    ) -> RewriteResult:
        """w x + b + c = w x + (b + c), c per channel"""
        weights = LinearWeights(linear, w)
        result_rank = rank(linear.results[0])
        offset = numbers(c, result_rank, channel_axis(linear), weights.channels(False))
        beta = decode(linear.properties.get("beta"))
        before = bias_of(b, weights, beta if isinstance(beta, float) else 1.0)
        if offset is None or before is None or result_rank is None or rank(root.results[0]) != result_rank:
            return NOT_PER_CHANNEL
        total = before + offset
        if overflows(w, total):
            return OUT_OF_RANGE
        if template.name == "Gemm":
            return template(x, linear.operands[1], typed(total, w), like=linear, beta=1.0)
        return template(x, linear.operands[1], typed(total, w), like=linear)

    template = linear.template
    return shift


# Scales and offsets before the linear op.


def factor_before(linear: Node, divides: bool = False) -> Rule:
    """Fold a scale per input channel into the weights."""

    @rule(linear)
    def scale(root: Operation, scaling: Operation, x: SSAValue, w: Constant, c: Constant) -> RewriteResult:
        """w (c x) = (c w) x, c per channel"""
        weights = LinearWeights(root, w)
        result_rank, axis = rank(scaling.results[0]), channel_axis(root)
        if len(weights.w.tensor.shape) < 2 or result_rank != rank(x) or result_rank == 0:
            return MatchFailure("the weights are a vector, or the rank changes")
        if c.array.size != 1:
            if decode(root.properties.get("transA")) == 1:
                return MatchFailure("the data are transposed")
            if not is_ranked(x.type) or x.type.get_shape()[axis] != weights.channels(True):
                return MatchFailure("the factors may make the data larger")
        factor = numbers(c, result_rank, axis, weights.channels(True))
        if factor is None or (divides and not np.all(factor)):
            return NOT_PER_CHANNEL
        if not read_once(root.operands[1]):
            return SHARED
        scaled = weights.scaled(factor, True, divides=divides)
        if isinstance(scaled, MatchFailure):
            return scaled
        return linear.template(x, scaled, *root.operands[2:], like=root)

    return scale


def is_padded(conv: Operation) -> bool:
    """Return whether a convolution may pad its data with zeros."""
    pads, auto = decode(conv.properties.get("pads")), decode(conv.properties.get("auto_pad"))
    return auto not in (None, "NOTSET", "VALID") or (isinstance(pads, Sequence) and any(pads))


@rule(
    Conv(one_use(BatchNormalizationInferenceMode(x, *statistics, epsilon=attr.epsilon)), w, b),
)
def norm_before_conv(
    root: Operation,
    x: SSAValue,
    w: Constant,
    b: Constant | None,
    scale: Constant,
    bias: Constant,
    mean: Constant,
    var: Constant,
    epsilon: float,
) -> RewriteResult:
    """conv(d x + t, w) + b = conv(x, d w) + (conv(t, w) + b); without padding, whose zeros get no offset t"""
    found, weights = normalisation(scale, bias, mean, var, epsilon), LinearWeights(root, w)
    before = bias_of(b, weights)
    if found is None or before is None or len(found[0]) != weights.channels(True):
        return NOT_PER_CHANNEL
    factor, offset = found
    if np.any(offset) and is_padded(root):
        return MatchFailure("the padding zeros are not normalised")
    after = before + weights.applied(offset)
    if not np.all(np.isfinite(after)):
        return NOT_FINITE
    scaled = weights.scaled(factor, True, after)
    if isinstance(scaled, MatchFailure):
        return scaled
    return Conv(x, scaled, typed(after, w), like=root)


@rule(
    Gemm(
        one_use(BatchNormalizationInferenceMode(x, *statistics, epsilon=attr.epsilon)),
        w,
        b,
        alpha=attr.alpha,
        beta=attr.beta,
        transA=0,
    ),
)
def norm_before_gemm(
    root: Operation,
    x: SSAValue,
    w: Constant,
    b: Constant | None,
    alpha: float,
    beta: float,
    scale: Constant,
    bias: Constant,
    mean: Constant,
    var: Constant,
    epsilon: float,
) -> RewriteResult:
    """a (d x + t) w + q b = a x (d w) + (a t w + q b)"""
    found, weights = normalisation(scale, bias, mean, var, epsilon), LinearWeights(root, w)
    before = bias_of(b, weights, beta)
    if found is None or before is None or len(found[0]) != weights.channels(True):
        return NOT_PER_CHANNEL
    factor, offset = found
    after = before + alpha * weights.applied(offset)
    if not np.all(np.isfinite(after)):
        return NOT_FINITE
    scaled = weights.scaled(factor, True, after)
    if isinstance(scaled, MatchFailure):
        return scaled
    return Gemm(x, scaled, typed(after, w), like=root, beta=1.0)


CONVS = (ConvTranspose, ConvTransposeV1)
gemm = Gemm(x, w, b).named("linear")
factor, quotient = one_use(Mul(x, c)).named("scaling"), one_use(Div(x, c)).named("scaling")

RULES = rules(
    **{f"FoldBatchNormInto{conv}": conv_norm(conv) for conv in CONVS},
    FoldBatchNormIntoGemm=gemm_norm,
    FoldBatchNormIntoMatMul=product_norm,
    **{
        f"FoldBatchNormOf{template}Into{linear}": fold
        for template in (Flatten, Reshape)
        for linear, fold in zip(("MatMul", "MatMulAdd"), norm_of_rows(template), strict=True)
    },
    **{f"FoldMulInto{conv}": factor_after(conv(x, w, b).named("linear"), Mul) for conv in CONVS},
    **{f"FoldDivInto{conv}": factor_after(conv(x, w, b).named("linear"), Div) for conv in (Conv, *CONVS)},
    **{f"FoldAddInto{conv}": offset_after(conv(x, w, b).named("linear")) for conv in CONVS},
    FoldMulIntoGemm=factor_after(gemm, Mul),
    FoldDivIntoGemm=factor_after(gemm, Div),
    FoldAddIntoGemm=offset_after(gemm),
    FoldMulIntoMatMul=factor_after_product(Mul),
    FoldDivIntoMatMul=factor_after_product(Div),
    FoldMulBeforeConv=factor_before(Conv(factor, w, value.b)),
    FoldDivBeforeConv=factor_before(Conv(quotient, w, value.b), divides=True),
    FoldMulBeforeGemm=factor_before(Gemm(factor, w, value.b)),
    FoldDivBeforeGemm=factor_before(Gemm(quotient, w, value.b), divides=True),
    FoldMulBeforeMatMul=factor_before(MatMul(factor, w)),
    FoldDivBeforeMatMul=factor_before(MatMul(quotient, w), divides=True),
    FoldBatchNormBeforeConv=norm_before_conv,
    FoldBatchNormBeforeGemm=norm_before_gemm,
)
