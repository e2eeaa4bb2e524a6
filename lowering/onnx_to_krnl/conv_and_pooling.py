"""Operators that look at windows: convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as places_of
from math import inf, prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr, f32, f64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.channel_blocking import blocked, result_in_blocks
from xonnc.lowering.onnx_to_krnl.element_types import integer_range, is_unsigned_element, stored
from xonnc.lowering.onnx_to_krnl.generic_pooling import general_average_pool, general_max_pool
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.layout_plan import Blocked
from xonnc.lowering.onnx_to_krnl.lowering_builder import OPEN, Lowering, lowers, takes_open
from xonnc.lowering.onnx_to_krnl.matmul import open_products, plain_product
from xonnc.lowering.onnx_to_krnl.padding import padded
from xonnc.lowering.onnx_to_krnl.strided_copies import Along, Side, copy, loop, plain
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_known, is_known, known
from xonnc.lowering.onnx_to_krnl.window_geometry import MOST_PLACES, Window, window_of


def with_pads(value: SSAValue, window: Window, number: float, to: Lowering) -> SSAValue:
    """The buffer of an input, with `number` all around."""
    source = to.buffer(value)
    if not window.is_padded:
        return source
    shape = to.sizes(value)
    sizes = [*shape[:2], *window.padded]
    target = to.allocate(sizes, to.element(value))
    padded(target, sizes, source, shape, [0, 0, *window.begins], number, to)
    return target


@lowers(nn.ConvOp)
def conv(op: nn.ConvOp, to: Lowering) -> str | None:
    """
    A product of the weights with the windows, each a column.

    One window of one pixel is the input as it lies. A convolution of each channel by itself goes over the
    places of the window.
    """
    if to.element(op.X) not in (f32, f64):
        return "not of f32 or f64"
    shape, out, weights = to.sizes(op.X), to.sizes(op.Y), known(to.sizes(op.W))
    if not are_known((*shape[1:], *out[1:])):
        return OPEN
    images, (channels, *pixels), (filters, *results) = shape[0], known(shape[1:]), known(out[1:])
    window = window_of(op, weights[2:], pixels, results)
    groups = op.group.value.data
    is_depthwise = weights[1] == 1 and groups == channels == filters and prod(window.kernel) <= MOST_PLACES
    if groups > 1 and not is_depthwise and not is_known(images):
        return OPEN
    source = with_pads(op.X, window, 0.0, to)
    if is_depthwise:
        return _depthwise(op, source, window, to)
    count, depth = prod(results), prod(weights[1:])
    is_plain = prod(window.kernel) == 1 and set(window.strides) <= {1}
    columns = source if is_plain else columns_of(source, shape, out, window, to)
    each = filters // groups
    sizes = each, count, depth
    if groups > 1 and op.B.type != NONE:
        return _grouped(op, columns, sizes, to)
    buffers = [to.buffer(op.W), columns]
    if op.B.type != NONE:
        buffers.append(to.buffer(op.B))
    held: dict[str, Attribute] = {"bias_of_rows": UnitAttr()}
    if not is_known(images):
        open_products(op.Y, buffers, sizes, (images, (False, True)), to, held)
        return None
    starts_a = [group * each * depth for _ in range(images) for group in range(groups)]
    starts_b = [number * depth * count for number in range(images * groups)]
    plain_product(op.Y, buffers, sizes, (starts_a, starts_b), to, held)
    return None


def _grouped(op: nn.ConvOp, columns: SSAValue, sizes: tuple[int, int, int], to: Lowering) -> str | None:
    """Groups with a bias: it becomes a column of the weights, and a row of ones of the windows."""
    filters, pixels, depth = sizes
    weights, bias = to.constant(op.W), to.constant(op.B)
    if weights is None or bias is None:
        return "groups with a bias, of weights that are no constants"
    images, groups = to.shape(op.X)[0], op.group.value.data
    matrix = np.concatenate([weights.reshape(-1, depth), bias.reshape(-1, 1)], axis=1)
    count = images * groups
    longer = to.allocate([count, depth + 1, pixels], to.element(op.X))
    ones = to.packed(np.ones((1,), weights.dtype))
    places = plain(3)
    sides = Side(longer, [count, depth + 1, pixels], places)
    copy("columns", [count, depth, pixels], sides, Side(columns, [count, depth, pixels], places), to)
    last = Side(longer, [count, depth + 1, pixels], [loop(0), Along(offset=depth), loop(1)])
    copy("ones", [count, pixels], last, Side(ones, [1], [Along()]), to)
    starts_a = [group * filters * (depth + 1) for _ in range(images) for group in range(groups)]
    starts_b = [number * (depth + 1) * pixels for number in range(count)]
    buffers = [to.packed(matrix), longer]
    plain_product(op.Y, buffers, (filters, pixels, depth + 1), (starts_a, starts_b), to)
    return None


def columns_of(
    source: SSAValue, shape: Sequence[Size], out: Sequence[Size], window: Window, to: Lowering
) -> SSAValue:
    """For each place of a window and each channel, the pixels that it sees."""
    rank = len(window.kernel)
    sizes = [shape[0], shape[1], *window.kernel, *out[2:]]
    target = to.allocate(sizes, element_of(source))
    places = [loop(0), loop(1)]
    for axis in range(rank):
        terms = (2 + rank + axis, window.strides[axis]), (2 + axis, window.dilations[axis])
        places.append(Along(terms))
    read = Side(source, [shape[0], shape[1], *window.padded], places)
    copy("columns", sizes, Side(target, sizes, plain(len(sizes))), read, to)
    return target


Combine = Callable[[Kernel, SSAValue, SSAValue, int], SSAValue]
"""Brings a sum, the number at a place of the window and the place's number together."""


