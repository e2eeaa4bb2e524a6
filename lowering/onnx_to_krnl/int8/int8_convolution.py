"""int8 convolutions and matrix products with their epilogue, as one kernel (`krnl.int8_conv`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32, i8, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc.dialects.krnl.int8_tiles import Int8ConvOp, StoredOp
from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.int8.int8_epilogues import int8_epilogue
from xonnc.lowering.onnx_to_krnl.int8.int8_layout import (
    copy_to_row_major,
    int8_buffer,
    int8_result,
    pixel_indices,
)
from xonnc.lowering.onnx_to_krnl.int8.int8_weight_offsets import add_weight_offsets, window_sums
from xonnc.lowering.onnx_to_krnl.nn.convolution import pair
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import Int8Buffer, Int8Fusion, NHWCShape
from xonnc.lowering.onnx_to_krnl.planning.int8_patterns import VECTOR, QuantizedMatmul
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import Halo
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, static_or_dynamic
from xonnc.lowering.onnx_to_krnl.planning.tile_keys import conv_key, int8_conv_kind
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import WindowGeometry


def lower_int8_matmul(fusion: Int8Fusion, builder: LoweringBuilder) -> None:
    """
    Emit one kernel call for an int8 convolution or matrix product and its epilogue.

    Weights that exceed 8 bits have their sums corrected before the epilogue, which is a kernel of its own.
    """
    product = fusion.product
    assert product is not None
    if product.offsets is not None and product.scales is not None:
        _lower_scaled_with_offsets(fusion, product, product.offsets, builder)
        return
    target = int8_result(fusion.result, builder) if product.scales is not None else _sums(product, builder)
    _lower_matmul(fusion, product, target, builder)
    if product.scales is None:
        buffer = copy_to_row_major(fusion.result, target, builder)
        if product.offsets is not None:
            add_weight_offsets(product, product.offsets, buffer, builder)


def _lower_scaled_with_offsets(
    fusion: Int8Fusion, product: QuantizedMatmul, offsets: npt.NDArray[np.int32], builder: LoweringBuilder
) -> None:
    """Emit the i32 sums of an int8 product, and its epilogue with `Σ x (w + d) = Σ x w + d Σ x`."""
    unscaled = replace(product, scales=None, bias=None, quantization=None)
    sums = _sums(product, builder)
    _lower_matmul(Int8Fusion(unscaled, (), (), ()), unscaled, sums, builder)
    seen = window_sums(product, builder)
    images = [int8_buffer(value, builder) for value in fusion.images]
    target = int8_result(fusion.result, builder)
    count, _, rows, columns = builder.int8.sizes_of(product.result)
    depth = target.extents.channels
    arrays = (product.scales, product.bias, *map(constant_elements, fusion.channels))
    numbers = [pad_channels(array.reshape(-1), depth) for array in arrays if array is not None]
    corrections = pad_channels(offsets, depth)
    kernel = KernelBuilder(
        [
            buffer_type(target.extents, i8),
            buffer_type(sums.extents, i32),
            buffer_type([count, rows, columns], i32),
            buffer_type(corrections.shape, i32),
            *(buffer_type(array.shape, f32) for array in numbers),
            *(buffer_type(image.extents, i8) for image in images),
        ]
    )
    out, totals, window, correction, *rest = kernel.buffers
    with kernel.loops([count, rows, columns, depth]) as (number, row, column, channel):
        pixel = number, row, column
        total = Scalar(kernel, kernel.load(window, pixel)) * Scalar(
            kernel, kernel.load(correction, [channel])
        )
        total = total + Scalar(kernel, kernel.load(totals, [*pixel, channel]))
        read = [kernel.load(buffer, [channel]) for buffer in rest[: len(numbers)]]
        for image, buffer in zip(images, rest[len(numbers) :], strict=True):
            read.append(kernel.load(buffer, [*pixel_indices(kernel, image, pixel), channel]))
        stored = int8_epilogue(fusion, kernel, total.value, read)
        kernel.store(stored, out, [*pixel_indices(kernel, target, pixel), channel])
    inputs = [sums.buffer, seen, *(builder.constant_buffer(array) for array in (corrections, *numbers))]
    builder.call("weight_offsets", kernel, [target.buffer], [*inputs, *(image.buffer for image in images)])


def _lower_matmul(
    fusion: Int8Fusion, product: QuantizedMatmul, target: Int8Buffer, builder: LoweringBuilder
) -> None:
    """Emit the kernel call of a product and its epilogue, without the offsets of weights."""
    source = int8_buffer(product.x, builder)
    others = [int8_buffer(value, builder) for value in fusion.images]
    lanes, depth, products = (
        builder.target.vector_bytes // 4,
        source.extents.channels,
        builder.target.int8_dot,
    )
    shapes, out = _shapes(builder.int8.sizes_of(fusion.result), product.window, [target, source, *others])
    rows, columns = out
    window = product.window
    windows = window.kernel, window.strides, window.dilations
    groups = product.groups
    # Without groups, channels that pad the input have weights of 0.
    group_depth = depth if groups == 1 else product.weights.shape[1]
    vectors = target.extents.channels // lanes // groups
    kind = int8_conv_kind(groups)
    key = conv_key(kind, (depth, target.extents.channels), windows, out)
    tile = builder.tiles.conv(key, columns, vectors, 0)
    terms = 4 if products else 2
    channels = -(-product.weights.shape[0] // VECTOR) * VECTOR
    width = lanes * tile[1]
    sizes = {"groups": groups, "channels": channels, "depth": group_depth, "width": width, "terms": terms}
    packed = builder.packed(product.weights, "int8_conv", sizes)
    buffers = [target.buffer, source.buffer, packed]
    types = [
        buffer_type(shape, element_of(image.buffer))
        for shape, image in zip(shapes, (target, source), strict=False)
    ]
    assert is_buffer(packed.type)
    types.append(packed.type)
    numbers = [
        pad_channels(array.reshape(-1), target.extents.channels)
        for array in (product.starts, product.scales, product.bias, *map(constant_elements, fusion.channels))
        if array is not None
    ]
    for number, array in enumerate(numbers):
        runtime_zero_point = None if number else product.runtime_zero_point
        buffers.append(
            builder.constant_buffer(array)
            if runtime_zero_point is None
            else _subtract_runtime_zero_point(product, array, runtime_zero_point, builder)
        )
        types.append(buffer_type(array.shape, i32 if array.dtype == np.int32 else f32))
    for image, shape in zip(others, shapes[2:], strict=True):
        buffers.append(image.buffer)
        types.append(buffer_type(shape, i8))
    # Windows begin in the halo, which is at least as wide as the pads.
    first = window.first(source.start)
    properties: dict[str, Attribute] = {
        "kernel": pair(window.kernel),
        "strides": pair(window.strides),
        "dilations": pair(window.dilations),
        "start": pair(map(static_or_dynamic, first)),
        "out": pair(map(static_or_dynamic, out)),
        "out_start": pair(target.start),
        "image_starts": pair([index for image in others for index in image.start]),
        "tile": pair(tile),
        "lanes": IntegerAttr(lanes, i64),
    }
    if groups > 1:
        properties["groups"] = IntegerAttr(groups, i64)
    if products:
        properties["products"] = StringAttr(products)
    kernel = KernelBuilder(types)
    y, x, w, starts, *rest = kernel.buffers
    channels, images = rest[: len(numbers) - 1], rest[len(numbers) - 1 :]
    body = _epilogue_region(fusion, kernel, [element_of(buffer) for buffer in rest])
    count = target.extents.images
    iterations = count * (groups * -(-vectors // tile[1]) * rows)
    dynamic_sizes = [kernel.size(size) for size in (count, rows, columns, *first) if not is_static(size)]
    if not is_static(iterations):
        # The call passes the number of iterations as an argument; make the kernel take it.
        kernel.size(iterations)
    operands = [y, x, w, starts, channels, images, kernel.add_range_arguments(), dynamic_sizes]
    kernel.block.add_op(Int8ConvOp(operands=operands, properties=properties, regions=[body]))
    name = "int8_conv" if sum(window.kernel) > 2 else "int8_gemm"
    builder.call(name, kernel, buffers[:1], buffers[1:], iterations)


def _subtract_runtime_zero_point(
    product: QuantizedMatmul, starts: npt.NDArray[np.generic], zero: SSAValue, builder: LoweringBuilder
) -> SSAValue:
    """Subtract the run-time zero point of `x`: `starts - zero · Σ w` for each output channel."""
    sums = pad_channels(product.weight_sums, len(starts))
    made = builder.allocate(starts.shape, i32)
    kernel = Kernel(builder, "zero_point_bias", [made], [starts, sums, (zero, [1])])
    out, first, factors, zero_point = kernel.buffers
    with kernel.loops(starts.shape) as (channel,):
        offset = zero_point.read_as(i32, 0)
        out[channel] = first[channel] - offset * factors[channel]
    kernel.call()
    return made


def _sums(product: QuantizedMatmul, builder: LoweringBuilder) -> Int8Buffer:
    """Return a buffer for i32 sums, padded to whole vectors."""
    images, channels, rows, columns = builder.int8.sizes_of(product.result)
    shape = NHWCShape(images, rows, columns, -(-channels // VECTOR) * VECTOR)
    return Int8Buffer(builder.allocate(shape, i32), Halo(), shape)


def _shapes(
    sizes: tuple[Size, int, Size, Size], window: WindowGeometry, images: Sequence[Int8Buffer]
) -> tuple[list[NHWCShape], tuple[Size, Size]]:
    """
    Return the shapes of the result and the operands, and the result's rows and columns.

    1x1 convolutions without halos are computed as one long row.
    """
    _, _, rows, columns = sizes
    is_plain = window.kernel == (1, 1) and window.strides == (1, 1) and not window.is_padded
    if rows == 1 or not is_plain or any(any(image.halo) for image in images):
        return [image.extents for image in images], (rows, columns)
    shapes = [NHWCShape(image.extents.images, 1, rows * columns, image.extents.channels) for image in images]
    return shapes, (1, rows * columns)


def pad_channels(array: npt.NDArray[np.generic], count: int) -> npt.NDArray[np.generic]:
    """Zero-pad values per channel to `count`."""
    numbers = np.zeros(count, array.dtype)
    numbers[: array.size] = array
    return numbers


def _epilogue_region(fusion: Int8Fusion, kernel: KernelBuilder, elements: Sequence[Attribute]) -> Region:
    """Build the region from an i32 sum to the stored element."""
    body = Block(arg_types=[i32, *elements])
    outside, kernel.block = kernel.block, body
    total, *read = body.args
    kernel.block.add_op(StoredOp(int8_epilogue(fusion, kernel, total, read)))
    kernel.block = outside
    return Region(body)
