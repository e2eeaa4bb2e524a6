"""
Resize for the reference evaluator, one axis after the other.

The evaluator's own reads wrong neighbors at some coordinates next to an integer: it takes the weights first,
and then adds a margin to the coordinate, which rounds the sum to the integer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xonnc.formats.onnx.tensors import AnyArray

ROI, SCALES, SIZES = 1, 2, 3
"""Operands of Resize since opset 11."""

CROP = "tf_crop_and_resize"

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Axis:
    """An axis, its sizes before and after, its scale, and the part of it that is resized (for a crop)."""

    axis: int
    before: int
    after: int
    scale: float
    crop: tuple[float, float] | None

    @property
    def is_kept(self) -> bool:
        """Whether each element stays where it is."""
        return self.before == self.after and self.scale == 1 and self.crop is None


def resize(
    operands: Sequence[AnyArray | None], attributes: Mapping[str, object], _outputs: int
) -> list[AnyArray]:
    """Compute Resize since opset 11; interpolation is computed in doubles."""
    data = np.asarray(operands[0])
    nearest = attributes["mode"] == "nearest"
    found = data if nearest else data.astype(np.float64)
    outside = np.zeros((1,) * data.ndim, np.bool_)
    for each in _axes(data.shape, operands, attributes):
        if each.is_kept:
            continue
        x = _coordinates(each, str(attributes["coordinate_transformation_mode"]))
        along = [-1 if axis == each.axis else 1 for axis in range(data.ndim)]
        if nearest:
            found = np.take(found, _nearest(x, each, str(attributes["nearest_mode"])), each.axis)
        else:
            found = _mixed(found, each, along, *_taps(x, each, attributes))
        if each.crop is not None:
            outside = outside | ((x < 0) | (x > each.before - 1)).reshape(along)
    with np.errstate(invalid="ignore", over="ignore"):
        made = found.astype(data.dtype)
        if outside.any():
            made = np.where(outside, np.asarray(attributes["extrapolation_value"]).astype(data.dtype), made)
    return [made]


def _axes(
    shape: Sequence[int], operands: Sequence[AnyArray | None], attributes: Mapping[str, object]
) -> Iterator[_Axis]:
    given = cast("Sequence[int] | None", attributes.get("axes"))
    axes = [axis % len(shape) for axis in given] if given else list(range(len(shape)))
    scales, sizes, roi = (_numbers(operands, index) for index in (SCALES, SIZES, ROI))
    if scales is None and sizes is None:
        raise ValueError("Resize without scales and sizes")
    count = len(axes)
    before = np.array([shape[axis] for axis in axes], np.float64)
    if scales is None:
        after = cast("Floats", sizes)
        scales = after / before
        policy = attributes.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            scales = np.full(count, scales.min() if policy == "not_larger" else scales.max())
            after = np.floor(scales * before + 0.5)
    else:
        after = np.floor(scales * before)
    is_crop = attributes["coordinate_transformation_mode"] == CROP
    if is_crop and roi is None:
        raise ValueError(f"{CROP} without roi")
    for number, axis in enumerate(axes):
        crop = (float(roi[number]), float(roi[number + count])) if is_crop and roi is not None else None
        yield _Axis(axis, shape[axis], int(after[number]), float(scales[number]), crop)


def _numbers(operands: Sequence[AnyArray | None], index: int) -> Floats | None:
    """Return an operand; an empty one is absent."""
    found = operands[index] if index < len(operands) else None
    return None if found is None or found.size == 0 else np.asarray(found, np.float64).reshape(-1)


def _coordinates(each: _Axis, mode: str) -> Floats:
    """Return the coordinate in the source of each element of the result."""
    index, last = np.arange(each.after, dtype=np.float64), each.before - 1.0
    length = each.scale * each.before
    match mode:
        case "align_corners":
            return 0 * index if length == 1 else index * last / (length - 1)
        case "asymmetric":
            return index / each.scale
        case "tf_crop_and_resize":
            start, end = cast("tuple[float, float]", each.crop)
            span = (end - start) * last
            return start * last + (span / 2 + 0 * index if length == 1 else index * span / (length - 1))
        case "tf_half_pixel_for_nn":
            return (index + 0.5) / each.scale
        case "pytorch_half_pixel":
            return 0 * index if length == 1 else (index + 0.5) / each.scale - 0.5
        case "half_pixel_symmetric":
            return each.before / 2 * (1 - each.after / length) + (index + 0.5) / each.scale - 0.5
        case "half_pixel":
            return (index + 0.5) / each.scale - 0.5
        case _:
            raise ValueError(f"coordinate_transformation_mode {mode}")


def _nearest(x: Floats, each: _Axis, mode: str) -> Integers:
    """Return the nearest element to each coordinate."""
    match mode:
        case "round_prefer_floor":
            found = np.ceil(x - 0.5)
        case "round_prefer_ceil":
            found = np.floor(x + 0.5)
        case "ceil":
            found = np.ceil(x)
        case "floor":
            found = np.floor(x)
        case _:
            raise ValueError(f"nearest_mode {mode}")
    return found.astype(np.int64).clip(0, each.before - 1)


def _taps(x: Floats, each: _Axis, attributes: Mapping[str, object]) -> tuple[Integers, Floats]:
    """Return the elements that each result mixes, one row a result, and their weights."""
    reach = 1 if attributes["mode"] == "linear" else 2
    # When an image shrinks, the kernel is stretched, so that each element counts.
    factor = min(1.0, each.scale) if attributes.get("antialias") else 1.0
    start = floor(-reach / factor) + 1
    first = np.ceil(x) - 1
    taps = first[:, None] + np.arange(start, 2 - start)
    distances = np.abs(taps - x[:, None]) * factor
    if reach == 1:
        weights = np.maximum(1 - distances, 0.0)
    else:
        weights = _cubic(distances, cast("float", attributes["cubic_coeff_a"]))
    if attributes.get("exclude_outside"):
        weights = np.where((taps >= 0) & (taps < each.before), weights, 0.0)
    if attributes.get("exclude_outside") or attributes.get("antialias"):
        weights = weights / weights.sum(axis=1, keepdims=True)
    return taps.astype(np.int64).clip(0, each.before - 1), weights


def _cubic(distance: Floats, a: float) -> Floats:
    """Keys' cubic convolution kernel (R. Keys, 1981) with parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _mixed(data: AnyArray, each: _Axis, along: Sequence[int], taps: Integers, weights: Floats) -> AnyArray:
    """Return weighted sums along an axis; elements of weight 0 do not count, infinite ones neither."""
    total: Any = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        for number in range(taps.shape[1]):
            weight = weights[:, number].reshape(along)
            part = np.take(data, taps[:, number], each.axis)
            total = total + np.where(weight == 0, 0.0, weight * part)
    return total
