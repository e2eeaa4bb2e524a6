"""Convolutions in the channel-blocked layout NCHW4c (docs/internals/onnx-rules.md §6.2)."""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr, StringAttr, TensorType, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.layout import LAYOUTS, STANDARD, LayoutAttr
from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.rewriting.onnx import Conv, LayoutTransform
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import rule, rules

IMAGE, WEIGHTS = (LayoutAttr(StringAttr(name)) for name in LAYOUTS)

AXES = 4
"""Batch, channels, height and width: layouts are defined for rank 4 only."""


def in_layout(type_: Attribute, layout: LayoutAttr) -> TensorType[Attribute] | None:
    """Return a tensor type with another layout, or `None`."""
    if not is_ranked(type_) or len(type_.get_shape()) != AXES or element_type(type_) not in (f16, f32):
        return None
    if not isinstance(type_.encoding, NoneAttr):
        return None
    return TensorType(type_.element_type, type_.get_shape(), layout)


@rule(Conv(value.x, value.w, value.b))
def blocked(root: Operation, x: SSAValue, w: SSAValue, b: SSAValue) -> RewriteResult:
    """conv(x, w) = to_nchw(conv(to_nchw4c(x), to_kcmn4c4k(w)))"""
    image, weights = in_layout(x.type, IMAGE), in_layout(w.type, WEIGHTS)
    made = in_layout(root.results[0].type, IMAGE)
    if image is None or weights is None or made is None:
        return MatchFailure(
            "the image, the weights or the result are no 16 or 32-bit floats on 4 axes in usual order"
        )
    conv = Conv(
        LayoutTransform(x, target_layout=IMAGE).typed(image),
        LayoutTransform(w, target_layout=WEIGHTS).typed(weights),
        b,
        like=root,
    )
    return LayoutTransform(conv.typed(made), target_layout=STANDARD)


RULES = rules(ConvOptPattern=blocked)
