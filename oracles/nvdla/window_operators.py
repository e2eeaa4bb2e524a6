"""
Reference of convolutions and poolings of integers as NVDLA's engines define them
(docs/internals/nvdla-hardware.md §4.1, §4.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, groupby
from math import prod
from typing import Any

import numpy as np

from oracles.nvdla.fixed_point import Array, Integers, rounding_shift

MAX_POOL = 8
RECIPROCALS = (0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000)
"""Reciprocals of 1 to 8 with 16 fractional bits (docs/internals/nvdla-hardware.md §4.5)."""

EXACT_IN_SINGLE = 1 << 24


@dataclass(frozen=True)
class SlidingWindow:
    """A window over rows and columns; pads are top, left, bottom, right."""

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)

    def outputs(self, sizes: Sequence[int], *, ceil: bool = False) -> tuple[int, int]:
        """Rows and columns of the result; with `ceil` a last window may hang over the end."""
        return self._along(0, sizes[0], ceil), self._along(1, sizes[1], ceil)

    def _along(self, axis: int, size: int, ceil: bool) -> int:
        reach = (self.kernel[axis] - 1) * self.dilations[axis] + 1
        rest = size + self.pads[axis] + self.pads[axis + 2] - reach
        count = -(-rest // self.strides[axis]) + 1 if ceil else rest // self.strides[axis] + 1
        # A window that would begin in the padding at the end is none (ONNX AveragePool, MaxPool).
        if ceil and (count - 1) * self.strides[axis] >= size + self.pads[axis]:
            count -= 1
        return count


def taps(images: Array, window: SlidingWindow, outputs: tuple[int, int], fill: int) -> list[Array]:
    """Return for each tap, row by row, what it reads at every output position."""
    rows, columns = outputs
    (sy, sx), (dy, dx) = window.strides, window.dilations
    height = (rows - 1) * sy + (window.kernel[0] - 1) * dy + 1
    width = (columns - 1) * sx + (window.kernel[1] - 1) * dx + 1
    top, left = window.pads[:2]
    padded = np.full(
        (*images.shape[:2], max(height, top + images.shape[2]), max(width, left + images.shape[3])),
        fill,
        images.dtype,
    )
    padded[:, :, top : top + images.shape[2], left : left + images.shape[3]] = images
    return [
        padded[
            :, :, r * dy : r * dy + (rows - 1) * sy + 1 : sy, s * dx : s * dx + (columns - 1) * sx + 1 : sx
        ]
        for r in range(window.kernel[0])
        for s in range(window.kernel[1])
    ]


@dataclass(frozen=True)
class Tap:
    """An element of kernels, by row and column."""

    row: int
    column: int

    def read(self, images: Integers, window: SlidingWindow) -> Integers:
        """Return the part of images that the tap reads, from the first position to the last."""
        (rows, columns), (sy, sx) = window.outputs(images.shape[2:]), window.strides
        y = self.row * window.dilations[0] - window.pads[0]
        x = self.column * window.dilations[1] - window.pads[1]
        return images[:, :, y : y + (rows - 1) * sy + 1, x : x + (columns - 1) * sx + 1]


def only_reading_tap(sizes: Sequence[int], window: SlidingWindow) -> Tap | None:
    """Return the tap that reads the image for all results if all others read padding alone, else `None`."""
    outputs = window.outputs(sizes)
    if max(window.kernel) == 1 or min(outputs) < 1:
        return None
    reads = [tap.mean() for tap in taps(np.ones((1, 1, *sizes)), window, outputs, 0)]
    if sorted(reads) != [0.0] * (len(reads) - 1) + [1.0]:
        return None
    return Tap(*divmod(reads.index(1.0), window.kernel[1]))


MAX_DILATION = 32
MAX_CHANNELS = 8192
MAX_PAD_BEFORE = 31
"""Padding at the top and left of dilated kernels."""


@dataclass(frozen=True)
class Region:
    """Results `begin` to `end` in a dimension, for which the same taps read the image."""

    begin: int
    end: int
    taps: tuple[int, ...]


def is_wide(images: Integers, window: SlidingWindow) -> bool:
    """
    Whether each region of results is a layer of its own: the engine takes no such dilation or pads, and all
    that taps of a region read fits beside each other.
    """
    dilation, sizes = max(window.dilations), images.shape[2:]
    if dilation > MAX_DILATION or dilation == 1 or max(window.pads[:2]) <= MAX_PAD_BEFORE:
        return dilation > MAX_DILATION
    most = [max(len(region.taps) for region in regions(sizes, window, axis)) for axis in (0, 1)]
    return images.shape[1] * most[0] * most[1] <= MAX_CHANNELS


def regions(sizes: Sequence[int], window: SlidingWindow, axis: int) -> list[Region]:
    """Return the regions in rows (0) or columns (1)."""

    def reading(result: int) -> tuple[int, ...]:
        begin = result * window.strides[axis] - window.pads[axis]
        inside = range(window.kernel[axis])
        return tuple(tap for tap in inside if 0 <= begin + tap * window.dilations[axis] < sizes[axis])

    found: list[Region] = []
    for read, group in groupby(range(window.outputs(sizes)[axis]), reading):
        results = list(group)
        found.append(Region(results[0], results[-1] + 1, read))
    return found


def convolve(images: Integers, weights: Integers, window: SlidingWindow, groups: int, fill: int) -> Integers:
    """Return exact sums of products; padding has the value `fill`."""
    kernels, depth = weights.shape[:2]
    rows, columns = window.outputs(images.shape[2:])
    # A tap's sum over the channels stays exact in the type it is formed in.
    dtype = np.float32 if depth << 14 < EXACT_IN_SINGLE else np.float64
    factors = weights.astype(dtype).reshape(groups, kernels // groups, depth, -1)
    total = np.zeros((groups, kernels // groups, rows * columns), np.float64)
    for index, tap in enumerate(taps(images.astype(dtype), window, (rows, columns), fill)):
        total += factors[..., index] @ tap.reshape(groups, depth, rows * columns)
    return total.astype(np.int64).reshape(1, kernels, rows, columns)


def max_pool(images: Integers, window: SlidingWindow, *, ceil: bool = False) -> Integers:
    """Return the maximum of each window; padding is ignored."""
    least = int(np.iinfo(np.int64).min)
    found = taps(images, window, window.outputs(images.shape[2:], ceil=ceil), least)
    return np.max(np.stack(found), axis=0)


def average_pool(images: Integers, window: SlidingWindow, *, ceil: bool = False, fill: int = 0) -> Integers:
    """Return sums over full windows with `fill` as padding, times two reciprocals that each round."""
    found = taps(images, window, window.outputs(images.shape[2:], ceil=ceil), fill)
    over_width = rounding_shift(np.sum(np.stack(found), axis=0) * RECIPROCALS[window.kernel[1] - 1], 16)
    return rounding_shift(over_width * RECIPROCALS[window.kernel[0] - 1], 16)


def divisor_counts(sizes: Sequence[int], window: SlidingWindow, *, ceil: bool, with_pads: bool) -> Array:
    """Return the divisor of ONNX's mean at each position."""
    each = [
        _counted_along(size, axis, count, window, with_pads)
        for axis, (size, count) in enumerate(zip(sizes, window.outputs(sizes, ceil=ceil), strict=True))
    ]
    return np.outer(each[0], each[1]).astype(np.float32)


