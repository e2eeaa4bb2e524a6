"""
Express newer operator versions by older ones, one version at a time: the inverse of `legalize_versions`.

Each rule leads to the version that ends with the opset in which the newer one starts, and refuses what that
version cannot say: operands that became attributes must be constant, added attributes must have the value
that stands for the old behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import static_shape
from xonnc.rewriting import onnx
from xonnc.rewriting.onnx import (
    Clip,
    ClipV6,
    ClipV11,
    ClipV12,
    Dropout,
    DropoutV7,
    DropoutV10,
    Hardmax,
    HardmaxV11,
    Identity,
    LogSoftmax,
    LogSoftmaxV11,
    Pad,
    PadV2,
    PadV11,
    PadV13,
    PadV18,
    PadV19,
    ReduceMax,
    ReduceMaxV13,
    ReduceMaxV18,
    ReduceMin,
    ReduceMinV13,
    ReduceMinV18,
    ReduceSum,
    ReduceSumV11,
    Slice,
    SliceV1,
    Softmax,
    SoftmaxV11,
    Split,
    SplitV11,
    SplitV13,
    Squeeze,
    SqueezeV11,
    TopK,
    TopKV1,
    Transpose,
    Unsqueeze,
    UnsqueezeV11,
)
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, Template, attr, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import is_absent, rank
from xonnc.transforms.rules.decompose_versions import forwarded, listed
from xonnc.transforms.rules.lower_resize import RULES as RESIZES
from xonnc.transforms.rules.op_constants import floats_of, integers_of

x, axes, pads, fill, sizes = value.x, value.axes, value.pads, value.fill, value.sizes
low, high = value.low, value.high

NOT_CONSTANT = "{} must be constant in this opset, where it is an attribute"


def _fails(name: str) -> MatchFailure:
    return MatchFailure(NOT_CONSTANT.format(name))


def _axes_of(x: SSAValue, axes: SSAValue, added: int = 0) -> list[int] | None:
    """Return constant axes, not negative if the rank is known: before opset 11 they must not be."""
    found, known = integers_of(axes), rank(x)
    if found is None or known is None:
        return found
    return [axis % max(known + added, 1) if axis < 0 else axis for axis in found]


def template(name: str) -> Template:
    """Return the template of an op by its name."""
    found: object = getattr(onnx, name)
    assert isinstance(found, Template)
    return found


@rule(Squeeze(x, axes))
def squeeze(x: SSAValue, axes: SSAValue) -> RewriteResult:
    """squeeze(x, axes) with constant axes has them as attribute"""
    if is_absent(axes):
        return SqueezeV11(x)
    found = _axes_of(x, axes)
    return _fails("axes") if found is None else SqueezeV11(x, axes=found)


@rule(Unsqueeze(x, axes))
def unsqueeze(x: SSAValue, axes: SSAValue) -> RewriteResult:
    """unsqueeze(x, axes) with constant axes has them as attribute"""
    found = integers_of(axes)
    found = _axes_of(x, axes, 0 if found is None else len(found))
    return _fails("axes") if found is None else UnsqueezeV11(x, axes=found)


def reduction(new: Template, old: Template) -> Rule:
    """f(x, axes) with constant axes has them as attribute; without axes, all are reduced or none"""

    @rule(new(x, axes, keepdims=attr.keepdims, noop_with_empty_axes=attr.noop))
    def reduced(x: SSAValue, axes: SSAValue, keepdims: int, noop: int) -> RewriteResult:
        """f(x, axes) with constant axes has them as attribute; without axes, all are reduced or none"""
        found = [] if is_absent(axes) else _axes_of(x, axes)
        if found is None:
            return _fails("axes")
        if found:
            return old(x, axes=found, keepdims=keepdims)
        if noop and new is not ReduceSum:
            return MatchFailure("no axis is reduced; this opset has no noop_with_empty_axes")
        return Identity(x) if noop else old(x, keepdims=keepdims)

    return reduced


@rule(Split(x, sizes, axis=attr.axis))
def split_18(root: Operation, x: SSAValue, sizes: SSAValue, axis: int) -> RewriteResult:
    """split(x) into `num_outputs` parts, of which the last may be smaller, has their sizes as operand"""
    if not is_absent(sizes):
        return SplitV13(x, sizes, axis=axis)
    shape, count = static_shape(x.type), len(root.results)
    if shape is None:
        return MatchFailure("parts of equal size need a static shape, since the last may be smaller")
    size = shape[axis]
    part = -(-size // count)
    last = size - part * (count - 1)
    if last < 0:
        return MatchFailure(f"{size} elements have no {count} parts of {part}")
    return SplitV13(x, listed([part] * (count - 1) + [last]), axis=axis)


@rule(SplitV13(x, sizes, axis=attr.axis))
def split_13(x: SSAValue, sizes: SSAValue, axis: int) -> RewriteResult:
    """split(x, sizes) with constant sizes has them as attribute"""
    known = rank(x)
    axis = axis % known if axis < 0 and known else axis
    if is_absent(sizes):
        return SplitV11(x, axis=axis)
    found = integers_of(sizes)
    return _fails("split") if found is None else SplitV11(x, axis=axis, split=found)


def is_single(numbers: Sequence[float]) -> bool:
    """Return whether float attributes hold numbers exactly."""
    with np.errstate(over="ignore"):
        return np.array_equal(np.array(numbers, np.float32), np.array(numbers), equal_nan=True)


@rule(ClipV11(x, low, high))
def clip_11(x: SSAValue, low: SSAValue, high: SSAValue) -> RewriteResult:
    """clip(x, low, high) with constant bounds has them as attributes; an absent bound is none"""
    limits: list[float] = []
    for bound, none in ((low, -np.inf), (high, np.inf)):
        found = [none] if is_absent(bound) else floats_of(bound)
        if found is None:
            return _fails("min" if bound is low else "max")
        if not is_single(found):
            return MatchFailure(f"the attribute holds {found[0]} in 32 bits only")
        limits.append(found[0])
    return ClipV6(x, min=limits[0], max=limits[1])


def on_all_axes(pads: Sequence[int], axes: Sequence[int], rank: int) -> list[int]:
    """Return pads of some axes as pads of all."""
    made, count = [0] * (2 * rank), len(axes)
    for index, axis in enumerate(axes):
        made[axis % rank], made[axis % rank + rank] = pads[index], pads[index + count]
    return made


@rule(PadV18(x, pads, fill, axes, mode=attr.mode))
def pad_18(x: SSAValue, pads: SSAValue, fill: SSAValue, axes: SSAValue, mode: str) -> RewriteResult:
    """pad(x, pads, fill, axes) with constant pads and axes = pad(x, pads of all axes, fill)"""
    if is_absent(axes):
        return PadV13(x, pads, fill, mode=mode)
    borders, among, known = integers_of(pads), integers_of(axes), rank(x)
    if borders is None or among is None or known is None:
        return MatchFailure("with axes, pads and axes must be constant and the rank known")
    return PadV13(x, listed(on_all_axes(borders, among, known)), fill, mode=mode)


@rule(PadV19(x, pads, fill, axes, mode=attr.mode))
def pad_19(x: SSAValue, pads: SSAValue, fill: SSAValue, axes: SSAValue, mode: str) -> RewriteResult:
    """Pad-19 only adds the mode `wrap`"""
    if mode == "wrap":
        return MatchFailure("Pad has the mode wrap from opset 19 on")
    return PadV18(x, pads, fill, axes, mode=mode)


@rule(PadV11(x, pads, fill, mode=attr.mode))
def pad_11(x: SSAValue, pads: SSAValue, fill: SSAValue, mode: str) -> RewriteResult:
    """pad(x, pads, fill) with constant pads and fill has them as attributes"""
    borders, filled = integers_of(pads), [0.0] if is_absent(fill) else floats_of(fill)
    if borders is None or filled is None:
        return _fails("pads" if borders is None else "constant_value")
    if not is_single(filled):
        return MatchFailure(f"the attribute holds {filled[0]} in 32 bits only")
    return PadV2(x, mode=mode, pads=borders, value=filled[0] if filled else 0.0)


@rule(Slice(x, value.starts, value.ends, axes, value.steps))
def slice_10(x: SSAValue, starts: SSAValue, ends: SSAValue, axes: SSAValue, steps: SSAValue) -> RewriteResult:
    """slice(x, starts, ends, axes) with constant bounds and steps of 1 has them as attributes"""
    first, last = integers_of(starts), integers_of(ends)
    strides = [] if is_absent(steps) else integers_of(steps)
    if first is None or last is None or strides is None:
        return MatchFailure("starts, ends and steps must be constant in this opset")
    if any(stride != 1 for stride in strides):
        return MatchFailure("Slice has steps from opset 10 on")
    if is_absent(axes):
        return SliceV1(x, starts=first, ends=last)
    among = _axes_of(x, axes)
    return _fails("axes") if among is None else SliceV1(x, axes=among, starts=first, ends=last)


@rule(TopK(x, value.k, axis=attr.axis, largest=attr.largest))
def top_k_10(x: SSAValue, k: SSAValue, axis: int, largest: int) -> RewriteResult:
    """top_k(x, k) of the largest with a constant k has it as attribute"""
    count, known = integers_of(k), rank(x)
    if not count:
        return _fails("k")
    if not largest:
        return MatchFailure("TopK finds the smallest from opset 11 on")
    return TopKV1(x, axis=axis % known if axis < 0 and known else axis, k=count[0])


def of_last_axis(new: Template, old: Template) -> Rule:
    """f along an axis = f of matrix rows, with the axis moved to the end"""

    @rule(new(x, axis=attr.axis))
    def along(x: SSAValue, axis: int) -> RewriteResult:
        """f along an axis = f of matrix rows, with the axis moved to the end"""
        known = rank(x)
        if not known:
            return MatchFailure("the rank is not known" if known is None else "x is a scalar")
        axis %= known
        if axis == known - 1:
            return old(x, axis=axis)
        # Exchanging two axes is its own inverse.
        order = list(range(known))
        order[axis], order[-1] = order[-1], order[axis]
        return Transpose(old(Transpose(x, perm=order), axis=known - 1), perm=order)

    return along


def _reads_mask(root: Operation) -> bool:
    """Return whether a Dropout's mask is read; its meaning depends on the version."""
    return any(result.first_use is not None for result in root.results[1:])


