"""
Fold arithmetic into convolutions and Gemm; expand batch normalisation to arithmetic
(docs/internals/onnx-rules.md §3.2).
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposableElementsAttr
from xonnc.dialects.onnx.types import element_type, is_ranked, numpy_dtype, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    Add,
    BatchNormalizationInferenceMode,
    Conv,
    Div,
    Gemm,
    MatMul,
    Mul,
    Neg,
    Pad,
    PadV2,
    PadV11,
    PadV13,
    PadV18,
    PadV19,
    Sqrt,
    Sub,
    Unsqueeze,
)
from xonnc.rewriting.patterns import (
    Constant,
    MatchFailure,
    Node,
    OperandSpec,
    RewriteResult,
    absent,
    attr,
    const,
    maybe,
    one_use,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_absent, is_finite, is_not_zero, rank

x, w, a, b, z, c = value.x, value.w, value.a, value.b, value.z, const.c

WIDE = np.dtype(np.float32).itemsize

conv_without_bias = Conv(x, w, absent).named("conv")
conv_with_bias = Conv(x, w, b).named("conv")


def has_32_bits(root: Operation) -> str | None:
    """
    The result's elements have at least 32 bits.

    Products of narrower constants may leave their range; `fuse_channels` and `fuse_linear` look at the
    values.
    """
    element = element_type(root.results[0].type)
    if element is not None and numpy_dtype(element).itemsize < WIDE:
        return "the elements have fewer than 32 bits, whose products may overflow"
    return None


def per_channel(c: Constant, root: Operation, channels: SSAValue) -> DisposableElementsAttr | MatchFailure:
    """Return c as a vector over the output channels, if it is constant along all other axes."""
    filters, result_rank = static_shape(channels.type), rank(root.results[0])
    if filters is None:
        return MatchFailure("the number of channels is not known")
    if result_rank is None:
        # That of the convolution, which has the rank of its weights.
        result_rank = len(filters)
    shape = c.tensor.shape
    if len(shape) > result_rank:
        return MatchFailure("c has more axes than the result")
    aligned = (1,) * (result_rank - len(shape)) + shape
    if any(size != 1 for axis, size in enumerate(aligned) if axis != 1) or aligned[1] not in (1, filters[0]):
        return MatchFailure("c differs along another axis than the channels")
    return c.tensor.reshape(aligned[1:2]).expand(filters[:1])


@rule(Add(one_use(conv_with_bias), c), where=has_32_bits)
def fuse_add_conv(
    root: Operation, conv: Operation, x: SSAValue, w: SSAValue, b: SSAValue, c: Constant
) -> RewriteResult:
    """conv(x, w) + b + c = conv(x, w) + (b + c)"""
    bias = per_channel(c, root, w)
    if isinstance(bias, MatchFailure):
        return bias
    if is_absent(b):
        return MatchFailure("there is no bias yet")
    return Conv(x, w, Add(b, bias), like=conv)


@rule(Add(one_use(conv_without_bias), c))
def fuse_add_conv_null_bias(
    root: Operation, conv: Operation, x: SSAValue, w: SSAValue, c: Constant
) -> RewriteResult:
    """conv(x, w) + c is a convolution with the bias c"""
    bias = per_channel(c, root, w)
    return bias if isinstance(bias, MatchFailure) else Conv(x, w, bias, like=conv)


def _scaled(conv: Operation, x: SSAValue, w: SSAValue, b: OperandSpec, factor: OperandSpec) -> RewriteResult:
    filters = static_shape(w.type)
    assert filters is not None
    axes = np.arange(1, len(filters))
    bias = b if b is None or b is absent else Mul(b, factor)
    return Conv(x, Mul(w, Unsqueeze(factor, axes)), bias, like=conv)


@rule(Mul(one_use(conv_without_bias), c), where=(has_32_bits, is_finite))
def fuse_mul_conv_null_bias(
    root: Operation, conv: Operation, x: SSAValue, w: SSAValue, c: Constant
) -> RewriteResult:
    """c conv(x, w) = conv(x, c w) for a finite c"""
    factor = per_channel(c, root, w)
    if isinstance(factor, MatchFailure):
        return factor
    filters = static_shape(w.type)
    if filters is not None and c.type.get_shape() == (filters[0], *(1 for _ in filters[2:])):
        # An axis more and c fits the weights.
        scaled = Mul(w, Unsqueeze(root.operands[1], np.array([len(filters) - 1])))
        return Conv(x, scaled, absent, like=conv)
    return _scaled(conv, x, w, absent, factor)


@rule(Mul(one_use(conv_with_bias), c), where=(has_32_bits, is_finite))
def fuse_mul_conv(
    root: Operation, conv: Operation, x: SSAValue, w: SSAValue, b: SSAValue, c: Constant
) -> RewriteResult:
    """c (conv(x, w) + b) = conv(x, c w) + c b for a finite c"""
    if is_absent(b):
        return MatchFailure("there is no bias")
    factor = per_channel(c, root, w)
    return factor if isinstance(factor, MatchFailure) else _scaled(conv, x, w, b, factor)


def epsilon_of(root: Operation, epsilon: float) -> OperandSpec:
    """Return epsilon as a one-element tensor of the statistics' element type."""
    element = element_type(root.operands[4].type)
    assert element is not None
    return np.array([epsilon], numpy_dtype(element))


