"""
Tiling of convolutions along the height so that a tile fits the convolution buffer (CBUF).

Each plan gives some banks of the buffer to weights and the rest to data; rules of the buffer are in
`docs/internals/nvdla-hardware.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

from xonnc.formats.nvdla.geometry import WINOGRAD_SIDE, winograd_extended

MAX_TILES: Final = 64
"""More tiles than this are planned only if the buffer needs them."""


@dataclass(frozen=True)
class ConvBuffer:
    """The convolution buffer: `banks` of `entries` of `entry_bytes` each."""

    banks: int
    entries: int
    entry_bytes: int

    @property
    def bank_bytes(self) -> int:
        """Bytes of one bank."""
        return self.entries * self.entry_bytes


@dataclass(frozen=True)
class ConvBufferDemand:
    """
    The buffer usage of a convolution, and its geometry along the height.

    `height` input rows of `entries_per_slice` buffer entries each give `output_height` rows; `kernel_height`
    is that of the dilated kernel. `weight_bytes` is the size of all kernels, `group_bytes` that of one kernel
    group, the kernels that the MAC array computes at once. `compressed_bytes` are read instead of
    `weight_bytes` where the weights are compressed; the convolution is then computed in one tile.

    `is_winograd`: Winograd's algorithm has the padding of the input in the buffer too. Its `output_height` is
    a multiple of 4, as are the rows of each tile of the plan.
    """

    height: int
    output_height: int
    kernel_height: int
    stride: int
    pad_top: int
    entries_per_slice: int
    row_bytes: int
    weight_bytes: int
    group_bytes: int
    compressed_bytes: int | None = None
    is_winograd: bool = False

    @property
    def step(self) -> int:
        """The number of output rows of a tile is a multiple of this."""
        return WINOGRAD_SIDE if self.is_winograd else 1

    @property
    def steps(self) -> int:
        """The output rows in units of `step`."""
        return self.output_height // self.step

    def buffer_rows(self, outputs: int) -> int:
        """Return the rows of the buffer for `outputs` rows of the result, those of padding included."""
        if self.is_winograd:
            return winograd_extended(outputs)
        return (outputs - 1) * self.stride + self.kernel_height

    @property
    def full_rows(self) -> int:
        """The rows of the buffer for the whole convolution."""
        return self.buffer_rows(self.output_height) if self.is_winograd else self.height

    @property
    def min_rows(self) -> int:
        """The rows of the buffer for the smallest tile."""
        return min(self.buffer_rows(self.step), self.full_rows)

    def max_outputs(self, resident_rows: int) -> int:
        """Return the output rows of the largest tile in `resident_rows` rows of the buffer."""
        outputs = (resident_rows - self.buffer_rows(1)) // self.stride + 1
        return outputs // self.step * self.step

    def tile_rows(self, tile: RowTile) -> int:
        """Return the rows of the buffer for a tile."""
        return self.buffer_rows(tile.outputs) if self.is_winograd else tile.inputs

    def held_bytes(self, tile: RowTile, entry_bytes: int) -> int:
        """Return the bytes of the buffer for a tile's data; the padding of Winograd's input takes some."""
        if self.is_winograd:
            return self.tile_rows(tile) * self.entries_per_slice * entry_bytes
        return tile.inputs * self.row_bytes

    @property
    def read_bytes(self) -> int:
        """The bytes of all weights in memory."""
        return self.weight_bytes if self.compressed_bytes is None else self.compressed_bytes


class RowTile(NamedTuple):
    """Output rows [`first_output`, `first_output + outputs`), from `inputs` input rows at `first_input`."""

    first_output: int
    outputs: int
    first_input: int
    inputs: int
    pad_top: int
    pad_bottom: int

    @property
    def rows(self) -> range:
        """The output rows."""
        return range(self.first_output, self.first_output + self.outputs)


class ConvolutionPlan(NamedTuple):
    """
    The bank split and the row tiles of a convolution, which together read `traffic` bytes.

    `weights_resident`: all kernels are in the buffer at once, so only the first tile reads them.
    """

    data_banks: int
    weight_banks: int
    weights_resident: bool
    tiles: tuple[RowTile, ...]
    traffic: int


def plan_convolution(
    rows: ConvBufferDemand, buffer: ConvBuffer, cost: Callable[[ConvolutionPlan], float]
) -> ConvolutionPlan | None:
    """
    Return the plan of least cost, among equals the one with the least traffic; `None` if nothing fits.

    On a tie the earlier of `candidate_plans` wins.
    """
    plans = list(candidate_plans(rows, buffer))
    return min(plans, key=lambda plan: (cost(plan), plan.traffic), default=None)


def candidate_plans(
    rows: ConvBufferDemand, buffer: ConvBuffer, splits: Sequence[tuple[int, int]] = ()
) -> Iterator[ConvolutionPlan]:
    """
    Yield plans for a convolution, first of all with the bank splits `splits` of data and weights if they do.

    Weights get banks for all kernels, for two kernel groups (one is loaded while the other computes) or for
    one group, data the others; or data gets banks for all rows, weights the others. Rows are computed in one
    tile, or in tiles of which one, two or more fit the banks: one is loaded while another computes.
    """
    for split in dict.fromkeys((*splits, *_bank_splits(rows, buffer))):
        plans = _plans(rows, buffer, *split)
        yield from plans if rows.compressed_bytes is None else (one for one in plans if len(one.tiles) == 1)


def _bank_splits(rows: ConvBufferDemand, buffer: ConvBuffer) -> Iterator[tuple[int, int]]:
    all_weights = ceil(rows.weight_bytes / buffer.bank_bytes)
    one_group = ceil(rows.group_bytes / buffer.bank_bytes)
    banks_needed = ceil(rows.entries_per_slice * rows.full_rows / buffer.entries)
    for weight_banks in (all_weights, min(2 * one_group, all_weights), one_group):
        yield buffer.banks - weight_banks, weight_banks
    yield banks_needed, buffer.banks - banks_needed


def _plans(
    rows: ConvBufferDemand, buffer: ConvBuffer, data_banks: int, weight_banks: int
) -> Iterator[ConvolutionPlan]:
    """Yield the plans with a bank split; none if it does not fit."""
    fits = weight_banks * buffer.bank_bytes >= rows.group_bytes and data_banks > 0
    if not fits or data_banks + weight_banks > buffer.banks:
        return
    resident_rows = min(data_banks * buffer.entries // rows.entries_per_slice, rows.full_rows)
    if resident_rows < rows.min_rows:
        return
    is_resident = weight_banks * buffer.bank_bytes >= rows.weight_bytes
    for tiles in dict.fromkeys(_tilings(rows, resident_rows, data_banks * buffer.entries)):
        if min(tile.inputs for tile in tiles) < 1:
            continue
        # Kernel groups that replace each other in the buffer are read again for every tile.
        weight_reads = 1 if is_resident else len(tiles)
        data = rows.row_bytes * sum(tile.inputs for tile in tiles)
        traffic = data + weight_reads * rows.read_bytes
        yield ConvolutionPlan(data_banks, weight_banks, is_resident, tiles, traffic)


def _tilings(rows: ConvBufferDemand, resident_rows: int, entries: int) -> Iterator[tuple[RowTile, ...]]:
    """Yield as few tiles as `resident_rows` allow, then more, of half the buffer and less."""
    fewest = row_tiles(rows, resident_rows)
    yield fewest
    yield _full_tiles(rows, resident_rows)
    half = max(entries // 2 // rows.entries_per_slice, rows.min_rows)
    fitting_twice = len(row_tiles(rows, half)) if half < rows.full_rows else 2
    counts = {fitting_twice, 2 * fitting_twice, 4 * fitting_twice}
    for count in sorted(counts):
        if not len(fewest) < count <= min(rows.steps, MAX_TILES):
            continue
        yield equal_tiles(rows, count)
        for shortened in (
            _shortened(rows, count, 2, 1),
            _shortened(rows, count, 4, 1),
            _shortened(rows, count, 2, 2),
        ):
            if max(map(rows.tile_rows, shortened)) <= resident_rows:
                yield shortened


def row_tiles(rows: ConvBufferDemand, resident_rows: int) -> tuple[RowTile, ...]:
    """Return as few tiles as `resident_rows` input rows allow, of nearly equal height."""
    if resident_rows >= rows.full_rows:
        return (_row_tile(rows, 0, rows.output_height),)
    return equal_tiles(rows, ceil(rows.output_height / rows.max_outputs(resident_rows)))


def _full_tiles(rows: ConvBufferDemand, resident_rows: int) -> tuple[RowTile, ...]:
    """Return tiles that take `resident_rows` input rows each, the last one the rest."""
    ends = [0]
    while ends[-1] < rows.output_height:
        end = ends[-1] + rows.step
        while (
            end < rows.output_height
            and rows.tile_rows(_row_tile(rows, ends[-1], end + rows.step)) <= resident_rows
        ):
            end += rows.step
        ends.append(end)
    return tuple(_row_tile(rows, begin, end) for begin, end in pairwise(ends))


def equal_tiles(rows: ConvBufferDemand, count: int) -> tuple[RowTile, ...]:
    """Return `count` tiles of nearly equal height."""
    ends = [rows.steps * index // count * rows.step for index in range(count + 1)]
    return tuple(_row_tile(rows, begin, end) for begin, end in pairwise(ends))


def _shortened(rows: ConvBufferDemand, count: int, first: int, last: int) -> tuple[RowTile, ...]:
    """Return `count` tiles, the first and the last smaller than the others by these factors."""
    weights = [1 / first, *(1.0 for _ in range(count - 2)), 1 / last]
    ends = [0]
    for index in range(1, count):
        # Every tile has a row.
        least, most = ends[-1] + 1, rows.steps - (count - index)
        end = round(rows.steps * sum(weights[:index]) / sum(weights))
        ends.append(min(max(end, least), most))
    bounds = [end * rows.step for end in (*ends, rows.steps)]
    return tuple(_row_tile(rows, begin, end) for begin, end in pairwise(bounds))


def _row_tile(rows: ConvBufferDemand, begin: int, end: int) -> RowTile:
    # Input rows of the first and the last window, in coordinates of the unpadded input: what lies outside of
    # [0, height) is padding of this tile. Adjacent tiles share kernel_height - stride rows, the halo.
    top = begin * rows.stride - rows.pad_top
    bottom = (end - 1) * rows.stride - rows.pad_top + rows.kernel_height
    first, last = max(top, 0), min(bottom, rows.height)
    return RowTile(begin, end - begin, first, last - first, max(-top, 0), max(bottom - rows.height, 0))
