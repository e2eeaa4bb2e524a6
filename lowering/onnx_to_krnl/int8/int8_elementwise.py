"""int8 kernels per channel: depthwise convolutions, elementwise groups, and max pooling, in NHWC."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, f32, i8, i32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.lowering.onnx_to_krnl.builders.byte_tables import BYTES, byte_table, found_in, takes_table
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.int8.int8_convolution import pad_channels
from xonnc.lowering.onnx_to_krnl.int8.int8_epilogues import int8_epilogue
from xonnc.lowering.onnx_to_krnl.int8.int8_layout import int8_buffer, int8_result, pixel_indices
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Buffer, Int8Fusion
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import QuantizedMatmul
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import WindowGeometry


def lower_int8_elementwise(fusion: Int8Fusion, builder: LoweringBuilder) -> None:
    """Emit a kernel for an int8 fusion without a matrix product, or with a depthwise convolution."""
    product = fusion.product
    images = [int8_buffer(value, builder) for value in fusion.images]
    source = None if product is None else int8_buffer(product.x, builder)
    target = int8_result(fusion.result, builder)
    depth = target.extents.channels
    count, _, rows, columns = builder.int8.sizes_of(fusion.result)
    numbers = _numbers(fusion, depth)
    if fusion.is_function and takes_table((count, rows, columns, depth)):
        _by_table(fusion, (target, images[0]), builder)
        return
    all_images = [target, *images] if source is None else [target, source, *images]
    kernel = KernelBuilder(
        [buffer_type(image.extents, i8) for image in all_images] + [_type_of(array) for array in numbers]
    )
    buffers = kernel.buffers
    biases = list(buffers[len(all_images) :])
    with kernel.loops([count, rows, columns, depth]) as (number, row, column, channel):
        pixel = number, row, column
        total: SSAValue | None = None
        if product is not None and source is not None:
            corner = product.window.first(source.start)
            total = _sum(
                kernel, product, (buffers[1], biases.pop(0), biases.pop(0)), corner, (*pixel, channel)
            )
        read = [kernel.load(buffer, [channel]) for buffer in biases]
        for image, buffer in zip(images, buffers[len(all_images) - len(images) :], strict=False):
            read.append(kernel.load(buffer, [*pixel_indices(kernel, image, pixel), channel]))
        stored = int8_epilogue(fusion, kernel, total, read)
        kernel.store(stored, buffers[0], [*pixel_indices(kernel, target, pixel), channel])
    name = "int8_elementwise" if product is None else "int8_depthwise"
    inputs = [image.buffer for image in all_images[1:]] + [
        builder.constant_buffer(array) for array in numbers
    ]
    builder.call(name, kernel, [target.buffer], inputs)


def _by_table(fusion: Int8Fusion, images: tuple[Int8Buffer, Int8Buffer], builder: LoweringBuilder) -> None:
    """Emit kernels for a function of one image: one of all bytes, and one that finds those of the image."""
    target, source = images
    of_bytes = KernelBuilder([buffer_type([BYTES], i8)] * 2)
    with of_bytes.loops([BYTES]) as (index,):
        stored = int8_epilogue(fusion, of_bytes, None, [of_bytes.load(of_bytes.buffers[1], [index])])
        of_bytes.store(stored, of_bytes.buffers[0], [index])
    table = byte_table("int8_elementwise_table", of_bytes, i8, [], builder)
    kernel = KernelBuilder([*(buffer_type(image.extents, i8) for image in images), buffer_type([BYTES], i8)])
    count, _, rows, columns = builder.int8.sizes_of(fusion.result)
    with kernel.loops([count, rows, columns, target.extents.channels]) as (*pixel, channel):
        byte = kernel.load(kernel.buffers[1], [*pixel_indices(kernel, source, pixel), channel])
        found = found_in(kernel, kernel.buffers[2], byte, builder)
        kernel.store(found, kernel.buffers[0], [*pixel_indices(kernel, target, pixel), channel])
    builder.call("int8_elementwise", kernel, [target.buffer], [source.buffer, table])


def _numbers(fusion: Int8Fusion, depth: int) -> list[npt.NDArray[np.generic]]:
    """
    Return the parameters per channel: accumulator starts, weights, scale and bias, then other constants.
    """
    found: list[npt.NDArray[np.generic]] = []
    product = fusion.product
    if product is not None:
        matrix = product.weights.reshape(product.weights.shape[0], -1).T.astype(np.int32)
        if product.offsets is not None:
            matrix += product.offsets
        padded = np.zeros((len(matrix), depth), np.int32)
        padded[:, : matrix.shape[1]] = matrix
        found += [pad_channels(product.starts, depth), padded]
        found += [pad_channels(array, depth) for array in (product.scales, product.bias) if array is not None]
    for value in fusion.channels:
        array = constant_elements(value)
        assert array is not None
        found.append(pad_channels(array.reshape(-1), depth))
    return found


def _type_of(array: npt.NDArray[np.generic]) -> MemRefType:
    return buffer_type(array.shape, i32 if array.dtype == np.int32 else f32)


def _sum(
    kernel: KernelBuilder,
    product: QuantizedMatmul,
    buffers: tuple[SSAValue, SSAValue, SSAValue],
    corner: Sequence[Size],
    indices: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
) -> SSAValue:
    """Emit the i32 sum of a depthwise window, unrolled."""
    source, starts, weights = buffers
    number, row, column, channel = indices
    window = product.window
    total = Scalar(kernel, kernel.load(starts, [channel]))
    for step, at in enumerate(itertools.product(*(range(size) for size in window.kernel))):
        pixel = [
            kernel.affine(index, stride, first + each * dilation)
            for index, stride, first, each, dilation in zip(
                (row, column), window.strides, corner, at, window.dilations, strict=True
            )
        ]
        byte = kernel.add(arith.ExtUIOp(kernel.load(source, [number, *pixel, channel]), i32))
        weight = Scalar(kernel, kernel.load(weights, [kernel.index(step), channel]))
        total = total + Scalar(kernel, byte) * weight
    return total.value


def lower_int8_max_pool(op: Operation, window: WindowGeometry, builder: LoweringBuilder) -> None:
    """Maximum of each window; where it reaches beyond the edge, the edge is read again."""
    value = op.operands[0]
    source, target = int8_buffer(value, builder), int8_result(op.results[0], builder)
    limits = builder.int8.sizes_of(value)[2:]
    images, _, rows, columns = builder.int8.sizes_of(op.results[0])
    kernel = KernelBuilder([buffer_type(image.extents, i8) for image in (target, source)])
    with kernel.loops([images, rows, columns, target.extents.channels]) as (number, row, column, channel):
        total: SSAValue | None = None
        for indices in itertools.product(*(range(size) for size in window.kernel)):
            at = [number]
            for axis, index in enumerate((row, column)):
                offset = window.first(source.start)[axis] + indices[axis] * window.dilations[axis]
                here = Scalar(kernel, kernel.affine(index, window.strides[axis], offset))
                if window.begins[axis]:
                    here = here.maximum(source.start[axis])
                if window.ends[axis]:
                    last = kernel.size(limits[axis] + (source.start[axis] - 1))
                    here = here.minimum(Scalar(kernel, last))
                at.append(here.value)
            byte = kernel.load(kernel.buffers[1], [*at, channel])
            total = byte if total is None else kernel.add(arith.MaxUIOp(total, byte))
        assert total is not None
        pixel = [
            kernel.affine(index, 1, first) for index, first in zip((row, column), target.start, strict=True)
        ]
        kernel.store(total, kernel.buffers[0], [number, *pixel, channel])
    builder.call("maxpool", kernel, [target.buffer], [source.buffer])
