"""Window reductions of the PDP on `[height, width, lanes]` arrays (docs/internals/nvdla-hardware.md §4.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import shift_right_rounding
from xonnc.runtime.nvdla.floating_point import add_fp17, single_to_fp17

# 1 / size for window sizes 1 to 8: with 16 fraction bits, and as fp17 bits.
_RECIPROCALS = (0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000)
_FP17_RECIPROCALS = (0x7C00, 0x7800, 0x7555, 0x7400, 0x7266, 0x7155, 0x7092, 0x7000)


Number = TypeVar("Number", np.int64, np.float32)


@dataclass(frozen=True)
class PoolingGeometry:
    """Geometry of one pooling operation, sizes and pads in pixels."""

    out_height: int
    out_width: int
    kernel_height: int
    kernel_width: int
    stride_y: int
    stride_x: int
    pad_top: int
    pad_left: int

    def padded(self, x: npt.NDArray[Number], value: float) -> npt.NDArray[Number]:
        """The pixels all windows together cover, `value` where there is no input."""
        height = (self.out_height - 1) * self.stride_y + self.kernel_height
        width = (self.out_width - 1) * self.stride_x + self.kernel_width
        out = np.full((height, width, x.shape[2]), value, x.dtype)
        rows = min(x.shape[0], height - self.pad_top)
        columns = min(x.shape[1], width - self.pad_left)
        out[self.pad_top : self.pad_top + rows, self.pad_left : self.pad_left + columns] = x[:rows, :columns]
        return out

    def padded_columns(self, width: int) -> I64:
        """For every output column, how many columns of its window lie outside an input of `width`."""
        return _outside(self.out_width, self.stride_x, self.kernel_width, self.pad_left, width)

    def padded_rows(self, height: int) -> I64:
        """For every output row, how many rows of its window lie outside an input of `height`."""
        return _outside(self.out_height, self.stride_y, self.kernel_height, self.pad_top, height)


def _outside(count: int, stride: int, kernel: int, pad: int, size: int) -> I64:
    positions = np.arange(count)[:, None] * stride - pad + np.arange(kernel)[None, :]
    return ((positions < 0) | (positions >= size)).sum(axis=1).astype(np.int64)


def reduce_windows(
    padded: npt.NDArray[Number],
    pooling: PoolingGeometry,
    combine: Callable[[npt.NDArray[Number], npt.NDArray[Number]], npt.NDArray[Number]],
) -> npt.NDArray[Number]:
    """Combine every window: along each of its rows from the left, then the rows from the top."""
    row_results = padded[:, : (pooling.out_width - 1) * pooling.stride_x + 1 : pooling.stride_x]
    for column in range(1, pooling.kernel_width):
        last = column + (pooling.out_width - 1) * pooling.stride_x + 1
        row_results = combine(row_results, padded[:, column : last : pooling.stride_x])
    result = row_results[: (pooling.out_height - 1) * pooling.stride_y + 1 : pooling.stride_y]
    for row in range(1, pooling.kernel_height):
        last = row + (pooling.out_height - 1) * pooling.stride_y + 1
        result = combine(result, row_results[row : last : pooling.stride_y])
    return result


def average_integers(x: I64, pooling: PoolingGeometry, padding: Sequence[int]) -> I64:
    """
    Sum of the window times both reciprocals.

    `padding[i]` is what `i + 1` padded pixels in a row (or rows, times the kernel width) add to the sum.
    """
    total = reduce_windows(pooling.padded(x, 0), pooling, _add_integers)
    height, width = x.shape[:2]
    per_count = np.array([0, *padding], np.int64)
    columns, rows = pooling.padded_columns(width), pooling.padded_rows(height)
    total = total + (per_count[columns][None, :] * (pooling.kernel_height - rows)[:, None])[..., None]
    total = total + (per_count[rows] * pooling.kernel_width)[:, None, None]
    across = shift_right_rounding(total * _RECIPROCALS[pooling.kernel_width - 1], 16)
    return shift_right_rounding(across * _RECIPROCALS[pooling.kernel_height - 1], 16)


def average_singles(x: F32, pooling: PoolingGeometry) -> F32:
    """
    fp17 sums of the valid pixels times both reciprocals, rounded to fp17 at each step; a sum of zero has the
    sign of the pixel, or the row of pixels, that comes last.
    """
    # fp17 has no Inf, which stands for padding.
    total = reduce_windows(pooling.padded(x, np.inf), pooling, _add_valid)
    total = single_to_fp17(total * _fp17_reciprocal(pooling.kernel_width))
    return single_to_fp17(total * _fp17_reciprocal(pooling.kernel_height))


def _add_integers(a: I64, b: I64) -> I64:
    return a + b


def _add_valid(total: F32, new: F32) -> F32:
    """Add two fp17 values, the new one first, which sets the sign of a zero sum; Inf is padding, skipped."""
    number = add_fp17(np.where(np.isinf(new), np.float32(0), new), np.where(np.isinf(total), 0, total))
    return np.where(np.isinf(new), total, np.where(np.isinf(total), new, number))


def _fp17_reciprocal(size: int) -> np.float32:
    bits = _FP17_RECIPROCALS[size - 1]
    return np.float32((1 + (bits & 0x3FF) / 1024) * 2.0 ** ((bits >> 10) - 31))