def _over_window(
    kernel: Kernel,
    window: Window,
    indices: Sequence[SSAValue],
    source: SSAValue,
    start: SSAValue,
    combine: Combine,
) -> SSAValue:
    """All places of the window at `indices` (image, channel, pixel), written out one by one."""
    total = start
    for number, place in enumerate(places_of(*(range(size) for size in window.kernel))):
        at = [
            kernel.scaled(index, stride, step * dilation)
            for index, stride, step, dilation in zip(
                indices[2:], window.strides, place, window.dilations, strict=True
            )
        ]
        total = combine(kernel, total, kernel.load(source, [*indices[:2], *at]), number)
    return total


def _depthwise(op: nn.ConvOp, source: SSAValue, window: Window, to: Lowering) -> str | None:
    element, shape, out = to.element(op.X), to.sizes(op.X), to.sizes(op.Y)
    weights = to.shape(op.W)[0], prod(window.kernel)
    types = [buffer_type(out, element), buffer_type([*shape[:2], *window.padded], element)]
    types.append(buffer_type(weights, element))
    buffers = [source, to.buffer(op.W)]
    if op.B.type != NONE:
        types.append(buffer_type([shape[1]], element))
        buffers.append(to.buffer(op.B))
    kernel = Kernel(types)
    target, read, factors, *bias = kernel.buffers
    with kernel.loops(out) as indices:
        start = kernel.load(bias[0], [indices[1]]) if bias else kernel.number(0.0, element)

        def combine(at: Kernel, total: SSAValue, x: SSAValue, number: int) -> SSAValue:
            factor = at.load(factors, [indices[1], at.index(number)])
            return at.add(arith.AddfOp(total, at.add(arith.MulfOp(x, factor))))

        kernel.store(_over_window(kernel, window, indices, read, start, combine), target, indices)
    to.call("depthwise", kernel, [to.result(op.Y)], buffers)
    return None


takes_open(nn.ConvOp, nn.MaxPoolOp, MaxPoolSingleOutOp, nn.AveragePoolOp)


@lowers(nn.MaxPoolOp, MaxPoolSingleOutOp)
def max_pool(op: nn.MaxPoolOp | MaxPoolSingleOutOp, to: Lowering) -> str | None:
    """The largest number of each window: NaN is left out, of nothing else it is -∞."""
    element = to.element(op.operands[0])
    has_places = isinstance(op, nn.MaxPoolOp) and op.Indices.type != NONE
    is_long = prod(values_of(op.kernel_shape) or ()) > MOST_PLACES
    if has_places or is_long or (element != f32 and not _is_byte(element)):
        if not are_known(to.sizes(op.operands[0])):
            return OPEN
        return general_max_pool(op, to)
    least = -inf if element == f32 else integer_range(element)[0]

    def combine(kernel: Kernel, total: SSAValue, x: SSAValue, _: int) -> SSAValue:
        if _is_byte(element):
            return kernel.add((arith.MaxUIOp if is_unsigned_element(element) else arith.MaxSIOp)(total, x))
        return kernel.add(arith.SelectOp(kernel.add(arith.CmpfOp(x, total, "ogt")), x, total))

    return _pool("maxpool", op, op.operands[0], op.results[0], least, combine, None, to)


def _is_byte(element: Attribute) -> bool:
    return is_integer(element) and element.width.data == 8


