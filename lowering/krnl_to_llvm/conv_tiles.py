"""
Loops over the register tiles of a convolution: images, panels of channel vectors, rows, and pixels of a row.

The parallel range of a convolution counts (image, panel, row), with rows innermost. A thread thus works on
consecutive rows with the same weights, which stay in its cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder

TileOrigin: TypeAlias = tuple[SSAValue, SSAValue, SSAValue, SSAValue]
"""Image, channel vector, row and column of the first output of a tile."""

EmitTile: TypeAlias = Callable[[TileOrigin, int, int], None]
"""Emit a tile at an origin, of a number of pixels and a number of channel vectors."""


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
    width = grid.tile[1]
    full_tiles, rest_width = divmod(grid.vectors // grid.groups, width)
    if not rest_width:
        _emit_rows(builder, iterations, grid, (0, full_tiles, width), tile)
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
            tile,
        )
    _emit_rows(
        builder,
        (builder.intrinsic("smax", iterations[0], middle), iterations[1]),
        grid,
        (full_tiles, 1, rest_width),
        tile,
    )


def _emit_rows(
    builder: LLVMBuilder,
    iterations: tuple[SSAValue, SSAValue],
    grid: TileGrid,
    part: tuple[int, int, int],
    tile: EmitTile,
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
        _emit_row_of_tiles(builder, (image, vector, row), grid, width, tile)
        return []

    builder.loop(*iterations, 1, [], body)


def _emit_row_of_tiles(
    builder: LLVMBuilder,
    origin: tuple[SSAValue, SSAValue, SSAValue],
    grid: TileGrid,
    width: int,
    tile: EmitTile,
) -> None:
    """Emit one row: full tiles, then one narrower tile for the remaining pixels."""
    (pixels, _), (_, columns) = grid.tile, grid.out
    if not isinstance(columns, int):
        _emit_dynamic_row(builder, origin, columns, pixels, width, tile)
        return
    tiled = columns // pixels * pixels

    def one(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        tile((*origin, column), pixels, width)
        return []

    if tiled == pixels:
        one(builder.constant(0), [])
    elif tiled:
        builder.loop(builder.constant(0), builder.constant(tiled), pixels, [], one)
    if columns > tiled:
        tile((*origin, builder.constant(tiled)), columns - tiled, width)


def _emit_dynamic_row(
    builder: LLVMBuilder,
    origin: tuple[SSAValue, SSAValue, SSAValue],
    columns: SSAValue,
    pixels: int,
    width: int,
    tile: EmitTile,
) -> None:
    """
    Emit a row of dynamic length: full tiles, then tiles of half the pixels, and so on, for the remainder.

    The last tile of a size ends with the row if that leaves nothing for smaller ones but half a tile or less:
    it computes some pixels again, in less time than several narrow tiles take.
    """
    first = builder.constant(0)
    while True:
        half = -(-pixels // 2) if pixels > 1 else 0
        count, size = pixels, builder.constant(pixels)
        last = builder.add(llvm.SubOp(columns, size))

        def one(
            column: SSAValue, _: Sequence[SSAValue], count: int = count, last: SSAValue = last
        ) -> Sequence[SSAValue]:
            tile((*origin, builder.intrinsic("smin", column, last)), count, width)
            return []

        left = builder.add(llvm.SubOp(columns, first))
        full = builder.add(llvm.SDivOp(left, size))
        rest = builder.add(llvm.SubOp(left, builder.imul(full, pixels)))
        # A row of fewer pixels than a tile has none that ends with it.
        is_wide = builder.icmp("sge", columns, size)
        overlaps = builder.select(is_wide, builder.icmp("sgt", rest, builder.constant(half)), is_wide)
        more = builder.add(llvm.ZExtOp(overlaps, i64))
        end = builder.iadd(first, builder.imul(builder.iadd(full, more), pixels))
        builder.loop(first, end, pixels, [], one)
        if not half:
            return
        first, pixels = builder.intrinsic("smin", end, columns), half