statistics = (value.scale, value.bias, value.mean, value.var)


def is_of_one_type(root: Operation) -> str | None:
    """Data and statistics have one element type."""
    kinds = {element_type(operand.type) for operand in root.operands}
    return None if len(kinds) == 1 else "the statistics are of another type than the data"


def deviation(root: Operation, scale: SSAValue, var: SSAValue, epsilon: float) -> Node:
    """scale / sqrt(var + epsilon)"""
    return Div(scale, Sqrt(Add(var, epsilon_of(root, epsilon))))


@rule(
    BatchNormalizationInferenceMode(one_use(conv_with_bias), *statistics, epsilon=attr.epsilon),
    bonus=1,
    where=(is_of_one_type, has_32_bits),
)
def fuse_batch_norm_conv(
    root: Operation,
    conv: Operation,
    x: SSAValue,
    w: SSAValue,
    b: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    epsilon: float,
) -> RewriteResult:
    """d (conv(x, w) + b - mean) + bias = conv(x, d w) + (bias + d (b - mean)), d = scale / sqrt(var + e)"""
    filters = rank(w)
    if filters is None:
        return MatchFailure("the rank of the weights is not known")
    d = deviation(root, scale, var, epsilon)
    weights = Mul(w, Unsqueeze(d, np.arange(1, filters)))
    shift = Neg(mean) if is_absent(b) else Sub(b, mean)
    return Conv(x, weights, Add(bias, Mul(d, shift)), like=conv)


@rule(
    BatchNormalizationInferenceMode(x, *statistics, epsilon=attr.epsilon), where=(is_of_one_type, has_32_bits)
)
def batch_norm_arithmetic(
    root: Operation,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    epsilon: float,
) -> RewriteResult:
    """d (x - mean) + bias = d x + (bias - d mean), d = scale / sqrt(var + epsilon), per channel"""
    axes = rank(x)
    if axes is None or axes < 3:
        return MatchFailure("only for data with axes after the channels")
    d = deviation(root, scale, var, epsilon)
    after = np.arange(1, axes - 1)
    return Add(Mul(x, Unsqueeze(d, after)), Unsqueeze(Sub(bias, Mul(mean, d)), after))


@rule(
    BatchNormalizationInferenceMode(x, *statistics, epsilon=attr.epsilon), where=(is_of_one_type, has_32_bits)
)
def batch_norm_vector(
    root: Operation,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    var: SSAValue,
    epsilon: float,
) -> RewriteResult:
    """d (x - mean) + bias = d x + (bias - d mean), d = scale / sqrt(var + epsilon)"""
    if rank(x) != 1:
        return MatchFailure("only for data of rank 1")
    d = deviation(root, scale, var, epsilon)
    return Add(Mul(x, d), Sub(bias, Mul(mean, d)))


def _matrix_sizes(type_: Attribute) -> tuple[int, int]:
    """Return rows and columns of a type of rank 2; `DYNAMIC_INDEX` for what is not known."""
    shape = type_.get_shape() if is_ranked(type_) else ()
    return (shape[0], shape[1]) if len(shape) == 2 else (DYNAMIC_INDEX, DYNAMIC_INDEX)


def _product_sizes(product: Operation) -> tuple[int, int]:
    """Return rows and columns of a Gemm, or of a MatMul of matrices, by its operands or its result."""
    a, b = (_matrix_sizes(operand.type) for operand in product.operands[:2])
    rows = a[1] if decode(product.properties.get("transA")) == 1 else a[0]
    columns = b[0] if decode(product.properties.get("transB")) == 1 else b[1]
    declared = _matrix_sizes(product.results[0].type)
    return declared[0] if rows == DYNAMIC_INDEX else rows, declared[
        1
    ] if columns == DYNAMIC_INDEX else columns


def fits_a_matrix(z: SSAValue, inner: Operation) -> str | None:
    """z broadcasts to the matrix product without enlarging it, as the operand C of Gemm must."""
    if not is_ranked(z.type) or len(z.type.get_shape()) > 2:
        return "z is no matrix, row or scalar"
    added = z.type.get_shape()
    sizes = _product_sizes(inner)[2 - len(added) :]
    if all(size == 1 or size == own != DYNAMIC_INDEX for size, own in zip(added, sizes, strict=True)):
        return None
    return "the sum may be larger than the product"


def two_matrices(a: SSAValue, b: SSAValue) -> str | None:
    """Both operands have rank 2."""
    return None if rank(a) == 2 and rank(b) == 2 else "an operand is no matrix"


