"""
Reference of transposed convolutions, phase by phase: every `stride`-th row and column of the result is one.

Each phase is a layer with a requantization shift of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.nvdla.fixed_point import Integers
from oracles.nvdla.window_operators import SlidingWindow, convolve


@dataclass(frozen=True)
class TransposedGeometry:
    """Geometry of `y[stride i + r - pad] += w[r] x[i]` with `sizes` results."""

    strides: tuple[int, int]
    pads: tuple[int, int]
    sizes: tuple[int, int]

    def phases(self, images: Integers, weights: Integers, fill: int) -> list[tuple[Integers, Integers]]:
        """
        Return the sums of each phase, row by row, and its kernels (`MxCxRxS`).

        `fill` is the value of padding.
        """
        rows, columns = (self._contributions(axis, weights.shape[2 + axis]) for axis in range(2))
        margin = max(*weights.shape[2:], *self.sizes) + max(self.pads)
        around = np.pad(images, [(0, 0), (0, 0), (margin,) * 2, (margin,) * 2], constant_values=fill)
        result: list[tuple[Integers, Integers]] = []
        for row_taps, row in rows:
            for column_taps, column in columns:
                kernels = weights[:, :, row_taps][:, :, :, column_taps]
                top, left = (margin + first for first in (row, column))
                height = -(-self.sizes[0] // self.strides[0]) + len(row_taps) - 1
                width = -(-self.sizes[1] // self.strides[1]) + len(column_taps) - 1
                seen = around[:, :, top : top + height, left : left + width]
                window = SlidingWindow((len(row_taps), len(column_taps)))
                result.append((convolve(seen, kernels, window, 1, fill), kernels))
        return result

    def _contributions(self, axis: int, kernel: int) -> list[tuple[list[int], int]]:
        """
        Return for each phase the taps in the order in which they read the image, and the offset of the first.
        """
        stride, pad = self.strides[axis], self.pads[axis]
        result: list[tuple[list[int], int]] = []
        for phase in range(stride):
            taps = [tap for tap in range(kernel) if (phase + pad - tap) % stride == 0]
            result.append((taps[::-1], (phase + pad - taps[-1]) // stride if taps else 0))
        return result

    def interleaved(self, parts: Sequence[Integers]) -> Integers:
        """Interleave the phases."""
        images, channels, height, width = parts[0].shape
        blocks = np.stack(parts).reshape(*self.strides, images, channels, height, width)
        merged = blocks.transpose(2, 3, 4, 0, 5, 1)
        merged = merged.reshape(images, channels, height * self.strides[0], width * self.strides[1])
        return merged[:, :, : self.sizes[0], : self.sizes[1]]


def dense_kernels(weights: Integers, groups: int, dilations: Sequence[int]) -> Integers:
    """
    Return kernels `M/gxCxRxS` of a transposed convolution as `MxCxRxS`, with zeros for groups and dilations.
    """
    per_group, inputs, rows, columns = weights.shape
    reach = (rows - 1) * dilations[0] + 1, (columns - 1) * dilations[1] + 1
    result = np.zeros((groups * per_group, inputs, *reach), np.int64)
    step = inputs // groups
    for group in range(groups):
        here = slice(group * step, (group + 1) * step)
        outputs = slice(group * per_group, (group + 1) * per_group)
        result[outputs, here, :: dilations[0], :: dilations[1]] = weights[:, here]
    return result
