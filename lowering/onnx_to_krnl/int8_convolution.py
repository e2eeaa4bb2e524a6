"""Products of bytes and what is done to their sums as one kernel (`krnl.byte_conv`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as places_of

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, StringAttr, f32, i8, i16, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc.dialects.krnl.int8_tiles import ByteConvOp, StoredOp
from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.lowering.onnx_to_krnl.convolution import pair
from xonnc.lowering.onnx_to_krnl.int8_epilogues import stored_for
from xonnc.lowering.onnx_to_krnl.int8_fusion import VECTOR, ByteChain, ByteImage, ByteShape
from xonnc.lowering.onnx_to_krnl.int8_layout import byte_image, image_in_rows, result_in_bytes
from xonnc.lowering.onnx_to_krnl.int8_patterns import Product
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.layout_plan import Halo
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_known
from xonnc.lowering.onnx_to_krnl.tile_keys import conv_key
from xonnc.lowering.onnx_to_krnl.window_geometry import Window

MANY_PIXELS = 64
"""Pixels of a row for which tiles are chosen where a run tells how many there are."""


def lower_byte_chain(chain: ByteChain, to: Lowering) -> None:
    """One call of a kernel for a product of bytes and all that is done to its sums."""
    product = chain.product
    assert product is not None
    source = byte_image(product.x, to)
    others = [byte_image(value, to) for value in chain.images]
    target = _target(chain, product, to)
    lanes, depth, products = to.target.vector_bytes // 4, source.extents.channels, to.target.byte_products
    shapes, out = _shapes(to.bytes.sizes_of(chain.result), product.window, [target, source, *others])
    rows, columns = out
    window = product.window
    windows = window.kernel, window.strides, window.dilations
    key = conv_key("byte_conv i8", (depth, target.extents.channels), windows, out)
    tile = to.tiles.conv(key, columns if is_known(columns) else MANY_PIXELS, target.extents.channels // lanes)
    terms = 4 if products else 2
    packed = packed_weights(product.weights, (lanes, tile[1]), depth, terms)
    buffers = [target.buffer, source.buffer, to.packed(packed)]
    types = [
        buffer_type(shape, element_of(image.buffer))
        for shape, image in zip(shapes, (target, source), strict=False)
    ]
    types.append(buffer_type(packed.shape, i8 if products else i16))
    numbers = [
        by_channel(array.reshape(-1), target.extents.channels)
        for array in (product.starts, product.scales, product.bias, *map(constant_elements, chain.channels))
        if array is not None
    ]
    for number, array in enumerate(numbers):
        moved = None if number else product.moved
        buffers.append(to.packed(array) if moved is None else _moved_starts(product, array, moved, to))
        types.append(buffer_type(array.shape, i32 if array.dtype == np.int32 else f32))
    for image, shape in zip(others, shapes[2:], strict=True):
        buffers.append(image.buffer)
        types.append(buffer_type(shape, i8))
    first = source.start[0] - window.begins[0], source.start[1] - window.begins[1]
    properties: dict[str, Attribute] = {
        "kernel": pair(window.kernel),
        "strides": pair(window.strides),
        "dilations": pair(window.dilations),
        "start": pair(first),
        "out": pair((rows, columns if is_known(columns) else DYNAMIC_INDEX)),
        "out_start": pair(target.start),
        "image_starts": pair([place for image in others for place in image.start]),
        "tile": pair(tile),
        "lanes": IntegerAttr(lanes, i64),
    }
    if products:
        properties["products"] = StringAttr(products)
    kernel = Kernel(types)
    y, x, w, starts, *rest = kernel.buffers
    channels, images = rest[: len(numbers) - 1], rest[len(numbers) - 1 :]
    body = _rest(chain, kernel, [element_of(buffer) for buffer in rest])
    count = target.extents.images
    turns = count * (-(-target.extents.channels // (lanes * tile[1])) * rows)
    open_sizes = [kernel.size(size) for size in (count, columns) if not is_known(size)]
    if not is_known(turns):
        # The kernel takes how many iterations there are, for its range to be all of them.
        kernel.size(turns)
    operands = [y, x, w, starts, channels, images, kernel.take_turns(), open_sizes]
    kernel.block.add_op(ByteConvOp(operands=operands, properties=properties, regions=[body]))
    name = "byteconv" if sum(window.kernel) > 2 else "bytegemm"
    to.call(name, kernel, buffers[:1], buffers[1:], turns)
    if product.scales is None:
        buffer = image_in_rows(chain.result, target, to)
        if product.offsets is not None:
            _add_offsets(product, product.offsets, source, buffer, to)


def _add_offsets(
    product: Product,
    offsets: npt.NDArray[np.int32],
    source: ByteImage,
    sums: SSAValue,
    to: Lowering,
) -> None:
    """
    Adds what all weights of a channel lie above those in 8 bits, times the sum of the bytes that each window
    sees: `Σ x (w + d) = Σ x w + d Σ x`.
    """
    window = product.window
    images, channels, _, _ = to.bytes.sizes_of(product.x)
    _, filters, rows, columns = to.bytes.sizes_of(product.result)
    _, height, width, _ = source.extents
    pixels = to.allocate([images, height, width], i32)
    kernel = Kernel([buffer_type([images, height, width], i32), buffer_type(source.extents, i8)])
    with kernel.loops([images, height, width]) as pixel:
        with kernel.reducing([channels], [kernel.number(0, i32)]) as ((channel,), held, results):
            byte = kernel.add(arith.ExtUIOp(kernel.load(kernel.buffers[1], [*pixel, channel]), i32))
            results.append(kernel.add(arith.AddiOp(held[0], byte)))
        kernel.store(results[0], kernel.buffers[0], pixel)
    to.call("bytesums", kernel, [pixels], [source.buffer])
    seen = to.allocate([images, rows, columns], i32)
    kernel = Kernel([buffer_type([images, rows, columns], i32), buffer_type([images, height, width], i32)])
    first = source.start[0] - window.begins[0], source.start[1] - window.begins[1]
    with kernel.loops([images, rows, columns]) as (image, *pixel):
        total: SSAValue | None = None
        for place in places_of(*(range(size) for size in window.kernel)):
            at = [
                kernel.scaled(index, stride, start + step * dilation)
                for index, stride, start, step, dilation in zip(
                    pixel, window.strides, first, place, window.dilations, strict=True
                )
            ]
            number = kernel.load(kernel.buffers[1], [image, *at])
            total = number if total is None else kernel.add(arith.AddiOp(total, number))
        assert total is not None
        kernel.store(total, kernel.buffers[0], [image, *pixel])
    to.call("windowsums", kernel, [seen], [pixels])
    # Pixels lie side by side in images, channels in rows of matrices.
    is_image = len(to.sizes(product.result)) == 4
    count = rows * columns
    sizes = [images, filters, count] if is_image else [images, count, filters]
    kernel = Kernel([buffer_type(sizes, i32), buffer_type([images, count], i32), buffer_type([filters], i32)])
    with kernel.loops(sizes) as indices:
        channel, pixel = (indices[1], indices[2]) if is_image else (indices[2], indices[1])
        number = Scalar(kernel, kernel.load(kernel.buffers[1], [indices[0], pixel]))
        number = number * Scalar(kernel, kernel.load(kernel.buffers[2], [channel]))
        number = number + Scalar(kernel, kernel.load(kernel.buffers[0], indices))
        kernel.store(number.value, kernel.buffers[0], indices)
    to.call("offsets", kernel, [sums], [seen, to.packed(offsets)])


def _moved_starts(
    product: Product, starts: npt.NDArray[np.generic], zero: SSAValue, to: Lowering
) -> SSAValue:
    """The starts less the zero point times the sums of the weights, computed in the run."""
    sums = by_channel(product.weight_sums, len(starts))
    made = to.allocate(starts.shape, i32)
    types = [buffer_type(starts.shape, i32)] * 3
    kernel = Kernel([*types, buffer_type([1], i8)])
    out, first, factors, held = kernel.buffers
    with kernel.loops(starts.shape) as (channel,):
        offset = read_as(kernel, held, [kernel.index(0)], to.element(zero), i32)
        total = Scalar(kernel, kernel.load(first, [channel]))
        total = total - offset * Scalar(kernel, kernel.load(factors, [channel]))
        kernel.store(total.value, out, [channel])
    to.call("starts", kernel, [made], [to.packed(starts), to.packed(sums), to.buffer(zero)])
    return made


def _target(chain: ByteChain, product: Product, to: Lowering) -> ByteImage:
    """The image for the result: of bytes, or of sums in rows of whole vectors."""
    if product.scales is not None:
        return result_in_bytes(chain.result, to)
    shape = to.bytes.shape(chain.result)
    return ByteImage(to.allocate(shape, i32), Halo(), shape)


def _shapes(
    sizes: tuple[Size, int, int, Size], window: Window, images: Sequence[ByteImage]
) -> tuple[list[ByteShape], tuple[int, Size]]:
    """
    The shapes of the result and what is read, and rows and columns of the result.

    All pixels are one row where each reads one and no halo lies between.
    """
    _, _, rows, columns = sizes
    is_plain = window.kernel == (1, 1) and window.strides == (1, 1) and not window.is_padded
    if rows == 1 or not is_plain or any(any(image.halo) for image in images):
        return [image.extents for image in images], (rows, columns)
    shapes = [ByteShape(image.extents.images, 1, rows * columns, image.extents.channels) for image in images]
    return shapes, (1, rows * columns)


def by_channel(array: npt.NDArray[np.generic], count: int) -> npt.NDArray[np.generic]:
    """Numbers of channels, zeros behind the last."""
    numbers = np.zeros(count, array.dtype)
    numbers[: array.size] = array
    return numbers


def packed_weights(
    weights: npt.NDArray[np.int8], panel: tuple[int, int], depth: int, terms: int
) -> npt.NDArray[np.generic]:
    """
    `[O][I][kernel]` as `[panels][kernel][depth/terms][channels of a panel][terms]`, zeros behind the last.

    `panel` is channels of a vector, and vectors; with two terms the numbers have 16 bits.
    """
    filters, channels = weights.shape[:2]
    count = -(-filters // VECTOR) * VECTOR
    padded = np.zeros((count, depth, int(np.prod(weights.shape[2:]))), np.int8 if terms == 4 else np.int16)
    padded[:filters, :channels] = weights.reshape(filters, channels, -1)
    width = panel[0] * panel[1]
    parts: list[npt.NDArray[np.generic]] = []
    for first in range(0, count, width):
        part = padded[first : first + width]
        split = part.reshape(len(part), depth // terms, terms, -1)
        parts.append(split.transpose(3, 1, 0, 2).reshape(-1))
    return np.concatenate(parts)


def _rest(chain: ByteChain, kernel: Kernel, elements: Sequence[Attribute]) -> Region:
    """What becomes of a sum; the arguments are the sum, numbers by channel and bytes of images."""
    body = Block(arg_types=[i32, *elements])
    outside, kernel.block = kernel.block, body
    total, *read = body.args
    kernel.block.add_op(StoredOp(stored_for(chain, kernel, total, read)))
    kernel.block = outside
    return Region(body)
