"""Conv, MaxPool and AveragePool on row-major tensors: im2col with matrix products, and unrolled windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from math import inf, prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.types import is_integer, size_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked, blocked_result
from xonnc.lowering.onnx_to_krnl.builders.checks import iterations_if_nonempty
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import (
    AffineAccess,
    IndexExpr,
    copy,
    dim,
    identity_map,
)
from xonnc.lowering.onnx_to_krnl.math.matmul import batched_matmul, dynamic_matmul, emit_gemm
from xonnc.lowering.onnx_to_krnl.nn.generic_pooling import generic_average_pool, generic_max_pool
from xonnc.lowering.onnx_to_krnl.nn.volume_convolution import lower_volume_convolution
from xonnc.lowering.onnx_to_krnl.planning.element_types import (
    integer_range,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer, has_static_counts
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    are_static,
    is_static,
    static_sizes,
    volume,
)
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import (
    MAX_UNROLLED_WINDOW,
    WindowGeometry,
    has_pads,
    window_of,
)
from xonnc.lowering.onnx_to_krnl.tensor.padding import with_pads
from xonnc.rewriting.patterns import Array


@lowers(nn.ConvOp)
def conv(op: nn.ConvOp, builder: LoweringBuilder) -> str | None:
    """
    Convolution as im2col and a matrix product, of volumes as that of the images that are windows of planes.

    A 1x1 window with stride 1 reads the input as it lies. A depthwise convolution is a loop over the window.
    """
    if builder.element(op.X) not in (f32, f64):
        return "not of f32 or f64"
    shape, out, weights = builder.sizes(op.X), builder.sizes(op.Y), static_sizes(builder.sizes(op.W))
    if len(weights) != len(shape) or not has_pads(op, shape[2:]):
        return NO_DYNAMIC_KERNEL
    window, filters = window_of(op, weights[2:], shape[2:], out[2:]), weights[0]
    groups = op.group.value.data
    is_depthwise = (
        weights[1] == 1
        and groups == shape[1]
        and (groups > 1 or filters == 1)
        and window.kernel[-1] <= MAX_UNROLLED_WINDOW
    )
    if groups > 1 and not is_depthwise and not are_static(shape):
        return NO_DYNAMIC_KERNEL
    if lower_volume_convolution(op, window, builder):
        return None
    source = with_pads(op.X, shape, window, 0.0, builder)
    if is_depthwise:
        return _depthwise(op, source, window, builder)
    depth, each = prod(weights[1:]), filters // groups
    is_plain = prod(window.kernel) == 1 and set(window.strides) <= {1}
    if are_static(shape) and not is_plain:
        image = static_sizes((1, 1, *out[2:]))
        size = size_of(builder.element(op.X))
        found = builder.tiles.of_pixels(size, each, (image[-2], image[-1]))
        if found is not None:
            return _in_panels(op, source, window, found, builder)
    columns = source if is_plain else columns_of(source, shape, out, window, builder)
    buffers = [builder.buffer(op.W), columns]
    if op.B.type != NONE:
        buffers.append(builder.buffer(op.B))
    properties: dict[str, Attribute] = {"bias_of_rows": UnitAttr()}
    images, count = shape[0], volume(out[2:])
    if not is_static(images) or not is_static(count):
        batch = images, (False, True)
        dynamic_matmul(op.Y, buffers, (each, count, depth), batch, builder, properties)
        return None
    sizes = each, count, depth
    if groups > 1 and op.B.type != NONE:
        return _grouped(op, columns, sizes, builder)
    starts_a = [group * each * depth for _ in range(images) for group in range(groups)]
    starts_b = [number * depth * count for number in range(images * groups)]
    batched_matmul(op.Y, buffers, sizes, (starts_a, starts_b), builder, properties)
    return None


def _in_panels(
    op: nn.ConvOp,
    source: SSAValue,
    window: WindowGeometry,
    tile: tuple[tuple[int, int], int],
    builder: LoweringBuilder,
) -> str | None:
    """
    Convolution as a product with pixels gathered into its panels: im2col without a copy to pack them.

    The bias of a grouped convolution is a column of the weights times a row of ones.
    """
    (rows, columns), height = tile
    (images, channels, *_), (_, filters, *out) = builder.shape(op.X), builder.shape(op.Y)
    groups, width = op.group.value.data, rows * columns
    depth, each, element = channels // groups, filters // groups, builder.element(op.X)
    terms = depth * prod(window.kernel)
    has_ones = groups > 1 and op.B.type != NONE
    weights, bias = builder.buffer(op.W), None if op.B.type == NONE or has_ones else builder.buffer(op.B)
    if has_ones:
        numbers = builder.constant(op.W), builder.constant(op.B)
        if numbers[0] is None or numbers[1] is None:
            return "a grouped convolution with a bias, and weights or bias that are not constants"
        matrix = [numbers[0].reshape(-1, terms), numbers[1].reshape(-1, 1)]
        weights = builder.constant_buffer(np.concatenate(matrix, axis=1))
    *planes, image_rows, image_columns = (1, 1, *out)[-max(2, len(out)) :]
    parts = image_rows // rows, image_columns // columns
    products, panels, steps = images * groups, prod((*planes, *parts)), terms + has_ones
    shape = [products, panels, steps, width]
    target = builder.allocate(shape, element)
    # Loops over image, group, planes, panels along both axes, channel, window, rows and columns of a panel.
    sizes = [images, groups, *planes, *parts, depth, *window.kernel, rows, columns]
    rank, last, in_window = len(window.kernel), len(sizes) - 2, 4 + len(planes)
    into = [
        IndexExpr(((0, groups), (1, 1))),
        _linear(sizes, range(2, in_window)),
        _linear(sizes, range(in_window, last)),
        _linear(sizes, range(last, len(sizes))),
    ]
    # The loops of each axis of the result, and their steps along it.
    axes: list[Sequence[tuple[int, int]]] = [[(2 + plane, 1)] for plane in range(len(planes))]
    axes += [[(in_window - 2 + axis, part), (last + axis, 1)] for axis, part in enumerate((rows, columns))]
    read = [dim(0), IndexExpr(((1, depth), (in_window, 1)))]
    for axis, loops in enumerate(axes[-rank:]):
        steps_of = [(loop, step * window.strides[axis]) for loop, step in loops]
        read.append(IndexExpr((*steps_of, (in_window + 1 + axis, window.dilations[axis]))))
    sides = AffineAccess(target, shape, into), AffineAccess(source, [images, channels, *window.padded], read)
    copy("im2col", sizes, *sides, builder)
    if has_ones:
        ones = builder.constant_buffer(np.ones((1,), np.float32 if element == f32 else np.float64))
        row = AffineAccess(target, shape, [dim(0), dim(1), IndexExpr(offset=terms), dim(2)])
        copy("ones", [products, panels, width], row, AffineAccess(ones, [1], [IndexExpr()]), builder)
    starts_a = [group * each * steps for _ in range(images) for group in range(groups)]
    starts_b = [number * panels * steps * width for number in range(products)]
    properties: dict[str, Attribute] = {
        "packed": UnitAttr(),
        "batch_a": DenseArrayBase.from_list(i64, starts_a),
        "batch_b": DenseArrayBase.from_list(i64, starts_b),
    }
    if bias is not None:
        properties["bias_of_rows"] = UnitAttr()
    buffers = [weights, target, *([] if bias is None else [bias])]
    emit_gemm(op.Y, buffers, (each, prod(out), steps), (height, width), properties, builder)
    return None


def _linear(sizes: Sequence[int], loops: Sequence[int]) -> IndexExpr:
    """Return the index of an element in the shape that some neighboring loops go over."""
    return IndexExpr(tuple((loop, prod(sizes[loop + 1 : loops[-1] + 1])) for loop in loops))


def _grouped(
    op: nn.ConvOp, columns: SSAValue, sizes: tuple[int, int, int], builder: LoweringBuilder
) -> str | None:
    """Grouped convolution with a bias, which becomes a column of the weights times a row of ones."""
    filters, pixels, depth = sizes
    weights, bias = builder.constant(op.W), builder.constant(op.B)
    if weights is None or bias is None:
        return "a grouped convolution with a bias, and weights or bias that are not constants"
    images, groups = builder.shape(op.X)[0], op.group.value.data
    matrix = np.concatenate([weights.reshape(-1, depth), bias.reshape(-1, 1)], axis=1)
    count = images * groups
    longer = builder.allocate([count, depth + 1, pixels], builder.element(op.X))
    ones = builder.constant_buffer(np.ones((1,), weights.dtype))
    exprs = identity_map(3)
    sides = AffineAccess(longer, [count, depth + 1, pixels], exprs)
    copy(
        "columns",
        [count, depth, pixels],
        sides,
        AffineAccess(columns, [count, depth, pixels], exprs),
        builder,
    )
    last = AffineAccess(longer, [count, depth + 1, pixels], [dim(0), IndexExpr(offset=depth), dim(1)])
    copy("ones", [count, pixels], last, AffineAccess(ones, [1], [IndexExpr()]), builder)
    starts_a = [group * filters * (depth + 1) for _ in range(images) for group in range(groups)]
    starts_b = [number * (depth + 1) * pixels for number in range(count)]
    buffers = [builder.constant_buffer(matrix), longer]
    batched_matmul(op.Y, buffers, (filters, pixels, depth + 1), (starts_a, starts_b), builder)
    return None


def columns_of(
    source: SSAValue,
    shape: Sequence[Size],
    out: Sequence[Size],
    window: WindowGeometry,
    builder: LoweringBuilder,
) -> SSAValue:
    """im2col: for each channel and element of the window, the pixels that it reads."""
    rank = len(window.kernel)
    sizes = [shape[0], shape[1], *window.kernel, *out[2:]]
    target = builder.allocate(sizes, element_of(source))
    exprs = [dim(0), dim(1)]
    for axis in range(rank):
        terms = (2 + rank + axis, window.strides[axis]), (2 + axis, window.dilations[axis])
        exprs.append(IndexExpr(terms, window.skipped[axis]))
    read = AffineAccess(source, [shape[0], shape[1], *window.padded], exprs)
    copy("im2col", sizes, AffineAccess.whole(target, sizes), read, builder)
    return target


Combine = Callable[[Scalar, Scalar, int], Scalar]
"""Combine an accumulator, an element and its index in the window."""


def _over_window(
    window: WindowGeometry, indices: Sequence[Scalar], source: Buffer, start: Scalar, combine: Combine
) -> Scalar:
    """Accumulate over the window at `indices` (image, channel, pixel), unrolled."""
    total = start
    for number, position in enumerate(itertools.product(*(range(size) for size in window.kernel))):
        at = [
            index.scaled_by(stride).offset_by(step * dilation + skipped)
            for index, stride, step, dilation, skipped in zip(
                indices[2:], window.strides, position, window.dilations, window.skipped, strict=True
            )
        ]
        total = combine(total, source.load(*indices[:2], *at), number)
    return total


def _depthwise(
    op: nn.ConvOp, source: SSAValue, window: WindowGeometry, builder: LoweringBuilder
) -> str | None:
    """Convolve each channel by itself, with one or more filters."""
    shape, out = builder.sizes(op.X), builder.sizes(op.Y)
    filters, channels = static_sizes((out[1], shape[1]))
    weights = filters, prod(window.kernel[:-1]), window.kernel[-1]
    inputs: list[Operand] = [(source, [*shape[:2], *window.padded]), (op.W, weights)]
    kernel = Kernel(builder, "depthwise", [op.Y], inputs if op.B.type == NONE else [*inputs, op.B])
    target, read, factors, *bias = kernel.buffers
    if prod(window.kernel) > MAX_UNROLLED_WINDOW:
        _depthwise_by_rows(kernel, out, window, filters // channels)
        kernel.call()
        return None
    with kernel.loops(out) as indices:
        image, filter_, *pixel = indices

        def combine(total: Scalar, x: Scalar, number: int) -> Scalar:
            return total + x * factors[filter_, *divmod(number, window.kernel[-1])]

        start = bias[0][filter_] if bias else kernel.constant(0.0, target.element)
        at = image, _quotient(filter_, filters // channels), *pixel
        target[*indices] = _over_window(window, at, read, start, combine)
    kernel.call()
    return None


def _quotient(index: Scalar, divisor: int) -> Scalar:
    return index if divisor == 1 else index // divisor


def _depthwise_by_rows(kernel: Kernel, out: Sequence[Size], window: WindowGeometry, of_channel: int) -> None:
    """
    Convolve each channel with `of_channel` filters whose windows are too large to be unrolled.

    For each row of the window, unrolled, its products are added to a row of results.
    """
    target, source, factors, *bias = kernel.buffers
    *rows, columns = window.kernel
    with kernel.loops(out[:-1]) as outer:
        image, filter_, *above = outer
        channel = _quotient(filter_, of_channel)
        with kernel.loops(out[-1:]) as (column,):
            target[*outer, column] = bias[0][filter_] if bias else 0.0
        with kernel.loops([*rows, out[-1]]) as (*steps, column):
            row = kernel.index(0)
            for size, step in zip(rows, steps, strict=True):
                row = row.scaled_by(size) + step
            geometry = zip(above, window.strides, steps, window.dilations, window.skipped, strict=False)
            at = [
                (index.scaled_by(stride) + step.scaled_by(dilation)).offset_by(skipped)
                for index, stride, step, dilation, skipped in geometry
            ]
            first = column.scaled_by(window.strides[-1]).offset_by(window.skipped[-1])
            total = target[*outer, column]
            for number in range(columns):
                x = source[image, channel, *at, first.offset_by(number * window.dilations[-1])]
                total += x * factors[filter_, row, number]
            target[*outer, column] = total


supports_dynamic_shapes(nn.ConvOp, nn.MaxPoolOp, MaxPoolSingleOutOp, nn.AveragePoolOp)


@lowers(nn.MaxPoolOp, MaxPoolSingleOutOp)
def max_pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, builder: LoweringBuilder) -> str | None:
    """Maximum of each window, NaN skipped; -∞ where there is nothing else."""
    element = builder.element(op.operands[0])
    has_indices = isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE
    is_long = prod(int_values(op.kernel_shape) or ()) > MAX_UNROLLED_WINDOW
    if has_indices or is_long or (element != f32 and not _is_byte(element)):
        if not are_static(builder.sizes(op.operands[0])):
            return NO_DYNAMIC_KERNEL
        return generic_max_pool(op, builder)
    least = -inf if element == f32 else integer_range(element)[0]

    def combine(total: Scalar, x: Scalar, _: int) -> Scalar:
        if is_unsigned_element(element):
            return total.made(arith.MaxUIOp(total.value, x.value))
        return total.maximum(x) if _is_byte(element) else (x > total).select(x, total)

    return _pool("maxpool", op, op.operands[0], op.results[0], least, combine, None, builder)


def _is_byte(element: Attribute) -> bool:
    return is_integer(element) and element.width.data == 8


@lowers(nn.AveragePoolOp)
def average_pool(op: nn.AveragePoolOp, builder: LoweringBuilder) -> str | None:
    """Mean of each window. Pads count with `count_include_pad`; what `ceil_mode` adds does not."""
    shape, out = builder.sizes(op.X)[2:], builder.sizes(op.Y)[2:]
    kernel = int_values(op.kernel_shape) or ()
    if not has_pads(op, shape):
        return NO_DYNAMIC_KERNEL
    window = window_of(op, kernel, shape, out)
    if not _is_unrolled(op.X, kernel, builder):
        if not are_static(builder.sizes(op.X)):
            return NO_DYNAMIC_KERNEL
        return generic_average_pool(op, window, builder)
    if not are_static(shape) and not has_static_counts(op, window):
        return NO_DYNAMIC_KERNEL
    counts = reduce(
        np.multiply.outer, [_counts_of(op, window, axis, shape, out) for axis in range(len(shape))]
    )
    inverse_counts = np.float32(1) / np.maximum(counts, 1).astype(np.float32)
    if prod(kernel) == 1 and not window.is_padded:
        # The mean of one element: a copy, also of -0.
        return _pool("pixels", op, op.X, op.Y, 0.0, lambda _total, x, _: x, None, builder)

    def combine(total: Scalar, x: Scalar, _: int) -> Scalar:
        return total + x

    return _pool("averagepool", op, op.X, op.Y, 0.0, combine, inverse_counts, builder)


def _counts_of(
    op: nn.AveragePoolOp, window: WindowGeometry, axis: int, shape: Sequence[Size], out: Sequence[Size]
) -> Array:
    """Return how many elements windows count along an axis; for a dynamic size, the number of all."""
    size, count, length = shape[axis], out[axis], window.kernel[axis]
    if not is_static(size) or not is_static(count):
        return np.array([length])
    given = int_values(op.pads) or (0,) * (2 * len(shape))
    end = given[len(shape) + axis] if op.auto_pad.data == "NOTSET" else window.ends[axis]
    includes_pads = bool(op.count_include_pad.value.data)
    first = 0 if includes_pads else window.begins[axis]
    last = window.begins[axis] + size + (end if includes_pads else 0)
    at = np.arange(count)[:, np.newaxis] * window.strides[axis] + np.arange(length) * window.dilations[axis]
    return ((first <= at) & (at < last)).sum(axis=1)


def _is_unrolled(value: SSAValue, kernel: Sequence[int], builder: LoweringBuilder) -> bool:
    """Whether the window is unrolled."""
    return builder.element(value) == f32 and prod(kernel) <= MAX_UNROLLED_WINDOW


def _pool(
    name: str,
    op: nn.MaxPoolOp | nn.AveragePoolOp | MaxPoolSingleOutOp,
    value: SSAValue,
    result: SSAValue,
    start: float,
    combine: Combine,
    inverse_counts: Array | None,
    builder: LoweringBuilder,
) -> str | None:
    shape, out = builder.sizes(value), builder.sizes(result)
    if not has_pads(op, shape[2:]):
        return NO_DYNAMIC_KERNEL
    window = window_of(op, int_values(op.kernel_shape) or (), shape[2:], out[2:])
    if result in builder.layouts.blocked:
        counts = None if inverse_counts is None else np.atleast_2d(inverse_counts)
        _blocked_pool(name, (value, result), window.of_image, (start, combine), counts, builder)
        return None
    counts = [] if inverse_counts is None else [inverse_counts]
    if window.is_padded:
        return _pool_by_rows(name, (value, result), window, (start, combine), counts, builder)
    kernel = Kernel(builder, name, [result], [value, *counts])
    target, source, *factors = kernel.buffers
    with kernel.loops(out) as indices:
        number = kernel.constant(start, storage_type(target.element))
        total = _over_window(window, indices, source, number, combine)
        for factor in factors:
            total = total * factor[factor.broadcast(indices[2:])]
        target.store(total, *indices)
    kernel.call()
    return None


def _pool_by_rows(
    name: str,
    values: tuple[SSAValue, SSAValue],
    window: WindowGeometry,
    over: tuple[float, Combine],
    inverse_counts: Sequence[Array],
    builder: LoweringBuilder,
) -> str | None:
    """
    Pool padded images: the rows under a row of windows are one padded row, which windows slide over.

    Each channel has one such row, so that no padded image is written to memory.
    """
    value, result = values
    shape, out, (start, combine) = builder.sizes(value), builder.sizes(result), over
    one_row = [*shape[:2], window.padded[-1]]
    made = builder.allocate(one_row, builder.element(value))
    kernel = Kernel(builder, name, [result, (made, one_row)], [value, *inverse_counts])
    target, row, source, *factors = kernel.buffers
    along = WindowGeometry(*(each[-1:] for each in vars(window).values()))
    with kernel.loops(shape[:2]) as channel:
        number = kernel.constant(start, storage_type(target.element))
        with kernel.loops([window.padded[-1]]) as (column,):
            row.store(number, *channel, column)
        with kernel.loops(out[2:-1]) as above:
            with kernel.loops([reduce(iterations_if_nonempty, shape[2:-1], shape[-1])]) as (column,):
                total = number
                for position in itertools.product(*(range(size) for size in window.kernel[:-1])):
                    at, is_inside = _row_under(kernel, window, shape[2:-1], above, position)
                    x = source.load(*channel, *at, column)
                    total = combine(total, x if is_inside is None else is_inside.select(x, number), 0)
                row.store(total, *channel, column.offset_by(window.begins[-1]))
            with kernel.loops(out[-1:]) as (column,):
                total = _over_window(along, [*channel, column], row, number, combine)
                for factor in factors:
                    total = total * factor[factor.broadcast([*above, column][-len(out) + 2 :])]
                target.store(total, *channel, *above[: len(out) - 3], column)
    kernel.call()
    return None


def _row_under(
    kernel: Kernel,
    window: WindowGeometry,
    sizes: Sequence[Size],
    above: Sequence[Scalar],
    position: Sequence[int],
) -> tuple[list[Scalar], Scalar | None]:
    """Return the indices of a row of the input under a window, clamped, and whether it was inside."""
    at: list[Scalar] = []
    is_inside: Scalar | None = None
    first = window.first((0,) * len(window.kernel))
    for axis, (index, size, step) in enumerate(zip(above, sizes, position, strict=False)):
        offset = first[axis] + step * window.dilations[axis]
        here = index.scaled_by(window.strides[axis]).offset_by(offset)
        if window.begins[axis] or window.ends[axis]:
            last = kernel.size(size) - 1
            is_within = (here >= 0) & (here <= last)
            is_inside = is_within if is_inside is None else is_inside & is_within
            here = here.minimum(last).maximum(0)
        at.append(here)
    return at, is_inside


def _blocked_pool(
    name: str,
    values: tuple[SSAValue, SSAValue],
    window: WindowGeometry,
    over: tuple[float, Combine],
    inverse_counts: Array | None,
    builder: LoweringBuilder,
) -> None:
    """
    Pooling of NCHWc images.

    A mean reads zeros from the halo; a maximum reads the edge again where the window reaches beyond it.
    """
    source, target = blocked(values[0], builder), blocked_result(values[1], builder)
    inputs = [(source.buffer, source.blocks), *([] if inverse_counts is None else [inverse_counts])]
    kernel = Kernel(builder, name, [(target.buffer, target.blocks)], inputs)
    out, read, *factors = kernel.buffers
    images, blocks, _, _, lanes = target.blocks
    start, combine = over
    with kernel.loops([images, blocks, *target.sizes[2:], lanes]) as (image, block, row, column, lane):
        total = kernel.constant(start, f32)
        for number, steps in enumerate(itertools.product(*(range(size) for size in window.kernel))):
            y, x = (
                _inside(kernel, index, axis, steps[axis], window, source, is_clamped=inverse_counts is None)
                for axis, index in enumerate((row, column))
            )
            total = combine(total, read[image, block, y, x, lane], number)
        for factor in factors:
            total = total * factor[factor.broadcast((row, column))]
        y, x = (index.offset_by(first) for index, first in zip((row, column), target.start, strict=True))
        out[image, block, y, x, lane] = total
    kernel.call()


def _inside(
    kernel: Kernel,
    index: Scalar,
    axis: int,
    step: int,
    window: WindowGeometry,
    source: BlockedBuffer,
    is_clamped: bool,
) -> Scalar:
    """Return a row or column of the source under the window, clamped to the image if asked for."""
    first = source.start[axis]
    offset = window.first(source.start)[axis] + step * window.dilations[axis]
    position = index.scaled_by(window.strides[axis]).offset_by(offset)
    if is_clamped and step * window.dilations[axis] < window.begins[axis]:
        position = position.maximum(first)
    if is_clamped and window.ends[axis]:
        position = position.minimum(kernel.size(first + source.sizes[2:][axis] - 1))
    return position
