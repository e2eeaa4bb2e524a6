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
from xonnc.lowering.onnx_to_krnl.checks import bounds_check, check_indices, index_in, iterations_if_nonempty
from xonnc.lowering.onnx_to_krnl.data_dependent_results import store_count
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import AffineAccess, copy, dim, identity_map
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_static, static_sizes

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

    def position(self, cell: SSAValue, sample: SSAValue) -> Scalar:
        """Return the coordinate of a sample in a bin."""
        kind = self.size.type
        number, part, share = (
            Scalar(self.size.kernel, each).to(kind) for each in (cell, sample, self.samples.value)
        )
        return self.start + number * self.size + (part + 0.5) * self.size / share


@dataclass(frozen=True)
class _RoiSampling:
    """The sampling of regions (x1, y1, x2, y2)."""

    count: Size
    element: Attribute
    number: Attribute
    scale: float
    cells: tuple[int, int]
    samples: int
    """Per bin and axis; 0 is one per pixel."""
    is_half_pixel: bool
    most: int
    """Limit of samples per bin and axis."""

    def bins(self, kernel: KernelBuilder, rois: SSAValue, roi: SSAValue, axis: int) -> _AxisBins:
        """
        Return the bins of a region along y (0) or x (1); samples beyond the limit give the limit plus one.
        """
        start, end = (
            read_as(kernel, rois, [roi, kernel.index(index)], self.element, self.number) * self.scale
            - (0.5 if self.is_half_pixel else 0.0)
            for index in (1 - axis, 3 - axis)
        )
        length = end - start
        if not self.is_half_pixel:
            length = (length > 1.0).select(length, 1.0)
        size = length / float(self.cells[axis])
        samples = Scalar(kernel, kernel.index(self.samples))
        if self.samples <= 0:
            samples = size.ceil().clamp(0.0, self.most + 1.0).to(INDEX)
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
        count,
        builder.element(op.rois),
        compute_type(element),
        float(op.spatial_scale.value.data),
        (rows, columns),
        op.sampling_ratio.value.data,
        isinstance(op, RoiAlignOp) and op.coordinate_transformation_mode.data == "half_pixel",
        max(MIN_SAMPLE_LIMIT, MAX_SAMPLES_PER_PIXEL * max(static_sizes(shape[2:]))),
    )
    operands = op.X, op.rois, op.batch_indices
    buffers = [builder.buffer(value) for value in operands]
    check_indices(op, op.batch_indices, [shape[0]], 0, builder)
    if regions.samples <= 0 and builder.has_runtime_checks:
        _check_samples(op, regions, buffers[1], builder)
    pixels = _channels_last(op.X, builder)
    last = [count, rows, columns, channels]
    made = builder.allocate(last, compute_type(element))
    types = [buffer_type(last, compute_type(element)), buffer_type(_last_of(shape), element)]
    types += [buffer_type(builder.sizes(value), builder.element(value)) for value in operands[1:]]
    kernel = KernelBuilder(types)
    target, source, rois, images = kernel.buffers
    with kernel.loops([iterations_if_nonempty(count, shape[0])]) as (roi,):
        image = index_in(kernel, kernel.load(images, [roi]), shape[0])
        cells = [regions.bins(kernel, rois, roi, axis) for axis in range(2)]
        # Beyond the limit the run fails; take no samples until it does.
        fits = (cells[0].samples <= regions.most) & (cells[1].samples <= regions.most)
        cells = [replace(each, samples=fits.select(each.samples, 0)) for each in cells]
        with kernel.loops([rows, columns]) as (row, column):
            cell = _RoiBin(
                kernel, (target, [roi, row, column]), (source, element, image), static_sizes(shape)
            )
            cell.pool(cells[0], cells[1], (row, column), op.mode.data == "max")
    builder.call("roialign", kernel, [made], [pixels, *buffers[1:]])
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
    copy("to_nhwc", sizes, AffineAccess(made, sizes, identity_map(4)), source, builder)
    return made


