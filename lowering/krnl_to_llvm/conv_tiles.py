"""The tiles that a convolution is made of: panels of channels, rows, and pixels of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter

Place: TypeAlias = tuple[SSAValue, SSAValue, SSAValue, SSAValue]
"""Image, vector of channels, row and column of a result."""

Tile: TypeAlias = Callable[[Place, int, int], None]
"""Writes a tile from a place on: so many pixels, so many vectors of channels."""


class Grid(NamedTuple):
    """What is shared out among tiles."""

    images: int | SSAValue
    vectors: int
    """Vectors of channels of a pixel."""
    out: tuple[int, int | SSAValue]
    """Rows and columns."""
    tile: tuple[int, int]
    """Pixels of a row and vectors of channels."""


def over_tiles(to: Emitter, turns: tuple[SSAValue, SSAValue], grid: Grid, tile: Tile) -> None:
    """
    Writes all tiles of a range of iterations: rows, of one panel of vectors after the other, of each image.

    Iterations of the panels of full width come first, those of the narrow last one behind.
    """
    width = grid.tile[1]
    whole, rest_width = divmod(grid.vectors, width)
    if not rest_width:
        _rows(to, turns, grid, (0, whole, width), tile)
        return
    middle = to.size(to.times(grid.images, whole * grid.out[0]))
    if whole:
        _rows(to, (turns[0], to.intrinsic("smin", turns[1], middle)), grid, (0, whole, width), tile)
    _rows(to, (to.intrinsic("smax", turns[0], middle), turns[1]), grid, (whole, 1, rest_width), tile)


def _rows(
    to: Emitter, turns: tuple[SSAValue, SSAValue], grid: Grid, part: tuple[int, int, int], tile: Tile
) -> None:
    """Rows of a part of the panels: the first of them, how many, and how wide they are."""
    first, panels, width = part
    rows = grid.out[0]
    skipped = to.size(to.times(grid.images, first * rows))

    def turn(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        number = to.add(llvm.SubOp(number, skipped)) if first else number
        number, row = to.parts(number, rows)
        is_one = isinstance(grid.images, int) and grid.images == 1
        image, panel = (to.number(0), number) if is_one else to.parts(number, panels)
        vector = to.plus(to.scaled(panel, width), to.number(first * grid.tile[1]))
        _row(to, (image, vector, row), grid, width, tile)
        return []

    to.loop(*turns, 1, [], turn)


def _row(to: Emitter, place: tuple[SSAValue, SSAValue, SSAValue], grid: Grid, width: int, tile: Tile) -> None:
    """One row of pixels of some vectors of channels."""
    (pixels, _), (_, columns) = grid.tile, grid.out
    if not isinstance(columns, int):
        _open_row(to, place, columns, pixels, width, tile)
        return
    whole = columns // pixels * pixels

    def one(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        tile((*place, column), pixels, width)
        return []

    if whole == pixels:
        one(to.number(0), [])
    elif whole:
        to.loop(to.number(0), to.number(whole), pixels, [], one)
    if columns > whole:
        tile((*place, to.number(whole)), columns - whole, width)


FEW_PIXELS = (4, 2, 1)
"""Pixels of the tiles for what is left of a row whose length a run tells."""


def _open_row(
    to: Emitter,
    place: tuple[SSAValue, SSAValue, SSAValue],
    columns: SSAValue,
    pixels: int,
    width: int,
    tile: Tile,
) -> None:
    """A row whose length a run tells: tiles as long as they are at most, then shorter ones."""
    first = to.number(0)
    for count in (pixels, *(few for few in FEW_PIXELS if few < pixels)):

        def one(column: SSAValue, _: Sequence[SSAValue], count: int = count) -> Sequence[SSAValue]:
            tile((*place, column), count, width)
            return []

        left = to.add(llvm.SDivOp(to.add(llvm.SubOp(columns, first)), to.number(count)))
        end = to.plus(first, to.scaled(left, count))
        to.loop(first, end, count, [], one)
        first = end
