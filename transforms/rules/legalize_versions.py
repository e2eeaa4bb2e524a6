"""
Upgrade old operator versions by one version at a time.

Each rule leads to the version that starts with the opset in which the old one ends, so that a model can be
converted to any opset in between: Resize-10 becomes Resize-11, which becomes Resize-13.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import static_shape
from xonnc.rewriting.onnx import (
    Hardmax,
    HardmaxV11,
    LogSoftmax,
    LogSoftmaxV11,
    PadV2,
    PadV11,
    PadV13,
    ReduceSum,
    ReduceSumV11,
    ResizeV10,
    ResizeV11,
    ResizeV13,
    Softmax,
    SoftmaxV11,
    Upsample,
)
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, Template, absent, attr, value
from xonnc.rewriting.rules import Rule, RuleSet, rule, rules
from xonnc.transforms.rules import decompose_versions, legalize_early_opsets
from xonnc.transforms.rules.decompose_versions import forwarded, like_data, listed, reductions

x, scales = value.x, value.scales


@rule(PadV2(x, mode=attr.mode, pads=attr.pads, value=attr.fill))
def pad_2(root: Operation, x: SSAValue, mode: str, pads: Sequence[int], fill: float) -> RewriteResult:
    """pad(x) with pads as attribute = pad(x, pads, fill), with the fill in the element type of x"""
    return PadV11(x, listed(pads), like_data(root, fill), mode=mode)


@rule(ResizeV10(x, scales, mode=attr.mode))
def resize_10(x: SSAValue, scales: SSAValue, mode: str) -> RewriteResult:
    """resize(x, scales) = resize(x, [], scales) with asymmetric coordinates i / scale; nearest rounds down"""
    return ResizeV11(
        x,
        np.zeros(0, np.float32),
        scales,
        absent,
        coordinate_transformation_mode="asymmetric",
        mode=mode,
        nearest_mode="floor",
    )


OLD_RESIZE = ResizeV11(
    x, value.roi, scales, value.sizes, coordinate_transformation_mode=attr.coordinates
).named("old")


@rule(OLD_RESIZE)
def resize_11(
    old: Operation, x: SSAValue, roi: SSAValue, scales: SSAValue, sizes: SSAValue, coordinates: str
) -> RewriteResult:
    """Resize-11 is Resize-13, which only lacks the mode tf_half_pixel_for_nn"""
    if coordinates == "tf_half_pixel_for_nn":
        return MatchFailure("Resize of opset 13 has no tf_half_pixel_for_nn")
    return ResizeV13(x, roi, scales, sizes, like=old)


def of_matrix(old: Template, new: Template) -> Rule:
    """f of x flattened to a matrix at `axis` is f along `axis` if all later axes have size 1"""

    @rule(old(x, axis=attr.axis))
    def along(x: SSAValue, axis: int) -> RewriteResult:
        """f of x flattened to a matrix at `axis` is f along `axis` if all later axes have size 1"""
        shape = static_shape(x.type)
        if shape is None:
            return MatchFailure("a shape is not known")
        axis %= max(len(shape), 1)
        if any(size != 1 for size in shape[axis + 1 :]):
            return MatchFailure("several axes make up the rows")
        return new(x, axis=axis)

    return along


RULES = RuleSet({**legalize_early_opsets.RULES}) | rules(
    ClipV11=decompose_versions.RULES["ClipV11"],
    ClipV12=decompose_versions.RULES["ClipV12"],
    HardmaxV11=of_matrix(HardmaxV11, Hardmax),
    LogSoftmaxV11=of_matrix(LogSoftmaxV11, LogSoftmax),
    PadV2=pad_2,
    PadV11=forwarded(PadV11, PadV13, x, value.pads, value.fill),
    ResizeV10=resize_10,
    ResizeV11=resize_11,
    SoftmaxV11=of_matrix(SoftmaxV11, Softmax),
    SplitV11_noattr=decompose_versions.RULES["SplitV11_noattr"],
    SplitV11=decompose_versions.RULES["SplitV11"],
    SqueezeV11_noattr=decompose_versions.RULES["SqueezeV11_noattr"],
    SqueezeV11=decompose_versions.RULES["SqueezeV11"],
    UnsqueezeV11=decompose_versions.RULES["UnsqueezeV11"],
    Upsample=forwarded(Upsample, ResizeV10, x, scales),
    **{f"ReduceSumV11_{index}": each for index, each in enumerate(reductions(ReduceSumV11, ReduceSum), 1)},
)