def _channels_first(result: SSAValue, made: SSAValue, builder: LoweringBuilder) -> None:
    """Write a result from NHWC, rounded to its type."""
    shape, element = builder.sizes(result), builder.element(result)
    sizes = _last_of(shape)
    if element != compute_type(element):
        narrow = builder.allocate(sizes, element)
        kernel = KernelBuilder([buffer_type(sizes, element), buffer_type(sizes, compute_type(element))])
        with kernel.loops(sizes) as indices:
            kernel.write(kernel.load(kernel.buffers[1], indices), kernel.buffers[0], indices, element)
        builder.call("round_result", kernel, [narrow], [made])
        made = narrow
    target = AffineAccess(builder.result(result), shape, [dim(0), dim(3), dim(1), dim(2)])
    copy("to_nchw", sizes, target, AffineAccess(made, sizes, identity_map(4)), builder)


def _check_samples(
    op: RoiAlignOp | RoiAlignV10Op, regions: _RoiSampling, rois: SSAValue, builder: LoweringBuilder
) -> None:
    """Check at run time that no bin has too many samples."""
    message = f"a region has {{}} samples per bin and axis; at most {regions.most} are supported"
    cell = bounds_check(op, 0, regions.most, message, builder)
    kernel = KernelBuilder([buffer_type([2], i64), buffer_type([regions.count, 4], regions.element)])
    out, roi_buffer = kernel.buffers
    with kernel.reducing([regions.count], [kernel.constant(0, i64)]) as ((roi,), carried, results):
        most = Scalar(kernel, carried[0])
        for axis in range(2):
            most = most.maximum(regions.bins(kernel, roi_buffer, roi, axis).samples.to(i64))
        results.append(most.value)
    store_count(kernel, results[0], out)
    builder.call("roi_samples", kernel, [cell], [rois])


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

    kernel: KernelBuilder
    target: tuple[SSAValue, Sequence[SSAValue]]
    """An NHWC buffer, and all indices but the last."""
    source: tuple[SSAValue, Attribute, SSAValue]
    """An NHWC buffer, its element type, and the index of the image."""
    shape: Sequence[int]
    """NCHW."""

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.shape[-3]

    def fill(self, number: Scalar) -> None:
        """Set all channels to a scalar."""
        buffer, at = self.target
        with self.kernel.loops([self.channels]) as (channel,):
            self.kernel.store(number.value, buffer, [*at, channel])

    def change(self, change: Callable[[Scalar, SSAValue], Scalar]) -> None:
        """Update each channel by a function of its value and its index."""
        buffer, at = self.target
        with self.kernel.loops([self.channels]) as (channel,):
            total = Scalar(self.kernel, self.kernel.load(buffer, [*at, channel]))
            self.kernel.store(change(total, channel).value, buffer, [*at, channel])

    def pixel(self, row: SSAValue, column: SSAValue, channel: SSAValue) -> Scalar:
        """Load a pixel of the image."""
        buffer, element, image = self.source
        return Scalar(self.kernel, self.kernel.read(buffer, [image, row, column, channel], element))

    def pool(
        self, rows: _AxisBins, columns: _AxisBins, cell: tuple[SSAValue, SSAValue], is_max: bool
    ) -> None:
        """Pool the samples of a bin."""
        kernel, number = self.kernel, rows.size.type
        self.fill(Scalar(kernel, kernel.constant(-inf if is_max else 0.0, number)))
        with kernel.loops([rows.samples.value]) as (y,):
            row = _tap(rows.position(cell[0], y), self.shape[-2])
            with kernel.loops([columns.samples.value]) as (x,):
                column = _tap(columns.position(cell[1], x), self.shape[-1])
                is_inside = row.is_inside & column.is_inside
                weights = [height * width for height in row.weights for width in column.weights]
                corners = [(one.value, other.value) for one in row.pixels for other in column.pixels]

                def take(total: Scalar, channel: SSAValue) -> Scalar:
                    parts = [
                        self.pixel(*indices, channel) * share
                        for indices, share in zip(corners, weights, strict=True)
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
    element, kind = builder.element(op.X), builder.element(op.rois)
    number = compute_type(element)
    scale, cells = float(op.spatial_scale.value.data), int_values(op.pooled_shape) or ()
    images = builder.allocate([out[0]], i64)
    _check_images(op, images, shape[0], builder)
    last = [out[0], *out[2:], out[1]]
    made = builder.allocate(last, number)
    kernel = KernelBuilder(
        [
            buffer_type(last, number),
            buffer_type(_last_of(shape), element),
            buffer_type([out[0], 5], kind),
            buffer_type([out[0]], i64),
        ]
    )
    target, source, rois, numbers = kernel.buffers
    with kernel.loops([out[0]]) as (roi,):
        image = index_in(kernel, kernel.load(numbers, [roi]), shape[0], wraps=False)
        corners = [
            _rounded(read_as(kernel, rois, [roi, kernel.index(index)], kind, number) * scale)
            for index in range(1, 5)
        ]
        with kernel.loops(out[2:]) as (row, column):
            spans: list[tuple[Scalar, Scalar]] = []
            for axis, index in enumerate((row, column)):
                start, end = corners[1 - axis], corners[3 - axis]
                size = (end - start + 1).maximum(1).to(number) / float(cells[axis])
                at = Scalar(kernel, index).to(number)
                first = (at * size).floor().to(i64) + start
                stop = ((at + 1.0) * size).ceil().to(i64) + start
                spans.append((first.clamp(0, shape[2 + axis]), stop.clamp(0, shape[2 + axis])))
            counts = [(stop - first).maximum(0).to(INDEX) for first, stop in spans]
            cell = _RoiBin(kernel, (target, [roi, row, column]), (source, element, image), shape)
            has_pixels = (counts[0] > 0) & (counts[1] > 0)
            nothing = Scalar(kernel, kernel.constant(0.0, number))
            cell.fill(has_pixels.select(nothing.like(-inf), nothing))
            with kernel.loops([count.value for count in counts]) as steps:
                pixel = [
                    (first.to(INDEX) + Scalar(kernel, step)).value
                    for (first, _), step in zip(spans, steps, strict=True)
                ]
                y, x = pixel
                cell.change(lambda total, channel: total.maximum(cell.pixel(y, x, channel)))
    builder.call(
        "maxroipool", kernel, [made], [_channels_last(op.X, builder), builder.buffer(op.rois), images]
    )
    _channels_first(op.Y, made, builder)
    return None


def _rounded(number: Scalar) -> Scalar:
    """Round to the nearest integer, ties away from 0."""
    is_below = number < 0.0
    return is_below.select((number - 0.5).ceil(), (number + 0.5).floor()).to(i64)


def _check_images(op: MaxRoiPoolOp, images: SSAValue, count: int, builder: LoweringBuilder) -> None:
    """Extract the image index of each region, and check at run time that it is in range."""
    (rows, _), kind = builder.shape(op.rois), builder.element(op.rois)
    cell = bounds_check(op, 0, count - 1, f"a region has batch index {{}}; there are {count} images", builder)
    kernel = KernelBuilder([buffer_type([rows], i64), buffer_type([2], i64), buffer_type([rows, 5], kind)])
    out, ends, rois = kernel.buffers
    zero = kernel.constant(0, i64)
    with kernel.reducing([rows], [zero, zero]) as ((roi,), accumulators, results):
        image = read_as(kernel, rois, [roi, kernel.index(0)], kind, compute_type(kind)).to(i64)
        kernel.store(image.value, out, [roi])
        results.append(Scalar(kernel, accumulators[0]).minimum(image).value)
        results.append(Scalar(kernel, accumulators[1]).maximum(image).value)
    for index, value in enumerate(results):
        kernel.store(value, ends, [kernel.index(index)])
    builder.call("roi_batch_indices", kernel, [images, cell], [builder.buffer(op.rois)])
