"""
Resize and Upsample, separably: one axis at a time.

A kernel computes tables for each axis: the source elements of each output element, and their weights. So
scales and sizes may be run-time values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Index, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    SUPPORTS_EMPTY,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Number, Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, min_size, volume

MAX_UNROLLED_TAPS = 16
"""Interpolation taps that are unrolled at most."""

FACTORS = range(1, 9)
"""Factors by which a dynamic size may be repeated without a table."""

COORDINATES = (
    "align_corners",
    "asymmetric",
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)

Resize = tensor.ResizeOp | tensor.ResizeV18Op | tensor.ResizeV13Op | tensor.ResizeV11Op


@dataclass(frozen=True)
class _Sampling:
    """Attributes and inputs of Resize (None if absent)."""

    mode: str
    coordinates: str
    nearest: str
    cubic_a: float
    exclude_outside: bool
    extrapolation: float
    antialias: bool
    policy: str
    axes: Sequence[int]
    shape: Sequence[Size]
    """Of the source."""
    roi: SSAValue | None
    scales: SSAValue | None
    sizes: SSAValue | None


@dataclass(frozen=True)
class _Axis:
    """One axis, its index among the axes that scales are given for, and its sizes before and after."""

    axis: int
    number: int
    before: Size
    after: Size

    def taps(self, how: _Sampling) -> range:
        """
        Return the offsets of the taps from the element left of a coordinate; with antialias, more when
        shrinking.
        """
        if how.mode == "nearest":
            return range(1)
        reach = 1 if how.mode == "linear" else 2
        # When shrinking, the kernel is stretched by 1 / scale. A scale that rounds to `after` elements can be
        # as small as (after - 0.5) / before; taps must reach as far as that one needs.
        least = 1.0
        if how.antialias and is_static(self.after) and is_static(self.before):
            least = min(1.0, (self.after - 0.5) / self.before)
        start = floor(-reach / least) + 1
        return range(start, 2 - start) if how.antialias else range(1 - reach, 1 + reach)


@lowers(tensor.ResizeOp, tensor.ResizeV18Op, tensor.ResizeV13Op, tensor.ResizeV11Op)
def resize(op: Resize, builder: LoweringBuilder) -> str | None:
    """
    Interpolate at the coordinates given by `coordinate_transformation_mode`.

    By scales there are floor(size × scale) elements, of the exact product as in ONNX: 30 of 15 by the float32
    nearest 31/15, which is less than 31/15. onnxruntime rounds the product to float32 first and makes 31.
    """
    rank = len(builder.sizes(op.X))
    is_new = isinstance(op, tensor.ResizeOp | tensor.ResizeV18Op)
    axes = (int_values(op.axes) if is_new else None) or tuple(range(rank))
    how = _Sampling(
        mode=op.mode.data,
        coordinates=op.coordinate_transformation_mode.data,
        nearest=op.nearest_mode.data,
        cubic_a=op.cubic_coeff_a.value.data,
        exclude_outside=bool(op.exclude_outside.value.data),
        extrapolation=op.extrapolation_value.value.data,
        antialias=is_new and bool(op.antialias.value.data),
        policy=op.keep_aspect_ratio_policy.data if is_new else "stretch",
        axes=[axis % rank for axis in axes],
        shape=builder.sizes(op.X),
        roi=_given(op.roi, builder),
        scales=_given(op.scales, builder),
        sizes=_given(op.sizes, builder),
    )
    if how.coordinates not in COORDINATES:
        return f"coordinate_transformation_mode {how.coordinates}"
    if (how.coordinates == "tf_crop_and_resize") and how.roi is None:
        return "tf_crop_and_resize without roi"
    return _resample(op.X, op.Y, how, builder)


@lowers(tensor.UpsampleOp, tensor.ResizeV10Op)
def upsample(op: tensor.UpsampleOp | tensor.ResizeV10Op, builder: LoweringBuilder) -> str | None:
    """
    Interpolate at `index / scale`.

    The nearest element is at floor(coordinate) or, on an axis that shrinks, ceil (as in onnxruntime; ONNX
    does not say). A tensor that keeps its shape is copied.
    """
    if builder.sizes(op.X) == builder.sizes(op.Y):
        builder.alias(op.Y, op.X)
        return None
    mode = "linear" if op.mode.data == "bilinear" else op.mode.data
    how = _Sampling(
        mode=mode,
        coordinates="asymmetric",
        nearest="simple",
        cubic_a=-0.75,
        exclude_outside=False,
        extrapolation=0.0,
        antialias=False,
        policy="stretch",
        axes=range(len(builder.sizes(op.X))),
        shape=builder.sizes(op.X),
        roi=None,
        scales=_given(op.scales, builder),
        sizes=None,
    )
    return _resample(op.X, op.Y, how, builder)


SUPPORTS_EMPTY.update((tensor.ResizeOp, tensor.ResizeV18Op, tensor.ResizeV13Op, tensor.ResizeV11Op))
# Empty roi, scales and sizes count as absent.
supports_dynamic_shapes(tensor.ResizeOp, tensor.ResizeV18Op, tensor.ResizeV13Op, tensor.ResizeV11Op)
supports_dynamic_shapes(tensor.ResizeV10Op, tensor.UpsampleOp)


def _given(value: SSAValue, builder: LoweringBuilder) -> SSAValue | None:
    return None if value.type == NONE or volume(builder.sizes(value)) == 0 else value


def _resample(source: SSAValue, result: SSAValue, how: _Sampling, builder: LoweringBuilder) -> str | None:
    element = builder.element(source)
    if how.mode != "nearest" and compute_type(element) not in (f32, f64):
        return "interpolation of integers"
    given = [value for value in (how.roi, how.scales, how.sizes) if value is not None]
    if not are_static([size for value in given for size in builder.sizes(value)]):
        return NO_DYNAMIC_KERNEL
    if 0 in builder.sizes(source):
        return "an operand is empty"
    axes: list[_Axis] = []
    for number, axis in enumerate(how.axes):
        each = _Axis(axis, number, builder.sizes(source)[axis], builder.sizes(result)[axis])
        if each.before != each.after or not _is_kept(each, how, builder):
            axes.append(each)
    for each in axes:
        if not are_static((each.before, each.after)):
            if how.antialias or how.policy != "stretch":
                return NO_DYNAMIC_KERNEL
            builder.require_at_most(
                min_size(each.after, 1), each.before, "an axis without elements that is resized"
            )
    if how.mode == "nearest":
        factors = {each: _repeats(each, how, builder) for each in axes}
        tables = {each: _table(each, how, builder)[0] for each, factor in factors.items() if factor is None}
        _pick(source, result, factors, tables, how, builder)
        return None
    tables = [_table(each, how, builder) for each in axes]
    shape = list(builder.sizes(source))
    buffer = builder.buffer(source)
    if not axes:
        _pick(source, result, {}, {}, how, builder)
    for each, own_tables in zip(axes, tables, strict=True):
        longer = _with(shape, each)
        is_last = each is axes[-1]
        made = builder.result(result) if is_last else builder.allocate(longer, compute_type(element))
        _mix(made, buffer, shape, each, own_tables, how, builder)
        buffer, shape = made, longer
    return None


def _with(shape: Sequence[Size], each: _Axis) -> list[Size]:
    return [each.after if axis == each.axis else size for axis, size in enumerate(shape)]


def _is_kept(each: _Axis, how: _Sampling, builder: LoweringBuilder) -> bool:
    """Whether an axis of unchanged size is certainly an identity."""
    if how.coordinates == "tf_crop_and_resize":
        return False
    if how.scales is None:
        return how.policy == "stretch"
    known = builder.constant(how.scales)
    return known is not None and bool(np.asarray(known, np.float32).reshape(-1)[each.number] == 1)


def _repeats(each: _Axis, how: _Sampling, builder: LoweringBuilder) -> int | None:
    """
    Return the integer factor by which nearest-neighbor resizing repeats each element, or None.

    With scale n and 0 <= r < n, output q n + r maps to q + r / n (asymmetric) or q + (r + 1/2) / n - 1/2
    (half pixel), which rounds to q.
    """
    scales = None if how.scales is None else builder.constant(how.scales)
    if how.policy != "stretch" or (how.scales is not None and scales is None):
        return None
    if scales is not None:
        count = floor(scales.reshape(-1)[each.number])
    elif is_static(each.before) and is_static(each.after):
        count = each.after // each.before
    else:
        count = next((count for count in FACTORS if each.before * count == each.after), 0)
    if each.before * count != each.after or (scales is not None and scales.reshape(-1)[each.number] != count):
        return None
    match how.coordinates:
        case "asymmetric":
            return count if how.nearest in ("floor", "simple") else None
        case "half_pixel" | "half_pixel_symmetric":
            return count if how.nearest.startswith("round") else None
        case "pytorch_half_pixel":
            return count if how.nearest.startswith("round") and (count == 1 or each.after != 1) else None
        case "tf_half_pixel_for_nn":
            return count if how.nearest == "floor" else None
        case _:
            return None


def _table(each: _Axis, how: _Sampling, builder: LoweringBuilder) -> tuple[SSAValue, SSAValue]:
    """
    Emit tables of source indices and weights for each output index of an axis.

    Coordinates beyond the ends are clamped; those outside a crop have weights 0, and index -1.
    """
    taps = each.taps(how)
    sizes = [each.after, len(taps)]
    inputs = [value for value in (how.scales or how.sizes, how.roi) if value is not None]
    tables = builder.allocate(sizes, i64), builder.allocate(sizes, f64)
    kernel = Kernel(builder, "resize_coordinates", tables, inputs)
    tap_indices, tap_weights, *parameters = kernel.buffers
    # Upsample computes coordinates in f32, as onnxruntime does (ONNX does not say): 7 / 0.7f is 10.
    kind = f32 if (how.mode, how.nearest) == ("nearest", "simple") else f64
    scale = _scale(kernel, parameters, each, how).to(kind)
    roi: list[Scalar] = []
    if how.coordinates == "tf_crop_and_resize" and how.roi is not None:
        roi = [parameters[-1].read_as(kind, each.number + end) for end in (0, len(how.axes))]
    before, after = (_number(kernel, size, kind) for size in (each.before, each.after))
    last = _number(kernel, each.before, i64) - 1
    with kernel.loops([each.after]) as (index,):
        x = _coordinate(index.to(kind), scale, roi, before, after, how)
        outside = (x < 0.0) | (x > before - 1.0) if roi else None
        if how.mode == "nearest":
            found = _nearest(x, how.nearest, before, after).to(i64).clamp(0, last)
            if outside is not None:
                found = outside.select(-1, found)
            tap_indices[index, 0] = found
        else:
            left = x.ceil() - 1.0
            first = left.to(i64)
            weights = _weights(x - left, scale, taps, how)
            if how.exclude_outside:
                weights = _excluded(weights, first, taps, last)
            found = [(first + step).clamp(0, last) for step in taps]
            if not how.antialias:
                found, weights = _alone(found, weights)
            for number, (source, weight) in enumerate(zip(found, weights, strict=True)):
                if outside is not None:
                    weight = outside.select(0.0, weight)
                tap_indices[index, number] = source
                tap_weights[index, number] = weight
    kernel.call()
    return tables


def _number(kernel: Kernel, size: Size, kind: Attribute) -> Number:
    """Return a size as a number of a kernel."""
    return size if is_static(size) else kernel.size(size).to(kind)


def _scale(kernel: Kernel, parameters: Sequence[Buffer], each: _Axis, how: _Sampling) -> Scalar:
    """Return the scale of an axis: given, or from the sizes and the aspect-ratio policy."""
    if how.scales is not None:
        return parameters[0].read_as(f64, each.number)
    one = kernel.constant(1.0, f64)
    if how.policy == "stretch" or how.sizes is None:
        return one * _number(kernel, each.after, f64) / _number(kernel, each.before, f64)
    scales = [
        parameters[0].read_as(f64, number) / _number(kernel, how.shape[axis], f64)
        for number, axis in enumerate(how.axes)
    ]
    found = scales[0]
    for scale in scales[1:]:
        found = found.minimum(scale) if how.policy == "not_larger" else found.maximum(scale)
    return found


def _coordinate(
    index: Scalar, scale: Scalar, roi: Sequence[Scalar], before: Number, after: Number, how: _Sampling
) -> Scalar:
    """Return the source coordinate of an output index."""
    length = scale * before
    last = before - 1.0
    match how.coordinates:
        case "align_corners":
            return length.equals(1.0).select(0.0, index * last / (length - 1.0))
        case "asymmetric":
            return index / scale
        case "tf_crop_and_resize":
            span = (roi[1] - roi[0]) * last
            inside = length.equals(1.0).select(span / 2.0, index * span / (length - 1.0))
            return inside + roi[0] * last
        case "tf_half_pixel_for_nn":
            return (index + 0.5) / scale
        case "pytorch_half_pixel":
            return length.equals(1.0).select(0.0, (index + 0.5) / scale - 0.5)
        case "half_pixel_symmetric":
            offset = before / 2.0 * (1.0 - after / length)
            return offset + (index + 0.5) / scale - 0.5
        case _:
            return (index + 0.5) / scale - 0.5


def _nearest(x: Scalar, mode: str, before: Number, after: Number) -> Scalar:
    match mode:
        case "simple":
            shrinks = after < before
            if isinstance(shrinks, bool):
                return x.ceil() if shrinks else x.floor()
            return shrinks.select(x.ceil(), x.floor())
        case "round_prefer_floor":
            return (x - 0.5).ceil()
        case "round_prefer_ceil":
            return (x + 0.5).floor()
        case "ceil":
            return x.ceil()
        case _:
            return x.floor()


def _weights(ratio: Scalar, scale: Scalar, taps: range, how: _Sampling) -> list[Scalar]:
    """Return the weights of the taps; `ratio` is the distance from the element on the left."""
    factor = scale.minimum(1.0) if how.antialias else None
    found: list[Scalar] = []
    for step in taps:
        distance = (step - ratio).abs()
        distance = distance if factor is None else distance * factor
        if how.mode == "linear":
            found.append((1.0 - distance).maximum(0.0))
        else:
            found.append(cubic_weight(distance, how.cubic_a))
    return found if factor is None else _normalised(found)


def cubic_weight(distance: Scalar, a: float) -> Scalar:
    """Keys' cubic convolution kernel (R. Keys, 1981) with parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return (distance <= 1.0).select(near, (distance < 2.0).select(far, 0.0))


