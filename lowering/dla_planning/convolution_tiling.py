"""
Tiling of convolutions along the height so that a tile fits the convolution buffer (CBUF).

Each plan gives some banks of the buffer to weights and the rest to data; rules of the buffer are in
`docs/internals/nvdla-hardware.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil


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
    What a convolution puts into the buffer, and its geometry along the height.

    `height` input rows of `entries_per_slice` buffer entries each give `output_height` rows; `kernel_height`
    is that of the dilated kernel. `weight_bytes` is the size of all kernels, `group_bytes` that of one kernel
    group, the kernels that the MAC array computes at once.
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


@dataclass(frozen=True)
class RowTile:
    """Output rows [`first_output`, `first_output + outputs`), from `inputs` input rows at `first_input`."""

    first_output: int
    outputs: int
    first_input: int
    inputs: int
    pad_top: int
    pad_bottom: int


@dataclass(frozen=True)
class ConvolutionPlan:
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

    Weights get banks for all kernels, for two kernel groups (one is loaded while the other computes) or for
    one group. Data gets the remaining banks: all rows, else tiles along the height whose inputs overlap by
    the kernel's halo. On a tie the earlier choice wins.
    """
    plans = list(_plans(rows, buffer))
    return min(plans, key=lambda plan: (cost(plan), plan.traffic), default=None)


def _plans(rows: ConvBufferDemand, buffer: ConvBuffer) -> Iterator[ConvolutionPlan]:
    all_weights = ceil(rows.weight_bytes / buffer.bank_bytes)
    one_group = ceil(rows.group_bytes / buffer.bank_bytes)
    for weight_banks in sorted({all_weights, min(2 * one_group, all_weights), one_group}, reverse=True):
        whole = ceil(rows.entries_per_slice * rows.height / buffer.entries)
        data_banks = min(buffer.banks - weight_banks, whole)
        if data_banks < 1:
            continue
        resident_rows = min(data_banks * buffer.entries // rows.entries_per_slice, rows.height)
        if resident_rows < min(rows.kernel_height, rows.height):
            continue
        resident = weight_banks == all_weights
        tiles = row_tiles(rows, resident_rows)
        if min(tile.inputs for tile in tiles) < 1:
            continue
        # Kernel groups that replace each other in the buffer are read again for every tile.
        weight_reads = 1 if resident else len(tiles)
        data = rows.row_bytes * sum(tile.inputs for tile in tiles)
        yield ConvolutionPlan(
            data_banks, weight_banks, resident, tiles, data + weight_reads * rows.weight_bytes
        )


def row_tiles(rows: ConvBufferDemand, resident_rows: int) -> tuple[RowTile, ...]:
    """As few pieces as `resident_rows` input rows allow, of nearly equal height."""
    if resident_rows >= rows.height:
        return (_row_tile(rows, 0, rows.output_height),)
    # A tile of n output rows reads (n - 1) * stride + kernel_height input rows; solved for n.
    largest = (resident_rows - rows.kernel_height) // rows.stride + 1
    count = ceil(rows.output_height / largest)
    ends = [rows.output_height * index // count for index in range(count + 1)]
    return tuple(_row_tile(rows, begin, end) for begin, end in pairwise(ends))


def _row_tile(rows: ConvBufferDemand, begin: int, end: int) -> RowTile:
    # Input rows of the first and the last window, in coordinates of the unpadded input: what lies outside of
    # [0, height) is padding of this tile. Adjacent tiles share kernel_height - stride rows, the halo.
    top = begin * rows.stride - rows.pad_top
    bottom = (end - 1) * rows.stride - rows.pad_top + rows.kernel_height
    first, last = max(top, 0), min(bottom, rows.height)
    return RowTile(begin, end - begin, first, last - first, max(-top, 0), max(bottom - rows.height, 0))
