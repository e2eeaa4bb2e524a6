"""Express newer versions of Resize by older ones, down to Upsample of opset 7."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import static_shape
from xonnc.rewriting.onnx import (
    Resize,
    ResizeV10,
    ResizeV11,
    ResizeV13,
    ResizeV18,
    Upsample,
    UpsampleV7,
)
from xonnc.rewriting.patterns import Array, MatchFailure, OperandSpec, RewriteResult, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_absent, rank
from xonnc.transforms.rules.op_constants import floats_of, integers_of

x, roi, scales, sizes = value.x, value.roi, value.scales, value.sizes


@rule(Resize(x, roi, scales, sizes, coordinate_transformation_mode=attr.coordinates))
def resize_19(
    root: Operation, x: SSAValue, roi: SSAValue, scales: SSAValue, sizes: SSAValue, coordinates: str
) -> RewriteResult:
    """Resize-19 only adds the coordinates half_pixel_symmetric"""
    if coordinates == "half_pixel_symmetric":
        return MatchFailure("Resize has half_pixel_symmetric from opset 19 on")
    return ResizeV18(x, roi, scales, sizes, like=root)


OLD = ResizeV18(
    *(x, roi, scales, sizes),
    antialias=attr.antialias,
    axes=attr.axes,
    coordinate_transformation_mode=attr.coordinates,
    cubic_coeff_a=attr.cubic,
    exclude_outside=attr.excluded,
    extrapolation_value=attr.extrapolated,
    keep_aspect_ratio_policy=attr.policy,
    mode=attr.mode,
    nearest_mode=attr.nearest,
)


@rule(OLD)
def resize_18(
    x: SSAValue,
    roi: SSAValue,
    scales: SSAValue,
    sizes: SSAValue,
    antialias: int,
    axes: tuple[int, ...] | None,
    coordinates: str,
    cubic: float,
    excluded: int,
    extrapolated: float,
    policy: str,
    mode: str,
    nearest: str,
) -> RewriteResult:
    """Resize-18 is Resize-13 without antialias, with all axes and sizes as they are given"""
    if antialias:
        return MatchFailure("Resize has antialias from opset 18 on")
    if policy != "stretch" and not is_absent(sizes):
        return MatchFailure("Resize has keep_aspect_ratio_policy from opset 18 on")
    if axes is not None and list(axes) != list(range(rank(x) or 0)):
        return MatchFailure("Resize has axes from opset 18 on")
    return ResizeV13(
        *(x, roi, scales, sizes),
        coordinate_transformation_mode=coordinates,
        cubic_coeff_a=cubic,
        exclude_outside=excluded,
        extrapolation_value=extrapolated,
        mode=mode,
        nearest_mode=nearest,
    )


def _given(operand: SSAValue) -> OperandSpec:
    """Return an operand, or the empty tensor that stands for an absent one in opset 11."""
    return np.zeros(0, np.float32) if is_absent(operand) else operand


@rule(ResizeV13(x, roi, scales, sizes))
def resize_13(
    root: Operation, x: SSAValue, roi: SSAValue, scales: SSAValue, sizes: SSAValue
) -> RewriteResult:
    """Resize-11 has empty tensors for absent operands"""
    return ResizeV11(x, _given(roi), _given(scales), sizes, like=root)


def _scales_of(x: SSAValue, scales: SSAValue, sizes: SSAValue) -> Array | None:
    """Return constant scales, or those of constant sizes that are multiples of the input's."""
    if is_absent(sizes):
        given = floats_of(scales)
        return None if given is None else np.array(given, np.float32)
    shape, result = static_shape(x.type), integers_of(sizes)
    if shape is None or result is None or 0 in shape:
        return None
    if any(new % old for old, new in zip(shape, result, strict=True)):
        return None
    return np.array(result, np.float32) / np.array(shape, np.float32)


@rule(
    ResizeV11(
        *(x, roi, scales, sizes),
        coordinate_transformation_mode=attr.coordinates,
        mode=attr.mode,
        nearest_mode=attr.nearest,
    )
)
def resize_11(
    x: SSAValue, scales: SSAValue, sizes: SSAValue, coordinates: str, mode: str, nearest: str
) -> RewriteResult:
    """
    resize(x, scales) with asymmetric coordinates is Resize-10

    For nearest and integer scales n, half_pixel with round_prefer_floor rounds (i + 1/2) / n - 1/2, which is
    floor(i / n) too.
    """
    if mode == "cubic":
        return MatchFailure("Resize has cubic from opset 11 on")
    known = _scales_of(x, scales, sizes)
    if known is None and not is_absent(sizes):
        return MatchFailure("sizes that are no multiples of static ones need opset 11")
    if known is None or np.any(known < 1):
        return MatchFailure("before opset 11 scales must be constant and at least 1 to be exact")
    is_integer = bool(np.all(known == np.rint(known)))
    centered = mode == "nearest" and is_integer and nearest == "round_prefer_floor"
    if coordinates != "asymmetric" and not (centered and coordinates == "half_pixel"):
        return MatchFailure(f"Resize has {coordinates} from opset 11 on; before, coordinates are asymmetric")
    if mode == "nearest" and coordinates == "asymmetric" and nearest != "floor":
        return MatchFailure(f"Resize has {nearest} from opset 11 on; before, nearest rounds down")
    return ResizeV10(x, known, mode=mode)


@rule(ResizeV10(x, scales, mode=attr.mode))
def resize_10(x: SSAValue, scales: SSAValue, mode: str) -> RewriteResult:
    """resize(x, scales) with scales of at least 1 is upsample(x, scales)"""
    known = floats_of(scales)
    if known is None or min(known, default=1) < 1:
        return MatchFailure("Upsample before opset 10 needs constant scales of at least 1")
    return Upsample(x, scales, mode=mode)


@rule(Upsample(x, scales, mode=attr.mode))
def upsample_9(x: SSAValue, scales: SSAValue, mode: str) -> RewriteResult:
    """upsample(x, scales) with constant scales has them as attribute"""
    known = floats_of(scales)
    if known is None:
        return MatchFailure("scales must be constant in this opset, where they are an attribute")
    return UpsampleV7(x, mode=mode, scales=known)


RULES = rules(
    LowerResize=resize_19,
    LowerResizeV18=resize_18,
    LowerResizeV13=resize_13,
    LowerResizeV11=resize_11,
    LowerResizeV10=resize_10,
    LowerUpsample=upsample_9,
)
