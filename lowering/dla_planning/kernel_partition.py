"""
Partition of kernels whose convolution exceeds the convolution buffer, into partial convolutions that are
summed.

A partial convolution has some of the kernel's channels, rows and columns, and reads the region of the input
that these taps meet. The SDP adds the partial sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla_planning.feasibility import conv_limits, fits_buffer
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class TapRange:
    """
    Taps `begin` to `end` of a kernel in one dimension, the `size` input positions from `first` that they
    read, and the padding around them.
    """

    begin: int
    end: int
    first: int
    size: int
    pad_before: int
    pad_after: int


@dataclass(frozen=True)
class PartialConvolution:
    """One partial convolution: channels `begin` to `end`, rows and columns of the kernel, and its window."""

    begin: int
    end: int
    rows: TapRange
    columns: TapRange
    window: Window2D

    @property
    def shape(self) -> CubeShape:
        """The region of the input that is read."""
        return CubeShape(self.end - self.begin, self.rows.size, self.columns.size)


@cache
def partial_convolutions(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> tuple[PartialConvolution, ...] | None:
    """
    Return the fewest partial convolutions that fit the core and its buffer, `None` if none do.

    Channels are split first, in whole blocks of `atomic_c`, then kernel rows, and columns if the kernel is
    too wide.
    """
    columns = geometry.ceil_div(window.kernel[1], geometry.MAX_KERNEL)
    least = geometry.ceil_div(window.kernel[0], geometry.MAX_KERNEL)
    for rows in range(least, window.kernel[0] + 1):
        regions = list(_kernel_regions(source, window, rows, columns))
        parts = [_channel_parts(target, precision, region, kernels) for region in regions]
        if all(parts):
            return tuple(part for group in parts for part in group)
    return None


def _kernel_regions(
    source: CubeShape, window: Window2D, rows: int, columns: int
) -> Iterator[PartialConvolution]:
    """Yield the parts with all channels."""
    for row in tap_ranges(source, window, 0, rows):
        for column in tap_ranges(source, window, 1, columns):
            part = Window2D(
                (row.end - row.begin, column.end - column.begin),
                window.strides,
                window.dilations,
                (row.pad_before, column.pad_before, row.pad_after, column.pad_after),
            )
            yield PartialConvolution(0, source.channels, row, column, part)


def tap_ranges(source: CubeShape, window: Window2D, dimension: int, count: int) -> list[TapRange]:
    """
    Split a dimension of the kernel into `count` ranges of taps; ranges that read only padding are dropped.
    """
    size, outputs = source[1 + dimension], window.output_size(source)[dimension]
    stride, dilation, pad = window.strides[dimension], window.dilations[dimension], window.pads[dimension]
    taps = window.kernel[dimension]
    result: list[TapRange] = []
    for begin, end in pairwise(taps * index // count for index in range(count + 1)):
        # The first tap of the first window and the last tap of the last window, in input coordinates.
        first = begin * dilation - pad
        last = (outputs - 1) * stride - pad + (end - 1) * dilation
        inside, past = max(first, 0), min(last + 1, size)
        if inside < past:
            result.append(
                TapRange(begin, end, inside, past - inside, max(-first, 0), max(last + 1 - size, 0))
            )
    return result


def _channel_parts(
    target: NvdlaTarget, precision: Precision, region: PartialConvolution, kernels: int
) -> list[PartialConvolution]:
    """Split `region` along the channels into the fewest parts that fit; empty if none do."""
    if conv_limits(region.shape, kernels, region.window) is not None:
        return []
    channels = region.end
    blocks = geometry.ceil_div(channels, target.atomic_c)
    for count in range(1, blocks + 1):
        # Cuts are multiples of the channels that a MAC cell takes per cycle: only the last part can leave
        # multipliers idle.
        ends = [*(blocks * index // count * target.atomic_c for index in range(count)), channels]
        widest = max(end - begin for begin, end in pairwise(ends))
        shape = region.shape._replace(channels=widest)
        if fits_buffer(target, precision, shape, kernels, region.window):
            return [
                PartialConvolution(begin, end, region.rows, region.columns, region.window)
                for begin, end in pairwise(ends)
            ]
    return []
