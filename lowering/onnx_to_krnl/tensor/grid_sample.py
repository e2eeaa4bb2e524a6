"""GridSample: interpolation at coordinates that are run-time inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Number, Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume
from xonnc.lowering.onnx_to_krnl.tensor.resize import cubic_weight

MAX_UNROLLED_TAPS = 64
"""Interpolated elements around a coordinate that are unrolled."""

CUBIC_A = -0.75


@dataclass(frozen=True)
class _Tap:
    """An interpolation tap on one axis, or on all: index, weight, and whether it is inside the image."""

    index: Scalar
    weight: Scalar | None
    is_inside: Scalar | None


@lowers(tensor.GridSampleOp, tensor.GridSampleV16Op)
def grid_sample(op: tensor.GridSampleOp | tensor.GridSampleV16Op, builder: LoweringBuilder) -> str | None:
    """Interpolate `X` at the coordinates of `grid` in [-1, 1], last axis first (x, y, …)."""
    mode = op.mode.data.removeprefix("bi")
    shape, out = builder.sizes(op.X), builder.sizes(op.Y)
    number = compute_type(builder.element(op.X))
    image_sizes = shape[2:]
    rank = len(image_sizes)
    if number not in (f32, f64) or {"nearest": 1, "linear": 2, "cubic": 4}[mode] ** rank > MAX_UNROLLED_TAPS:
        return f"not of floats, or more than {MAX_UNROLLED_TAPS} taps of {mode} interpolation on {rank} axes"
    for size in image_sizes:
        builder.require_at_most(1, size, f"{describe(op)}: an axis of the image, which has elements,")
    samples = volume(out[2:])
    inputs = [(op.X, [*shape[:2], volume(image_sizes)]), (op.grid, [out[0], samples, rank])]
    kernel = Kernel(builder, "gridsample", [(op.Y, [out[0], out[1], samples])], inputs)
    target, source, grid = kernel.buffers
    lengths = [_length(size, number, kernel) for size in image_sizes]
    with kernel.loops([out[0], samples]) as (image, index):
        taps: list[list[_Tap]] = []
        for axis, size in enumerate(lengths):
            x = grid.read_as(number, image, index, rank - 1 - axis)
            taps.append(_taps(x, size, mode, op.padding_mode.data, bool(op.align_corners.value.data)))
        # What all channels have in common is computed once.
        joined = [_joined(chosen, lengths) for chosen in product(*taps)]
        with kernel.loops([out[1]]) as (channel,):
            parts = [_part(source[image, channel, tap.index], tap) for tap in joined]
            # One tap is not added to 0, which would lose the sign of -0.
            none = kernel.constant(0.0, number)
            target[image, channel, index] = parts[0] if len(parts) == 1 else sum(parts, none)
    kernel.call()
    return None


supports_dynamic_shapes(tensor.GridSampleOp, tensor.GridSampleV16Op)


@dataclass(frozen=True)
class _Length:
    """The size of an axis of the image, as an index and as a float."""

    index: int | Scalar
    number: Number


def _length(size: Size, kind: Attribute, kernel: Kernel) -> _Length:
    if is_static(size):
        return _Length(size, float(size))
    index = kernel.size(size)
    return _Length(index, index.to(kind))


def _joined(chosen: Sequence[_Tap], sizes: Sequence[_Length]) -> _Tap:
    """Return the tap of an image as a row of pixels for one on each axis."""
    joined = chosen[0]
    for tap, size in zip(chosen[1:], sizes[1:], strict=True):
        weight, is_inside = joined.weight, joined.is_inside
        if weight is not None and tap.weight is not None:
            weight = weight * tap.weight
        if is_inside is not None and tap.is_inside is not None:
            is_inside = is_inside & tap.is_inside
        row = joined.index.scaled_by(size.index) if isinstance(size.index, int) else joined.index * size.index
        joined = _Tap(row + tap.index, weight, is_inside)
    return joined


def _part(x: Scalar, tap: _Tap) -> Scalar:
    x = x if tap.weight is None else x * tap.weight
    return x if tap.is_inside is None else tap.is_inside.select(x, 0.0)


def _taps(x: Scalar, length: _Length, mode: str, padding: str, is_aligned: bool) -> list[_Tap]:
    """Return the interpolation taps of one axis around a coordinate."""
    size = length.number
    low, high = (0.0, size - 1.0) if is_aligned else (-0.5, size - 0.5)
    x = (x + 1.0) / 2.0 * (size - 1.0) if is_aligned else ((x + 1.0) * size - 1.0) / 2.0
    if mode == "nearest":
        x = x.round()
    if padding == "border" and mode != "cubic":
        # Cubic weights are those of the coordinate, as in PyTorch and onnxruntime: taps alone are moved.
        x = ((x < low) | (x > high)).select(x.clamp(0.0, size - 1.0), x)
    elif padding == "reflection":
        x = _reflected(x, low, high)
    if mode == "nearest":
        return [_tap(x, None, length, padding, (low, high))]
    left = x.floor()
    ratio = x - left
    found: list[_Tap] = []
    for step in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        distance = ratio - step if step <= 0 else step - ratio
        weight = 1.0 - distance if mode == "linear" else cubic_weight(distance, CUBIC_A)
        found.append(_tap(left + step, weight, length, padding, (low, high)))
    return found


def _tap(
    coordinate: Scalar,
    weight: Scalar | None,
    length: _Length,
    padding: str,
    ends: tuple[Number, Number],
) -> _Tap:
    is_inside = (coordinate >= 0.0) & (coordinate < length.number) if padding == "zeros" else None
    if padding == "reflection":
        coordinate = _reflected(coordinate, *ends)
    clamped = coordinate.to(INDEX).clamp(0, length.index - 1)
    return _Tap(clamped, weight, is_inside)


def _reflected(x: Scalar, low: Number, high: Number) -> Scalar:
    """Reflect a coordinate at the ends until it is between them."""
    span = high - low
    if not isinstance(span, Scalar) and span <= 0:
        return x.like(low)
    is_below = x < low
    beyond = is_below.select(low - x, x - high)
    iterations = (beyond / span).floor()
    rest = beyond - iterations * span
    is_even = (iterations / 2.0).floor().equals(iterations / 2.0)
    near, far = is_below.select(low + rest, high - rest), is_below.select(high - rest, low + rest)
    found = (is_below | (x > high)).select(is_even.select(near, far), x)
    # An axis of one element, aligned at its corners, has no length.
    return (span > 0.0).select(found, low) if isinstance(span, Scalar) else found