@rule(Dropout(x, value.ratio, value.training))
def dropout_12(root: Operation, x: SSAValue, ratio: SSAValue, training: SSAValue) -> RewriteResult:
    """dropout(x, ratio, false) has the ratio as attribute; older versions never train"""
    if not is_absent(training) and integers_of(training) != [0]:
        return MatchFailure("training_mode must be constant false in this opset")
    share = [0.5] if is_absent(ratio) else floats_of(ratio)
    if not share:
        return _fails("ratio")
    if _reads_mask(root):
        return MatchFailure("its mask is read")
    return DropoutV10(x, ratio=share[0])


@rule(DropoutV10(x, ratio=attr.ratio))
def dropout_10(root: Operation, x: SSAValue, ratio: float) -> RewriteResult:
    """Dropout-10 is Dropout-7, whose mask has another type"""
    if _reads_mask(root):
        return MatchFailure("its mask is read")
    return DropoutV7(x, ratio=ratio)


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd")

RULES = RESIZES | rules(
    **{f"Lower{name}": reduction(template(name), template(f"{name}V13")) for name in REDUCTIONS},
    LowerReduceSumSquare=reduction(template("ReduceSumSquare"), template("ReduceSumSquareV13")),
    LowerReduceMax=forwarded(ReduceMax, ReduceMaxV18, x, axes),
    LowerReduceMaxV18=reduction(ReduceMaxV18, ReduceMaxV13),
    LowerReduceMin=forwarded(ReduceMin, ReduceMinV18, x, axes),
    LowerReduceMinV18=reduction(ReduceMinV18, ReduceMinV13),
    LowerReduceSum=reduction(ReduceSum, ReduceSumV11),
    LowerClip=forwarded(Clip, ClipV12, x, low, high),
    LowerClipV12=forwarded(ClipV12, ClipV11, x, low, high),
    LowerClipV11=clip_11,
    LowerDropout=dropout_12,
    LowerDropoutV10=dropout_10,
    LowerHardmax=of_last_axis(Hardmax, HardmaxV11),
    LowerLogSoftmax=of_last_axis(LogSoftmax, LogSoftmaxV11),
    LowerPad=forwarded(Pad, PadV19, x, pads, fill, axes),
    LowerPadV19=pad_19,
    LowerPadV18=pad_18,
    LowerPadV13=forwarded(PadV13, PadV11, x, pads, fill),
    LowerPadV11=pad_11,
    LowerSlice=slice_10,
    LowerSoftmax=of_last_axis(Softmax, SoftmaxV11),
    LowerSplit=split_18,
    LowerSplitV13=split_13,
    LowerSqueeze=squeeze,
    LowerTopK=top_k_10,
    LowerUnsqueeze=unsqueeze,
)
