"""Direct fp16 convolution by the MAC's own rule, step by step (docs/internals/nvdla-hardware.md §4.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, U16, U32, Bool
from xonnc.runtime.nvdla.cross_correlation import WindowMap
from xonnc.runtime.nvdla.mac_fp16 import Accumulator, aligned_products, block_positions, split_factors


def convolve_exactly(image: U16, weights: U16, windows: WindowMap, block: int, rows_at_once: int) -> F32:
    """
    Sums over windows of fp16 bits `[height, width, channels]`: `[out height, out width, kernels]`.

    A step takes `block` channels of one window position, or of `rows_at_once` rows of it (post-extension).
    """
    kernels = len(weights)
    positions = windows.out_height * windows.out_width
    total = Accumulator((positions, kernels))
    nan_bits = np.zeros((positions, kernels), np.uint32)
    any_nan = bool(_is_nan(image).any() or _is_nan(weights).any())
    for data, factors in _steps(image, weights, windows, block, rows_at_once):
        sums = np.empty((positions, kernels), np.int64)
        bucket = np.empty((positions, kernels), np.int64)
        weight_factors = split_factors(factors)
        some = block_positions(kernels, data.shape[1])
        for begin in range(0, positions, some):
            step = aligned_products(split_factors(data[begin : begin + some]), weight_factors)
            sums[begin : begin + some] = step.products.sum(axis=2, dtype=np.int64)
            bucket[begin : begin + some] = step.bucket
        total.add(sums, bucket)
        if any_nan:
            nan_bits = np.where(nan_bits == 0, _step_nan(data, factors), nan_bits)
    result = np.where(nan_bits != 0, nan_bits.view(np.float32), total.singles())
    return result.reshape(windows.out_height, windows.out_width, kernels)


def _steps(
    image: U16, weights: U16, windows: WindowMap, block: int, rows_at_once: int
) -> Iterator[tuple[U16, U16]]:
    """Data `[positions, pairs]` and weights `[kernels, pairs]` by channel block, row and column."""
    for first in range(0, image.shape[2], block):
        channels = slice(first, first + block)
        for row in range(0, windows.rows, rows_at_once):
            rows = range(row, min(row + rows_at_once, windows.rows))
            for column in range(windows.columns):
                data = [_tap(image, windows, r, column, channels) for r in rows]
                factors = [weights[:, r, column, channels] for r in rows]
                yield np.concatenate(data, axis=1), np.concatenate(factors, axis=1)


def _tap(image: U16, windows: WindowMap, row: int, column: int, channels: slice) -> U16:
    top, left = row * windows.dilation_y, column * windows.dilation_x
    bottom = top + (windows.out_height - 1) * windows.stride_y + 1
    right = left + (windows.out_width - 1) * windows.stride_x + 1
    pixels = image[top : bottom : windows.stride_y, left : right : windows.stride_x, channels]
    return pixels.reshape(-1, pixels.shape[2])


def _is_nan(bits: U16) -> Bool:
    return (bits & np.uint16(0x7FFF)) > np.uint16(0x7C00)


def _step_nan(data: U16, weights: U16) -> U32:
    """The NaN a step gives each result as fp32 bits: the first of its weights, else its data; 0 for none."""
    of_weights = _first_nan(weights)[None, :]
    return np.where(of_weights != 0, of_weights, _first_nan(data)[:, None])


def _first_nan(bits: U16) -> U32:
    nan = _is_nan(bits)
    first = np.take_along_axis(bits, nan.argmax(axis=1)[:, None], axis=1)[:, 0].astype(np.uint32)
    single = ((first & 0x8000) << 16) | np.uint32(0x7F800000) | ((first & 0x3FF) << 13)
    return np.where(nan.any(axis=1), single, np.uint32(0)).astype(np.uint32)
