"""The noise that quantization leaves in the results of a linear operator."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.onnx_to_dla.quantization.linear_operators import LinearOp, kernels_of

Array = npt.NDArray[Any]

PEAK_TO_RMS = 6.0
"""Assumed ratio of a channel's largest magnitude to its root mean square."""


@dataclass(frozen=True)
class ReadKernels:
    """The kernels of a consumer, with what does not depend on the factors of the channels that it reads."""

    kernels: Array
    largest: Array
    """The largest magnitude of each kernel's taps, by input channel."""
    signal: Array
    """The power of each kernel's result."""

    @staticmethod
    def of(consumer: LinearOp, peaks: Array) -> ReadKernels:
        """Return those of an operator whose input channels have these peaks."""
        kernels = kernels_of(consumer)
        heights = peaks.reshape(kernels.shape[0], 1, -1, 1)
        signal = np.square(kernels * heights).sum(axis=(2, 3)) / PEAK_TO_RMS**2
        return ReadKernels(kernels, np.abs(kernels).max(axis=3, keepdims=True), signal)

    def noise(self, factors: Array, greatest: Array, step: float) -> Array:
        """
        Return the noise power of each kernel's result, for factors of the channels that it reads, their
        largest magnitudes with these factors, and the step of the activations.
        """
        scales, reach = (each.reshape(self.kernels.shape[0], 1, -1, 1) for each in (factors, greatest))
        scaled = self.kernels / scales
        # Rounding to a step s adds noise of variance s^2 / 12; the constant cancels in the comparison.
        # `by_kernels` is weight rounding times the activations' power, `by_channels` activation rounding
        # times the weights' power.
        weight_steps = (self.largest / scales).max(axis=(2, 3)) / INT8_MAX
        taps = self.kernels.shape[3]
        by_kernels = np.square(weight_steps) * np.square(reach).sum(axis=(2, 3)) * taps / PEAK_TO_RMS**2
        by_channels = step**2 * np.square(scaled, out=scaled).sum(axis=(2, 3))
        return by_kernels + by_channels

    def sensitivity(self) -> Array:
        """Return the ratio of noise to signal that a unit of noise in each input channel makes."""
        return np.square(self.kernels).sum(axis=(1, 3)).reshape(-1) / (float(self.signal.sum()) or inf)
