"""
How a convolution shares the convolution buffer, and in which pieces it runs (docs/internals/nvdla-hardware.md
§3.7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil


@dataclass(frozen=True)
class Buffer:
    """The convolution buffer: `banks` of `entries` of `entry_bytes` each."""

    banks: int
    entries: int
    entry_bytes: int

    @property
    def bank_bytes(self) -> int:
        """Bytes of one bank."""
        return self.entries * self.entry_bytes


@dataclass(frozen=True)
class Rows:
    """
    The vertical geometry of a convolution and what it puts into the buffer.

    `height` input rows of `entries_per_slice` buffer entries each become `output_height` rows; `reach` is the
    dilated kernel's height. `weight_bytes` are all kernels, `group_bytes` the kernels that run at once.
    """

    height: int
    output_height: int
    reach: int
    stride: int
    pad_top: int
    entries_per_slice: int
    row_bytes: int
    weight_bytes: int
    group_bytes: int


@dataclass(frozen=True)
class Piece:
    """Output rows `first_output` to `first_output + outputs` from `inputs` input rows at `first_input`."""

    first_output: int
    outputs: int
    first_input: int
    inputs: int
    pad_top: int
    pad_bottom: int


@dataclass(frozen=True)
class ConvolutionPlan:
    """
    Banks for data and weights and the pieces, which together read `traffic` bytes.

    `weights_stay`: all kernels are in the buffer at once, so pieces after the first need not read them again.
    """

    data_banks: int
    weight_banks: int
    weights_stay: bool
    pieces: tuple[Piece, ...]
    traffic: int


def plan_convolution(
    rows: Rows, buffer: Buffer, cost: Callable[[ConvolutionPlan], float]
) -> ConvolutionPlan | None:
    """
    The plan of the least cost, and of equal ones that which reads the fewest bytes; `None` if nothing fits.

    Weights get banks for all kernels, for two groups (one is read while the other works) or for one group,
    data what is left: whole, else in pieces along the height whose inputs overlap. On a tie the earlier
    choice stays.
    """
    plans = list(_plans(rows, buffer))
    return min(plans, key=lambda plan: (cost(plan), plan.traffic), default=None)


def _plans(rows: Rows, buffer: Buffer) -> Iterator[ConvolutionPlan]:
    all_weights = ceil(rows.weight_bytes / buffer.bank_bytes)
    one_group = ceil(rows.group_bytes / buffer.bank_bytes)
    for weight_banks in sorted({all_weights, min(2 * one_group, all_weights), one_group}, reverse=True):
        whole = ceil(rows.entries_per_slice * rows.height / buffer.entries)
        data_banks = min(buffer.banks - weight_banks, whole)
        if data_banks < 1:
            continue
        held = min(data_banks * buffer.entries // rows.entries_per_slice, rows.height)
        if held < min(rows.reach, rows.height):
            continue
        stay = weight_banks == all_weights
        pieces = _pieces(rows, held)
        if min(piece.inputs for piece in pieces) < 1:
            continue
        weight_reads = 1 if stay else len(pieces)
        data = rows.row_bytes * sum(piece.inputs for piece in pieces)
        yield ConvolutionPlan(data_banks, weight_banks, stay, pieces, data + weight_reads * rows.weight_bytes)


def _pieces(rows: Rows, held: int) -> tuple[Piece, ...]:
    """As few pieces as `held` input rows allow, of nearly equal height."""
    if held >= rows.height:
        return (_piece(rows, 0, rows.output_height),)
    largest = (held - rows.reach) // rows.stride + 1
    count = ceil(rows.output_height / largest)
    ends = [rows.output_height * index // count for index in range(count + 1)]
    return tuple(_piece(rows, begin, end) for begin, end in pairwise(ends))


def _piece(rows: Rows, begin: int, end: int) -> Piece:
    top = begin * rows.stride - rows.pad_top
    bottom = (end - 1) * rows.stride - rows.pad_top + rows.reach
    first, last = max(top, 0), min(bottom, rows.height)
    return Piece(begin, end - begin, first, last - first, max(-top, 0), max(bottom - rows.height, 0))
