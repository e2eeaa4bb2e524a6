"""int8 tensors in NHWC: allocation, quantization into them, and conversion from and to row-major NCHW."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked
from xonnc.lowering.onnx_to_krnl.builders.halos import fill_halo
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, copy, dim
from xonnc.lowering.onnx_to_krnl.int8.quantize_linear import round_within
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Buffer, NHWCShape
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import (
    SIGN_OFFSET,
    QuantizationParams,
    is_signed,
    quantization_params,
)
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume


def int8_result(value: SSAValue, builder: LoweringBuilder) -> Int8Buffer:
    """Return the NHWC buffer for a result, its halo filled with the zero point."""
    layouts = builder.int8
    shape = layouts.shape(value)
    image = Int8Buffer(builder.allocate(shape, i8), layouts.halo(value), shape)
    if any(image.halo):
        zero = layouts.zeros[value]
        convert = _flip_sign if is_signed(value) else _plain
        fill_halo(
            image,
            image.extents,
            i8,
            zero if isinstance(zero, int) else (builder.buffer(zero), convert),
            builder,
        )
    builder.int8_buffers[value] = image
    builder.written.add(value)
    builder.materialized.add(value)
    return image


def int8_buffer(value: SSAValue, builder: LoweringBuilder) -> Int8Buffer:
    """Return a value in NHWC; converted after the op that produces it, if it is row-major."""
    if value in builder.int8_buffers:
        return builder.int8_buffers[value]
    source = builder.buffer(value)
    with builder.insertion_after(value, source):
        made = int8_result(value, builder)
        _fill("int8_to_nhwc", made, (value, source), _flip_sign if is_signed(value) else _plain, builder)
    return made


Read = Callable[[KernelBuilder, SSAValue], SSAValue]
"""Converts a loaded element to the int8 that is stored."""


def _plain(_: KernelBuilder, number: SSAValue) -> SSAValue:
    return number


def _flip_sign(kernel: KernelBuilder, number: SSAValue) -> SSAValue:
    """Flip the sign bit: int8 to uint8 with an offset of 128, or back."""
    return kernel.add(arith.XOrIOp(number, kernel.constant(SIGN_OFFSET, i8)))


def _fill(
    name: str, image: Int8Buffer, source: tuple[SSAValue, SSAValue], read: Read, builder: LoweringBuilder
) -> None:
    """Write an NHWC buffer from a row-major tensor, given as value and buffer."""
    value, buffer = source
    images, channels, rows, columns = builder.int8.sizes_of(value)
    if len(builder.sizes(value)) != 4:
        kernel = KernelBuilder(
            [buffer_type(image.extents, i8), buffer_type([columns, channels], element_of(buffer))]
        )
        with kernel.loops([columns, channels]) as (column, channel):
            byte = read(kernel, kernel.load(kernel.buffers[1], [column, channel]))
            indices = pixel_indices(kernel, image, (kernel.index(0), kernel.index(0), column))
            kernel.store(byte, kernel.buffers[0], [*indices, channel])
        builder.call(name, kernel, [image.buffer], [buffer])
    elif image.extents.channels == 4:
        _fill_few(name, image, source, read, builder)
    else:
        # Convert elements in NCHW first, which vectorizes; then transpose squares of int8 in registers.
        if read is not _plain:
            made = builder.allocate([images, channels, rows, columns], i8)
            _map(name, made, buffer, images * channels * rows * columns, read, builder)
            buffer = made
        copy(name, *_sides(image, buffer, value, builder), builder)


def _fill_few(
    name: str, image: Int8Buffer, source: tuple[SSAValue, SSAValue], read: Read, builder: LoweringBuilder
) -> None:
    """Write an NHWC buffer of up to 4 channels: a pixel is assembled as one i32."""
    value, buffer = source
    images, channels, rows, columns = builder.int8.sizes_of(value)
    kernel = KernelBuilder(
        [
            buffer_type(image.extents[:3], i32),
            buffer_type([images, channels, rows, columns], element_of(buffer)),
        ]
    )
    with kernel.loops([images, rows, columns]) as (number, row, column):
        total: SSAValue | None = None
        for channel in range(channels):
            loaded = kernel.load(kernel.buffers[1], [number, kernel.index(channel), row, column])
            byte = kernel.add(arith.ExtUIOp(read(kernel, loaded), i32))
            if channel:
                byte = kernel.add(arith.ShLIOp(byte, kernel.constant(8 * channel, i32)))
            total = byte if total is None else kernel.add(arith.OrIOp(total, byte))
        assert total is not None
        kernel.store(total, kernel.buffers[0], pixel_indices(kernel, image, (number, row, column)))
    builder.call(name, kernel, [image.buffer], [buffer])


def _map(
    name: str, target: SSAValue, source: SSAValue, count: Size, read: Read, builder: LoweringBuilder
) -> None:
    """Convert each element of a buffer into another buffer, or in place."""
    is_same = target is source
    types = [buffer_type([count], element_of(buffer)) for buffer in (target, source)]
    kernel = KernelBuilder(types[:1] if is_same else types)
    with kernel.loops([count]) as (index,):
        byte = read(kernel, kernel.load(kernel.buffers[-1], [index]))
        kernel.store(byte, kernel.buffers[0], [index])
    builder.call(name, kernel, [target], [] if is_same else [source])


def _sides(
    image: Int8Buffer, buffer: SSAValue, value: SSAValue, builder: LoweringBuilder
) -> tuple[list[Size], AffineAccess, AffineAccess]:
    """Return the loops over an image without its halo, and the accesses to NHWC and to NCHW."""
    images, channels, rows, columns = builder.int8.sizes_of(value)
    shape, (top, left) = image.extents, image.start
    if not any(image.halo):
        # Without a halo, all pixels are contiguous: one row.
        shape, rows, columns = NHWCShape(images, 1, rows * columns, shape.channels), 1, rows * columns
    in_image = AffineAccess(image.buffer, shape, [dim(0), dim(1, offset=top), dim(2, offset=left), dim(3)])
    row_major = AffineAccess(buffer, (images, channels, rows, columns), [dim(0), dim(3), dim(1), dim(2)])
    return [images, rows, columns, channels], in_image, row_major


def pixel_indices(kernel: KernelBuilder, image: Int8Buffer, pixel: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the indices of a pixel in the buffer of its image."""
    number, row, column = pixel
    top, left = image.start
    return [number, kernel.affine(row, 1, top), kernel.affine(column, 1, left)]


