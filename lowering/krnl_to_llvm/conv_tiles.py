"""
Loops over the register tiles of a convolution: images, panels of channel vectors, rows, and pixels of a row.

The parallel range of a convolution counts (image, panel, row), with rows innermost. A thread thus works on
consecutive rows with the same weights, which stay in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder

StridedBuffer: TypeAlias = tuple[SSAValue, Sequence[int | SSAValue]]
"""A buffer in memory: its address, and the distance of elements along each axis."""

TileOrigin: TypeAlias = tuple[SSAValue, SSAValue, SSAValue, SSAValue]
"""Image, channel vector, row and column of the first output of a tile."""

EmitTile: TypeAlias = Callable[[TileOrigin, int, int], None]
"""Emit a tile at an origin, of a number of pixels and a number of channel vectors."""


RowTiles: TypeAlias = Sequence[tuple[int, int | SSAValue]]
"""Pixels of the tiles of a row, and the column where those of that many end; they begin where others end."""


class TileGrid(NamedTuple):
    """The iteration space of a convolution and its tile."""

    images: int | SSAValue
    vectors: int
    """Channel vectors of a pixel."""
    out: tuple[int | SSAValue, int | SSAValue]
    """Output rows and columns."""
    tile: tuple[int, int]
    """Pixels and channel vectors of a tile."""
    groups: int = 1
    """Parts of the channel vectors, each of whole panels and perhaps a narrower last one."""


def emit_tiles(
    builder: LLVMBuilder, iterations: tuple[SSAValue, SSAValue], grid: TileGrid, tile: EmitTile
) -> None:
    """
    Emit all tiles of a parallel range of (image, panel, row).

    If the panel width does not divide the number of vectors of a group, the range is ordered so that all
    iterations of full panels, over all images, precede those of the narrow last panels. Each part has code of
    its own, for the intersection of the range with that part.
    """
    width, tiles = grid.tile[1], tiles_of_row(builder, grid.out[1], grid.tile[0])
    full_tiles, rest_width = divmod(grid.vectors // grid.groups, width)
    if not rest_width:
        _emit_rows(builder, iterations, grid, (0, full_tiles, width), (tiles, tile))
        return
    # Full panels are iterations [0, middle), the narrower last one those from `middle` on. A chunk of
    # the parallel range may contain both, so each part clamps the range to its own iterations.
    middle = builder.size(
        builder.mul_sizes(builder.mul_sizes(grid.images, grid.out[0]), grid.groups * full_tiles)
    )
    if full_tiles:
        _emit_rows(
            builder,
            (iterations[0], builder.intrinsic("smin", iterations[1], middle)),
            grid,
            (0, full_tiles, width),
            (tiles, tile),
        )
    _emit_rows(
        builder,
        (builder.intrinsic("smax", iterations[0], middle), iterations[1]),
        grid,
        (full_tiles, 1, rest_width),
        (tiles, tile),
    )


def tiles_of_row(builder: LLVMBuilder, columns: int | SSAValue, pixels: int) -> RowTiles:
    """
    Return the tiles of a row: full ones, then a narrower one for the remaining pixels.

    A row of dynamic length is divided into as few tiles as possible of nearly equal size, so that none is
    narrower than half a tile; a row that is has tiles of one pixel (`tile_selection.dynamic_row`).
    """
    if isinstance(columns, int):
        full = columns // pixels * pixels
        return [(pixels, full)] + ([(columns - full, columns)] if columns > full else [])
    # An image without columns has no tiles to divide by.
    count = builder.intrinsic("smax", builder.size(builder.ceil_div(columns, pixels)), builder.constant(1))
    size = builder.add(llvm.SDivOp(columns, count))
    longer = builder.add(llvm.SubOp(columns, builder.imul(size, count)))
    shorter = builder.add(llvm.SubOp(count, longer))
    tiles: list[tuple[int, int | SSAValue]] = []
    none = end = builder.constant(0)
    for each in range(pixels, max(-(-pixels // 2), 2) - 1, -1):
        own = builder.select(builder.icmp("eq", size, builder.constant(each)), shorter, none)
        is_longer = builder.icmp("eq", size, builder.constant(each - 1))
        end = builder.iadd(end, builder.imul(builder.select(is_longer, longer, own), each))
        tiles.append((each, end))
    return [*tiles, (1, columns)]


def _emit_rows(
    builder: LLVMBuilder,
    iterations: tuple[SSAValue, SSAValue],
    grid: TileGrid,
    part: tuple[int, int, int],
    tiles: tuple[RowTiles, EmitTile],
) -> None:
    """
    Emit the rows of a part of the panels of each group: the first panel, the number of panels, their width.
    """
    first, panels, width = part
    rows, groups = grid.out[0], grid.groups
    skipped = builder.size(builder.mul_sizes(builder.mul_sizes(grid.images, rows), groups * first))

    def body(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        number = builder.add(llvm.SubOp(number, skipped)) if first else number
        number, row = builder.delinearize(number, rows)
        is_one = isinstance(grid.images, int) and grid.images == 1
        image, panel = (
            (builder.constant(0), number) if is_one else builder.delinearize(number, groups * panels)
        )
        group, panel = (builder.constant(0), panel) if groups == 1 else builder.delinearize(panel, panels)
        vector = builder.iadd(builder.imul(panel, width), builder.constant(first * grid.tile[1]))
        if groups > 1:
            vector = builder.iadd(vector, builder.imul(group, grid.vectors // groups))
        _emit_row_of_tiles(builder, (image, vector, row), tiles, width)
        return []

    builder.loop(*iterations, 1, [], body)


def _emit_row_of_tiles(
    builder: LLVMBuilder,
    origin: tuple[SSAValue, SSAValue, SSAValue],
    tiles: tuple[RowTiles, EmitTile],
    width: int,
) -> None:
    """Emit the tiles of one row."""
    divided, tile = tiles
    first: int | SSAValue = 0
    for pixels, end in divided:

        def one(column: SSAValue, _: Sequence[SSAValue], pixels: int = pixels) -> Sequence[SSAValue]:
            tile((*origin, column), pixels, width)
            return []

        if end == pixels or (isinstance(first, int) and isinstance(end, int) and end - first == pixels):
            one(builder.size(first), [])
        elif end != first:
            builder.loop(builder.size(first), builder.size(end), pixels, [], one)
        first = end
