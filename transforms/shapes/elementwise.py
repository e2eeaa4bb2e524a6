"""Shapes of ops that go element by element."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import OptType, SeqType
from xonnc.transforms.shapes.inference_context import Site, Types, any_shape, broadcast, infers, typed

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
def same_type(site: Site) -> Types:
    """The type of the first operand."""
    shape = site.shape(0)
    if shape is not None:
        return site.ranked(shape)
    type_ = site.op.operands[0].type
    return [type_ if isinstance(type_, OptType | SeqType) else None]


@infers("IsInf", "IsNaN")
def tested(site: Site) -> Types:
    """The shape of the operand, true or false."""
    shape = site.shape(0)
    return [None] if shape is None else typed(shape, i1)


@infers(*BROADCASTING.split())
def broadcasting(site: Site) -> Types:
    """All operands broadcast together."""
    return _together(site, site.element())


@infers(*COMPARING.split())
def comparing(site: Site) -> Types:
    """Both operands broadcast together, true or false."""
    return _together(site, i1)


def _together(site: Site, element: Attribute | None) -> Types:
    shapes = site.shapes()
    return any_shape(element) if shapes is None else typed(broadcast(site, shapes, site.operands), element)


@infers("Where")
def where(site: Site) -> Types:
    """All three broadcast together, with the elements of the second."""
    return _together(site, site.element(1))


@infers("Cast")
def cast(site: Site) -> Types:
    """The shape of the operand, with elements `to`."""
    shape, to = site.shape(0), site.op.properties["to"]
    return any_shape(to) if shape is None else typed(shape, to)


@infers("CastLike")
def cast_like(site: Site) -> Types:
    """The shape of the first operand, the elements of the second."""
    shape = site.shape(0)
    return any_shape(site.element(1)) if shape is None else typed(shape, site.element(1))


@infers("DropoutV7")
def old_dropout(site: Site) -> Types:
    """The type of the operand, for the mask too."""
    shape = site.shape(0)
    return [None] * len(site.op.results) if shape is None else site.ranked(shape) * len(site.op.results)


@infers("Dropout")
def dropout(site: Site) -> Types:
    """The data's type, and a mask of its shape."""
    shape = site.shape(0)
    return [None, None] if shape is None else [*site.ranked(shape), *typed(shape, i1)]


@infers("LayerNormalization", "RMSLayerNormalization")
def layer_normalization(site: Site) -> Types:
    """The data's type, and statistics with 1 from the axis on."""
    shape = site.shape(0)
    count = len(site.op.results) - 1
    if shape is None:
        return [None] * (count + 1)
    axis = site.axis(site.integer("axis", -1), len(shape))
    reduced = shape[:axis] + (1,) * (len(shape) - axis)
    return [*site.ranked(shape), *site.ranked(reduced) * count]
