"""Pooling of regions of interest: RoiAlign (He et al., 2017) and MaxRoiPool (Girshick, 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import MaxRoiPoolOp
from xonnc.dialects.onnx.ops.object_detection import RoiAlignOp, RoiAlignV10Op
from xonnc.lowering.onnx_to_krnl.builders.checks import (
    bounds_check,
    check_indices,
    index_within,
    iterations_if_nonempty,
)
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, copy, dim
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, static_sizes

MAX_SAMPLES_PER_PIXEL, MIN_SAMPLE_LIMIT = 4, 64
"""
Limit of samples per bin and axis: a multiple of the image size, but at least a constant.

It bounds the time that a huge region can take.
"""


@dataclass(frozen=True)
class _AxisBins:
    """A region along one axis: its start, the size of a bin, and samples per bin."""

    start: Scalar
    size: Scalar
    samples: Scalar

    def position(self, cell: Scalar, sample: Scalar) -> Scalar:
        """Return the coordinate of a sample in a bin."""
        number, part, share = (each.to(self.size.type) for each in (cell, sample, self.samples))
        return self.start + number * self.size + (part + 0.5) * self.size / share


@dataclass(frozen=True)
class _RoiSampling:
    """The sampling of regions (x1, y1, x2, y2)."""

    number: Attribute
    scale: float
    cells: tuple[int, int]
    samples: int
    """Per bin and axis; 0 is one per pixel."""
    is_half_pixel: bool
    most: int
    """Limit of samples per bin and axis."""

    def bins(self, rois: Buffer, roi: Scalar, axis: int) -> _AxisBins:
        """
        Return the bins of a region along y (0) or x (1); samples beyond the limit give the limit plus one.
        """
        start, end = (
            rois.read_as(self.number, roi, index) * self.scale - (0.5 if self.is_half_pixel else 0.0)
            for index in (1 - axis, 3 - axis)
        )
        length = end - start
        if not self.is_half_pixel:
            length = (length > 1.0).select(length, 1.0)
        size = length / float(self.cells[axis])
        if self.samples <= 0:
            samples = size.ceil().clamp(0.0, self.most + 1.0).to(INDEX)
        else:
            samples = roi.like(self.samples)
        return _AxisBins(start, size, samples)


supports_dynamic_shapes(RoiAlignOp, RoiAlignV10Op)


@lowers(RoiAlignOp, RoiAlignV10Op)
def roi_align(op: RoiAlignOp | RoiAlignV10Op, builder: LoweringBuilder) -> str | None:
    """Mean or maximum of bilinearly interpolated samples in each bin of a region."""
    shape, element = builder.sizes(op.X), builder.element(op.X)
    count, *out = builder.sizes(op.Y)
    if not are_static(shape[1:]) or not are_static(out):
        return NO_DYNAMIC_KERNEL
    channels, rows, columns = static_sizes(out)
    regions = _RoiSampling(
        compute_type(element),
        float(op.spatial_scale.value.data),
        (rows, columns),
        op.sampling_ratio.value.data,
        isinstance(op, RoiAlignOp) and op.coordinate_transformation_mode.data == "half_pixel",
        max(MIN_SAMPLE_LIMIT, MAX_SAMPLES_PER_PIXEL * max(static_sizes(shape[2:]))),
    )
    check_indices(op, op.batch_indices, [shape[0]], 0, builder)
    if regions.samples <= 0 and builder.has_runtime_checks:
        _check_samples(op, regions, builder)
    pixels = _channels_last(op.X, builder)
    made = builder.allocate([count, rows, columns, channels], compute_type(element))
    kernel = Kernel(builder, "roialign", [made], [pixels, op.rois, op.batch_indices])
    target, source, rois, images = kernel.buffers
    with kernel.loops([iterations_if_nonempty(count, shape[0])]) as (roi,):
        image = index_within(images[roi], shape[0])
        cells = [regions.bins(rois, roi, axis) for axis in range(2)]
        # Beyond the limit the run fails; take no samples until it does.
        fits = (cells[0].samples <= regions.most) & (cells[1].samples <= regions.most)
        cells = [replace(each, samples=fits.select(each.samples, 0)) for each in cells]
        with kernel.loops([rows, columns]) as (row, column):
            cell = _RoiBin(kernel, target, [roi, row, column], source, image, static_sizes(shape))
            cell.pool(cells[0], cells[1], (row, column), op.mode.data == "max")
    kernel.call()
    _channels_first(op.Y, made, builder)
    return None


def _last_of(shape: Sequence[Size]) -> list[Size]:
    """Return an NCHW shape as NHWC."""
    return [shape[0], *shape[2:], shape[1]]


def _channels_last(value: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Convert to NHWC, so that channels vectorize."""
    shape = builder.sizes(value)
    sizes = _last_of(shape)
    made = builder.allocate(sizes, builder.element(value))
    source = AffineAccess(builder.buffer(value), shape, [dim(0), dim(3), dim(1), dim(2)])
    copy("to_nhwc", sizes, AffineAccess.whole(made, sizes), source, builder)
    return made


