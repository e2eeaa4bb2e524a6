"""
How long the engines work, in cycles of the core's clock (docs/internals/nvdla-hardware.md §8.3, §8.4).

From what the sequencers do, not from measurements: see `docs/nvdla-performance.md` for what it says of whole
networks beside the published figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from xonnc.formats.nvdla.constants import Precision
from xonnc.formats.nvdla.geometry import ceil_div, kernel_group, surfaces
from xonnc.targets import NvdlaTarget

DRAIN: Final = 48
"""Cycles after the last step until the sums are out, beside the last stripe itself."""

SHORT_STRIPE: Final = 16
"""Positions of a stripe in the first design."""

WINOGRAD_POSITIONS: Final = 4
"""Results that winograd convolution makes in a step."""


class ConvWork(NamedTuple):
    """
    What a convolution does: `kernels` of `channels x height x width` at `rows x columns` positions.

    For pixels `channels` are those of a whole row of the kernel and `width` is 1 (§3.4); `rows_at_once` of
    them are taken together (post-extension).
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
        """Results of one kernel."""
        return self.rows * self.columns * self.batch

    @property
    def macs(self) -> int:
        """Multiplications that the result needs (for winograd those it makes)."""
        made = self.kernels * self.channels * self.height * self.width * self.positions
        return made // WINOGRAD_POSITIONS if self.is_winograd else made


def multipliers(target: NvdlaTarget, precision: Precision) -> int:
    """Multiplications that the core makes in a cycle."""
    return target.atomic_c * kernel_group(target, precision)


def conv_cycles(target: NvdlaTarget, work: ConvWork) -> int:
    """
    Cycles of the convolution core.

    A step is one channel block and tap for a stripe of positions and a group of kernels. It lasts as long as
    the stripe, but not shorter than the weights of the next step take to load, one MAC cell each cycle.
    """
    blocks = ceil_div(work.channels, target.atomic_c)
    steps = blocks * ceil_div(work.height, work.rows_at_once) * work.width
    positions = work.positions
    if work.is_winograd:
        positions = ceil_div(positions, WINOGRAD_POSITIONS)
    found = list(image_stripes(target, work) if work.is_image else stripes(target, positions))
    groups, rest = divmod(work.kernels, kernel_group(target, work.precision))
    cycles = 0
    for kernels, times in ((kernel_group(target, work.precision), groups), (rest, 1)):
        cells = cells_used(target, work.precision, kernels)
        cycles += times * bool(kernels) * steps * sum(count * max(length, cells) for length, count in found)
    return cycles + DRAIN + found[-1][0]


def stripes(target: NvdlaTarget, positions: int) -> Iterator[tuple[int, int]]:
    """Positions that are worked on with the same weights, in order: their number and how often."""
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
    """The same for pixels, where every row of results ends a stripe."""
    length, rows = 2 * target.atomic_k, work.rows * work.batch
    full, rest = divmod(work.columns, length)
    if full:
        yield length, full * rows
    if rest:
        yield rest, rows


def cells_used(target: NvdlaTarget, precision: Precision, kernels: int) -> int:
    """MAC cells that a group of kernels takes; a cell for 16 bits holds two kernels of 8."""
    return ceil_div(kernels * precision.bytes, 2) if target.has_16_bits else kernels


def element_cycles(
    target: NvdlaTarget, precision: Precision, channels: int, positions: int, rate: float
) -> int:
    """Cycles of an engine that takes `rate` elements each cycle; it works on whole atoms."""
    lanes = target.memory_atom_bytes // precision.bytes
    return ceil(surfaces(target, precision, channels) * lanes * positions / rate)


def memory_cycles(target: NvdlaTarget, count: int) -> int:
    """Cycles in which memory delivers or takes `count` bytes."""
    return ceil(count / target.bytes_per_cycle)
