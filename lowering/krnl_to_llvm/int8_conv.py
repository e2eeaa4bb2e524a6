"""
Direct int8 convolution in NHWC with int32 accumulators in vector registers, and its epilogue.

A tile holds the sums of some pixels of a row times some vectors of output channels. Inner loops run over the
window and the input channels; the epilogue requantizes the sums (docs/internals/cpu-kernels.md §4.6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.int8_tiles import Int8ConvOp
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.lowering.krnl_to_llvm.conv_tiles import StridedBuffer, TileGrid, TileOrigin, emit_tiles
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

Epilogue: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]
"""Compute the vector to store from sums, per-channel parameters, and pixels of other images."""


@dataclass(frozen=True)
class _Int8Conv:
    """The state that all tiles of a convolution share."""

    builder: LLVMBuilder
    op: Int8ConvOp
    y: StridedBuffer
    x: StridedBuffer
    w: SSAValue
    starts: SSAValue
    channels: Sequence[SSAValue]
    images: Sequence[StridedBuffer]
    epilogue: Epilogue
    start: Sequence[int | SSAValue]
    """Row and column of the first window."""

    @property
    def lanes(self) -> int:
        """Output channels in a vector."""
        return self.op.lanes.value.data


def emit_int8_conv(
    builder: LLVMBuilder,
    op: Int8ConvOp,
    buffers: Sequence[StridedBuffer],
    iterations: tuple[SSAValue, SSAValue],
    dynamic_sizes: Sequence[SSAValue],
    epilogue: Epilogue,
) -> None:
    """Emit a `krnl.int8_conv` for the parallel range `iterations` (begin, end)."""
    y, x, (w, _), (starts, _), *rest = buffers
    channels = [pointer for pointer, _ in rest[: len(op.channels)]]
    given = iter(dynamic_sizes)
    images, rows, columns, *start = (
        next(given) if size == DYNAMIC_INDEX else size for size in (*op.sizes, *_pair(op.start))
    )
    conv = _Int8Conv(builder, op, y, x, w, starts, channels, rest[len(op.channels) :], epilogue, start)

    def tile(origin: TileOrigin, pixels: int, width: int) -> None:
        _store(conv, origin, _accumulate(conv, origin, pixels, width), width)

    grid = TileGrid(images, op.vectors, (rows, columns), _pair(op.tile), op.group_count)
    emit_tiles(builder, iterations, grid, tile)


def _pair(attribute: DenseArrayBase[I64]) -> tuple[int, int]:
    first, second = attribute.get_values()
    return int(first), int(second)


def _pixel_address(
    conv: _Int8Conv,
    memory: StridedBuffer,
    element: Attribute,
    origin: TileOrigin,
    start: Sequence[int | SSAValue],
    strides: tuple[int, int],
) -> SSAValue:
    """Return the address of the pixel at `start` + (row, column) * `strides`."""
    builder, (pointer, (of_image, of_row, of_column, _)) = conv.builder, memory
    image, _, row, column = origin
    offset = builder.imul(column, builder.mul_sizes(of_column, strides[1]))
    offset = builder.iadd(offset, builder.imul(image, of_image))
    offset = builder.iadd(offset, builder.imul(row, builder.mul_sizes(of_row, strides[0])))
    for index, distance in zip(start, (of_row, of_column), strict=True):
        if index != 0:
            offset = builder.iadd(offset, builder.size(builder.mul_sizes(distance, index)))
    return builder.address(pointer, offset, element)


def _accumulate(conv: _Int8Conv, origin: TileOrigin, pixels: int, width: int) -> Sequence[SSAValue]:
    """Accumulate a tile of `pixels` times `width` vectors; the sums of a pixel are consecutive."""
    builder, op = conv.builder, conv.op
    lanes, (_, (_, row_of_x, *_)) = conv.lanes, conv.x
    kernel, dilations, strides = _pair(op.kernel), _pair(op.dilations), _pair(op.strides)
    channels = shape_of(op.x)[3]
    depth, groups = op.depth, op.group_count
    channel = builder.imul(origin[1], lanes)
    first = builder.address(conv.starts, channel, i32)
    begin = [builder.load(builder.address(first, each * lanes, i32), i32, lanes) for each in range(width)]
    corner = _pixel_address(conv, conv.x, i8, origin, conv.start, strides)
    if groups > 1:
        group = builder.add(llvm.UDivOp(origin[1], builder.constant(op.vectors // groups)))
        corner = builder.address(corner, builder.imul(group, depth), i8)
    weight = element_of(op.w)
    weights = builder.address(conv.w, builder.imul(channel, kernel[0] * kernel[1] * depth), weight)
    step = width * lanes * op.terms

    def nest(
        levels: Sequence[tuple[int, int | SSAValue]], pointer: SSAValue, carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Emit nested loops; a level is a number of iterations and their distance in bytes."""
        if not levels:
            row = builder.address(weights, carried[0], weight)
            return [
                builder.iadd(carried[0], builder.constant(step)),
                *_accumulate_terms(conv, pointer, row, carried[1:], width),
            ]
        (count, distance), *inner = levels
        if count == 1:
            return nest(inner, pointer, carried)

        def body(index: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return nest(inner, builder.address(pointer, builder.imul(index, distance), i8), values)

        return builder.loop(builder.constant(0), builder.constant(count), 1, carried, body)

    # Without dilation and groups, the channels of adjacent pixels in a window row are contiguous: one loop
    # covers both.
    row: list[tuple[int, int | SSAValue]] = [(kernel[1] * depth // op.terms, op.terms)]
    if kernel[1] > 1 and (dilations[1] > 1 or groups > 1):
        row = [(kernel[1], dilations[1] * channels), (depth // op.terms, op.terms)]
    levels = [(kernel[0], builder.mul_sizes(row_of_x, dilations[0])), *row]
    return nest(levels, corner, [builder.constant(0), *begin * pixels])[1:]


def _accumulate_terms(
    conv: _Int8Conv, pointer: SSAValue, weights: SSAValue, sums: Sequence[SSAValue], width: int
) -> list[SSAValue]:
    """Add the products of `terms` input channels to the sums of each pixel."""
    builder, op, lanes = conv.builder, conv.op, conv.lanes
    element, terms = element_of(op.w), op.terms
    factors = [
        builder.load(builder.address(weights, each * lanes * terms, element), element, lanes * terms)
        for each in range(width)
    ]
    distance = _pair(op.strides)[1] * shape_of(op.x)[3]
    results: list[SSAValue] = []
    for pixel in range(len(sums) // width):
        here = builder.address(pointer, pixel * distance, i8)
        own = sums[pixel * width : (pixel + 1) * width]
        if op.products is None:
            results += _dot_pairs(builder, here, factors, own, lanes)
        else:
            results += _dot_four(builder, here, factors, own, op.products.data)
    return results


def _dot_four(
    builder: LLVMBuilder, pointer: SSAValue, factors: Sequence[SSAValue], sums: Sequence[SSAValue], name: str
) -> list[SSAValue]:
    """Add u8 x s8 products of four input channels, by the dot-product intrinsic of the processor."""
    # The four bytes are loaded as one unaligned i32 and broadcast.
    word = builder.add(llvm.LoadOp(pointer, i32, alignment=1))
    splat = builder.splat(word, lanes_of(sums[0]))
    bytes_ = builder.add(llvm.BitcastOp(splat, factors[0].type))
    return [
        builder.add(llvm.CallIntrinsicOp(name, [total, bytes_, factor], [total.type]))
        for total, factor in zip(sums, factors, strict=True)
    ]


def _dot_pairs(
    builder: LLVMBuilder, pointer: SSAValue, factors: Sequence[SSAValue], sums: Sequence[SSAValue], lanes: int
) -> list[SSAValue]:
    """Add the products of two input channels, in a form that LLVM matches to `pmaddwd` on x86."""
    pair = builder.add(llvm.ZExtOp(builder.load(pointer, i8, 2), vector_of(i16, 2)))
    wide = vector_of(i32, 2 * lanes)
    pixels = builder.add(llvm.SExtOp(builder.shuffle(pair, [0, 1] * lanes), wide))
    results: list[SSAValue] = []
    for total, factor in zip(sums, factors, strict=True):
        products = builder.add(llvm.MulOp(pixels, builder.add(llvm.SExtOp(factor, wide))))
        even_odd = [builder.shuffle(products, range(first, 2 * lanes, 2)) for first in (0, 1)]
        results.append(builder.iadd(total, builder.iadd(*even_odd)))
    return results


MIN_WORK_OF_LOOP = 40
"""
Instructions of a sum at least, its epilogue among them, for epilogues to be a loop over the pixels of a tile.

Sums then go through memory, which takes two more. A tile has up to 28 sums, and an epilogue up to 50
operators: unrolled, they are most of the code, and of the time to compile it.
"""


def _store(conv: _Int8Conv, origin: TileOrigin, sums: Sequence[SSAValue], width: int) -> None:
    """Apply the epilogue to the sums of a tile, those of a pixel consecutive, and store the results."""
    builder, op, lanes = conv.builder, conv.op, conv.lanes
    channel = builder.imul(origin[1], lanes)
    numbers: list[list[SSAValue]] = []
    for each in range(width):
        row: list[SSAValue] = []
        for buffer, pointer in zip(op.channels, conv.channels, strict=True):
            element = element_of(buffer)
            first = builder.address(pointer, channel, element)
            row.append(builder.load(builder.address(first, each * lanes, element), element, lanes))
        numbers.append(row)
    image_starts = list(map(int, op.image_starts.get_values()))
    starts = [_pair(op.out_start), *zip(image_starts[::2], image_starts[1::2], strict=True)]
    buffers, memory = [op.y, *op.images], [conv.y, *conv.images]
    corners = [
        builder.address(
            _pixel_address(conv, each, element_of(buffer), origin, start, (1, 1)), channel, element_of(buffer)
        )
        for buffer, each, start in zip(buffers, memory, starts, strict=True)
    ]

    def store_pixel(pixel: SSAValue | int, totals: Sequence[SSAValue]) -> None:
        firsts = [
            builder.address(corner, builder.mul_sizes(pixel, shape_of(buffer)[3]), element_of(buffer))
            for buffer, corner in zip(buffers, corners, strict=True)
        ]
        for each, total in enumerate(totals):
            indices = [
                builder.address(first, each * lanes, element_of(buffer))
                for buffer, first in zip(buffers, firsts, strict=True)
            ]
            others = [
                builder.load(pointer, element_of(buffer), lanes)
                for buffer, pointer in zip(buffers[1:], indices[1:], strict=True)
            ]
            builder.store(conv.epilogue([total, *numbers[each], *others]), indices[0])

    pixels = len(sums) // width
    if pixels == 1 or op.steps + len(op.rest.block.ops) < MIN_WORK_OF_LOOP:
        for pixel in range(pixels):
            store_pixel(pixel, sums[pixel * width : (pixel + 1) * width])
        return
    space = builder.stack_space(len(sums) * lanes, i32)
    for number, total in enumerate(sums):
        builder.store(total, builder.address(space, number * lanes, i32))

    def body(pixel: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first = builder.address(space, builder.imul(pixel, width * lanes), i32)
        totals = [
            builder.load(builder.address(first, each * lanes, i32), i32, lanes) for each in range(width)
        ]
        store_pixel(pixel, totals)
        return []

    builder.loop(builder.constant(0), builder.constant(pixels), 1, [], body)
