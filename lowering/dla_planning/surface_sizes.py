"""
The sizes of surfaces in memory: feature cubes (docs/internals/nvdla-hardware.md §3.2) and images
(§3.3).
"""

from __future__ import annotations

from xdsl.ir import Attribute

from xonnc.dialects.dla.types import ImageType, SurfaceType, cube_of, image_of
from xonnc.errors import XonncError, suggest
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import PixelFormat, Precision
from xonnc.formats.nvdla.pixels import PIXEL_LAYOUTS
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.targets import NvdlaTarget

SINGLE_PLANE_FORMATS = {
    PixelFormat(number).name: PixelFormat(number)
    for number, pixels in PIXEL_LAYOUTS.items()
    if len(pixels.plane_bytes) == 1
}
"""Pixel formats with one plane, by name."""


def format_of(image: ImageType) -> PixelFormat:
    """Return the pixel format of an image; `XonncError` for a name that is no single-plane format."""
    name = image.format.data
    if name not in SINGLE_PLANE_FORMATS:
        raise XonncError(
            f"!dla.image<{name}, …>: no pixel format of one plane{suggest(name, SINGLE_PLANE_FORMATS)}"
        )
    return SINGLE_PLANE_FORMATS[name]


def pixel_bytes(image: ImageType) -> int:
    """Return the bytes of a pixel."""
    return PIXEL_LAYOUTS[format_of(image)].plane_bytes[0]


def dense_strides(type_: Attribute, target: NvdlaTarget) -> tuple[int, int]:
    """Return line and surface stride in bytes without gaps."""
    cube, image = cube_of(type_), image_of(type_)
    if image is None:
        line = cube.width * target.memory_atom_bytes
    else:
        line = geometry.image_line_bytes(cube.width, pixel_bytes(image))
    return line, line * cube.height


def dense_bytes(type_: Attribute, target: NvdlaTarget) -> int:
    """Return the size of a cube or image without gaps."""
    return surface_count(type_, target) * dense_strides(type_, target)[1]


def span_bytes(type_: SurfaceType, target: NvdlaTarget) -> int:
    """Return the bytes from the first to the last byte of a surface."""
    cube, image = cube_of(type_), image_of(type_)
    step = target.memory_atom_bytes if image is None else pixel_bytes(image)
    last = (surface_count(type_, target) - 1) * type_.surface_stride.data
    return last + (cube.height - 1) * type_.line_stride.data + cube.width * step


def descriptor_bytes(type_: SurfaceType, target: NvdlaTarget) -> int:
    """Return the size of a surface as descriptors state it, in whole lines and surfaces."""
    return surface_count(type_, target) * type_.surface_stride.data


def surface_count(type_: Attribute, target: NvdlaTarget) -> int:
    """
    Return the surfaces of a cube; an image has one.

    INT16 cubes are steps between INT8 and FP16: the SDP reads or writes their surfaces in pairs
    (docs/internals/nvdla-hardware.md §3.5).
    """
    if image_of(type_) is not None:
        return 1
    precision = precision_of(type_)
    count = geometry.surfaces(target, precision, cube_of(type_).channels)
    return geometry.round_up(count, 2) if precision is Precision.INT16 else count