def _counted_along(size: int, axis: int, outputs: int, window: SlidingWindow, with_pads: bool) -> Array:
    low = -window.pads[axis] if with_pads else 0
    high = size + window.pads[axis + 2] if with_pads else size
    begins = [index * window.strides[axis] - window.pads[axis] for index in range(outputs)]
    return np.array([min(begin + window.kernel[axis], high) - max(begin, low) for begin in begins])


def global_average(images: Integers) -> tuple[Integers, float]:
    """
    Return averages over the image in steps of at most 8x8, and the factor that corrects their divisors.

    The fewest steps, largest kernels first, with the least product that covers the image.
    """
    height, width = images.shape[2:]
    steps = average_steps(height, width)
    return averages_of_blocks(images, steps), prod(map(prod, steps)) / (height * width)


def average_steps(height: int, width: int) -> list[tuple[int, int]]:
    """Return the kernels of the steps in which averages over an image are taken."""
    count = 1
    while MAX_POOL**count < max(height, width):
        count += 1
    return list(zip(_kernels(height, count), _kernels(width, count), strict=True))


def averages_of_blocks(images: Integers, steps: Sequence[tuple[int, int]]) -> Integers:
    """Return averages in these steps; zeros pad the last blocks."""
    for kernel in steps:
        bottom, right = (-size % over for size, over in zip(images.shape[2:], kernel, strict=True))
        images = average_pool(images, SlidingWindow(kernel, kernel, (0, 0, bottom, right)))
    return images


def _kernels(size: int, steps: int) -> tuple[int, ...]:
    choices = combinations_with_replacement(range(MAX_POOL, 0, -1), steps)
    return min((kernels for kernels in choices if prod(kernels) >= size), key=prod)


def window_of(attributes: Mapping[str, Any], kernel: Sequence[int], sizes: Sequence[int]) -> SlidingWindow:
    """Return the window that an operator's attributes describe."""
    rows, columns = kernel
    sy, sx = attributes.get("strides", (1, 1))
    dy, dx = attributes.get("dilations", (1, 1))
    pads = tuple(attributes.get("pads", (0, 0, 0, 0)))
    window = SlidingWindow((rows, columns), (sy, sx), (pads[0], pads[1], pads[2], pads[3]), (dy, dx))
    auto_pad = attributes.get("auto_pad", b"NOTSET").decode()
    return window if auto_pad == "NOTSET" else replace(window, pads=_auto_pads(auto_pad, window, sizes))


def _auto_pads(auto_pad: str, window: SlidingWindow, sizes: Sequence[int]) -> tuple[int, int, int, int]:
    if auto_pad == "VALID":
        return 0, 0, 0, 0
    totals = [
        max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        for size, stride, kernel, dilation in zip(
            sizes, window.strides, window.kernel, window.dilations, strict=True
        )
    ]
    begins = [total // 2 if auto_pad == "SAME_UPPER" else -(-total // 2) for total in totals]
    return begins[0], begins[1], totals[0] - begins[0], totals[1] - begins[1]