def _channels_first(result: SSAValue, made: SSAValue, builder: LoweringBuilder) -> None:
    """Write a result from NHWC, rounded to its type."""
    shape, element = builder.sizes(result), builder.element(result)
    sizes = _last_of(shape)
    if element != compute_type(element):
        narrow = builder.allocate(sizes, element)
        kernel = Kernel(builder, "round_result", [narrow], [made])
        out, source = kernel.buffers
        with kernel.loops(sizes) as indices:
            out[*indices] = source[*indices]
        kernel.call()
        made = narrow
    target = AffineAccess(builder.result(result), shape, [dim(0), dim(3), dim(1), dim(2)])
    copy("to_nchw", sizes, target, AffineAccess.whole(made, sizes), builder)


def _check_samples(op: RoiAlignOp | RoiAlignV10Op, regions: _RoiSampling, builder: LoweringBuilder) -> None:
    """Check at run time that no bin has too many samples."""
    message = f"a region has {{}} samples per bin and axis; at most {regions.most} are supported"
    kernel = Kernel(builder, "roi_samples", [bounds_check(op, 0, regions.most, message, builder)], [op.rois])
    out, rois = kernel.buffers

    def larger(most: Scalar, roi: Scalar) -> Scalar:
        for axis in range(2):
            most = most.maximum(regions.bins(rois, roi, axis).samples.to(i64))
        return most

    store_count(kernel.reduce(builder.sizes(op.rois)[0], kernel.constant(0, i64), larger), out)
    kernel.call()


@dataclass(frozen=True)
class _BilinearTap:
    """The two pixels around a coordinate on one axis, their weights, and whether it is inside the image."""

    pixels: tuple[Scalar, Scalar]
    weights: tuple[Scalar, Scalar]
    is_inside: Scalar


def _tap(index: Scalar, size: int) -> _BilinearTap:
    is_inside = (index >= -1.0) & (index <= float(size))
    index = index.maximum(0.0).minimum(float(size - 1))
    low = index.to(INDEX).clamp(0, size - 1)
    share = index - low.to(index.type)
    return _BilinearTap((low, (low + 1).minimum(size - 1)), (1.0 - share, share), is_inside)


@dataclass(frozen=True)
class _RoiBin:
    """All channels of one bin of a region."""

    kernel: Kernel
    target: Buffer
    """NHWC."""
    at: Sequence[Scalar]
    """All indices of the target but the last."""
    source: Buffer
    """NHWC."""
    image: Scalar
    shape: Sequence[int]
    """NCHW."""

    def fill(self, number: Scalar) -> None:
        """Set all channels to a scalar."""
        with self.kernel.loops([self.shape[-3]]) as (channel,):
            self.target[*self.at, channel] = number

    def change(self, change: Callable[[Scalar, Scalar], Scalar]) -> None:
        """Update each channel by a function of its value and its index."""
        with self.kernel.loops([self.shape[-3]]) as (channel,):
            self.target[*self.at, channel] = change(self.target[*self.at, channel], channel)

    def pool(self, rows: _AxisBins, columns: _AxisBins, cell: tuple[Scalar, Scalar], is_max: bool) -> None:
        """Pool the samples of a bin."""
        kernel, number = self.kernel, rows.size.type
        self.fill(kernel.constant(-inf if is_max else 0.0, number))
        with kernel.loops([rows.samples]) as (y,):
            row = _tap(rows.position(cell[0], y), self.shape[-2])
            with kernel.loops([columns.samples]) as (x,):
                column = _tap(columns.position(cell[1], x), self.shape[-1])
                is_inside = row.is_inside & column.is_inside
                weights = [height * width for height in row.weights for width in column.weights]
                corners = [(one, other) for one in row.pixels for other in column.pixels]

                def take(total: Scalar, channel: Scalar) -> Scalar:
                    parts = [
                        self.source[self.image, *pixel, channel] * share
                        for pixel, share in zip(corners, weights, strict=True)
                    ]
                    if is_max:
                        largest = parts[0].maximum(parts[1]).maximum(parts[2].maximum(parts[3]))
                        return total.maximum(is_inside.select(largest, 0.0))
                    return total + is_inside.select(parts[0] + parts[1] + parts[2] + parts[3], 0.0)

                self.change(take)
        count = rows.samples * columns.samples
        divisor = count.maximum(1).to(number)
        if is_max:
            self.change(lambda total, _: (count > 0).select(total, 0.0))
        else:
            self.change(lambda total, _: total / divisor)