def is_one_number(c: Constant) -> str | None:
    """c is a scalar."""
    return None if c.array.shape in ((), (1,)) else "c is not a scalar"


def holds_floats(root: Operation) -> str | None:
    """The result is floating-point: reordered integer arithmetic would overflow or truncate elsewhere."""
    element = element_type(root.results[0].type)
    return None if element is not None and is_float(numpy_dtype(element)) else "the result holds no floats"


def pad_rule(pad: Node) -> Rule:
    """Return the rule that folds a zero Pad into the `pads` of the convolution that reads it."""

    @rule(Conv(one_use(pad), w, b), bonus=2)
    def fuse(
        root: Operation, x: SSAValue, w: SSAValue, b: SSAValue, pads: Constant | tuple[int, ...], fill: object
    ) -> RewriteResult:
        """conv(pad(x, p), w, q) = conv(x, w, p + q) for zero padding of the spatial axes"""
        amounts = pads if isinstance(pads, tuple) else tuple(int(each) for each in pads.array.reshape(-1))
        if not _is_zero(fill):
            return MatchFailure("the padding is not zero")
        return _padded_conv(root, x, w, b, amounts)

    return fuse


def _is_zero(fill: object) -> bool:
    if isinstance(fill, Constant):
        return not np.any(fill.array)
    return fill is None or fill == 0.0


def _padded_conv(
    root: Operation, x: SSAValue, w: SSAValue, b: SSAValue, amounts: tuple[int, ...]
) -> RewriteResult:
    axes = len(amounts) // 2
    if rank(x) != axes or axes < 3:
        return MatchFailure("the pads are not for every axis")
    before, after = amounts[:axes], amounts[axes:]
    if any((*before[:2], *after[:2])) or min(amounts) < 0:
        return MatchFailure("the padding is negative, or on the batch or channels")
    if decode(root.properties.get("auto_pad")) not in (None, "NOTSET"):
        return MatchFailure("auto_pad depends on the padded size")
    own = decode(root.properties.get("pads"))
    known = own if isinstance(own, tuple) else (0,) * (2 * (axes - 2))
    total = [
        int(each) + extra
        for each, extra in zip(known, (*before[2:], *after[2:]), strict=True)
        if isinstance(each, int)
    ]
    return Conv(x, w, b, like=root, pads=total)


RULES = rules(
    FuseAddConvPattern=fuse_add_conv,
    FuseAddConvNullBiasPattern=fuse_add_conv_null_bias,
    # a b + z
    MulAddToGemmOptPattern=rule(
        Add(one_use(MatMul(a, b)).named("inner"), z),
        Gemm(a, b, z, alpha=1.0, beta=1.0, transA=0, transB=0),
        where=(two_matrices, fits_a_matrix),
    ),
    # alpha a' b' + z
    FuseGemmFollowedByAddition=rule(
        Add(one_use(Gemm(a, b, absent, alpha=attr.alpha, transA=attr.ta, transB=attr.tb)).named("inner"), z),
        Gemm(a, b, z, alpha=attr.alpha, beta=1.0, transA=attr.ta, transB=attr.tb),
        where=(fits_a_matrix, holds_floats),
    ),
    FuseBatchNormInferenceModeConvPattern=fuse_batch_norm_conv,
    RewriteBatchNormInferenceModeConvPattern1=batch_norm_arithmetic,
    RewriteBatchNormInferenceModeConvPattern2=batch_norm_vector,
    FuseMulConvNullBiasPattern=fuse_mul_conv_null_bias,
    FuseMulConvPattern=fuse_mul_conv,
    # c (a b) = a (c b) for a finite c
    FuseScalarMulMatMulPattern=rule(
        Mul(one_use(MatMul(a, const.weights)), c),
        MatMul(a, Mul(const.weights, c)),
        where=(has_32_bits, is_one_number, is_finite),
    ),
    # (a b) / c = a (b / c) if c is finite and not 0
    FuseScalarDivMatMulPattern=rule(
        Div(one_use(MatMul(a, const.weights)), c),
        MatMul(a, Div(const.weights, c)),
        where=(has_32_bits, is_one_number, holds_floats, is_not_zero, is_finite),
    ),
    FusePadIntoConvPattern=pad_rule(Pad(x, const.pads, maybe.fill, absent, mode="constant")),
    FusePadV19IntoConvPattern=pad_rule(PadV19(x, const.pads, maybe.fill, absent, mode="constant")),
    FusePadV18IntoConvPattern=pad_rule(PadV18(x, const.pads, maybe.fill, absent, mode="constant")),
    FusePadV13IntoConvPattern=pad_rule(PadV13(x, const.pads, maybe.fill, mode="constant")),
    FusePadV11IntoConvPattern=pad_rule(PadV11(x, const.pads, maybe.fill, mode="constant")),
    FusePadV2IntoConvPattern=pad_rule(PadV2(x, pads=attr.pads, value=attr.fill, mode="constant")),
)