def int8_to_row_major(value: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Return the row-major buffer of a value, converted from NHWC after the op that produces it."""
    image = builder.int8_buffers[value]
    with builder.insertion_after(value, image.buffer):
        buffer = copy_to_row_major(value, image, builder)
        if is_signed(value):
            _map("int8_to_row_major", buffer, buffer, volume(builder.sizes(value)), _flip_sign, builder)
    return buffer


def copy_to_row_major(value: SSAValue, image: Int8Buffer, builder: LoweringBuilder) -> SSAValue:
    """Copy an NHWC buffer to the row-major buffer of a value, without padded channels."""
    buffer = builder.result(value)
    if len(builder.sizes(value)) == 4:
        sizes, in_image, row_major = _sides(image, buffer, value, builder)
        copy("int8_to_row_major", sizes, row_major, in_image, builder)
        return buffer
    _, channels, _, columns = builder.int8.sizes_of(value)
    in_image = AffineAccess.whole(image.buffer, [columns, image.extents.channels])
    copy(
        "int8_to_row_major",
        [columns, channels],
        AffineAccess.whole(buffer, [columns, channels]),
        in_image,
        builder,
    )
    return buffer


def quantized(steps: Scalar, quantization: QuantizationParams) -> tuple[Scalar, Scalar]:
    """
    Round a value in units of the scale to even, and saturate to uint8; NaN becomes 0.

    Returns the rounded value without the zero point as f32, and the uint8 as i32.
    """
    rounded, bits = round_within(steps, -quantization.zero, 255 - quantization.zero)
    return rounded, bits + quantization.zero


def lower_quantize(op: QuantizeLinearOp, builder: LoweringBuilder) -> None:
    """Quantize straight into NHWC."""
    quantization = quantization_params(op)
    assert quantization is not None

    def read(kernel: KernelBuilder, number: SSAValue) -> SSAValue:
        return quantized(Scalar(kernel, number) / quantization.scale, quantization)[1].to(i8).value

    if op.x in builder.blocked_buffers and op.x in builder.written and len(builder.sizes(op.x)) == 4:
        _from_blocks(op, read, builder)
        return
    source = op.x, builder.buffer(op.x)
    _fill("quantizelinear", int8_result(op.y, builder), source, read, builder)


def _from_blocks(op: QuantizeLinearOp, read: Read, builder: LoweringBuilder) -> None:
    """Quantize from NCHWc f32; lanes beyond the last channel are not read."""
    source, image = blocked(op.x, builder), int8_result(op.y, builder)
    images, blocks, _, _, lanes = source.blocks
    _, _, rows, columns = source.sizes
    depth = min(lanes, image.extents.channels)
    kernel = KernelBuilder([buffer_type(image.extents, i8), buffer_type(source.blocks, f32)])
    top, left = source.start
    with kernel.loops([images, blocks, rows, columns, depth]) as (number, block, row, column, lane):
        indices = [number, block, kernel.affine(row, 1, top), kernel.affine(column, 1, left), lane]
        byte = read(kernel, kernel.load(kernel.buffers[1], indices))
        channel = kernel.plus(kernel.affine(block, lanes), lane)
        kernel.store(byte, kernel.buffers[0], [*pixel_indices(kernel, image, (number, row, column)), channel])
    builder.call("quantizelinear", kernel, [image.buffer], [source.buffer])
