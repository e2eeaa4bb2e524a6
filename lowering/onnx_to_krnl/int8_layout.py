"""Images of bytes with all channels of a pixel side by side: their buffers, and the ways there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.lowering.onnx_to_krnl.channel_blocking import blocked
from xonnc.lowering.onnx_to_krnl.halos import fill_halo
from xonnc.lowering.onnx_to_krnl.int8_fusion import ByteImage, ByteShape
from xonnc.lowering.onnx_to_krnl.int8_patterns import SIGN, Rounding, has_sign, rounding_of
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.quantize_linear import rounded_byte
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import Side, copy, loop, plain
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, volume


def result_in_bytes(value: SSAValue, to: Lowering) -> ByteImage:
    """The buffer for a result that lies as an image, the byte that stands for 0 in its halo."""
    layouts = to.bytes
    shape = layouts.shape(value)
    image = ByteImage(to.allocate(shape, i8), layouts.halo(value), shape)
    if any(image.halo):
        zero = layouts.zeros[value]
        turn = _turned_sign if has_sign(value) else _plain
        fill_halo(image, image.extents, i8, zero if isinstance(zero, int) else (to.buffer(zero), turn), to)
    to.images[value] = image
    to.filled.add(value)
    to.made.add(value)
    return image


def byte_image(value: SSAValue, to: Lowering) -> ByteImage:
    """A value as an image; copied there behind the op that makes it if it does not lie so."""
    if value in to.images:
        return to.images[value]
    source = to.buffer(value)
    with to.behind(value, source):
        made = result_in_bytes(value, to)
        _fill("bytes", made, (value, source), _turned_sign if has_sign(value) else _plain, to)
    return made


Read = Callable[[Kernel, SSAValue], SSAValue]
"""The byte that becomes of an element."""


def _plain(_: Kernel, number: SSAValue) -> SSAValue:
    return number


def _turned_sign(kernel: Kernel, number: SSAValue) -> SSAValue:
    """A byte with sign as one without, or back."""
    return kernel.add(arith.XOrIOp(number, kernel.number(SIGN, i8)))


def _fill(name: str, image: ByteImage, source: tuple[SSAValue, SSAValue], read: Read, to: Lowering) -> None:
    """Writes an image from a tensor in rows, the value and its buffer."""
    value, buffer = source
    images, channels, rows, columns = to.bytes.sizes_of(value)
    if len(to.sizes(value)) != 4:
        kernel = Kernel(
            [buffer_type(image.extents, i8), buffer_type([columns, channels], element_of(buffer))]
        )
        with kernel.loops([columns, channels]) as (column, channel):
            byte = read(kernel, kernel.load(kernel.buffers[1], [column, channel]))
            place = inside(kernel, image, (kernel.index(0), kernel.index(0), column))
            kernel.store(byte, kernel.buffers[0], [*place, channel])
        to.call(name, kernel, [image.buffer], [buffer])
    elif image.extents.channels == 4:
        _fill_few(name, image, source, read, to)
    else:
        # In rows first, since that can be done in vectors; then squares of bytes are turned.
        if read is not _plain:
            made = to.allocate([images, channels, rows, columns], i8)
            _map(name, made, buffer, images * channels * rows * columns, read, to)
            buffer = made
        copy(name, *_sides(image, buffer, value, to), to)


def _fill_few(
    name: str, image: ByteImage, source: tuple[SSAValue, SSAValue], read: Read, to: Lowering
) -> None:
    """All channels of a pixel at once, which are four with what is not used."""
    value, buffer = source
    images, channels, rows, columns = to.bytes.sizes_of(value)
    kernel = Kernel(
        [
            buffer_type(image.extents[:3], i32),
            buffer_type([images, channels, rows, columns], element_of(buffer)),
        ]
    )
    with kernel.loops([images, rows, columns]) as (number, row, column):
        total: SSAValue | None = None
        for channel in range(channels):
            held = kernel.load(kernel.buffers[1], [number, kernel.index(channel), row, column])
            byte = kernel.add(arith.ExtUIOp(read(kernel, held), i32))
            if channel:
                byte = kernel.add(arith.ShLIOp(byte, kernel.number(8 * channel, i32)))
            total = byte if total is None else kernel.add(arith.OrIOp(total, byte))
        assert total is not None
        kernel.store(total, kernel.buffers[0], inside(kernel, image, (number, row, column)))
    to.call(name, kernel, [image.buffer], [buffer])


def _map(name: str, target: SSAValue, source: SSAValue, count: Size, read: Read, to: Lowering) -> None:
    """What becomes of each element of a buffer, in another or the same."""
    is_same = target is source
    types = [buffer_type([count], element_of(buffer)) for buffer in (target, source)]
    kernel = Kernel(types[:1] if is_same else types)
    with kernel.loops([count]) as (place,):
        byte = read(kernel, kernel.load(kernel.buffers[-1], [place]))
        kernel.store(byte, kernel.buffers[0], [place])
    to.call(name, kernel, [target], [] if is_same else [source])


def _sides(
    image: ByteImage, buffer: SSAValue, value: SSAValue, to: Lowering
) -> tuple[list[Size], Side, Side]:
    """Loops over an image without its halo, and the places there and in rows."""
    images, channels, rows, columns = to.bytes.sizes_of(value)
    shape, (top, left) = image.extents, image.start
    if not any(image.halo):
        # All pixels are one row.
        shape, rows, columns = ByteShape(images, 1, rows * columns, shape.channels), 1, rows * columns
    in_image = Side(image.buffer, shape, [loop(0), loop(1, offset=top), loop(2, offset=left), loop(3)])
    in_rows = Side(buffer, (images, channels, rows, columns), [loop(0), loop(3), loop(1), loop(2)])
    return [images, rows, columns, channels], in_image, in_rows


def inside(kernel: Kernel, image: ByteImage, pixel: Sequence[SSAValue]) -> list[SSAValue]:
    """The indices of a pixel in the buffer of its image."""
    number, row, column = pixel
    top, left = image.start
    return [number, kernel.scaled(row, 1, top), kernel.scaled(column, 1, left)]


def bytes_in_rows(value: SSAValue, to: Lowering) -> SSAValue:
    """The buffer of a value in rows, copied from an image behind the op that makes it."""
    image = to.images[value]
    with to.behind(value, image.buffer):
        buffer = image_in_rows(value, image, to)
        if has_sign(value):
            _map("rows", buffer, buffer, volume(to.sizes(value)), _turned_sign, to)
    return buffer


def image_in_rows(value: SSAValue, image: ByteImage, to: Lowering) -> SSAValue:
    """Copies an image into the buffer of a value, without the channels behind the last."""
    buffer = to.result(value)
    if len(to.sizes(value)) == 4:
        sizes, in_image, in_rows = _sides(image, buffer, value, to)
        copy("rows", sizes, in_rows, in_image, to)
        return buffer
    _, channels, _, columns = to.bytes.sizes_of(value)
    in_image = Side(image.buffer, [columns, image.extents.channels], plain(2))
    copy("rows", [columns, channels], Side(buffer, [columns, channels], plain(2)), in_image, to)
    return buffer


def rounded(steps: Scalar, rounding: Rounding) -> tuple[Scalar, Scalar]:
    """
    A number of steps as the nearest byte, halves to the even step, saturated; NaN as the least.

    Gives the steps, a whole number between the ends, and the byte in 32 bits.
    """
    whole, bits = rounded_byte(steps, -rounding.zero, 255 - rounding.zero)
    return whole, bits + rounding.zero


def lower_head(op: QuantizeLinearOp, to: Lowering) -> None:
    """A QuantizeLinear whose bytes chains read, straight into an image."""
    rounding = rounding_of(op)
    assert rounding is not None

    def read(kernel: Kernel, number: SSAValue) -> SSAValue:
        return rounded(Scalar(kernel, number) / rounding.scale, rounding)[1].to(i8).value

    if op.x in to.filled and op.x in to.blocks:
        _from_blocks(op, read, to)
        return
    source = op.x, to.buffer(op.x)
    _fill("quantizelinear", result_in_bytes(op.y, to), source, read, to)


def _from_blocks(op: QuantizeLinearOp, read: Read, to: Lowering) -> None:
    """From an image of f32 in blocks of channels: what lies behind the last channel is never asked for."""
    source, image = blocked(op.x, to), result_in_bytes(op.y, to)
    images, blocks, _, _, lanes = source.blocks
    _, _, rows, columns = source.sizes
    depth = min(lanes, image.extents.channels)
    kernel = Kernel([buffer_type(image.extents, i8), buffer_type(source.blocks, f32)])
    top, left = source.start
    with kernel.loops([images, blocks, rows, columns, depth]) as (number, block, row, column, lane):
        place = [number, block, kernel.scaled(row, 1, top), kernel.scaled(column, 1, left), lane]
        byte = read(kernel, kernel.load(kernel.buffers[1], place))
        channel = kernel.plus(kernel.scaled(block, lanes), lane)
        kernel.store(byte, kernel.buffers[0], [*inside(kernel, image, (number, row, column)), channel])
    to.call("quantizelinear", kernel, [image.buffer], [source.buffer])
