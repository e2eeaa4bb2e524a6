"""
Input converter settings that turn pixels into int8 values (docs/internals/nvdla-hardware.md §3.3).

The converter has one factor for all channels and an offset for each. If some setting gives exactly the
integers of the model's QuantizeLinear for all 256 pixel values, it is used. Otherwise pixels keep as many
levels as 8 bits allow, and the difference of scales is folded into the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from xonnc.dialects.dla.attributes import Converter
from xonnc.formats.nvdla.pixel_normalization import MAX_PIXEL, Normalization
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array

PIXELS = np.arange(MAX_PIXEL + 1)
"""All values of an 8-bit pixel."""

FACTOR_BITS = 14
"""Fractional bits of factors near 1: the converter's scale has 16 bits with sign."""

MIN_FACTOR = 1 / 4
"""
Below this fewer than a quarter of the pixel levels would remain, as with a mean far outside of [0, 255].
"""

UINT8_MIDDLE = 128


@dataclass(frozen=True)
class PixelConversion:
    """
    Integers `(pixel - offset) scale / 2^truncate`, rounded half away from zero and saturated to int8.

    `pad` is the stored integer of the padding.
    """

    offsets: tuple[int, ...]
    scale: int
    truncate: int
    pad: int

    @property
    def factor(self) -> float:
        """The step of the result for one step of the pixel."""
        return self.scale * 2.0**-self.truncate

    @property
    def converter(self) -> Converter:
        """The input converter, whose offset applies if all channels share it."""
        return Converter(self.scale, self.truncate, self.offsets[0])

    @property
    def means(self) -> tuple[int, ...] | None:
        """Offsets per channel if they differ, else `None`."""
        return None if len(set(self.offsets)) == 1 else self.offsets

    def integers(self, channel: int) -> npt.NDArray[np.int64]:
        """Return the integer of each pixel value."""
        products = (PIXELS - self.offsets[channel]) * self.scale
        half = (1 << self.truncate) >> 1
        shifted = np.sign(products) * ((np.abs(products) + half) >> self.truncate)
        return np.clip(shifted, INT8_MIN, INT8_MAX)


def exact_conversion(pixels: Normalization, qparams: QuantizationParameters) -> PixelConversion | None:
    """Return the conversion that gives exactly the integers of the QuantizeLinear, or `None`."""
    every = np.broadcast_to(PIXELS.reshape(-1, 1, 1, 1), (len(PIXELS), pixels.channels, 1, 1))
    expected = qparams.quantize(pixels.numbers(every)).reshape(len(PIXELS), pixels.channels).T
    factor = 1 / (pixels.std[0] * qparams.scale)
    for truncate in range(FACTOR_BITS + 1):
        scale = round(factor * 2**truncate)
        if not 1 <= scale <= np.iinfo(np.int16).max:
            continue
        offsets = [
            _offset(pixels, qparams, channel, scale, truncate, table)
            for channel, table in enumerate(expected)
        ]
        found = tuple(offset for offset in offsets if offset is not None)
        if len(found) == len(offsets):
            return PixelConversion(found, scale, truncate, qparams.zero_point)
    return None


def _offset(
    pixels: Normalization,
    qparams: QuantizationParameters,
    channel: int,
    scale: int,
    truncate: int,
    expected: Array,
) -> int | None:
    """Return the offset with which one channel gives `wanted`, or `None`."""
    exact = pixels.mean[channel] - qparams.zero_point * pixels.std[channel] * qparams.scale
    for offset in {floor(exact), ceil(exact)}:
        conversion = PixelConversion((offset,), scale, truncate, qparams.zero_point)
        if _is_offset(offset) and np.array_equal(conversion.integers(0), expected):
            return offset
    return None


def _is_offset(offset: int) -> bool:
    bounds = np.iinfo(np.int16)
    return bounds.min <= offset <= bounds.max


def nearest_conversion(pixels: Normalization, *, is_padded: bool) -> PixelConversion | None:
    """
    Return the conversion with the finest resolution, `None` if the means are too far from all pixels.

    Padding stands for the mean of each channel, and is one integer for all: with padding every channel's mean
    maps to it. Without padding pixels are centered at 128.
    """
    means = [round(mean) if is_padded else UINT8_MIDDLE for mean in pixels.mean]
    moved = round((MAX_PIXEL - max(means) - min(means)) / 2 + 0.5)
    offsets = tuple(mean + moved for mean in means)
    if not all(map(_is_offset, offsets)):
        return None
    most, least = max(MAX_PIXEL - min(offsets), -moved), max(*offsets, moved)
    factor = min(1.0, INT8_MAX / max(most, 1), -INT8_MIN / max(least, 1))
    if factor < MIN_FACTOR:
        return None
    scale = floor(factor * 2**FACTOR_BITS)
    truncate = FACTOR_BITS
    while scale % 2 == 0 and truncate:
        scale, truncate = scale // 2, truncate - 1
    return PixelConversion(offsets, scale, truncate, round(-moved * scale * 2.0**-truncate))
