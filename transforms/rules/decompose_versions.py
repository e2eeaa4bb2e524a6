"""Upgrade older operator versions to the newest ones (docs/internals/onnx-rules.md §5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    DFT,
    DFTV17,
    ONNX,
    Clip,
    ClipV6,
    ClipV11,
    ClipV12,
    GridSample,
    GridSampleV16,
    Pad,
    PadV2,
    PadV11,
    PadV13,
    PadV18,
    ReduceL1,
    ReduceL1V13,
    ReduceL2,
    ReduceL2V13,
    ReduceLogSum,
    ReduceLogSumExp,
    ReduceLogSumExpV13,
    ReduceLogSumV13,
    ReduceMax,
    ReduceMaxV18,
    ReduceMin,
    ReduceMinV18,
    ReduceSumSquare,
    ReduceSumSquareV13,
    Resize,
    ResizeV10,
    ResizeV11,
    ResizeV13,
    ResizeV18,
    Scatter,
    ScatterElements,
    Split,
    SplitV11,
    SplitV13,
    Squeeze,
    SqueezeV11,
    Unsqueeze,
    UnsqueezeV11,
    Upsample,
    UpsampleV7,
)
from xonnc.rewriting.patterns import (
    Array,
    MatchFailure,
    Node,
    OperandSpec,
    RewriteResult,
    Template,
    absent,
    attr,
    compute,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.conditions import is_absent

x, axes = value.x, value.axes


def no_axes(axes: tuple[int, ...] | None) -> str | None:
    """The axes are absent."""
    return None if axes is None else "axes are given"


def some_axes(axes: tuple[int, ...] | None) -> str | None:
    """The axes are present."""
    return "axes are not given" if axes is None else None


def no_sizes(sizes: tuple[int, ...] | None) -> str | None:
    """The split sizes are absent."""
    return None if sizes is None else "sizes are given"


def some_sizes(sizes: tuple[int, ...] | None) -> str | None:
    """The split sizes are present."""
    return "sizes are not given" if sizes is None else None


def listed(numbers: Sequence[int]) -> Array:
    """Return the values of an attribute as an int64 tensor."""
    return np.array(numbers, np.int64)


axes_tensor = compute(listed, attr.axes)
sizes_tensor = compute(listed, attr.sizes)


def like_data(root: Operation, numbers: float | Sequence[float]) -> Array:
    """Return the values of an attribute in the element type of the first operand."""
    element = element_type(root.operands[0].type)
    assert element is not None
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(numpy_dtype(element))


@rule(ClipV6(x, max=attr.high, min=attr.low))
def clip_6(root: Operation, x: SSAValue, high: float, low: float) -> RewriteResult:
    """clip(x) with bounds as attributes = clip(x, low, high), with bounds in the element type of x"""
    return ClipV11(x, like_data(root, low), like_data(root, high))


@rule(PadV2(x, mode=attr.mode, pads=attr.pads, value=attr.fill))
def pad_2(root: Operation, x: SSAValue, mode: str, pads: Sequence[int], fill: float) -> RewriteResult:
    """pad(x) with pads as attribute = pad(x, pads, [fill]), with the fill in the element type of x"""
    return Pad(x, listed(pads), like_data(root, [fill]), absent, mode=mode)


MODES = {"bilinear": "linear", "bicubic": "cubic", "trilinear": "linear"}
"""Modes of GridSample before opset 20, with their current names."""


@rule(GridSampleV16(x, value.grid, align_corners=attr.align, mode=attr.mode, padding_mode=attr.padding))
def grid_sample_16(x: SSAValue, grid: SSAValue, align: int, mode: str, padding: str) -> RewriteResult:
    """GridSample-16 is GridSample with renamed modes"""
    return GridSample(x, grid, align_corners=align, mode=MODES.get(mode, mode), padding_mode=padding)


@rule(SplitV13(x, value.sizes, axis=attr.axis))
def split_13(root: Operation, x: SSAValue, sizes: SSAValue, axis: int) -> RewriteResult:
    """
    split(x, sizes); without sizes, `num_outputs` equal parts.

    onnx-mlir omits `num_outputs` even without sizes, which opset 18 does not allow.
    """
    if is_absent(sizes):
        return Split(x, sizes, axis=axis, num_outputs=len(root.results))
    return Split(x, sizes, axis=axis)


def magnified(x: SSAValue, scales: OperandSpec, numbers: Array | None, mode: str) -> RewriteResult:
    """
    Resize with the semantics of Upsample and Resize-10: asymmetric coordinates i / scale, nearest rounds
    down.

    When downsampling, nearest rounds up, as in onnxruntime; ONNX does not define it.

    onnx-mlir uses the defaults of Resize (half_pixel), which agree only for nearest with integer scales; only
    then they are used here too.
    """
    is_integer_scale = numbers is not None and bool(np.all((numbers >= 1) & (numbers == np.rint(numbers))))
    if mode == "nearest" and is_integer_scale:
        return Resize(x, absent, scales, absent, mode=mode)
    fewer = numbers is not None and bool(np.any(numbers < 1))
    if mode == "nearest" and numbers is not None and fewer and np.any(numbers > 1):
        return MatchFailure("the nearest samples are below along one axis, above along another")
    return Resize(
        x,
        absent,
        scales,
        absent,
        coordinate_transformation_mode="asymmetric",
        mode=mode,
        nearest_mode="ceil" if fewer and mode == "nearest" else "floor",
    )


def magnifying(op: Template) -> Rule:
    """f(x, scales) = resize(x, scales) with asymmetric coordinates i / scale"""

    @rule(op(x, value.scales, mode=attr.mode))
    def resize(x: SSAValue, scales: SSAValue, mode: str) -> RewriteResult:
        """f(x, scales) = resize(x, scales) with asymmetric coordinates i / scale"""
        known = constant_of(ONNX, scales)
        if known is None and mode == "nearest" and op is ResizeV10:
            return MatchFailure("the nearest samples are below or above, by scales that are not known")
        return magnified(x, scales, None if known is None else known.array, mode)

    return resize


@rule(UpsampleV7(x, mode=attr.mode, scales=attr.scales))
def upsample_7(x: SSAValue, mode: str, scales: Sequence[float]) -> RewriteResult:
    """upsample(x) = resize(x, scales) with asymmetric coordinates i / scale"""
    numbers = np.array(scales, np.float32)
    return magnified(x, numbers, numbers, mode)


def resizing(op: Template) -> Rule:
    """An older Resize is the newest one, whose added attributes have the old behaviour as default"""
    old = op(x, value.roi, value.scales, value.sizes, coordinate_transformation_mode=attr.coordinates)

    @rule(old.named("old"))
    def resize(
        old: Operation, x: SSAValue, roi: SSAValue, scales: SSAValue, sizes: SSAValue, coordinates: str
    ) -> RewriteResult:
        """An older Resize is the newest one, whose added attributes have the old behaviour as default"""
        if coordinates == "tf_half_pixel_for_nn":
            return MatchFailure("the newest Resize has no tf_half_pixel_for_nn")
        return Resize(x, roi, scales, sizes, like=old)

    return resize


def reductions(old: Template, new: Template) -> tuple[Rule, Rule]:
    """Return the rules that turn the `axes` attribute of a reduction into an operand; absent: all axes."""
    pattern = old(x, axes=attr.axes, keepdims=attr.keepdims)
    return (
        rule(
            pattern,
            new(x, absent, keepdims=attr.keepdims, noop_with_empty_axes=0),
            where=no_axes,
            bonus=1,
        ),
        rule(
            pattern,
            new(x, axes_tensor, keepdims=attr.keepdims, noop_with_empty_axes=0),
            where=some_axes,
        ),
    )


def forwarded(old: Template, new: Template, *operands: OperandSpec) -> Rule:
    """Return the rule that replaces an operator version by a newer one with the same operands."""
    pattern: Node = old(*operands)
    return rule(pattern, new(*operands, like=pattern))


def padded(old: Template, axes: OperandSpec = absent) -> Rule:
    """Return the rule that replaces an older Pad by the newest one; without axes, it pads all."""
    operands = (x, value.pads, value.fill, *(() if axes is absent else (axes,)))
    return rule(old(*operands, mode=attr.mode), Pad(x, value.pads, value.fill, axes, mode=attr.mode))


REDUCTIONS = {
    "ReduceL1V13": (ReduceL1V13, ReduceL1),
    "ReduceL2V13": (ReduceL2V13, ReduceL2),
    "ReduceLogSumV13": (ReduceLogSumV13, ReduceLogSum),
    "ReduceLogSumExpV13": (ReduceLogSumExpV13, ReduceLogSumExp),
    "ReduceSumSquareV13": (ReduceSumSquareV13, ReduceSumSquare),
}
"""
Reductions before and since opset 18; onnx-mlir's pass alone does not convert the last three
(docs/internals/onnx-rules.md §5.1).
"""

bounds = (x, value.low, value.high)

RULES = rules(
    ClipV6=clip_6,
    ClipV11=forwarded(ClipV11, ClipV12, *bounds),
    ClipV12=forwarded(ClipV12, Clip, *bounds),
    # The axis becomes an operand.
    DFTV17=rule(
        DFTV17(x, value.length, axis=attr.axis, inverse=attr.inverse, onesided=attr.onesided),
        DFT(x, value.length, compute(listed, attr.axis), inverse=attr.inverse, onesided=attr.onesided),
    ),
    GridSampleV16=grid_sample_16,
    PadV2=pad_2,
    PadV11=padded(PadV11),
    PadV13=padded(PadV13),
    PadV18=padded(PadV18, axes),
    **{
        f"{name}_{index}": each
        for name, (old, new) in REDUCTIONS.items()
        for index, each in enumerate(reductions(old, new), 1)
    },
    ReduceMaxV18=forwarded(ReduceMaxV18, ReduceMax, x, axes),
    ReduceMinV18=forwarded(ReduceMinV18, ReduceMin, x, axes),
    ResizeV10=magnifying(ResizeV10),
    ResizeV11=resizing(ResizeV11),
    ResizeV13=resizing(ResizeV13),
    ResizeV18=resizing(ResizeV18),
    # scatter is called scatter_elements
    Scatter=forwarded(Scatter, ScatterElements, x, value.indices, value.updates),
    # Without sizes, as many equal parts as there are results.
    SplitV11_noattr=rule(
        SplitV11(x, axis=attr.axis, split=attr.sizes),
        SplitV13(x, absent, axis=attr.axis),
        where=no_sizes,
        bonus=1,
    ),
    SplitV11=rule(
        SplitV11(x, axis=attr.axis, split=attr.sizes),
        SplitV13(x, sizes_tensor, axis=attr.axis),
        where=some_sizes,
    ),
    SplitV13=split_13,
    # Without axes, all of size 1.
    SqueezeV11_noattr=rule(SqueezeV11(x, axes=attr.axes), Squeeze(x, absent), where=no_axes, bonus=1),
    SqueezeV11=rule(SqueezeV11(x, axes=attr.axes), Squeeze(x, axes_tensor), where=some_axes),
    UnsqueezeV11=rule(UnsqueezeV11(x, axes=attr.axes), Unsqueeze(x, axes_tensor)),
    Upsample=magnifying(Upsample),
    UpsampleV7=upsample_7,
)
