"""Shapes of elementwise operators."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import bf16, f32, i1
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import OptType, SeqType
from xonnc.transforms.shapes.inference_context import (
    InferenceContext,
    Types,
    any_shape,
    broadcast,
    infers,
    typed,
)

SAME_TYPE = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalizationInferenceMode BitwiseNot Ceil Celu Clip Cos Cosh"
    " CumSum Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity"
    " InstanceNormalization LRN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg"
    " Not PRelu Reciprocal Relu Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh"
    " Softmax SoftmaxV11 Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu"
)
BROADCASTING = "Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Pow Sub Sum And Or Xor"
COMPARING = "Equal Greater GreaterOrEqual Less LessOrEqual"


@infers(*SAME_TYPE.split())
def same_type(ctx: InferenceContext) -> Types:
    """The type of the first operand."""
    shape = ctx.shape(0)
    if shape is not None:
        return ctx.ranked(shape)
    type_ = ctx.op.operands[0].type
    return [type_ if isinstance(type_, OptType | SeqType) else None]


@infers("IsInf", "IsNaN")
def tested(ctx: InferenceContext) -> Types:
    """A boolean tensor of the operand's shape."""
    shape = ctx.shape(0)
    return [None] if shape is None else typed(shape, i1)


@infers(*BROADCASTING.split())
def broadcasting(ctx: InferenceContext) -> Types:
    """The broadcast of all operands."""
    return _together(ctx, ctx.element())


@infers(*COMPARING.split())
def comparing(ctx: InferenceContext) -> Types:
    """A boolean tensor, the broadcast of both operands."""
    return _together(ctx, i1)


def _together(ctx: InferenceContext, element: Attribute | None) -> Types:
    shapes = ctx.shapes()
    return any_shape(element) if shapes is None else typed(broadcast(ctx, shapes, ctx.operands), element)


@infers("Where")
def where(ctx: InferenceContext) -> Types:
    """The broadcast of all three operands, with the element type of the second."""
    return _together(ctx, ctx.element(1))


@infers("Cast")
def cast(ctx: InferenceContext) -> Types:
    """The operand's shape with element type `to`."""
    shape, to = ctx.shape(0), ctx.op.properties["to"]
    return any_shape(to) if shape is None else typed(shape, to)


@infers("CastLike")
def cast_like(ctx: InferenceContext) -> Types:
    """The first operand's shape with the second operand's element type."""
    shape = ctx.shape(0)
    return any_shape(ctx.element(1)) if shape is None else typed(shape, ctx.element(1))


@infers("DropoutV7")
def old_dropout(ctx: InferenceContext) -> Types:
    """The operand's type, for the mask too."""
    shape = ctx.shape(0)
    return [None] * len(ctx.op.results) if shape is None else ctx.ranked(shape) * len(ctx.op.results)


@infers("Dropout")
def dropout(ctx: InferenceContext) -> Types:
    """The data's type, and a boolean mask."""
    shape = ctx.shape(0)
    return [None, None] if shape is None else [*ctx.ranked(shape), *typed(shape, i1)]


STASH_TYPES: Mapping[int | None, Attribute] = {1: f32, 16: bf16}
"""Element types by ONNX's numbers of them."""


@infers("LayerNormalization", "RMSLayerNormalization", "RMSNormalization")
def layer_normalization(ctx: InferenceContext) -> Types:
    """The data's type, and statistics with 1 from `axis` on."""
    shape = ctx.shape(0)
    count = len(ctx.op.results) - 1
    if shape is None:
        return [None] * (count + 1)
    axis = ctx.axis(ctx.integer("axis", -1), len(shape))
    reduced = shape[:axis] + (1,) * (len(shape) - axis)
    # The statistics have the type in which they are computed, by default float32 for every type of data.
    element = STASH_TYPES.get(ctx.integer("stash_type", 1))
    statistics = ctx.ranked(reduced) if element is None else typed(reduced, element)
    return [*ctx.ranked(shape), *statistics * count]
