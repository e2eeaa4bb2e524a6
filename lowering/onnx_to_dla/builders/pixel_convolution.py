"""Convolutions over pixels: kernels in the order in which the core reads interleaved channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xonnc.dialects.dla.types import cube_of
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, ImageValue
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels


@dataclass(frozen=True)
class PixelConvolution:
    """A convolution over an image: kernels `KxC/gxRxS` as given, their numbers, and the undilated window."""

    image: ImageValue
    kernels: Kernels
    numbers: Array
    bias: Array | None
    groups: int
    dilations: tuple[int, int]
    window: Window2D

    @property
    def channels(self) -> int:
        """Channels of the pixel format."""
        return cube_of(self.image.value.type).channels

    def folded(self, weights: Array) -> Array:
        """Fold dense kernels `KxCxRxS` to those that the core reads."""
        return flattened(undilated(weights, self.dilations), self.channels)


def undilated(weights: Array, dilations: tuple[int, int]) -> Array:
    """Return kernels `KxCxRxS` with zeros between the taps of a dilated kernel."""
    if dilations == (1, 1):
        return weights
    rows, columns = ((size - 1) * step + 1 for size, step in zip(weights.shape[2:], dilations, strict=True))
    spread = np.zeros((*weights.shape[:2], rows, columns), weights.dtype)
    spread[:, :, :: dilations[0], :: dilations[1]] = weights
    return spread


def flattened(weights: Array, channels: int) -> Array:
    """
    Fold kernels `KxCxRxS` to `K x S channels x R x 1`, the channels of the first column first. Weights of a
    channel that only the pixel format has are zero.
    """
    kernels, inputs, rows, columns = weights.shape
    padded = np.zeros((kernels, channels, rows, columns), weights.dtype)
    padded[:, :inputs] = weights
    return padded.transpose(0, 3, 1, 2).reshape(kernels, columns * channels, rows, 1)
