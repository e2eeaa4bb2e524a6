"""Images in blocks of channels: their buffers, and the ways there and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.onnx_to_krnl.halos import fill_halo
from xonnc.lowering.onnx_to_krnl.layout_plan import Blocked
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.strided_copies import Along, Side, copy, loop
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import known
from xonnc.rewriting.patterns import Array


def result_in_blocks(value: SSAValue, to: Lowering) -> Blocked:
    """The buffer for a result in blocks, its halo set to zero; a part of a larger one if it is joined."""
    made = _cleared(value, to)
    to.filled.add(value)
    to.made.add(value)
    return made


def _cleared(value: SSAValue, to: Lowering) -> Blocked:
    made = _allocate(value, to)
    if any(made.halo):
        _clear_halo(made, to)
    return made


def _allocate(value: SSAValue, to: Lowering) -> Blocked:
    if value in to.blocks:
        return to.blocks[value]
    sizes, halo, shape = to.layouts.images_of(value), to.layouts.halo(value), to.layouts.shape(value)
    assert sizes is not None
    joined = to.layouts.joined.get(value)
    if joined is None:
        buffer = to.allocate(shape, f32)
    else:
        whole = _allocate(joined[0], to)
        assert is_buffer(whole.buffer.type)
        view = memref.SubviewOp.from_static_parameters(
            whole.buffer, whole.buffer.type, [0, joined[1], 0, 0, 0], known(shape), [1] * 5
        )
        buffer = to.insert(view)
    to.blocks[value] = Blocked(buffer, halo, sizes)
    return to.blocks[value]


def _clear_halo(image: Blocked, to: Lowering) -> None:
    """Zeros around each block of each image."""
    images, blocks, *sizes = image.blocks
    fill_halo(image, (images * blocks, *sizes), f32, 0.0, to)


def blocked(value: SSAValue, to: Lowering) -> Blocked:
    """A value in blocks; copied there behind the op that makes it if it does not lie so."""
    if value in to.filled:
        return to.blocks[value]
    source = to.buffer(value)
    with to.behind(value, source):
        target = _cleared(value, to)
        to.filled.add(value)
        _copy(source, target, to, is_blocking=True)
    return target


def _copy(buffer: SSAValue, image: Blocked, to: Lowering, is_blocking: bool) -> None:
    """Between rows and blocks, each channel by itself; the last block may be part unset."""
    images, channels, rows, columns = image.sizes
    shape = image.blocks
    lanes = shape[4]
    whole, rest = divmod(channels, lanes)
    if not any(image.halo):
        # All pixels of a channel are one row.
        rows, columns = 1, rows * columns
        shape = (shape[0], shape[1], rows, columns, lanes)
    for first, count, size in ((0, whole, lanes), (whole, 1, rest)):
        if not count or not size:
            continue
        sizes = [images, count, rows, size, columns]
        channel = Along(((1, lanes), (3, 1)), first * lanes)
        in_rows = Side(buffer, (images, channels, rows, columns), [loop(0), channel, loop(2), loop(4)])
        places = [
            loop(0),
            loop(1, offset=first),
            loop(2, offset=image.halo.top),
            loop(4, offset=image.halo.left),
            loop(3),
        ]
        in_blocks = Side(image.buffer, shape, places)
        if is_blocking:
            copy("block", sizes, in_blocks, in_rows, to)
        else:
            copy("unblock", sizes, in_rows, in_blocks, to)


def unblocked(value: SSAValue, to: Lowering) -> SSAValue:
    """The buffer of a value in rows, copied from blocks behind the op that makes it."""
    image = to.blocks[value]
    with to.behind(value, image.buffer):
        buffer = to.result(value)
        _copy(buffer, image, to, is_blocking=False)
    return buffer


def channel_numbers(array: Array, channels: int, to: Lowering) -> SSAValue:
    """A number for each channel in blocks, zeros behind the last; one number is for all."""
    lanes = to.layouts.lanes
    blocks = -(-channels // lanes)
    numbers = np.zeros(blocks * lanes, np.float32)
    numbers[:channels] = array.reshape(-1)
    return to.packed(numbers.reshape(blocks, lanes))


def join(result: SSAValue, parts: Sequence[SSAValue], to: Lowering) -> None:
    """Images joined along their channels: what does not lie in its place is copied there."""
    whole = result_in_blocks(result, to)
    block = 0
    for value in parts:
        part = blocked(value, to)
        if to.layouts.joined.get(value) != (result, block):
            _copy_part(part, whole, block, to)
        block += part.blocks[1]


def _copy_part(part: Blocked, whole: Blocked, block: int, to: Lowering) -> None:
    images, blocks, _, _, lanes = part.blocks
    _, _, rows, columns = part.sizes
    sizes = [images, blocks, rows, columns, lanes]
    copy("join", sizes, _from(whole, block), _from(part, 0), to)


def _from(image: Blocked, block: int) -> Side:
    """Images without their halo, from a block of channels on."""
    offsets = [0, block, *image.start, 0]
    return Side(
        image.buffer, image.blocks, [loop(axis, offset=offset) for axis, offset in enumerate(offsets)]
    )
