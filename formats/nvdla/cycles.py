"""
Analytic cycle model of the engines, in cycles of the core's clock (docs/internals/nvdla-hardware.md §8.3,
§8.4).

Derived from the sequencers of the RTL, not from measurements. `docs/nvdla-performance.md` compares whole
networks with published figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from xonnc.formats.nvdla.constants import Precision
from xonnc.formats.nvdla.geometry import ceil_div, kernel_group, surfaces
from xonnc.targets import NvdlaTarget

DRAIN: Final = 48
"""Cycles from the last step to the end of the sums, besides the last stripe."""

SHORT_STRIPE: Final = 16
"""Positions per stripe in nv_full."""

WINOGRAD_POSITIONS: Final = 4
"""Results of a Winograd convolution per step."""


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


def multipliers(target: NvdlaTarget, precision: Precision) -> int:
    """Return the multiply-accumulate operations per cycle."""
    return target.atomic_c * kernel_group(target, precision)


def conv_cycles(target: NvdlaTarget, work: ConvWork) -> int:
    """
    Return the cycles of the convolution core.

    A step processes one channel block and one tap, for a stripe of positions and a group of kernels. It lasts
    as long as the stripe, but at least as long as loading the weights of the next step, one MAC cell per
    cycle.
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


def cells_used(target: NvdlaTarget, precision: Precision, kernels: int) -> int:
    """Return the MAC cells that a group of kernels occupies; a 16-bit cell holds two int8 kernels."""
    return ceil_div(kernels * precision.bytes, 2) if target.has_16_bits else kernels


def element_cycles(
    target: NvdlaTarget, precision: Precision, channels: int, positions: int, rate: float
) -> int:
    """Return the cycles of an engine with `rate` elements per cycle, which processes whole atoms."""
    lanes = target.memory_atom_bytes // precision.bytes
    return ceil(surfaces(target, precision, channels) * lanes * positions / rate)


def memory_cycles(target: NvdlaTarget, count: int) -> int:
    """Return the cycles to transfer `count` bytes."""
    return ceil(count / target.bytes_per_cycle)
