"""
Direct convolution in the NCHWc layout, with register blocking over pixels and channel vectors (`krnl.conv`).

A tile of `pixels` x `width` accumulators stays in vector registers while the loops run over input channels
and the window. Each step loads `width` vectors of weights, broadcasts one input element per pixel, and issues
`pixels` * `width` FMAs; the tile is chosen to fill the registers (docs/internals/cpu-kernels.md §4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase, FloatAttr, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.dialects.krnl.tiles import ConvOp
from xonnc.dialects.krnl.types import is_buffer, size_of
from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.conv_tiles import StridedBuffer, TileGrid, TileOrigin, emit_tiles
from xonnc.lowering.krnl_to_llvm.gemm_tile import multiply_add
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of
from xonnc.lowering.krnl_to_llvm.next_panel import (
    ahead_of,
    dynamic_step,
    prefetch_share,
    share_of_next_panel,
)
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import MAX_UNROLLED_WINDOW

Epilogue: TypeAlias = Callable[[SSAValue, int], SSAValue]
"""Compute the vector to store from a vector of results and its number of lanes."""


@dataclass(frozen=True)
class _FeatureMap:
    """A feature map in memory: NCHWc, or NCHW with `lanes` = 1."""

    pointer: SSAValue
    image: int | SSAValue
    """Distance between images, in elements."""
    block: int | SSAValue
    """Distance between channel blocks, in elements."""
    row: int | SSAValue
    """Distance between rows, in elements."""
    lanes: int
    """Channels in a block (the c of NCHWc); 1 for plain NCHW."""
    element: Attribute


def _feature_map(buffer: SSAValue, memory: StridedBuffer) -> _FeatureMap:
    assert is_buffer(buffer.type)
    pointer, (image, block, row, *_) = memory
    lanes = buffer.type.get_shape()[4:]
    return _FeatureMap(pointer, image, block, row, lanes[0] if lanes else 1, buffer.type.element_type)


class _NextPanel(NamedTuple):
    """The prefetches of the next panel of weights that the tiles of a panel share."""

    tiles_of_row: int | SSAValue
    step_bytes: int | SSAValue
    """Bytes that each step of a tile prefetches."""


class _Piece(NamedTuple):
    """The input channels that all tiles multiply by before those of the next piece."""

    first_block: SSAValue
    """The block of channels where they begin."""
    blocks: SSAValue
    """Number of full blocks."""
    is_first: SSAValue
    """Whether it begins the sums, which else continue those in `y`."""
    is_last: SSAValue


@dataclass(frozen=True)
class _Conv:
    """The state that all tiles of a convolution share."""

    builder: LLVMBuilder
    op: ConvOp
    element: Attribute
    y: _FeatureMap
    x: _FeatureMap
    w: SSAValue
    bias: SSAValue | None
    residual: _FeatureMap | None
    epilogue: Epilogue | None
    next_panel: _NextPanel | None
    start: Sequence[int | SSAValue]
    """Row and column of the first window."""
    piece: _Piece | None = None
    """`None`: all channels."""

    @property
    def lanes(self) -> int:
        """Output channels in a vector."""
        return self.y.lanes

    @property
    def weights_per_channel(self) -> int:
        """Number of weights for one output channel."""
        return self.op.depth.value.data * prod(_sizes(self.op.kernel))


def _sizes(attribute: DenseArrayBase[I64]) -> tuple[int, int]:
    first, second = attribute.get_values()
    return int(first), int(second)


def emit_conv(
    builder: LLVMBuilder,
    op: ConvOp,
    buffers: Sequence[StridedBuffer],
    iterations: tuple[SSAValue, SSAValue],
    dynamic_sizes: Sequence[SSAValue] = (),
    epilogue: Epilogue | None = None,
) -> None:
    """Emit a `krnl.conv` for the parallel range `iterations` (begin, end)."""
    y, x, (w, _), *rest = buffers
    bias = rest.pop(0)[0] if op.bias is not None else None
    residual = _feature_map(op.residual, rest[0]) if op.residual is not None else None
    given = iter(dynamic_sizes)
    images, rows, columns = (next(given) if size == DYNAMIC_INDEX else size for size in op.sizes)
    grid = TileGrid(images, op.blocks, (rows, columns), _sizes(op.tile), op.block_groups)
    source = _feature_map(op.x, x)
    if op.plane_step is not None:
        image = builder.mul_sizes(source.image, op.plane_step.value.data)
        source = replace(source, image=image)
    conv = _Conv(
        builder,
        op,
        element_of(op.y),
        _feature_map(op.y, y),
        source,
        w,
        bias,
        residual,
        epilogue,
        _next_panel(builder, op, grid),
        [next(given) if index == DYNAMIC_INDEX else index for index in _sizes(op.start)],
    )

    def emit(piece: _Piece | None) -> None:
        part = replace(conv, piece=piece)
        emit_tiles(
            builder, iterations, grid, lambda origin, pixels, width: _emit_tile(part, origin, pixels, width)
        )

    if op.depth_piece is None:
        emit(None)
    else:
        _emit_pieces(builder, op, op.depth_piece.value.data, emit)


def _emit_pieces(builder: LLVMBuilder, op: ConvOp, size: int, emit: Callable[[_Piece], None]) -> None:
    """Emit a loop over the pieces of the input channels; sums wait in `y` for the next piece."""
    full, step = (channels // shape_of(op.x)[-1] for channels in (op.depth.value.data, size))
    last = (op.depth.value.data - 1) // size * step

    def of_piece(first: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        end = builder.intrinsic("smin", builder.iadd(first, builder.constant(step)), builder.constant(full))
        ends = [builder.icmp("eq", first, builder.constant(block)) for block in (0, last)]
        emit(_Piece(first, builder.add(llvm.SubOp(end, first)), *ends))
        return []

    builder.loop(builder.constant(0), builder.constant(last + 1), step, [], of_piece)


def _next_panel(builder: LLVMBuilder, op: ConvOp, grid: TileGrid) -> _NextPanel | None:
    """Return how tiles prefetch the next panel of weights; None if they do not."""
    if op.next_panel_prefetch is None:
        return None
    (rows, columns), (pixels, width) = grid.out, grid.tile
    tiles = builder.ceil_div(columns, pixels)
    size: int | SSAValue = op.next_panel_prefetch.value.data
    if size == DYNAMIC_INDEX:
        assert is_buffer(op.y.type)
        row_bytes = width * op.y.type.get_shape()[-1] * size_of(op.y.type.element_type)
        # Images without pixels have no tiles.
        count = builder.size(builder.mul_sizes(rows, tiles))
        size = dynamic_step(builder, row_bytes, builder.intrinsic("smax", count, builder.constant(1)))
    return _NextPanel(tiles, size)


def _pixel_address(
    conv: _Conv,
    image: _FeatureMap,
    origin: TileOrigin,
    start: Sequence[int | SSAValue],
    strides: Sequence[int],
) -> SSAValue:
    """Return the address of the pixel at `start` + (row, column) * `strides`."""
    builder = conv.builder
    number, block, row, column = origin
    offset = builder.iadd(builder.imul(number, image.image), builder.imul(block, image.block))
    offset = builder.iadd(offset, builder.imul(row, builder.mul_sizes(image.row, strides[0])))
    offset = builder.iadd(offset, builder.imul(column, strides[1] * image.lanes))
    pointer = builder.address(image.pointer, offset, image.element)
    pointer = builder.address(pointer, builder.mul_sizes(image.row, start[0]), image.element)
    return builder.address(pointer, builder.mul_sizes(start[1], image.lanes), image.element)


def _emit_tile(conv: _Conv, origin: TileOrigin, pixels: int, width: int) -> None:
    """
    Emit one tile: initialise the accumulators with the bias or the sums until now, accumulate, apply the
    epilogue, store.
    """
    op = conv.op
    totals = _biases(conv, origin, pixels, width)
    if (piece := conv.piece) is not None:
        sums = _sums_in_y(conv, origin, pixels, width)
        totals = [conv.builder.select(piece.is_first, *each) for each in zip(totals, sums, strict=True)]
    sums = (
        _accumulate_depthwise(conv, origin, totals)
        if op.depthwise is not None
        else _accumulate_dense(conv, origin, totals, width)
    )
    _store(conv, origin, sums, width)


def _biases(conv: _Conv, origin: TileOrigin, pixels: int, width: int) -> list[SSAValue]:
    """Return the bias for each accumulator of a tile."""
    builder, (_, block, *_) = conv.builder, origin
    vector = vector_of(conv.element, conv.lanes)
    if conv.bias is None:
        starts = [builder.constant(0.0, vector)] * width
    else:
        first = builder.address(conv.bias, builder.imul(block, conv.lanes), conv.element)
        starts = [
            builder.load(builder.address(first, each * conv.lanes, conv.element), conv.element, conv.lanes)
            for each in range(width)
        ]
    return [start for _ in range(pixels) for start in starts]


def _sums_in_y(conv: _Conv, origin: TileOrigin, pixels: int, width: int) -> list[SSAValue]:
    """Load what the pieces before have stored."""
    targets = _targets(conv, origin, width)
    return [
        conv.builder.load(_pixel_of(conv, targets[block], pixel), conv.element, conv.lanes)
        for pixel in range(pixels)
        for block in range(width)
    ]


def _targets(conv: _Conv, origin: TileOrigin, width: int) -> list[SSAValue]:
    """Return where the first pixel of a tile is stored, for each block of channels."""
    builder, op = conv.builder, conv.op
    target = _pixel_address(conv, conv.y, origin, _sizes(op.out_start), _sizes(op.out_strides))
    return [
        builder.address(target, builder.mul_sizes(conv.y.block, each), conv.element) for each in range(width)
    ]


def _pixel_of(conv: _Conv, target: SSAValue, pixel: int) -> SSAValue:
    """Return where a pixel of a tile is stored, from the first one."""
    distance = pixel * _sizes(conv.op.out_strides)[1] * conv.lanes
    return conv.builder.address(target, distance, conv.element)


class _Level(NamedTuple):
    """A loop of the nest over channels and window positions."""

    iterations: int
    distance: int | SSAValue
    """Elements of the input from one iteration to the next."""
    computed: tuple[SSAValue, SSAValue] | None = None
    """The range of iterations that are computed; `None` for all."""
    end: SSAValue | None = None
    """The number of iterations where it is found at run time, in the outermost loop."""


def _accumulate_dense(
    conv: _Conv, origin: TileOrigin, totals: Sequence[SSAValue], width: int
) -> Sequence[SSAValue]:
    """Accumulate over all input channels and window positions."""
    builder, op, x = conv.builder, conv.op, conv.x
    image, block, row, column = origin
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    corner = _pixel_address(conv, x, (image, _first_block(conv, block), row, column), conv.start, strides)
    weights = builder.address(conv.w, builder.imul(block, conv.weights_per_channel * conv.lanes), x.element)
    piece, terms = conv.piece, op.terms
    if piece is not None:
        corner, weights = _begin(conv, piece, corner, weights, width)
    aheads = _share_of_next_panel(conv, weights, origin, width)
    panel = _Panel(weights, width, len(aheads))

    def nest(levels: Sequence[_Level], pointer: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Emit nested loops."""
        if not levels:
            accumulate = _accumulate_block if op.shares_blocks else _accumulate_terms
            return accumulate(conv, panel, pointer, carried)
        (count, distance, computed, end), *inner = levels
        if count == 1 and end is None:
            return nest(inner, pointer, carried)

        def body(index: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            next_pointer = builder.address(pointer, builder.imul(index, distance), x.element)
            # Only the loop over channel blocks has this distance: a window dilated by as much as a whole
            # channel plane would not fit the image.
            if distance == x.block and op.prefetch is not None:
                _prefetch_block(conv, next_pointer, len(totals) // width)
            return nest(inner, next_pointer, values)

        if computed is None:
            return builder.loop(builder.constant(0), end or builder.constant(count), 1, carried, body)
        # The weights of positions before and after the range are skipped too.
        first, end = computed
        weights_of_step = prod(level.iterations for level in inner) * width * conv.lanes * terms
        at, *others = carried
        at = builder.iadd(at, builder.imul(first, weights_of_step))
        at, *others = builder.loop(first, end, 1, [at, *others], body)
        left = builder.add(llvm.SubOp(builder.constant(count), end))
        return [builder.iadd(at, builder.imul(left, weights_of_step)), *others]

    rows, columns = _nonzero_ranges(conv, origin, len(totals) // width)
    window = [
        _Level(kernel[0], builder.mul_sizes(x.row, dilations[0]), rows),
        _Level(kernel[1], dilations[1] * x.lanes, columns),
    ]
    # The last input block may be partly filled; its unused channels have no weights, so that it has a
    # loop nest of its own.
    blocks, rest = divmod(op.depth.value.data, x.lanes)
    carried: Sequence[SSAValue] = [builder.constant(0), *aheads, *totals]
    if op.shares_blocks:
        return nest(window, corner, carried)[1 + len(aheads) :]
    if blocks:
        end = None if piece is None else piece.blocks
        outermost = _Level(blocks, x.block, None, end)
        carried = nest([outermost, *window, _Level(x.lanes // terms, terms)], corner, carried)
    if rest:
        after = blocks if piece is None else piece.blocks
        remainder = builder.address(corner, builder.mul_sizes(x.block, after), x.element)

        def of_rest(_: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return nest([*window, _Level(rest // terms, terms)], remainder, carried)

        zero = builder.constant(0)
        carried = of_rest(zero, carried) if piece is None else _once(builder, piece.is_last, carried, of_rest)
    return carried[1 + len(aheads) :]


def _begin(
    conv: _Conv, piece: _Piece, corner: SSAValue, weights: SSAValue, width: int
) -> tuple[SSAValue, SSAValue]:
    """Return where the input channels of a piece begin, and in a panel their weights."""
    builder, x = conv.builder, conv.x
    step = x.lanes * prod(_sizes(conv.op.kernel)) * width * conv.lanes
    return (
        builder.address(corner, builder.mul_sizes(x.block, piece.first_block), x.element),
        builder.address(weights, builder.imul(piece.first_block, step), x.element),
    )


def _once(
    builder: LLVMBuilder,
    condition: SSAValue,
    carried: Sequence[SSAValue],
    body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """Emit a loop of one iteration under a condition, else of none."""
    count = builder.select(condition, builder.constant(1), builder.constant(0))
    return builder.loop(builder.constant(0), count, 1, carried, body)


def _nonzero_ranges(
    conv: _Conv, origin: TileOrigin, pixels: int
) -> Sequence[tuple[SSAValue, SSAValue] | None]:
    """
    Return the range of window rows, and of columns, that read other than the halo for some pixel of a tile.

    `None` where all are computed: `x` is not known to have a halo, or the window is not dilated. Of a window
    that is dilated by half an image, most rows and columns of most tiles read only zeros.
    """
    builder, op, x = conv.builder, conv.op, conv.x
    if op.halo is None:
        return [None, None]
    top, left, bottom, right = (int(size) for size in op.halo.get_values())
    sizes = [
        builder.add(llvm.SDivOp(builder.size(whole), builder.size(part)))
        for whole, part in ((x.block, x.row), (x.row, x.lanes))
    ]
    *_, row, column = origin
    ranges: list[tuple[SSAValue, SSAValue] | None] = []
    axes = zip(
        (row, column),
        sizes,
        ((top, bottom), (left, right)),
        (1, pixels),
        conv.start,
        *map(_sizes, (op.strides, op.kernel, op.dilations)),
        strict=True,
    )
    for at, size, (before, after), tile, start, stride, count, dilation in axes:
        if dilation == 1:
            ranges.append(None)
            continue
        position = builder.iadd(builder.imul(at, stride), builder.size(start))
        last = builder.iadd(position, builder.constant((tile - 1) * stride))
        # Position `i` of the window reads `position + i dilation`: at least `before`, less than the end.
        bounds = [
            builder.size(builder.ceil_div(builder.add(llvm.SubOp(bound, read)), dilation))
            for bound, read in (
                (builder.constant(before), last),
                (builder.iadd(size, builder.constant(-after)), position),
            )
        ]
        end = builder.intrinsic(
            "smin", builder.intrinsic("smax", bounds[1], builder.constant(0)), builder.constant(count)
        )
        first = builder.intrinsic("smin", builder.intrinsic("smax", bounds[0], builder.constant(0)), end)
        ranges.append((first, end))
    return ranges


def _first_block(conv: _Conv, block: SSAValue) -> SSAValue:
    """Return the first block of the input that a block of results is computed from."""
    builder, op = conv.builder, conv.op
    if op.group_count == 1:
        return builder.constant(0)
    if op.shares_blocks:
        return block
    group = builder.add(llvm.UDivOp(block, builder.constant(op.blocks // op.group_count)))
    return builder.imul(group, op.depth.value.data // conv.x.lanes)


class _Panel(NamedTuple):
    """The weights of a tile."""

    weights: SSAValue
    width: int
    """Vectors of output channels."""
    aheads: int
    """Addresses in the next panel that the tile carries: 1 if it prefetches that."""


def _accumulate_terms(
    conv: _Conv, panel: _Panel, pointer: SSAValue, carried: Sequence[SSAValue]
) -> list[SSAValue]:
    """Emit the FMAs of one input channel, or pair of them, at one window position."""
    builder, op, x, width = conv.builder, conv.op, conv.x, panel.width
    # Pairs of bfloat16 values are loaded as one i32.
    terms, word = op.terms, conv.element if op.products is None else i32
    at, *others = carried
    aheads, sums = others[: panel.aheads], others[panel.aheads :]
    pointer = builder.opaque(pointer)
    row_of_weights = builder.address(panel.weights, at, x.element)
    if op.weight_prefetch is not None:
        distance = op.weight_prefetch.value.data
        for each in range(width):
            builder.prefetch(row_of_weights, each * conv.lanes * size_of(word) + distance)
    vectors = [
        builder.load(builder.address(row_of_weights, each * conv.lanes * terms, x.element), word, conv.lanes)
        for each in range(width)
    ]
    # Weights are packed in the order of the loops: one running offset reaches them all.
    results = [builder.iadd(at, builder.constant(width * conv.lanes * terms))]
    for ahead in aheads:
        assert conv.next_panel is not None
        step_bytes = conv.next_panel.step_bytes
        prefetch_share(builder, ahead, step_bytes)
        results.append(ahead_of(builder, ahead, step_bytes))
    distance_of_pixels = _sizes(op.strides)[1] * x.lanes
    for pixel in range(len(sums) // width):
        number = builder.load(builder.address(pointer, pixel * distance_of_pixels, x.element), word)
        own = sums[pixel * width : (pixel + 1) * width]
        results += multiply_add(builder, op.products, number, vectors, own)
    return results


def _accumulate_block(
    conv: _Conv, panel: _Panel, pointer: SSAValue, carried: Sequence[SSAValue]
) -> list[SSAValue]:
    """
    Emit the FMAs of one window position for a block of several groups.

    Step `i` multiplies each lane by channel `i` of its group: no lane reads channels of another group, which
    might be infinite.
    """
    builder, op, lanes = conv.builder, conv.op, conv.lanes
    at, *sums = carried
    depth = op.depth.value.data
    row_of_weights = builder.address(panel.weights, at, conv.x.element)
    distance = _sizes(op.strides)[1] * lanes
    pixels = [
        builder.load(builder.address(pointer, pixel * distance, conv.x.element), conv.element, lanes)
        for pixel in range(len(sums))
    ]
    for step in range(depth):
        weights = builder.load(
            builder.address(row_of_weights, step * lanes, conv.x.element), conv.element, lanes
        )
        channels = [lane // depth * depth + step for lane in range(lanes)]
        sums = [
            builder.fma(builder.shuffle(pixel, channels), weights, total)
            for pixel, total in zip(pixels, sums, strict=True)
        ]
    return [builder.iadd(at, builder.constant(depth * lanes)), *sums]


def _share_of_next_panel(
    conv: _Conv, weights: SSAValue, origin: TileOrigin, width: int
) -> Sequence[SSAValue]:
    """Return where a tile prefetches the next panel of weights, if it does; a narrower panel is the last."""
    builder, op = conv.builder, conv.op
    pixels, full_width = _sizes(op.tile)
    if conv.next_panel is None or width < full_width:
        return []
    _, _, row, column = origin
    tile = builder.iadd(
        builder.imul(row, conv.next_panel.tiles_of_row),
        builder.add(llvm.UDivOp(column, builder.constant(pixels))),
    )
    depth = op.depth if op.depth_piece is None else op.depth_piece
    steps = depth.value.data * prod(_sizes(op.kernel)) // op.terms
    share = builder.mul_sizes(conv.next_panel.step_bytes, steps)
    size = conv.weights_per_channel * width * conv.lanes * size_of(element_of(conv.op.w))
    return [share_of_next_panel(builder, weights, size, tile, share)]


def _prefetch_block(conv: _Conv, pointer: SSAValue, pixels: int) -> None:
    """Prefetch what a tile reads of the next channel block: too far away for hardware prefetchers."""
    op, x = conv.op, conv.x
    assert op.prefetch is not None
    line, size = op.prefetch.value.data, size_of(x.element)
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    columns = {
        (pixel * strides[1] + step * dilations[1]) * x.lanes * size // line
        for pixel in range(pixels)
        for step in range(kernel[1])
    }
    # Not `inbounds`, as in `prefetch`: the next block of the last one is past the end.
    pointer = conv.builder.add(llvm_ops.address(pointer, x.block, x.element, inbounds=False))
    for row in range(kernel[0]):
        distance = conv.builder.mul_sizes(x.row, row * dilations[0])
        start = (
            conv.builder.add(llvm_ops.address(pointer, distance, x.element, inbounds=False))
            if row
            else pointer
        )
        for column in sorted(columns):
            conv.builder.prefetch(start, column * line)


MAX_UNROLLED_COLUMNS = 32
"""Elements of a row of a depthwise window that are unrolled at most, where the window is not."""


def _accumulate_depthwise(conv: _Conv, origin: TileOrigin, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Accumulate a depthwise convolution; pixels that windows share are loaded once per window row."""
    builder, op, x, element, lanes = conv.builder, conv.op, conv.x, conv.element, conv.lanes
    _, block, *_ = origin
    kernel, dilations, strides = _sizes(op.kernel), _sizes(op.dilations), _sizes(op.strides)
    corner = builder.opaque(_pixel_address(conv, x, origin, conv.start, strides))
    weights = builder.opaque(builder.address(conv.w, builder.imul(block, prod(kernel) * lanes), element))
    is_unrolled = prod(kernel) <= MAX_UNROLLED_WINDOW

    def part(
        pixels: SSAValue, factors: SSAValue, columns: int, totals: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Add the products of some neighboring columns of a row of the window."""
        sums = list(totals)
        read: dict[int, SSAValue] = {}
        for step in range(columns):
            factor = builder.load(builder.address(factors, step * lanes, element), element, lanes)
            for pixel, total in enumerate(sums):
                column = pixel * strides[1] + step * dilations[1]
                if column not in read:
                    read[column] = builder.load(
                        builder.address(pixels, column * lanes, element), element, lanes
                    )
                sums[pixel] = builder.fma(read[column], factor, total)
        return sums

    def of_row(row: SSAValue | int, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        pixels, factors = (
            builder.address(start, builder.mul_sizes(row, distance), element)
            for start, distance in (
                (corner, builder.mul_sizes(x.row, dilations[0])),
                (weights, kernel[1] * lanes),
            )
        )
        if is_unrolled or kernel[1] <= MAX_UNROLLED_COLUMNS:
            return part(pixels, factors, kernel[1], totals)
        count, rest = divmod(kernel[1], MAX_UNROLLED_COLUMNS)

        def of_columns(first: SSAValue | int, columns: int, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at, read = (
                builder.address(start, builder.mul_sizes(first, distance), element)
                for start, distance in ((factors, lanes), (pixels, dilations[1] * lanes))
            )
            return part(read, at, columns, totals)

        end = count * MAX_UNROLLED_COLUMNS
        totals = builder.loop(
            builder.constant(0),
            builder.constant(end),
            MAX_UNROLLED_COLUMNS,
            totals,
            lambda first, totals: of_columns(first, MAX_UNROLLED_COLUMNS, totals),
        )
        return of_columns(end, rest, totals)

    if not is_unrolled:
        return builder.loop(builder.constant(0), builder.constant(kernel[0]), 1, totals, of_row)
    for row in range(kernel[0]):
        totals = of_row(row, totals)
    return totals


def _store(conv: _Conv, origin: TileOrigin, sums: Sequence[SSAValue], width: int) -> None:
    """Add the residual to the sums of the first piece, apply the epilogue to those of the last, store."""
    builder, op, element, piece = conv.builder, conv.op, conv.element, conv.piece
    targets = _targets(conv, origin, width)
    added: Sequence[SSAValue] = []
    if conv.residual is not None and op.residual_start is not None:
        first, block = (
            _pixel_address(conv, conv.residual, origin, _sizes(op.residual_start), (1, 1)),
            conv.residual.block,
        )
        added = [builder.address(first, builder.mul_sizes(block, each), element) for each in range(width)]
    for number, total in enumerate(sums):
        pixel, block = divmod(number, width)
        if added:
            read = builder.address(added[block], pixel * conv.lanes, element)
            whole = builder.fadd(total, builder.load(read, element, conv.lanes))
            # Only the first piece adds it: `y` may have the memory of the residual.
            total = whole if piece is None else builder.select(piece.is_first, whole, total)
        finished = _finished(conv, total)
        total = finished if piece is None else builder.select(piece.is_last, finished, total)
        builder.store(total, _pixel_of(conv, targets[block], pixel))


def _finished(conv: _Conv, total: SSAValue) -> SSAValue:
    """Apply bounds and epilogue to a vector of results."""
    for limit, predicate in ((conv.op.low, "olt"), (conv.op.high, "ogt")):
        total = _clamp(conv.builder, total, limit, predicate)
    return total if conv.epilogue is None else conv.epilogue(total, conv.lanes)


def _clamp(builder: LLVMBuilder, total: SSAValue, limit: FloatAttr | None, predicate: str) -> SSAValue:
    if limit is None:
        return total
    # An ordered comparison with NaN is false, so that a NaN is kept.
    bound = builder.constant(limit.value.data, total.type)
    return builder.select(builder.fcmp(predicate, total, bound), bound, total)
