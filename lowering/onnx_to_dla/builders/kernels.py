"""Weights of convolutions: float numbers, or integers with scales."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.formats.nvdla.quantization import INT8_MAX

Array = npt.NDArray[Any]


def _one() -> Array:
    return np.ones(1)


@dataclass(frozen=True)
class Kernels:
    """
    Weights, output channels first: numbers, or integers with the scale of each output channel or one for all.

    Weights less a zero point may take 9 bits; those are int16.
    """

    array: Array
    scales: Array = field(default_factory=_one)

    @property
    def is_float(self) -> bool:
        """Whether the weights are numbers, which have no scale."""
        return self.array.dtype.kind == "f"

    @property
    def numbers(self) -> Array:
        """The dequantized weights."""
        return self.array * along(self.scales, 0, self.array.ndim)

    def times(self, factor: float) -> Kernels:
        """Return the weights times a factor."""
        if factor == 1.0:
            return self
        if self.is_float:
            return Kernels(self.array * np.float32(factor))
        return replace(self, scales=self.scales * factor)

    def tiled(self, times: int) -> Kernels:
        """Repeat the kernels for each image of a batch."""
        return Kernels(tiled(self.array, times), self.tiled_scales(times))

    def tiled_scales(self, times: int) -> Array:
        """Return the scales of kernels that are repeated."""
        return self.scales if self.scales.size == 1 else tiled(self.scales, times)

    def outputs(self, rows: slice) -> Kernels:
        """Return the kernels of some output channels."""
        return Kernels(self.array[rows], self.scales if self.scales.size == 1 else self.scales[rows])

    def dense(self, groups: int) -> Kernels:
        """Return the kernels of a dense convolution that computes `groups` groups."""
        return replace(self, array=dense(self.array, groups))


def quantize_kernels(rows: Array) -> Kernels:
    """Quantize weights symmetrically to int8, per output channel."""
    largest = _magnitudes(rows)
    scales = np.where(largest > 0, largest, 1.0) / INT8_MAX
    # In one array of float64, which may be large.
    levels = np.divide(rows, along(scales, 0, rows.ndim), dtype=np.float64)
    return Kernels(np.rint(levels, out=levels).astype(np.int8), scales)


def _magnitudes(rows: Array) -> Array:
    """Return the largest magnitude of each output channel."""
    others = tuple(range(1, rows.ndim))
    return np.maximum(rows.max(axis=others), -rows.min(axis=others)).astype(np.float64)


def along(numbers: Array, axis: int, rank: int) -> Array:
    """
    Reshape values of one axis for broadcasting over a tensor of `rank`; a single value becomes a scalar.
    """
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if index == axis % rank else 1 for index in range(rank)])


def tiled(array: Array, times: int) -> Array:
    """Repeat kernels or biases for each image of a batch."""
    return array if times == 1 else np.tile(array, (times, *(1,) * (array.ndim - 1)))


def dense(weights: Array, groups: int) -> Array:
    """
    Return the kernels of a dense convolution that computes `groups` groups, zeros outside of the diagonal
    blocks.
    """
    if groups == 1:
        return weights
    outputs, inputs, *kernel = weights.shape
    per_group = outputs // groups
    spread = np.zeros((groups, per_group, groups, inputs, *kernel), weights.dtype)
    diagonal = np.arange(groups)
    spread[diagonal, :, diagonal] = weights.reshape(groups, per_group, inputs, *kernel)
    return spread.reshape(outputs, groups * inputs, *kernel)
