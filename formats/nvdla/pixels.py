"""Bytes and channels of the pixel formats of image inputs (docs/internals/nvdla-hardware.md §3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from xonnc.formats.nvdla.enumerations import PixelFormat


@dataclass(frozen=True)
class PixelLayout:
    """A pixel format: bytes per pixel of each plane, and the channels that the convolution sees."""

    plane_bytes: tuple[int, ...]
    channels: int


def _pixels(number: PixelFormat) -> PixelLayout:
    """Derive the layout from the format's number: one channel, 4 of 16 bits, 4 in 32 bits, two planes."""
    if number <= PixelFormat.R16_F:
        return PixelLayout((1 if number is PixelFormat.R8 else 2,), 1)
    if number <= PixelFormat.A16Y16U16V16_F:
        return PixelLayout((8,), 4)
    if number <= PixelFormat.V8U8Y8A8:
        return PixelLayout((4,), 4)
    is_8_bit = number <= PixelFormat.Y8_V8U8_N444
    return PixelLayout((1, 2) if is_8_bit else (2, 4), 3)


PIXEL_LAYOUTS: dict[int, PixelLayout] = {
    number: _pixels(number) for number in PixelFormat if number < PixelFormat.FEATURE
}
"""The layout of every pixel format."""

FLOAT_PIXELS = frozenset((PixelFormat.R16_F, PixelFormat.A16B16G16R16_F, PixelFormat.A16Y16U16V16_F))
"""Formats with float16 components."""
