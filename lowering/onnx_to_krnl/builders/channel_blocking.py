"""Images in the channel-blocked layout NCHWc: allocation, and conversion from and to row-major NCHW."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.onnx_to_krnl.builders.halos import fill_halo
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, IndexExpr, copy, dim
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import BlockedBuffer
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, static_sizes
from xonnc.rewriting.patterns import Array


def blocked_result(value: SSAValue, builder: LoweringBuilder) -> BlockedBuffer:
    """
    Return the NCHWc buffer for a result, its halo zeroed; a view of the Concat result that it is part of.
    """
    made = _cleared(value, builder)
    builder.written.add(value)
    builder.materialized.add(value)
    return made


def _cleared(value: SSAValue, builder: LoweringBuilder) -> BlockedBuffer:
    made = _allocate(value, builder)
    if any(made.halo):
        _clear_halo(made, builder)
    return made


def _allocate(value: SSAValue, builder: LoweringBuilder) -> BlockedBuffer:
    if value in builder.blocked_buffers:
        return builder.blocked_buffers[value]
    sizes, halo, shape = (
        builder.layouts.images_of(value),
        builder.layouts.halo(value),
        builder.layouts.shape(value),
    )
    assert sizes is not None
    joined = builder.layouts.joined.get(value)
    if joined is None:
        buffer = builder.allocate(shape, f32)
    else:
        parent = _allocate(joined[0], builder)
        assert is_buffer(parent.buffer.type)
        view = memref.SubviewOp.from_static_parameters(
            parent.buffer, parent.buffer.type, [0, joined[1], 0, 0, 0], static_sizes(shape), [1] * 5
        )
        buffer = builder.insert(view)
    builder.blocked_buffers[value] = BlockedBuffer(buffer, halo, sizes)
    return builder.blocked_buffers[value]


def _clear_halo(image: BlockedBuffer, builder: LoweringBuilder) -> None:
    """Zero the halo of each block of each image."""
    images, blocks, *sizes = image.blocks
    fill_halo(image, (images * blocks, *sizes), f32, 0.0, builder)


def blocked(value: SSAValue, builder: LoweringBuilder) -> BlockedBuffer:
    """Return a value in NCHWc; converted after the op that produces it, if it is row-major."""
    if value in builder.written:
        return builder.blocked_buffers[value]
    source = builder.buffer(value)
    with builder.insertion_after(value, source):
        target = _cleared(value, builder)
        builder.written.add(value)
        _copy(source, target, builder, is_blocking=True)
    return target


def _copy(buffer: SSAValue, image: BlockedBuffer, builder: LoweringBuilder, is_blocking: bool) -> None:
    """Convert between NCHW and NCHWc. Lanes beyond the last channel stay unset."""
    images, channels, rows, columns = image.sizes
    shape = image.blocks
    lanes = shape[4]
    full_blocks, rest = divmod(channels, lanes)
    if not any(image.halo):
        # Without a halo, all pixels of a channel are contiguous: one row.
        rows, columns = 1, rows * columns
        shape = (shape[0], shape[1], rows, columns, lanes)
    for first, count, size in ((0, full_blocks, lanes), (full_blocks, 1, rest)):
        if not count or not size:
            continue
        sizes = [images, count, rows, size, columns]
        channel = IndexExpr(((1, lanes), (3, 1)), first * lanes)
        row_major_access = AffineAccess(
            buffer, (images, channels, rows, columns), [dim(0), channel, dim(2), dim(4)]
        )
        indices = [
            dim(0),
            dim(1, offset=first),
            dim(2, offset=image.halo.top),
            dim(4, offset=image.halo.left),
            dim(3),
        ]
        blocked_access = AffineAccess(image.buffer, shape, indices)
        if is_blocking:
            copy("block", sizes, blocked_access, row_major_access, builder)
        else:
            copy("unblock", sizes, row_major_access, blocked_access, builder)


def unblocked(value: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Return the row-major buffer of a value, converted from NCHWc after the op that produces it."""
    image = builder.blocked_buffers[value]
    with builder.insertion_after(value, image.buffer):
        buffer = builder.result(value)
        _copy(buffer, image, builder, is_blocking=False)
    return buffer


def channel_constants(array: Array, channels: int, builder: LoweringBuilder) -> SSAValue:
    """Return one constant per channel as [C/L][L], zero-padded; a scalar is one for all channels."""
    lanes = builder.layouts.lanes
    blocks = -(-channels // lanes)
    numbers = np.zeros(blocks * lanes, np.float32)
    numbers[:channels] = array.reshape(-1)
    return builder.constant_buffer(numbers.reshape(blocks, lanes))


def join(result: SSAValue, parts: Sequence[SSAValue], builder: LoweringBuilder) -> None:
    """Concat along channels; operands that are not written in place are copied."""
    parent = blocked_result(result, builder)
    block = 0
    for value in parts:
        part = blocked(value, builder)
        if builder.layouts.joined.get(value) != (result, block):
            copy("join", _pixels(part), _from(parent, block), _from(part, 0), builder)
        block += part.blocks[1]


def split_blocks(value: SSAValue, parts: Sequence[SSAValue], builder: LoweringBuilder) -> None:
    """Split along channels, each part whole blocks."""
    source = blocked(value, builder)
    block = 0
    for each in parts:
        part = blocked_result(each, builder)
        copy("split", _pixels(part), _from(part, 0), _from(source, block), builder)
        block += part.blocks[1]


def _pixels(part: BlockedBuffer) -> Sequence[Size]:
    """Return the sizes of an NCHWc buffer without its halo."""
    images, blocks, _, _, lanes = part.blocks
    return [images, blocks, *part.sizes[2:], lanes]


def _from(image: BlockedBuffer, block: int) -> AffineAccess:
    """Return the access to images without their halo, from a block of channels on."""
    offsets = [0, block, *image.start, 0]
    return AffineAccess(
        image.buffer, image.blocks, [dim(axis, offset=offset) for axis, offset in enumerate(offsets)]
    )