@lowers(MaxRoiPoolOp)
def max_roi_pool(op: MaxRoiPoolOp, builder: LoweringBuilder) -> str | None:
    """Maximum pixel of each bin of a region with corners rounded to pixels; 0 for empty bins."""
    shape, out = builder.shape(op.X), builder.shape(op.Y)
    number = compute_type(builder.element(op.X))
    scale, cells = float(op.spatial_scale.value.data), int_values(op.pooled_shape) or ()
    images = builder.allocate([out[0]], i64)
    _check_images(op, images, shape[0], builder)
    made = builder.allocate([out[0], *out[2:], out[1]], number)
    kernel = Kernel(builder, "maxroipool", [made], [_channels_last(op.X, builder), op.rois, images])
    target, source, rois, numbers = kernel.buffers
    with kernel.loops([out[0]]) as (roi,):
        image = index_within(numbers[roi], shape[0], wraps=False)
        corners = [_rounded(rois.read_as(number, roi, index) * scale) for index in range(1, 5)]
        with kernel.loops(out[2:]) as (row, column):
            spans: list[tuple[Scalar, Scalar]] = []
            for axis, index in enumerate((row, column)):
                start, end = corners[1 - axis], corners[3 - axis]
                size = (end - start + 1).maximum(1).to(number) / float(cells[axis])
                at = index.to(number)
                first = (at * size).floor().to(i64) + start
                stop = ((at + 1.0) * size).ceil().to(i64) + start
                spans.append((first.clamp(0, shape[2 + axis]), stop.clamp(0, shape[2 + axis])))
            counts = [(stop - first).maximum(0).to(INDEX) for first, stop in spans]
            cell = _RoiBin(kernel, target, [roi, row, column], source, image, shape)
            has_pixels = (counts[0] > 0) & (counts[1] > 0)
            cell.fill(has_pixels.select(-inf, kernel.constant(0.0, number)))
            with kernel.loops(counts) as steps:
                y, x = (first.to(INDEX) + step for (first, _), step in zip(spans, steps, strict=True))
                cell.change(lambda total, channel: total.maximum(source[image, y, x, channel]))
    kernel.call()
    _channels_first(op.Y, made, builder)
    return None


def _rounded(number: Scalar) -> Scalar:
    """Round to the nearest integer, ties away from 0."""
    is_below = number < 0.0
    return is_below.select((number - 0.5).ceil(), (number + 0.5).floor()).to(i64)


def _check_images(op: MaxRoiPoolOp, images: SSAValue, count: int, builder: LoweringBuilder) -> None:
    """Extract the image index of each region, and check at run time that it is in range."""
    message = f"a region has batch index {{}}; there are {count} images"
    ends = bounds_check(op, 0, count - 1, message, builder)
    kernel = Kernel(builder, "roi_batch_indices", [images, ends], [op.rois])
    out, bounds, rois = kernel.buffers
    zero = kernel.constant(0, i64)
    with kernel.reducing(builder.shape(op.rois)[:1], [zero, zero]) as ((roi,), (least, most), results):
        image = rois[roi, 0].to(i64)
        out[roi] = image
        results += [least.minimum(image), most.maximum(image)]
    for index, value in enumerate(results):
        bounds[index] = value
    kernel.call()
