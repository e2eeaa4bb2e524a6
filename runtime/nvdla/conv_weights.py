"""
Unpacking of convolution weights from their memory layout to `[kernel, row, column, channel]`
(docs/internals/nvdla-hardware.md §3.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.nvdla.geometry import WINOGRAD_SIDE
from xonnc.runtime.nvdla.array_types import U8, AnyArray

WINOGRAD_CHANNELS = 4


@dataclass(frozen=True)
class WeightShape:
    """Dimensions of an operation's weights, and the group sizes of their packing."""

    kernels: int
    rows: int
    columns: int
    channels: int
    kernel_group: int
    channel_block: int

    @property
    def elements_per_kernel(self) -> int:
        return self.rows * self.columns * self.channels

    @property
    def elements(self) -> int:
        return self.kernels * self.elements_per_kernel

    def channel_blocks(self) -> list[tuple[int, int]]:
        """Return begin and end of every channel block; the last one may be narrower."""
        return _ranges(self.channels, self.channel_block)


def unpack_direct(stream: AnyArray, shape: WeightShape, dtype: npt.DTypeLike) -> AnyArray:
    """Unpack direct weights, stored as kernel group, channel block, row, column, kernel, channel."""
    out = np.empty((shape.kernels, shape.rows, shape.columns, shape.channels), dtype)
    for first, last, size, packed in _kernel_groups(stream, shape):
        view = out[first:last].reshape(-1, size, shape.rows, shape.columns, shape.channels)
        done = 0
        for begin, end in shape.channel_blocks():
            count = size * shape.rows * shape.columns * (end - begin)
            part = packed[:, done : done + count].reshape(-1, shape.rows, shape.columns, size, end - begin)
            view[..., begin:end] = part.transpose(0, 3, 1, 2, 4)
            done += count
    return out


def unpack_post_extended(
    stream: AnyArray, shape: WeightShape, rows_at_once: int, dtype: npt.DTypeLike
) -> AnyArray:
    """Unpack post-extended weights: kernel group, row group, kernel, row in group, column, channel."""
    out = np.empty((shape.kernels, shape.rows, shape.columns, shape.channels), dtype)
    for first, last, size, packed in _kernel_groups(stream, shape):
        view = out[first:last].reshape(-1, size, shape.rows, shape.columns, shape.channels)
        done = 0
        for begin, end in _ranges(shape.rows, rows_at_once):
            count = size * (end - begin) * shape.columns * shape.channels
            part = packed[:, done : done + count]
            view[:, :, begin:end] = part.reshape(-1, size, end - begin, shape.columns, shape.channels)
            done += count
    return out


def unpack_winograd(stream: AnyArray, shape: WeightShape, dtype: npt.DTypeLike) -> AnyArray:
    """Unpack Winograd weights: kernel group, group of 4 channels, kernel, 4 rows, 4 columns, channel."""
    out = np.empty((shape.kernels, WINOGRAD_SIDE, WINOGRAD_SIDE, shape.channels), dtype)
    for first, last, size, packed in _kernel_groups(stream, shape):
        view = out[first:last].reshape(-1, size, WINOGRAD_SIDE, WINOGRAD_SIDE, shape.channels)
        part = packed.reshape(-1, shape.channels // WINOGRAD_CHANNELS, size, WINOGRAD_SIDE, WINOGRAD_SIDE, 4)
        view[...] = part.transpose(0, 2, 3, 4, 1, 5).reshape(view.shape)
    return out


def decompress(stream: U8, mask: U8, groups: U8, count: int, dtype: npt.DTypeLike, what: str) -> AnyArray:
    """
    Decompress `count` elements: bit i of `mask` (lowest first) is set where element i is not zero.

    `groups` holds a uint32 per kernel group, the bytes of its compressed weights. Their sum must be the
    size of the elements whose bit is set.
    """
    present = np.unpackbits(mask, count=count, bitorder="little").astype(np.bool_)
    element = np.dtype(dtype)
    size = int(np.count_nonzero(present)) * element.itemsize
    group_bytes = int(groups.view(np.uint32).sum(dtype=np.uint64))
    if group_bytes != size:
        raise XonncError(
            f"{what}: the kernel groups add up to {group_bytes} bytes but the mask has "
            f"{size} nonzero ones; regenerate the weights"
        )
    if size > len(stream):
        raise XonncError(
            f"{what}: the mask has {size} nonzero bytes of the {len(stream)} stored; enlarge weight_data"
        )
    out = np.zeros(count, element)
    out[present] = stream[:size].view(element)
    return out


def _kernel_groups(stream: AnyArray, shape: WeightShape) -> Iterator[tuple[int, int, int, AnyArray]]:
    """First kernel, past the last, group size, `[groups, elements]`: whole groups at once, then the rest."""
    full_groups = shape.kernels // shape.kernel_group * shape.kernel_group
    split = full_groups * shape.elements_per_kernel
    if full_groups:
        yield (
            0,
            full_groups,
            shape.kernel_group,
            stream[:split].reshape(full_groups // shape.kernel_group, -1),
        )
    if full_groups < shape.kernels:
        yield (
            full_groups,
            shape.kernels,
            shape.kernels - full_groups,
            stream[split : shape.elements].reshape(1, -1),
        )


def _ranges(total: int, size: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + size, total)) for begin in range(0, total, size)]