@lowers(nn.AveragePoolOp)
def average_pool(op: nn.AveragePoolOp, to: Lowering) -> str | None:
    """The mean of each window; pads count if `count_include_pad`, but not what `ceil_mode` adds."""
    shape, out = known(to.sizes(op.X)[2:]), known(to.sizes(op.Y)[2:])
    kernel = values_of(op.kernel_shape) or ()
    if len(shape) < len(kernel) or len(out) < len(kernel):
        return OPEN
    window = window_of(op, kernel, shape, out)
    if not _is_written_out(op.X, kernel, to):
        if not are_known(to.sizes(op.X)):
            return OPEN
        return general_average_pool(op, window, to)
    given = values_of(op.pads) or (0,) * (2 * len(shape))
    ends = given[len(shape) :] if op.auto_pad.data == "NOTSET" else window.ends
    inside = np.zeros(window.padded)
    if op.count_include_pad.value.data:
        sizes = zip(shape, window.begins, ends, strict=True)
        inside[tuple(slice(0, begin + size + end) for size, begin, end in sizes)] = 1
    else:
        sizes = zip(shape, window.begins, strict=True)
        inside[tuple(slice(begin, begin + size) for size, begin in sizes)] = 1
    counts = np.zeros(out)
    for place in places_of(*(range(size) for size in kernel)):
        parts = zip(place, window.dilations, window.strides, out, strict=True)
        counts += inside[
            tuple(
                slice(at * step, at * step + (size - 1) * stride + 1, stride)
                for at, step, stride, size in parts
            )
        ]
    shares = np.float32(1) / np.maximum(counts, 1).astype(np.float32)

    def combine(at: Kernel, total: SSAValue, x: SSAValue, _: int) -> SSAValue:
        return at.add(arith.AddfOp(total, x))

    return _pool("averagepool", op, op.X, op.Y, 0.0, combine, shares, to)


def _is_written_out(value: SSAValue, kernel: Sequence[int], to: Lowering) -> bool:
    """Whether the places of a window are written out one by one."""
    return to.element(value) == f32 and prod(kernel) <= MOST_PLACES


def _pool(
    name: str,
    op: nn.MaxPoolOp | nn.AveragePoolOp | MaxPoolSingleOutOp,
    value: SSAValue,
    result: SSAValue,
    start: float,
    combine: Combine,
    shares: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None,
    to: Lowering,
) -> str | None:
    element, shape, out = to.element(value), to.sizes(value), to.sizes(result)
    if not are_known((*shape[2:], *out[2:])):
        return OPEN
    window = window_of(op, values_of(op.kernel_shape) or (), known(shape[2:]), known(out[2:]))
    if result in to.layouts.blocked:
        _blocked_pool(name, (value, result), window, (start, combine), shares, to)
        return None
    source = with_pads(value, window, start, to)
    buffers = [source] if shares is None else [source, to.packed(shares)]
    types = [buffer_type(out, element), buffer_type([*shape[:2], *window.padded], element)]
    kernel = Kernel([*types, buffer_type(out[2:], element)] if shares is not None else types)
    with kernel.loops(out) as indices:
        number = kernel.number(start, stored(element))
        total = _over_window(kernel, window, indices, kernel.buffers[1], number, combine)
        if shares is not None:
            total = kernel.add(arith.MulfOp(total, kernel.load(kernel.buffers[2], indices[2:])))
        kernel.store(total, kernel.buffers[0], indices)
    to.call(name, kernel, [to.result(result)], buffers)
    return None


def _blocked_pool(
    name: str,
    values: tuple[SSAValue, SSAValue],
    window: Window,
    over: tuple[float, Combine],
    shares: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None,
    to: Lowering,
) -> None:
    """
    A pool of images in blocks.

    A mean reads zeros from the halo; an extreme reads the edge again where the window reaches beyond.
    """
    source, target = blocked(values[0], to), result_in_blocks(values[1], to)
    types = [buffer_type(image.blocks, f32) for image in (target, source)]
    buffers = [source.buffer]
    if shares is not None:
        types.append(buffer_type(shares.shape, f32))
        buffers.append(to.packed(shares))
    kernel = Kernel(types)
    images, blocks, _, _, lanes = target.blocks
    start, combine = over
    with kernel.loops([images, blocks, *target.sizes[2:], lanes]) as (image, block, row, column, lane):
        total = kernel.number(start, f32)
        for number, place in enumerate(places_of(*(range(size) for size in window.kernel))):
            at = [
                _inside(kernel, index, axis, place[axis], window, source, is_clamped=shares is None)
                for axis, index in enumerate((row, column))
            ]
            x = kernel.load(kernel.buffers[1], [image, block, *at, lane])
            total = combine(kernel, total, x, number)
        if shares is not None:
            total = kernel.add(arith.MulfOp(total, kernel.load(kernel.buffers[2], [row, column])))
        pixel = [
            kernel.scaled(index, 1, first) for index, first in zip((row, column), target.start, strict=True)
        ]
        kernel.store(total, kernel.buffers[0], [image, block, *pixel, lane])
    to.call(name, kernel, [target.buffer], buffers)


def _inside(
    kernel: Kernel, index: SSAValue, axis: int, step: int, window: Window, source: Blocked, is_clamped: bool
) -> SSAValue:
    """A row or column of the source at a step of the window; in the image, if it is clamped."""
    first = source.start[axis]
    offset = first - window.begins[axis] + step * window.dilations[axis]
    place = kernel.scaled(index, window.strides[axis], offset)
    if is_clamped and step * window.dilations[axis] < window.begins[axis]:
        place = kernel.add(arith.MaxSIOp(place, kernel.index(first)))
    if is_clamped and window.ends[axis]:
        last = first + source.sizes[2:][axis] - 1
        place = kernel.add(arith.MinSIOp(place, kernel.index(last)))
    return place
