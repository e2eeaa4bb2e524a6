"""
Convolutions of volumes (NCDHW) as those of images (`krnl.conv`).

A plane of the result is a convolution of an image: of the planes under its window, whose channels follow each
other in memory. The input is copied to `[planes][C/L][H][W][L]` with its pads; one image begins a stride
after the other. There is no im2col, with an element for each element of each window.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import channel_constants
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, IndexExpr, copy, dim, fill
from xonnc.lowering.onnx_to_krnl.nn.convolution import ConvInput, lower_sub_convolution
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer, ConvFusion, Halo
from xonnc.lowering.onnx_to_krnl.planning.subpixel_convolution import SubConvolution
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, volume
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import WindowGeometry
from xonnc.rewriting.patterns import Array

MIN_COLUMNS = 4
"""Columns of results at least for which weights are read for each row, if they are larger than L2."""


def lower_volume_convolution(op: nn.ConvOp, window: WindowGeometry, builder: LoweringBuilder) -> bool:
    """Emit a convolution of volumes with constant weights; whether it is one that `krnl.conv` computes."""
    weights, bias = constant_elements(op.W), None if op.B.type == NONE else constant_elements(op.B)
    shape, out, lanes = builder.sizes(op.X), builder.sizes(op.Y), builder.layouts.lanes
    if weights is None or (bias is None and op.B.type != NONE) or len(window.kernel) != 3:
        return False
    if op.group.value.data > 1 or window.dilations[0] > 1 or builder.element(op.X) != f32:
        return False
    # Of few channels, im2col is small and has full vectors; of dynamic sizes, its product has not. Short rows
    # would each read all weights from beyond L2, which a product reads for all of them at once.
    is_narrow = 2 * weights.shape[1] < lanes
    is_short = is_static(out[4]) and out[4] < MIN_COLUMNS and weights.nbytes > builder.target.core.l2_bytes
    if (are_static(shape) and (is_narrow or is_short)) or 2 * len(weights) < lanes or 0 in (*shape, *out):
        return False
    volumes = shape[0]
    # Windows also begin in the last planes of each of several volumes, so that all are equally far apart; the
    # results of those are left out.
    step = window.strides[0]
    planes, results, count = window.padded[0], out[2], window.padded[0]
    if volumes != 1:
        planes = (planes + (step - 1)) // step * step
        results, count = planes // step, volumes * planes + max(window.kernel[0] - step, 0)
        # Of flat volumes, most of the windows are of results that are left out.
        if is_static(results) and is_static(out[2]) and results >= 2 * out[2]:
            return False
    source = _planes(op.X, window, count, planes, builder)
    blocks = -(-len(weights) // lanes)
    sizes = volumes * results, len(weights), out[3], out[4]
    target = BlockedBuffer(builder.allocate([sizes[0], blocks, *sizes[2:], lanes], f32), Halo(), sizes)
    rows, columns = (range(size) for size in window.kernel[1:])
    of_plane = WindowGeometry(*(each[1:] for each in vars(window).values()))
    whole = SubConvolution(rows, columns, (0, 0), (0, 0), (out[3], out[4]))
    fusion = ConvFusion(op, [op], [whole], of_plane, plane_step=step)
    numbers = None if bias is None else channel_constants(bias, bias.size, builder)
    images = source, target, numbers, None
    lower_sub_convolution(fusion, whole, _of_planes(weights, source.step), images, builder)
    _unblock(target, op.Y, results, builder)
    return True


def _of_planes(weights: Array, step: int) -> Array:
    """Return weights whose channels are those of the planes of a window, each of `step` at a time."""
    filters, channels, planes, *window = weights.shape
    found = np.zeros((filters, planes, -(-channels // step) * step, *window), weights.dtype)
    found[:, :, :channels] = weights.swapaxes(1, 2)
    return found.reshape(filters, -1, *window)


def _planes(
    value: SSAValue, window: WindowGeometry, count: Size, each: Size, builder: LoweringBuilder
) -> ConvInput:
    """Return `count` padded planes, `each` of a volume, channel-blocked if there are many channels."""
    volumes, channels, *sizes = builder.sizes(value)
    lanes = builder.layouts.lanes
    assert isinstance(channels, int)
    step = lanes if channels >= lanes else 1
    blocks = -(-channels // step)
    shape = [count, blocks, *window.padded[1:], *([step] if step > 1 else [])]
    target, source = builder.allocate(shape, f32), builder.buffer(value)
    fill(target, volume(shape), 0.0, builder)
    first_plane, rows, columns = window.begins[0] - window.skipped[0], *window.begins[1:]
    full, rest = divmod(channels, step)
    for first, number, size in ((0, full, step), (full, 1, rest)):
        if not number or not size:
            continue
        # Loops over volumes, planes, blocks of channels, rows, channels of a block and columns.
        loops = [volumes, sizes[0], number, sizes[1], size, sizes[2]]
        channel = IndexExpr(((2, step), (4, 1)), first * step)
        read = AffineAccess(source, builder.sizes(value), [dim(0), channel, dim(1), dim(3), dim(5)])
        plane = IndexExpr(((0, each), (1, 1)), first_plane)
        write = [plane, dim(2, offset=first), dim(3, offset=rows), dim(5, offset=columns)]
        into = AffineAccess(target, shape, [*write, dim(4)] if step > 1 else write)
        copy("planes", loops, into, read, builder)
    return ConvInput(target, shape, (0, 0), step)


def _unblock(image: BlockedBuffer, result: SSAValue, results: Size, builder: LoweringBuilder) -> None:
    """Copy planes of results, of which each volume has `results`, to NCDHW."""
    target, sizes = builder.result(result), builder.sizes(result)
    volumes, channels, planes, rows, columns = sizes
    *_, lanes = shape = image.blocks
    assert isinstance(channels, int)
    full, rest = divmod(channels, lanes)
    pixels = rows * columns
    for first, number, size in ((0, full, lanes), (full, 1, rest)):
        if not number or not size:
            continue
        loops = [volumes, planes, number, size, pixels]
        channel = IndexExpr(((2, lanes), (3, 1)), first * lanes)
        into = AffineAccess(target, [volumes, channels, planes, pixels], [dim(0), channel, dim(1), dim(4)])
        plane = IndexExpr(((0, results), (1, 1)))
        read = [plane, dim(2, offset=first), dim(4), dim(3)]
        of = AffineAccess(image.buffer, [shape[0], shape[1], pixels, lanes], read)
        copy("unblock", loops, into, of, builder)
