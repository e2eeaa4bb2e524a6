"""Images of bytes with all channels of a pixel side by side: their buffers, and the ways there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.lowering.onnx_to_krnl.blocks import blocked
from xonnc.lowering.onnx_to_krnl.byte_chains import ByteImage
from xonnc.lowering.onnx_to_krnl.byte_products import SIGN, Rounding, has_sign, rounding_of, sizes_of
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

ROUNDING = 12582912.0
"""1.5 · 2²³: the last bits of a small float added to it are the nearest whole number, of two the even one."""
ROUNDING_BITS = 0x4B400000


def result_in_bytes(value: SSAValue, to: Lowering) -> ByteImage:
    """The buffer for a result that lies as an image, the byte that stands for 0 in its halo."""
    layouts = to.bytes
    image = ByteImage(to.allocate(layouts.shape(value), i8), layouts.halo(value))
    if any(image.halo):
        _fill_halo(image, layouts.zeros[value], to)
    to.images[value] = image
    to.filled.add(value)
    to.made.add(value)
    return image


def _fill_halo(image: ByteImage, byte: int, to: Lowering) -> None:
    images, rows, columns, channels = image.shape
    top, left, bottom, right = image.halo
    kernel = Kernel([buffer_type([images, rows, columns * channels], i8)])
    (out,) = kernel.buffers
    with kernel.loops([images]) as (number,):
        zero = kernel.number(byte, i8)
        for first, count in ((0, top), (rows - bottom, bottom)):
            if count:
                with kernel.loops([count, columns * channels]) as (row, place):
                    kernel.store(zero, out, [number, kernel.scaled(row, 1, first), place])
        for first, count in ((0, left), (columns - right, right)):
            if count:
                with kernel.loops([rows - top - bottom, count * channels]) as (row, place):
                    places = [number, kernel.scaled(row, 1, top), kernel.scaled(place, 1, first * channels)]
                    kernel.store(zero, out, places)
    to.call("halo", kernel, [image.buffer], [])


def byte_image(value: SSAValue, to: Lowering) -> ByteImage:
    """A value as an image; copied there behind the op that makes it if it does not lie so."""
    if value in to.images:
        return to.images[value]
    source = to.buffer(value)
    with to.behind(value, source):
        made = result_in_bytes(value, to)
        sign = SIGN if has_sign(value) else 0

        def read(kernel: Kernel, buffer: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
            number = kernel.load(buffer, place)
            return kernel.add(arith.XOrIOp(number, kernel.number(sign, i8))) if sign else number

        _fill("bytes", made, (value, source, buffer_type(to.shape(value), i8)), read, to)
    return made


Read = Callable[[Kernel, SSAValue, Sequence[SSAValue]], SSAValue]
"""The byte that becomes of an element of a buffer."""


def _fill(
    name: str, image: ByteImage, source: tuple[SSAValue, SSAValue, MemRefType], read: Read, to: Lowering
) -> None:
    """Writes an image from a tensor in rows: four channels of a pixel at once where it has no more."""
    value, buffer, type_ = source
    images, channels, rows, columns = sizes_of(value)
    depth = image.shape[-1]
    is_matrix = len(type_.get_shape()) != 4
    if depth == 4 and not is_matrix:
        kernel = Kernel([buffer_type(image.shape[:3], i32), type_])
        with kernel.loops([images, rows, columns]) as (number, row, column):
            total: SSAValue | None = None
            for channel in range(channels):
                place = [number, kernel.index(channel), row, column]
                byte = kernel.add(arith.ExtUIOp(read(kernel, kernel.buffers[1], place), i32))
                if channel:
                    byte = kernel.add(arith.ShLIOp(byte, kernel.number(8 * channel, i32)))
                total = byte if total is None else kernel.add(arith.OrIOp(total, byte))
            assert total is not None
            kernel.store(total, kernel.buffers[0], _inside(kernel, image, (number, row, column)))
    else:
        matrix = buffer_type([columns, channels], type_.element_type) if is_matrix else type_
        kernel = Kernel([buffer_type(image.shape, i8), matrix])
        with kernel.loops([images, rows, columns, channels]) as (number, row, column, channel):
            place = [column, channel] if is_matrix else [number, channel, row, column]
            byte = read(kernel, kernel.buffers[1], place)
            kernel.store(byte, kernel.buffers[0], [*_inside(kernel, image, (number, row, column)), channel])
    to.call(name, kernel, [image.buffer], [buffer])


def _inside(kernel: Kernel, image: ByteImage, pixel: Sequence[SSAValue]) -> list[SSAValue]:
    number, row, column = pixel
    top, left = image.start
    return [number, kernel.scaled(row, 1, top), kernel.scaled(column, 1, left)]


def bytes_in_rows(value: SSAValue, to: Lowering) -> SSAValue:
    """The buffer of a value in rows, copied from an image behind the op that makes it."""
    image = to.images[value]
    with to.behind(value, image.buffer):
        return in_rows(value, image, SIGN if has_sign(value) else 0, to)


def in_rows(value: SSAValue, image: ByteImage, sign: int, to: Lowering) -> SSAValue:
    """Copies an image into the buffer of a value, without the channels behind the last."""
    images, channels, rows, columns = sizes_of(value)
    is_matrix = len(to.shape(value)) != 4
    element = element_of(image.buffer)
    buffer = to.result(value)
    shape = [columns, channels] if is_matrix else [images, channels, rows, columns]
    kernel = Kernel([buffer_type(shape, element), buffer_type(image.shape, element)])
    order = [images, rows, columns, channels] if is_matrix else [images, channels, rows, columns]
    with kernel.loops(order) as indices:
        number, *rest = indices
        row, column, channel = rest if is_matrix else (rest[1], rest[2], rest[0])
        held = kernel.load(kernel.buffers[1], [*_inside(kernel, image, (number, row, column)), channel])
        held = kernel.add(arith.XOrIOp(held, kernel.number(sign, element))) if sign else held
        place = [column, channel] if is_matrix else [number, channel, row, column]
        kernel.store(held, kernel.buffers[0], place)
    to.call("rows", kernel, [buffer], [image.buffer])
    return buffer


def rounded(kernel: Kernel, steps: Scalar, rounding: Rounding) -> tuple[Scalar, Scalar]:
    """
    A number of steps as the nearest byte, halves to the even step, saturated; what is no number as the least.

    Gives the steps, a whole number between the ends, and the byte in 32 bits.
    """
    low, high = -rounding.zero, 255 - rounding.zero
    kept = (steps > low).choose(steps, low)
    kept = (kept < high).choose(kept, high)
    shifted = kept + ROUNDING
    bits = Scalar(kernel, kernel.add(arith.BitcastOp(shifted.value, i32)))
    return shifted - ROUNDING, bits - (ROUNDING_BITS - rounding.zero)


def lower_head(op: QuantizeLinearOp, to: Lowering) -> None:
    """A QuantizeLinear whose bytes chains read, straight into an image."""
    rounding = rounding_of(op)
    assert rounding is not None

    def read(kernel: Kernel, buffer: SSAValue, place: Sequence[SSAValue]) -> SSAValue:
        steps = Scalar(kernel, kernel.load(buffer, place)) / rounding.scale
        return rounded(kernel, steps, rounding)[1].to(i8).value

    if op.x in to.filled and op.x in to.blocks:
        _from_blocks(op, read, to)
        return
    source = op.x, to.buffer(op.x), buffer_type(to.shape(op.x), f32)
    _fill("quantizelinear", result_in_bytes(op.y, to), source, read, to)


def _from_blocks(op: QuantizeLinearOp, read: Read, to: Lowering) -> None:
    """From an image of f32 in blocks of channels: what lies behind the last channel is never asked for."""
    source, image = blocked(op.x, to), result_in_bytes(op.y, to)
    images, blocks, _, _, lanes = source.shape
    _, _, rows, columns = source.sizes
    depth = min(lanes, image.shape[-1])
    kernel = Kernel([buffer_type(image.shape, i8), buffer_type(source.shape, f32)])
    top, left = source.start
    with kernel.loops([images, blocks, rows, columns, depth]) as (number, block, row, column, lane):
        place = [number, block, kernel.scaled(row, 1, top), kernel.scaled(column, 1, left), lane]
        byte = read(kernel, kernel.buffers[1], place)
        channel = kernel.plus(kernel.scaled(block, lanes), lane)
        kernel.store(byte, kernel.buffers[0], [*_inside(kernel, image, (number, row, column)), channel])
    to.call("quantizelinear", kernel, [image.buffer], [source.buffer])
