"""Shapes of elementwise operators."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import bf16, f32, i1
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, OptType, SeqType
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    InferenceContext,
    Types,
    any_shape,
    infers_dims,
    typed,
)

SAME_TYPE = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh"
    " CumSum Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity"
    " LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg"
    " Not PRelu Reciprocal Relu Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh"
    " Softmax SoftmaxV11 Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu"
)
BROADCASTING = "Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Pow Sub Sum And Or Xor"
COMPARING = "Equal Greater GreaterOrEqual Less LessOrEqual"


@infers_dims(*SAME_TYPE.split())
def same_type(ctx: InferenceContext) -> Types:
    """The type of the first operand."""
    shape = ctx.dims(0)
    if shape is not None:
        return ctx.ranked(shape)
    type_ = ctx.op.operands[0].type
    return [type_ if isinstance(type_, OptType | SeqType) else None]


@infers_dims("BatchNormalizationInferenceMode", "InstanceNormalization")
def by_channel(ctx: InferenceContext) -> Types:
    """The type of the first operand; the others have one element per channel."""
    equate_channels(ctx)
    return same_type(ctx)


def equate_channels(ctx: InferenceContext) -> None:
    """Note that all vectors are as long as the channel axis of the data."""
    data = ctx.dims(0)
    if data is None or len(data) < 2:
        return
    for index in range(1, len(ctx.op.operands)):
        other = ctx.dims(index) if ctx.has(index) else None
        if other is not None and len(other) == 1:
            ctx.equate(data[1], other[0])


@infers_dims("IsInf", "IsNaN")
def tested(ctx: InferenceContext) -> Types:
    """A boolean tensor of the operand's shape."""
    shape = ctx.dims(0)
    return [None] if shape is None else typed(shape, i1)


@infers_dims(*BROADCASTING.split())
def broadcasting(ctx: InferenceContext) -> Types:
    """The broadcast of all operands."""
    return _together(ctx, ctx.element())


@infers_dims(*COMPARING.split())
def comparing(ctx: InferenceContext) -> Types:
    """A boolean tensor, the broadcast of both operands."""
    return _together(ctx, i1)


def _together(ctx: InferenceContext, element: Attribute | None) -> Types:
    if {"axis", "broadcast"} <= ctx.op.attributes.keys():
        # Before opset 7, the right operand broadcasts to the left one from an axis on.
        shape = ctx.dims(0)
        return any_shape(element) if shape is None else typed(shape, element)
    shapes = ctx.all_dims()
    return any_shape(element) if shapes is None else typed(ctx.broadcast(shapes, ctx.operands), element)


@infers_dims("Where")
def where(ctx: InferenceContext) -> Types:
    """The broadcast of all three operands, with the element type of the second."""
    return _together(ctx, ctx.element(1))


@infers_dims("Cast")
def cast(ctx: InferenceContext) -> Types:
    """The operand's shape with element type `to`."""
    shape, to = ctx.dims(0), ctx.op.properties["to"]
    return any_shape(to) if shape is None else typed(shape, to)


@infers_dims("DequantizeLinear")
def dequantize(ctx: InferenceContext) -> Types:
    """The data's shape; scales along an axis tell its size. The element type is that of the scales."""
    shape, scales = ctx.dims(0), ctx.dims(1)
    if shape is None:
        return [None]
    # A single scale is of the whole tensor; with a block size, several elements share one.
    is_by_axis = scales is not None and len(scales) == 1 and scales[0] != 1 and not ctx.integer("block_size")
    if is_by_axis and scales is not None and isinstance(scales[0], int) and scales[0] != UNKNOWN:
        axis = ctx.own_axis(len(shape), 1)
        ctx.equate(shape[axis], scales[0])
        shape = (*shape[:axis], scales[0], *shape[axis + 1 :])
    # A new op has the type of its first operand until it is inferred.
    code = ctx.integer("output_dtype")
    return typed(shape, ELEMENT_TYPES_BY_CODE.get(code) if code else ctx.element(1))


@infers_dims("CastLike")
def cast_like(ctx: InferenceContext) -> Types:
    """The first operand's shape with the second operand's element type."""
    shape = ctx.dims(0)
    return any_shape(ctx.element(1)) if shape is None else typed(shape, ctx.element(1))


@infers_dims("Dropout", "DropoutV7", "DropoutV10")
def dropout(ctx: InferenceContext) -> Types:
    """The data's type, and a mask: boolean since opset 10."""
    shape, count = ctx.dims(0), len(ctx.op.results)
    if shape is None:
        return [None] * count
    mask = ctx.element() if ctx.name == "DropoutV7" else i1
    return [*ctx.ranked(shape), *typed(shape, mask)][:count]


STASH_TYPES: Mapping[int | None, Attribute] = {1: f32, 16: bf16}
"""Element types by ONNX's numbers of them."""


@infers_dims("RMSNormalization")
def rms_normalization(ctx: InferenceContext) -> Types:
    """The data's shape with the element type of the scale."""
    shape = ctx.dims(0)
    return any_shape(ctx.element(1)) if shape is None else typed(shape, ctx.element(1))


@infers_dims("LayerNormalization", "RMSLayerNormalization")
def layer_normalization(ctx: InferenceContext) -> Types:
    """The data's type, and statistics with 1 from `axis` on."""
    shape = ctx.dims(0)
    count = len(ctx.op.results) - 1
    if shape is None:
        return [None] * (count + 1)
    axis = ctx.own_axis(len(shape), -1)
    reduced = shape[:axis] + (1,) * (len(shape) - axis)
    # The statistics have the type in which they are computed, by default float32 for every type of data.
    element = STASH_TYPES.get(ctx.integer("stash_type", 1))
    statistics = ctx.ranked(reduced) if element is None else typed(reduced, element)
    return [*ctx.ranked(shape), *statistics * count]
