"""Convolutions of bytes: sums of 32 bits in vector registers, and what is made of them (`krnl.byte_conv`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import I64, DenseArrayBase, i8, i16, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.int8_tiles import ByteConvOp
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.lowering.krnl_to_llvm.conv_tiles import Grid, Place, over_tiles
from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, lanes_of, vector_of

Rest: TypeAlias = Callable[[Sequence[SSAValue]], SSAValue]
"""What is stored for a vector of sums, of numbers by channel, and of pixels of other images."""


@dataclass(frozen=True)
class _Conv:
    """What the tiles of one convolution share."""

    to: Emitter
    op: ByteConvOp
    pointers: Sequence[SSAValue]
    """Of the result, the input, the weights and the starts."""
    channels: Sequence[SSAValue]
    images: Sequence[SSAValue]
    rest: Rest

    @property
    def lanes(self) -> int:
        """Channels in a vector."""
        return self.op.lanes.value.data


def emit_byte_conv(
    to: Emitter,
    op: ByteConvOp,
    pointers: Sequence[SSAValue],
    turns: tuple[SSAValue, SSAValue],
    open_sizes: Sequence[SSAValue],
    rest: Rest,
) -> None:
    """Writes a `krnl.byte_conv`: its iterations from the first of `turns` to below the second."""
    count = 4 + len(op.channels)
    conv = _Conv(to, op, pointers[:4], pointers[4:count], pointers[count:], rest)

    def tile(place: Place, pixels: int, width: int) -> None:
        _store(conv, place, _sums(conv, place, pixels, width), width)

    given = iter(open_sizes)
    images = next(given) if op.has_dynamic_batch else shape_of(op.y)[0]
    rows, columns = _pair(op.out)
    out = rows, next(given) if op.has_dynamic_columns else columns
    grid = Grid(images, op.vectors, out, _pair(op.tile))
    over_tiles(to, turns, grid, tile)


def _pair(attribute: DenseArrayBase[I64]) -> tuple[int, int]:
    first, second = attribute.get_values()
    return int(first), int(second)


def _offset(
    conv: _Conv, buffer: SSAValue, place: Place, start: tuple[int, int], strides: tuple[int, int]
) -> SSAValue:
    """How many elements lie before the pixel at `start` plus row and column times `strides`."""
    to = conv.to
    _, rows, columns, channels = shape_of(buffer)
    image, _, row, column = place
    offset = to.scaled(column, strides[1] * channels)
    if conv.op.has_dynamic_columns:
        return offset
    offset = to.plus(offset, to.scaled(image, rows * columns * channels))
    offset = to.plus(offset, to.scaled(row, strides[0] * columns * channels))
    constant = (start[0] * columns + start[1]) * channels
    return to.plus(offset, to.number(constant)) if constant else offset


def _sums(conv: _Conv, place: Place, pixels: int, width: int) -> Sequence[SSAValue]:
    """All products of so many pixels and vectors of channels, those of a pixel side by side."""
    to, op = conv.to, conv.op
    (_, x, w, starts), lanes = conv.pointers, conv.lanes
    kernel, dilations, strides = _pair(op.kernel), _pair(op.dilations), _pair(op.strides)
    _, _, columns, depth = shape_of(op.x)
    channel = to.scaled(place[1], lanes)
    first = to.address(starts, channel, i32)
    begin = [to.load(to.address(first, each * lanes, i32), i32, lanes) for each in range(width)]
    corner = to.address(x, _offset(conv, op.x, place, _pair(op.start), strides), i8)
    weight = element_of(op.w)
    weights = to.address(w, to.scaled(channel, kernel[0] * kernel[1] * depth), weight)
    step = width * lanes * op.terms

    def along(
        levels: Sequence[tuple[int, int]], pointer: SSAValue, held: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Loops of so many iterations, so many bytes apart."""
        if not levels:
            row = to.address(weights, held[0], weight)
            return [to.plus(held[0], to.number(step)), *_terms(conv, pointer, row, held[1:], width)]
        (count, distance), *inner = levels
        if count == 1:
            return along(inner, pointer, held)

        def turn(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return along(inner, to.address(pointer, to.scaled(index, distance), i8), carried)

        return to.loop(to.number(0), to.number(count), 1, held, turn)

    # Pixels that lie side by side are one row of bytes.
    row = [(kernel[1] * depth // op.terms, op.terms)]
    if kernel[1] > 1 and dilations[1] > 1:
        row = [(kernel[1], dilations[1] * depth), (depth // op.terms, op.terms)]
    levels = [(kernel[0], dilations[0] * columns * depth), *row]
    return along(levels, corner, [to.number(0), *begin * pixels])[1:]


def _terms(
    conv: _Conv, pointer: SSAValue, weights: SSAValue, sums: Sequence[SSAValue], width: int
) -> list[SSAValue]:
    """The products of `terms` channels of each pixel added to the sums."""
    to, op, lanes = conv.to, conv.op, conv.lanes
    element, terms = element_of(op.w), op.terms
    factors = [
        to.load(to.address(weights, each * lanes * terms, element), element, lanes * terms)
        for each in range(width)
    ]
    distance = _pair(op.strides)[1] * shape_of(op.x)[3]
    results: list[SSAValue] = []
    for pixel in range(len(sums) // width):
        here = to.address(pointer, pixel * distance, i8)
        own = sums[pixel * width : (pixel + 1) * width]
        if op.products is None:
            results += _by_pairs(to, here, factors, own, lanes)
        else:
            results += _by_fours(to, here, factors, own, op.products.data)
    return results


def _by_fours(
    to: Emitter, pointer: SSAValue, factors: Sequence[SSAValue], sums: Sequence[SSAValue], name: str
) -> list[SSAValue]:
    """Four bytes of a pixel with four of each channel, by a function of the processor."""
    # Four bytes are loaded as one number, wherever they lie.
    word = to.add(llvm.LoadOp(pointer, i32, alignment=1))
    splat = to.splat(word, lanes_of(sums[0]))
    bytes_ = to.add(llvm.BitcastOp(splat, factors[0].type))
    return [
        to.add(llvm.CallIntrinsicOp(name, [total, bytes_, factor], [total.type]))
        for total, factor in zip(sums, factors, strict=True)
    ]


def _by_pairs(
    to: Emitter, pointer: SSAValue, factors: Sequence[SSAValue], sums: Sequence[SSAValue], lanes: int
) -> list[SSAValue]:
    """Two bytes of a pixel with two weights of each channel, which x86 has an instruction for."""
    pair = to.add(llvm.ZExtOp(to.load(pointer, i8, 2), vector_of(i16, 2)))
    wide = vector_of(i32, 2 * lanes)
    pixels = to.add(llvm.SExtOp(to.shuffle(pair, [0, 1] * lanes), wide))
    results: list[SSAValue] = []
    for total, factor in zip(sums, factors, strict=True):
        products = to.add(llvm.MulOp(pixels, to.add(llvm.SExtOp(factor, wide))))
        halves = [to.shuffle(products, range(first, 2 * lanes, 2)) for first in (0, 1)]
        results.append(to.plus(total, to.plus(*halves)))
    return results


def _store(conv: _Conv, place: Place, sums: Sequence[SSAValue], width: int) -> None:
    to, op, lanes = conv.to, conv.op, conv.lanes
    channel = to.scaled(place[1], lanes)
    numbers: list[list[SSAValue]] = []
    for each in range(width):
        row: list[SSAValue] = []
        for buffer, pointer in zip(op.channels, conv.channels, strict=True):
            element = element_of(buffer)
            first = to.address(pointer, channel, element)
            row.append(to.load(to.address(first, each * lanes, element), element, lanes))
        numbers.append(row)
    places_of = list(map(int, op.image_starts.get_values()))
    starts = [_pair(op.out_start), *zip(places_of[::2], places_of[1::2], strict=True)]
    buffers, pointers = [op.y, *op.images], [conv.pointers[0], *conv.images]
    corners = [
        to.address(pointer, to.plus(_offset(conv, buffer, place, start, (1, 1)), channel), element_of(buffer))
        for buffer, pointer, start in zip(buffers, pointers, starts, strict=True)
    ]
    for number, total in enumerate(sums):
        pixel, each = divmod(number, width)
        places = [
            to.address(corner, pixel * shape_of(buffer)[3] + each * lanes, element_of(buffer))
            for buffer, corner in zip(buffers, corners, strict=True)
        ]
        others = [
            to.load(pointer, element_of(buffer), lanes)
            for buffer, pointer in zip(buffers[1:], places[1:], strict=True)
        ]
        to.store(conv.rest([total, *numbers[each], *others]), places[0])
