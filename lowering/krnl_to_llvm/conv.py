"""Convolutions in blocks of channels: a tile of pixels and channels in vector registers (`krnl.conv`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import I64, DenseArrayBase, FloatAttr
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import ConvOp
from xonnc.dialects.krnl.types import is_buffer, size_of
from xonnc.lowering.krnl_to_llvm.conv_tiles import Grid, Place, over_tiles
from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, vector_of

Epilogue: TypeAlias = Callable[[SSAValue, int], SSAValue]
"""What becomes of a vector of so many results before it is stored."""


@dataclass(frozen=True)
class _Image:
    """A buffer of images: where a pixel's channels lie."""

    pointer: SSAValue
    blocks: int
    rows: int
    columns: int
    lanes: int
    """Channels side by side; 1 where images are one channel after the other."""

    @property
    def row(self) -> int:
        """Elements from one row to the next."""
        return self.columns * self.lanes

    @property
    def block(self) -> int:
        """Elements from one block of channels to the next."""
        return self.rows * self.row


def _image(buffer: SSAValue, pointer: SSAValue) -> _Image:
    assert is_buffer(buffer.type)
    _, blocks, rows, columns, *lanes = buffer.type.get_shape()
    return _Image(pointer, blocks, rows, columns, lanes[0] if lanes else 1)


@dataclass(frozen=True)
class _Conv:
    """What the tiles of one convolution share."""

    to: Emitter
    op: ConvOp
    element: Attribute
    y: _Image
    x: _Image
    w: SSAValue
    bias: SSAValue | None
    residual: _Image | None
    epilogue: Epilogue | None

    @property
    def lanes(self) -> int:
        """Channels in a vector."""
        return self.y.lanes

    @property
    def places(self) -> int:
        """Elements of the weights for one channel of the result."""
        return self.op.depth.value.data * prod(_sizes(self.op.kernel))


def _sizes(attribute: DenseArrayBase[I64]) -> tuple[int, int]:
    first, second = attribute.get_values()
    return int(first), int(second)


def emit_conv(
    to: Emitter,
    op: ConvOp,
    pointers: Sequence[SSAValue],
    turns: tuple[SSAValue, SSAValue],
    open_images: Sequence[SSAValue] = (),
    epilogue: Epilogue | None = None,
) -> None:
    """Writes a `krnl.conv`: its iterations from the first of `turns` to below the second."""
    y, x, w, *rest = pointers
    bias = rest.pop(0) if op.bias is not None else None
    residual = _image(op.residual, rest[0]) if op.residual is not None else None
    conv = _Conv(to, op, element_of(op.y), _image(op.y, y), _image(op.x, x), w, bias, residual, epilogue)

    def tile(place: Place, pixels: int, width: int) -> None:
        _tile(conv, place, pixels, width)

    images = open_images[0] if open_images else op.iterations // op.iterations_per_image
    grid = Grid(images, op.blocks, _sizes(op.out), _sizes(op.tile))
    over_tiles(to, turns, grid, tile)


def _pixel(
    conv: _Conv,
    image: _Image,
    place: Place,
    start: Sequence[int],
    strides: Sequence[int],
) -> SSAValue:
    """Where a pixel of an image is: at `start` plus row and column times `strides`."""
    to = conv.to
    number, block, row, column = place
    offset = to.scaled(to.plus(to.scaled(number, image.blocks), block), image.block)
    offset = to.plus(offset, to.scaled(row, strides[0] * image.row))
    offset = to.plus(offset, to.scaled(column, strides[1] * image.lanes))
    constant = start[0] * image.row + start[1] * image.lanes
    pointer = to.address(image.pointer, offset, conv.element)
    return to.address(pointer, constant, conv.element)


def _tile(conv: _Conv, place: Place, pixels: int, width: int) -> None:
    """The pixels from a place on: each vector of channels is a register until all is added up."""
    to, op = conv.to, conv.op
    _, block, *_ = place
    vector = vector_of(conv.element, conv.lanes)
    if conv.bias is None:
        starts = [to.number(0.0, vector)] * width
    else:
        first = to.address(conv.bias, to.scaled(block, conv.lanes), conv.element)
        starts = [
            to.load(to.address(first, each * conv.lanes, conv.element), conv.element, conv.lanes)
            for each in range(width)
        ]
    totals = [start for _ in range(pixels) for start in starts]
    sums = _depthwise(conv, place, totals) if op.depthwise is not None else _dense(conv, place, totals, width)
    _store(conv, place, sums, width)


