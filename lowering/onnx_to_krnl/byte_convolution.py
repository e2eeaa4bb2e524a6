"""Products of bytes and what is done to their sums as one kernel (`krnl.byte_conv`), and pools of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as places_of

import numpy as np
import numpy.typing as npt
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, f32, i8, i16, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.byte_tiles import ByteConvOp, StoredOp
from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.byte_chains import VECTOR, ByteChain, ByteImage
from xonnc.lowering.onnx_to_krnl.byte_images import byte_image, in_rows, result_in_bytes, rounded
from xonnc.lowering.onnx_to_krnl.byte_products import Rounding, bytes_behind, rounding_of, sizes_of
from xonnc.lowering.onnx_to_krnl.convolution import conv_tile, pair
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.layouts import Halo, constant_of
from xonnc.lowering.onnx_to_krnl.lowering import Lowering
from xonnc.lowering.onnx_to_krnl.points import Point
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.window import Window


def lower_byte_chain(chain: ByteChain, to: Lowering) -> None:
    """One call of a kernel for a product of bytes and all that is done to its sums."""
    product = chain.product
    source = byte_image(product.x, to)
    others = [byte_image(value, to) for value in chain.images]
    target = _target(chain, to)
    lanes, depth, products = to.target.vector_bytes // 4, source.shape[3], to.target.byte_products
    shapes, out = _shapes(chain, [target, source, *others])
    tile = conv_tile(out[1], target.shape[3] // lanes, to.target.registers, is_depthwise=False)
    terms = 4 if products else 2
    packed = packed_weights(product.weights, (lanes, tile[1]), depth, terms)
    buffers = [target.buffer, source.buffer, to.packed(packed)]
    types = [
        buffer_type(shape, element_of(image.buffer))
        for shape, image in zip(shapes, (target, source), strict=False)
    ]
    types.append(buffer_type(packed.shape, i8 if products else i16))
    numbers = [
        _by_channel(array, target.shape[3])
        for array in (product.starts, product.scales, product.bias)
        if array is not None
    ]
    for array in numbers:
        buffers.append(to.packed(array))
        types.append(buffer_type(array.shape, i32 if array.dtype == np.int32 else f32))
    for image, shape in zip(others, shapes[2:], strict=True):
        buffers.append(image.buffer)
        types.append(buffer_type(shape, i8))
    window = product.window
    first = source.start[0] - window.begins[0], source.start[1] - window.begins[1]
    properties: dict[str, Attribute] = {
        "kernel": pair(window.kernel),
        "strides": pair(window.strides),
        "dilations": pair(window.dilations),
        "start": pair(first),
        "out": pair(out),
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
    operands = [y, x, w, starts, channels, images, kernel.take_turns()]
    conv = ByteConvOp(operands=operands, properties=properties, regions=[body])
    kernel.block.add_op(conv)
    to.call(
        "byteconv" if sum(window.kernel) > 2 else "bytegemm", kernel, buffers[:1], buffers[1:], conv.turns
    )
    if product.scales is None:
        in_rows(chain.result, target, 0, to)


def _target(chain: ByteChain, to: Lowering) -> ByteImage:
    """The image for the result: of bytes, or of sums in rows of whole vectors."""
    if chain.product.scales is not None:
        return result_in_bytes(chain.result, to)
    return ByteImage(to.allocate(to.bytes.shape(chain.result), i32), Halo())


def _shapes(chain: ByteChain, images: Sequence[ByteImage]) -> tuple[list[Sequence[int]], tuple[int, int]]:
    """
    The shapes of the result and what is read, and rows and columns of the result.

    All pixels are one row where each reads one and no halo lies between.
    """
    window = chain.product.window
    _, _, rows, columns = sizes_of(chain.result)
    is_plain = window.kernel == (1, 1) and window.strides == (1, 1) and not window.is_padded
    if rows == 1 or not is_plain or any(any(image.halo) for image in images):
        return [image.shape for image in images], (rows, columns)
    shapes = [[image.shape[0], 1, rows * columns, image.shape[3]] for image in images]
    return [*shapes], (1, rows * columns)


def _by_channel(array: npt.NDArray[np.generic], count: int) -> npt.NDArray[np.generic]:
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
    product = chain.product
    body = Block(arg_types=[i32, *elements])
    outside, kernel.block = kernel.block, body
    total, *others = body.args
    stored: SSAValue = total
    if product.scales is not None:
        number = Scalar(kernel, kernel.add(arith.SIToFPOp(total, f32))) * Scalar(kernel, others[0])
        if product.bias is not None:
            number = number + Scalar(kernel, others[1])
        images = others[1 + (product.bias is not None) :]
        stored = _after(chain, kernel, number, dict(zip(chain.images, images, strict=True)))
    kernel.block.add_op(StoredOp(stored))
    kernel.block = outside
    return Region(body)


def _after(chain: ByteChain, kernel: Kernel, number: Scalar, images: dict[SSAValue, SSAValue]) -> SSAValue:
    """The byte that the ops behind a product make of a number."""
    if chain.product.rounding is not None:
        return _byte(kernel, number, chain.product.rounding)[1]
    at = Point(kernel, {})
    at.let(chain.product.result, number.value)
    made: SSAValue = number.value
    steps = number
    for op in chain.ops:
        if isinstance(op, QuantizeLinearOp):
            rounding = rounding_of(op)
            assert rounding is not None
            steps, made = _byte(kernel, Scalar(kernel, at(op.x)), rounding)
        elif isinstance(op, DequantizeLinearOp):
            rounding = rounding_of(op)
            assert rounding is not None
            at.let(op.y, (steps * rounding.scale).value)
        else:
            _read_others(op, kernel, at, images)
            at.let(op.results[0], at.compute(op))
    return made


def _byte(kernel: Kernel, number: Scalar, rounding: Rounding) -> tuple[Scalar, SSAValue]:
    """A real number in steps, rounded, and as a byte."""
    steps = number * float(np.float32(1) / np.float32(rounding.scale)) if rounding.scale != 1 else number
    whole, bits = rounded(kernel, steps, rounding)
    return whole, bits.to(i8).value


def _read_others(op: Operation, kernel: Kernel, at: Point, images: dict[SSAValue, SSAValue]) -> None:
    """Makes known what an op reads besides the sum: one number, or the bytes of an image as real numbers."""
    for operand in op.operands:
        if operand.type == NONE or at.knows(operand):
            continue
        array, behind = constant_of(operand), bytes_behind(operand)
        if array is not None:
            at.let(operand, kernel.number(float(array.reshape(-1)[0]), f32))
        elif behind is not None:
            value, rounding = behind
            byte = kernel.add(arith.ExtUIOp(images[value], i32))
            centred = Scalar(kernel, byte) - rounding.zero
            real = Scalar(kernel, kernel.add(arith.SIToFPOp(centred.value, f32)))
            at.let(operand, (real * rounding.scale).value)


def lower_byte_pool(op: Operation, window: Window, to: Lowering) -> None:
    """The largest bytes of each window; those of the edge again where the window reaches beyond."""
    value = op.operands[0]
    source, target = byte_image(value, to), result_in_bytes(op.results[0], to)
    _, _, *limits = sizes_of(value)
    images, _, rows, columns = sizes_of(op.results[0])
    kernel = Kernel([buffer_type(image.shape, i8) for image in (target, source)])
    with kernel.loops([images, rows, columns, target.shape[3]]) as (number, row, column, channel):
        total: SSAValue | None = None
        for place in places_of(*(range(size) for size in window.kernel)):
            at = [number]
            for axis, index in enumerate((row, column)):
                offset = place[axis] * window.dilations[axis] - window.begins[axis] + source.start[axis]
                here = Scalar(kernel, kernel.scaled(index, window.strides[axis], offset))
                if window.begins[axis]:
                    here = here.at_least(source.start[axis])
                if window.ends[axis]:
                    here = here.at_most(source.start[axis] + limits[axis] - 1)
                at.append(here.value)
            byte = kernel.load(kernel.buffers[1], [*at, channel])
            total = byte if total is None else kernel.add(arith.MaxUIOp(total, byte))
        assert total is not None
        pixel = [
            kernel.scaled(index, 1, first) for index, first in zip((row, column), target.start, strict=True)
        ]
        kernel.store(total, kernel.buffers[0], [number, *pixel, channel])
    to.call("maxpool", kernel, [target.buffer], [source.buffer])
