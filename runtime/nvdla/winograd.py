"""
Winograd convolution: 4x4 windows in steps of 2 give 2x2 outputs of a 3x3 kernel
(docs/internals/nvdla-hardware.md §4.1).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from xonnc.runtime.nvdla.array_types import F32, I64, U16, AnyArray
from xonnc.runtime.nvdla.fixed_point import saturate, shift_right_rounding
from xonnc.runtime.nvdla.floating_point import half_to_single, single_to_fp17, single_to_half
from xonnc.runtime.nvdla.mac_fp16 import Accumulator, aligned_products, block_positions, split_factors

_SIDE = 4
_STEP = 2
_CHANNELS = 4
# Rows of B transposed: (first input, second input, sign of the second).
_INPUT_ROWS = ((0, 2, -1), (1, 2, 1), (2, 1, -1), (1, 3, -1))
# Inf counts as this number in convolutions.
INFINITY = np.float32(65536.0)

Number = TypeVar("Number", np.int64, np.float32, np.float64)


def tiles(image: AnyArray, out_height: int, out_width: int) -> AnyArray:
    """Every 4x4 window of a padded image `[height, width, channels]` as `[tiles, 4, 4, channels]`."""
    row, pixel, element = image.strides
    shape = (out_height // _STEP, out_width // _STEP, _SIDE, _SIDE, image.shape[2])
    view = np.lib.stride_tricks.as_strided(
        image, shape, (row * _STEP, pixel * _STEP, row, pixel, element), writeable=False
    )
    return view.reshape(-1, _SIDE, _SIDE, image.shape[2])


def transform_integers(windows: AnyArray, truncate: int, bits: int) -> I64:
    """`B^T d B` of `[tiles, 4, 4, channels]`, scaled down by `truncate` and clamped to the data width."""
    wide = windows.astype(np.int64)
    rows = np.stack([wide[:, a] + sign * wide[:, b] for a, b, sign in _INPUT_ROWS], axis=1)
    both = np.stack([rows[:, :, a] + sign * rows[:, :, b] for a, b, sign in _INPUT_ROWS], axis=2)
    return saturate(shift_right_rounding(both, truncate), bits)


def transform_fp16(windows: U16) -> U16:
    """`transform_singles` of fp16 bits."""
    return transform_singles(half_to_single(windows, INFINITY))


def transform_singles(wide: F32) -> U16:
    """`B^T d B` on fp16 values: each pass rounds to fp17, the result to fp16 bits."""
    rows = np.stack(
        [single_to_fp17(_add_signed(wide[:, a], wide[:, b], sign)) for a, b, sign in _INPUT_ROWS], axis=1
    )
    both = np.stack(
        [single_to_fp17(_add_signed(rows[:, :, a], rows[:, :, b], sign)) for a, b, sign in _INPUT_ROWS],
        axis=2,
    )
    return single_to_half(both)


def _add_signed(a: F32, b: F32, sign: int) -> F32:
    return a + b if sign > 0 else a - b


def multiply(data: npt.NDArray[Number], weights: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Channel sums of `[tiles, 4, 4, channels]` and `[kernels, 4, 4, channels]`: `[tiles, kernels, 4, 4]`."""
    channels = data.shape[3]
    left = data.reshape(-1, _SIDE * _SIDE, channels).transpose(1, 0, 2)
    right = weights.reshape(-1, _SIDE * _SIDE, channels).transpose(1, 2, 0)
    products = np.empty((_SIDE * _SIDE, len(data), len(weights)), data.dtype)
    np.matmul(left, right, out=products)
    return products.transpose(1, 2, 0).reshape(len(data), len(weights), _SIDE, _SIDE)


def reduce_outputs(products: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """`A^T m A`: `[..., 4, 4]` to `[..., 2, 2]`."""
    rows = _reduce(products, products.ndim - 2)
    return _reduce(rows, rows.ndim - 1)


def _reduce(x: npt.NDArray[Number], axis: int) -> npt.NDArray[Number]:
    a, b, c, d = (x.take(i, axis) for i in range(_SIDE))
    return np.stack([a + b + c, b - c - d], axis=axis)


def assemble(outputs: npt.NDArray[Number], out_height: int, out_width: int) -> npt.NDArray[Number]:
    """`[tiles, kernels, 2, 2]` back to `[height, width, kernels]`."""
    kernels = outputs.shape[1]
    grid = outputs.reshape(out_height // _STEP, out_width // _STEP, kernels, _STEP, _STEP)
    return grid.transpose(0, 3, 1, 4, 2).reshape(out_height, out_width, kernels)


def accumulate_exactly(data: U16, weights: U16) -> F32:
    """`multiply` and `reduce_outputs` on fp16 bits by the MAC's own rule: `[tiles, kernels, 2, 2]`."""
    kernels, channels = len(weights), weights.shape[3]
    total = Accumulator((len(data), kernels, _STEP, _STEP))
    data_factors = split_factors(data.reshape(len(data), _SIDE * _SIDE, channels))
    weight_factors = split_factors(weights.reshape(kernels, _SIDE * _SIDE, channels))
    block = block_positions(kernels, _SIDE * _SIDE * _CHANNELS)
    for first in range(0, channels, _CHANNELS):
        group = slice(first, first + _CHANNELS)
        sums = np.empty((len(data), kernels, _STEP, _STEP), np.int64)
        bucket = np.empty((len(data), kernels), np.int64)
        weight_step = weight_factors[:, :, group].flattened()
        for begin in range(0, len(data), block):
            some = slice(begin, begin + block)
            step = aligned_products(data_factors[some, :, group].flattened(), weight_step)
            four = step.products.reshape(-1, kernels, _SIDE, _SIDE, _CHANNELS).sum(axis=4, dtype=np.int64)
            sums[some] = reduce_outputs(four)
            bucket[some] = step.bucket
        total.add(sums, bucket[:, :, None, None])
    return total.singles()