def _dense(conv: _Conv, place: Place, totals: Sequence[SSAValue], width: int) -> Sequence[SSAValue]:
    """All channels of the input, all places of the window."""
    to, op, x = conv.to, conv.op, conv.x
    image, block, row, column = place
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    corner = _pixel(conv, x, (image, to.number(0), row, column), _sizes(op.start), strides)
    weights = to.address(conv.w, to.scaled(block, conv.places * conv.lanes), conv.element)
    step = width * conv.lanes
    depth = op.depth.value.data

    def term(pointer: SSAValue, held: Sequence[SSAValue]) -> list[SSAValue]:
        """One channel at one place of the window."""
        at, *sums = held
        row_of_weights = to.address(weights, at, conv.element)
        vectors = [
            to.load(to.address(row_of_weights, each * conv.lanes, conv.element), conv.element, conv.lanes)
            for each in range(width)
        ]
        results = [to.plus(at, to.number(step))]
        for pixel in range(len(sums) // width):
            number = to.load(to.address(pointer, pixel * strides[1] * x.lanes, conv.element), conv.element)
            splat = to.splat(number, conv.lanes)
            results += [to.fma(splat, vectors[each], sums[pixel * width + each]) for each in range(width)]
        return results

    def along(
        levels: Sequence[tuple[int, int]], pointer: SSAValue, held: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Loops of so many iterations, so many elements apart."""
        if not levels:
            return term(pointer, held)
        (count, distance), *inner = levels
        if count == 1:
            return along(inner, pointer, held)

        def turn(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            next_pointer = to.address(pointer, to.scaled(index, distance), conv.element)
            if distance == x.block and op.prefetch is not None:
                _prefetch_block(conv, next_pointer, len(totals) // width)
            return along(inner, next_pointer, carried)

        return to.loop(to.number(0), to.number(count), 1, held, turn)

    window = [
        (kernel[0], dilations[0] * x.row),
        (kernel[1], dilations[1] * x.lanes),
    ]
    whole, rest = divmod(depth, x.lanes)
    held: Sequence[SSAValue] = [to.number(0), *totals]
    if whole:
        held = along([(whole, x.block), *window, (x.lanes, 1)], corner, held)
    if rest:
        behind = to.address(corner, whole * x.block, conv.element)
        held = along([*window, (rest, 1)], behind, held)
    return held[1:]


def _prefetch_block(conv: _Conv, pointer: SSAValue, pixels: int) -> None:
    """Prefetches what a tile reads of the next block of channels, which lies too far away for hardware to."""
    op, x = conv.op, conv.x
    assert op.prefetch is not None
    line, size = op.prefetch.value.data, size_of(conv.element)
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    columns = {
        (pixel * strides[1] + step * dilations[1]) * x.lanes * size // line
        for pixel in range(pixels)
        for step in range(kernel[1])
    }
    for row in range(kernel[0]):
        for column in sorted(columns):
            conv.to.prefetch(pointer, (x.block + row * dilations[0] * x.row) * size + column * line)


def _depthwise(conv: _Conv, place: Place, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Each channel with its own weights; a row of the window reads each pixel once."""
    to, op, x, element, lanes = conv.to, conv.op, conv.x, conv.element, conv.lanes
    _, block, *_ = place
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    corner = _pixel(conv, x, place, _sizes(op.start), strides)
    weights = to.address(conv.w, to.scaled(block, prod(kernel) * lanes), element)
    sums = list(totals)
    for row in range(kernel[0]):
        line = to.address(corner, row * dilations[0] * x.row, element)
        read: dict[int, SSAValue] = {}
        for step in range(kernel[1]):
            factor = to.load(to.address(weights, (row * kernel[1] + step) * lanes, element), element, lanes)
            for pixel, total in enumerate(sums):
                column = pixel * strides[1] + step * dilations[1]
                if column not in read:
                    read[column] = to.load(to.address(line, column * lanes, element), element, lanes)
                sums[pixel] = to.fma(read[column], factor, total)
    return sums


def _store(conv: _Conv, place: Place, sums: Sequence[SSAValue], width: int) -> None:
    to, op, element = conv.to, conv.op, conv.element
    strides = _sizes(op.out_strides)
    target = _pixel(conv, conv.y, place, _sizes(op.out_start), strides)
    added = None
    if conv.residual is not None and op.residual_start is not None:
        added = _pixel(conv, conv.residual, place, _sizes(op.residual_start), (1, 1))
    for number, total in enumerate(sums):
        pixel, block = divmod(number, width)
        if added is not None and conv.residual is not None:
            offset = pixel * conv.lanes + block * conv.residual.block
            total = to.fadd(total, to.load(to.address(added, offset, element), element, conv.lanes))
        for limit, predicate in ((op.low, "olt"), (op.high, "ogt")):
            total = _limited(to, total, limit, predicate)
        if conv.epilogue is not None:
            total = conv.epilogue(total, conv.lanes)
        offset = pixel * strides[1] * conv.lanes + block * conv.y.block
        to.store(total, to.address(target, offset, element))


def _limited(to: Emitter, total: SSAValue, limit: FloatAttr | None, predicate: str) -> SSAValue:
    if limit is None:
        return total
    # NaN compares false, so it stays.
    bound = to.number(limit.value.data, total.type)
    return to.select(to.fcmp(predicate, total, bound), bound, total)
