"""
Pixel formats of image input: how the components of a pixel are packed (docs/internals/nvdla-hardware.md §2.2,
§3.3).

A format is described by its name: components from the most significant bit down, each a letter and its bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from xonnc.runtime.nvdla.array_types import I64, U8

# FORMAT_T_* in order of their numbers; a comma separates the planes, a trailing F means float, I signed.
_FORMATS = (
    "R8 R10 R12 R16 R16I R16F "
    "A16B16G16R16 X16B16G16R16 A16B16G16R16F A16Y16U16V16 V16U16Y16A16 A16Y16U16V16F "
    "A8B8G8R8 A8R8G8B8 B8G8R8A8 R8G8B8A8 X8B8G8R8 X8R8G8B8 B8G8R8X8 R8G8B8X8 "
    "A2B10G10R10 A2R10G10B10 B10G10R10A2 R10G10B10A2 A2Y10U10V10 V10U10Y10A2 A8Y8U8V8 V8U8Y8A8 "
    "Y8,U8V8 Y8,V8U8 Y10,U10V10 Y10,V10U10 Y12,U12V12 Y12,V12U12 Y16,U16V16 Y16,V16U16"
).split()
_DELIVERED = "RYGUBVAX"


@dataclass(frozen=True)
class Component:
    """One component of a pixel: the delivered channel, and its bits within the pixel's integer."""

    letter: str
    shift: int
    bits: int


@dataclass(frozen=True)
class Plane:
    """One plane of an image; `size` is bytes per pixel."""

    components: tuple[Component, ...]
    size: int


@dataclass(frozen=True)
class PixelPacking:
    """A pixel format; channels are delivered in the order R, G, B, A or Y, U, V, A."""

    name: str
    planes: tuple[Plane, ...]
    is_float: bool
    is_signed: bool

    @property
    def channels(self) -> int:
        return sum(len(plane.components) for plane in self.planes)

    def channel(self, component: Component) -> int:
        """The position in which a component is delivered."""
        letters = sorted((c.letter for plane in self.planes for c in plane.components), key=_DELIVERED.index)
        return letters.index(component.letter)


def _parse(name: str) -> PixelPacking:
    kind = name[-1]
    planes: list[Plane] = []
    for text in name.rstrip("FI").split(","):
        fields = [(letter, int(bits)) for letter, bits in re.findall(r"([A-Z])(\d+)", text)]
        # Components of 10 or 12 bits that do not share a word sit in 16 bits each.
        shared = sum(bits for _, bits in fields) in (8, 16, 32, 64)
        shift = 0
        components: list[Component] = []
        for letter, bits in reversed(fields):
            components.append(Component(letter, shift, bits))
            shift += bits if shared else 16
        planes.append(Plane(tuple(components), shift // 8))
    return PixelPacking(name, tuple(planes), kind == "F", kind == "I")


PIXEL_FORMATS = tuple(_parse(name) for name in _FORMATS)


def unpack_plane(rows: U8, plane: Plane, signed: bool) -> dict[str, I64]:
    """Components of one plane from its bytes `[height, width, plane.size]`, each `[height, width]`."""
    height, width, size = rows.shape
    words = np.ascontiguousarray(rows).view(np.dtype(f"<u{size}")).reshape(height, width).astype(np.uint64)
    out: dict[str, I64] = {}
    for component in plane.components:
        mask = np.uint64((1 << component.bits) - 1)
        value = ((words >> np.uint64(component.shift)) & mask).astype(np.int64)
        if signed:
            half = 1 << (component.bits - 1)
            value = (value ^ half) - half
        out[component.letter] = value
    return out


def pack_plane(components: dict[str, I64], plane: Plane) -> U8:
    """The inverse of `unpack_plane`: bytes `[height, width, plane.size]`."""
    height, width = components[plane.components[0].letter].shape
    words = np.zeros((height, width), np.uint64)
    for component in plane.components:
        mask = (1 << component.bits) - 1
        value = (components[component.letter] & mask).astype(np.uint64)
        words |= value << np.uint64(component.shift)
    return words.astype(np.dtype(f"<u{plane.size}")).reshape(height, width, 1).view(np.uint8)