def _excluded(weights: Sequence[Scalar], first: Scalar, taps: range, last: Number) -> list[Scalar]:
    inside_weights: list[Scalar] = []
    for step, weight in zip(taps, weights, strict=True):
        index = first + step
        inside_weights.append(((index >= 0) & (index <= last)).select(weight, 0.0))
    return _normalised(inside_weights)


def _alone(tap_indices: Sequence[Scalar], weights: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """
    Where one weight is 1, read that element for all taps, with equal weights.

    Otherwise an infinite or NaN neighbor times its weight of 0 would give NaN.
    """
    for only, weight in zip(list(tap_indices), list(weights), strict=True):
        is_whole = weight.equals(1.0)
        tap_indices = [is_whole.select(only, each) for each in tap_indices]
        weights = [is_whole.select(1.0 / len(weights), each) for each in weights]
    return list(tap_indices), list(weights)


def _normalised(weights: Sequence[Scalar]) -> list[Scalar]:
    total = weights[0]
    for weight in weights[1:]:
        total = total + weight
    return [weight / total for weight in weights]


def _pick(
    source: SSAValue,
    result: SSAValue,
    factors: Mapping[_Axis, int | None],
    tables: Mapping[_Axis, SSAValue],
    how: _Sampling,
    builder: LoweringBuilder,
) -> None:
    """
    Nearest-neighbor: copy elements by tables, or the extrapolation value outside a crop.

    Axes without a table repeat their elements by a factor.
    """
    sizes = builder.sizes(result)
    kernel = Kernel(builder, "resize", [result], [source, *((tables[each], [each.after]) for each in tables)])
    out, read, *table_buffers = kernel.buffers
    table_buffer_of = dict(zip(tables, table_buffers, strict=True))
    with kernel.loops(sizes) as indices:
        at = list(indices) if sizes else []
        inside: Scalar | None = None
        for each, factor in factors.items():
            if factor is not None:
                at[each.axis] = indices[each.axis] // factor
                continue
            index = table_buffer_of[each][indices[each.axis]].to(INDEX)
            if how.coordinates == "tf_crop_and_resize":
                is_inside = index >= 0
                inside = is_inside if inside is None else inside & is_inside
                index = index.maximum(0)
            at[each.axis] = index
        number = read[*at]
        if inside is not None:
            number = inside.select(number, how.extrapolation)
        out[*(indices if sizes else at)] = number
    kernel.call()


def _mix(
    target: SSAValue,
    source: SSAValue,
    shape: Sequence[Size],
    each: _Axis,
    tables: tuple[SSAValue, SSAValue],
    how: _Sampling,
    builder: LoweringBuilder,
) -> None:
    """Interpolate along one axis: a weighted sum of elements."""
    count = len(each.taps(how))
    before, after = volume(shape[: each.axis]), volume(shape[each.axis + 1 :])
    inputs = [(source, [before, each.before, after]), *tables]
    kernel = Kernel(builder, "resize", [(target, [before, each.after, after])], inputs)
    out, read, tap_indices, tap_weights = kernel.buffers
    kind = compute_type(read.element)
    with kernel.loops([before, each.after]) as (outer, row):

        def share(number: Index) -> tuple[Scalar, Scalar]:
            return tap_indices[row, number].to(INDEX), tap_weights[row, number].to(kind)

        def write(total: Scalar, at: Scalar) -> None:
            if how.coordinates == "tf_crop_and_resize":
                missing = 1.0 - known
                total = total + missing * how.extrapolation
            out[outer, row, at] = total

        if count <= MAX_UNROLLED_TAPS:
            found = [share(number) for number in range(count)]
            known = found[0][1]
            for _, weight in found[1:]:
                known = known + weight
            with kernel.loops([after]) as (column,):
                total = kernel.constant(0.0, kind)
                for index, weight in found:
                    total = total + weight * read[outer, index, column]
                write(total, column)
        elif after != 1 and out.element == kind:
            # Row by row, so that elements are read in vectors.
            with kernel.loops([after]) as (column,):
                out[outer, row, column] = 0.0
            with kernel.loops([count]) as (number,):
                index, weight = share(number)
                with kernel.loops([after]) as (column,):
                    out[outer, row, column] += weight * read[outer, index, column]
        else:
            known = kernel.constant(1.0, kind)
            with kernel.loops([after]) as (column,):
                start = kernel.constant(0.0, kind)
                with kernel.reducing([count], [start]) as ((number,), (total,), results):
                    index, weight = share(number)
                    results.append(total + weight * read[outer, index, column])
                write(results[0], column)
    kernel.call()
