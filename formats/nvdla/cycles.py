"""
The demands of one layer on engines and memory, by the rules measured on the RTL of nv_small
(docs/internals/nvdla-hardware.md §8.3, §8.4, §9.4).

`timeline.py` puts layers after one another. The constants are those of nv_small; other configurations have
their own atoms, credits and interface, which is an extrapolation.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import ceil_div, kernel_group, surfaces
from xonnc.targets import NvdlaTarget

DRAIN: Final = 47
"""Cycles from the last step to the end of the layer, besides the results of the last stripe."""

CREDIT_RETURN: Final = 54
"""Cycles until a position's slot in the accumulator is free again, besides its results."""

SHORT_STRIPE: Final = 16
"""Positions per stripe in nv_full."""

WINOGRAD_POSITIONS: Final = 4
"""Results of a Winograd convolution per step."""

SDP_DEPTH, PDP_DEPTH, CDP_DEPTH = 63, 62, 130
"""Cycles from the first element read to its result."""

OPERANDS_AHEAD: Final = 170
"""Beats of operands that the SDP fetches before the first result, at most."""


class ConvWork(NamedTuple):
    """
    Dimensions of a convolution: `kernels` of `channels x height x width` at `rows x columns` positions.

    Over pixels, `channels` are those of a whole kernel row and `width` is 1 (§3.4); `rows_at_once` kernel
    rows are processed together (post-extension).
    """

    precision: Precision
    kernels: int
    channels: int
    height: int
    width: int
    rows: int
    columns: int
    is_image: bool = False
    is_winograd: bool = False
    rows_at_once: int = 1
    batch: int = 1

    @property
    def positions(self) -> int:
        """Results per kernel."""
        return self.rows * self.columns * self.batch

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations (for Winograd those executed)."""
        made = self.kernels * self.channels * self.height * self.width * self.positions
        return made // WINOGRAD_POSITIONS if self.is_winograd else made


class ConvCycles(NamedTuple):
    """
    Cycles of the convolution core: `multiply` if sums were taken at once, `compute` with stalls before them.

    `last_group` is the part of the last kernel group, `drain` comes after all.
    """

    multiply: int
    compute: int
    last_group: int
    drain: int


class Demand(NamedTuple):
    """
    The traffic of a hardware layer in bytes, and its computation in cycles.

    `data` and `weights` go to the convolution buffer, `first_weights` of them before the first
    multiplication; `operands` are fetched by the SDP before it, `streamed` during it. `row_cycles` is what
    writing the rows into the buffer takes beyond a beat a cycle. `depth` is the pipeline of a layer without
    convolution. `held_data` and `held_weights` are in the buffer while the layer runs, also if an earlier
    layer left them there. The `on_chip` bytes of data, operands and results move to or from the on-chip
    memory instead of DRAM.
    """

    data: int = 0
    weights: int = 0
    first_weights: int = 0
    operands: int = 0
    streamed: int = 0
    results: int = 0
    row_cycles: float = 0.0
    conv: ConvCycles | None = None
    elements: int = 0
    depth: int = 0
    data_bank_bytes: int = 0
    weight_bank_bytes: int = 0
    held_data: int = 0
    held_weights: int = 0
    on_chip_data: int = 0
    on_chip_streamed: int = 0
    on_chip_results: int = 0

    @property
    def read(self) -> int:
        """Bytes read."""
        return self.data + self.weights + self.operands + self.streamed

    @property
    def traffic(self) -> int:
        """Bytes read and written."""
        return self.read + self.results

    @property
    def on_chip(self) -> int:
        """Bytes of the traffic that move to or from the on-chip memory."""
        return self.on_chip_data + self.on_chip_streamed + self.on_chip_results


def multipliers(target: NvdlaTarget, precision: Precision) -> int:
    """Return the multiply-accumulate operations per cycle."""
    return target.atomic_c * kernel_group(target, precision)


def conv_cycles(target: NvdlaTarget, work: ConvWork, sdp_rate: float) -> ConvCycles:
    """
    Return the cycles of the convolution core, whose results the SDP takes at `sdp_rate` elements a cycle.

    A step processes one channel block and one tap, or all taps of the few channels that fit in Winograd mode,
    for a stripe of positions and a group of kernels. It lasts as long as the stripe, but at least as long as
    loading the weights of the next step, one MAC cell per cycle. A stripe starts only when its positions have
    slots in the accumulator.
    """
    blocks = ceil_div(work.channels, target.atomic_c)
    steps = blocks * ceil_div(work.height, work.rows_at_once) * work.width
    positions = work.positions
    if work.is_winograd:
        steps = ceil_div(work.channels * work.height * work.width, target.atomic_c)
        positions = ceil_div(positions, WINOGRAD_POSITIONS)
    found = list(image_stripes(target, work) if work.is_image else stripes(target, positions))
    group = kernel_group(target, work.precision)
    results = group * (WINOGRAD_POSITIONS if work.is_winograd else 1) / sdp_rate
    cells = mac_cells(target)
    multiply = steps * sum(count * max(length, cells) for length, count in found)
    at_once = max(2 * target.atomic_k // max(length for length, _ in found), 1)
    last = found[-1][0]
    last_steps = steps * max(last, cells)
    waited = sum(
        count * ceil(max(steps * max(length, cells), length * results, _returned(length, results, at_once)))
        for length, count in found
    )
    groups = ceil_div(work.kernels, group)
    # Nothing needs the slots of the very last stripe.
    end = ceil(max(last_steps, last * results, _returned(last, results, at_once))) - last_steps
    return ConvCycles(groups * multiply, groups * waited - end, waited - end, DRAIN + ceil(last * results))


def _returned(length: int, results: float, at_once: int) -> float:
    """Return the cycles a stripe may take at least so that its slots in the accumulator are free again."""
    return (length * results + CREDIT_RETURN) / at_once


def stripes(target: NvdlaTarget, positions: int) -> Iterator[tuple[int, int]]:
    """Yield length and count of stripes, runs of positions that share loaded weights, in order."""
    if not target.long_stripes:
        short = max(ceil_div(positions, SHORT_STRIPE) - 2, 0)
        if short:
            yield SHORT_STRIPE, short
        yield positions - short * SHORT_STRIPE, 1
        return
    unit = target.atomic_k
    long = max(positions // (2 * unit) - 1, 0)
    if long:
        yield 2 * unit, long
    rest = positions - long * 2 * unit
    single = max(ceil_div(rest, unit) - 2, 0)
    if single:
        yield unit, single
    yield rest - single * unit, 1


def image_stripes(target: NvdlaTarget, work: ConvWork) -> Iterator[tuple[int, int]]:
    """Yield stripes for pixels, where every row of results ends a stripe."""
    length, rows = 2 * target.atomic_k, work.rows * work.batch
    full, rest = divmod(work.columns, length)
    if full:
        yield length, full * rows
    if rest:
        yield rest, rows


def mac_cells(target: NvdlaTarget) -> int:
    """Return the MAC cells, all of which load weights however few kernels a group has."""
    return target.atomic_k // 2 if target.has_16_bits else target.atomic_k


def row_cycles(atoms: int, width: int) -> float:
    """Return the cycles beyond a beat a cycle for writing a row of `atoms` surfaces into the buffer."""
    bursts, rest = divmod(atoms, 4)
    return bursts * (width + 1.3) + (0, 1, 2, width / 2 + 2)[rest]


def element_cycles(
    target: NvdlaTarget, precision: Precision, channels: int, positions: int, rate: float
) -> int:
    """Return the cycles of an engine with `rate` elements per cycle, which processes whole atoms."""
    lanes = target.memory_atom_bytes // precision.bytes
    return ceil(surfaces(target, precision, channels) * lanes * positions / rate)


def bottom_elements(target: NvdlaTarget, columns: int) -> int:
    """Return the elements that the PDP gives after the last row if its windows reach below the input."""
    return target.memory_atom_bytes * columns


def beat_bytes(target: NvdlaTarget) -> int:
    """Return the bytes of one transfer."""
    return target.memory_bits // 8


def memory_rate(target: NvdlaTarget) -> float:
    """Return the bytes per cycle that memory delivers, limited by the reads in flight."""
    waiting = target.reads_in_flight * beat_bytes(target) / (target.memory_latency_cycles + 7)
    return min(target.bytes_per_cycle, waiting)


def dram_equivalent(demand: Demand, saving: float) -> float:
    """Return the bytes of DRAM that take as long as the traffic of a layer, with that `on_chip_saving`."""
    return demand.traffic - saving * demand.on_chip


def on_chip_saving(target: NvdlaTarget) -> float:
    """
    Return the part of a byte's time in DRAM that is saved in the on-chip memory.

    Both interfaces are taken to work one after the other, although they can overlap (not measured).
    """
    if not target.cvsram_bytes:
        return 0.0
    return max(1 - memory_rate(target) / target.cvsram_bytes_per_cycle, 0.0)
