"""
Input of the convolution: feature cubes and images, through the converter (docs/internals/nvdla-hardware.md
§3.3).
"""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.enumerations import PixelFormat, Precision
from xonnc.formats.nvdla.records import ConvOp, ConvSurface
from xonnc.runtime.nvdla.array_types import I64, U8, AnyArray
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.fixed_point import saturate, shift_right_rounding
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.pixels import PIXEL_FORMATS, PixelPacking, Plane, unpack_plane


def read_input(op: ConvOp, surface: ConvSurface, image: int, scope: OperationContext) -> AnyArray:
    """Image number `image` of the batch as `[height, width, channels]`: integers, or fp16 bits."""
    by = op.in_cvt
    shifts = by.offset or by.truncate or by.scale != 1 or op.mean_format
    if op.in_precision == Precision.FP16 and by.enable and shifts:
        raise scope.refuse(
            "in_cvt or mean on FP16 input: only integers are converted; scale and shift in the SDP"
        )
    if op.data_format == PixelFormat.FEATURE:
        return _read_features(op, surface, image * op.batch_stride, scope)
    if op.data_format >= len(PIXEL_FORMATS):
        raise scope.refuse(
            f"data_format {op.data_format} is not a pixel format; they end at {len(PIXEL_FORMATS) - 1}"
        )
    return _read_image(op, surface, PIXEL_FORMATS[op.data_format], image * op.batch_stride, scope)


def _read_features(op: ConvOp, surface: ConvSurface, offset: int, scope: OperationContext) -> AnyArray:
    cube = surface.src_data
    precision = Precision(op.in_precision)
    layout = scope.feature_layout(cube, cube.width, cube.height, cube.channel, precision.bytes)
    pixels = scope.read_pixels(cube, layout, element_type(precision), "src_data", offset)
    pixels = pixels[:, :, : cube.channel]
    if not op.in_cvt.enable or precision is Precision.FP16:
        return pixels
    offsets = np.full(cube.channel, op.in_cvt.offset, np.int64)
    return _convert(op, pixels.astype(np.int64), offsets, precision)


def _read_image(
    op: ConvOp, surface: ConvSurface, pixel: PixelPacking, offset: int, scope: OperationContext
) -> AnyArray:
    precision = Precision(op.in_precision)
    if pixel.is_float != (precision is Precision.FP16):
        raise scope.refuse(
            f"pixel format {pixel.name} with precision {precision.name}: float pixels and FP16 go together; "
            "change one of the two"
        )
    if pixel.channels != surface.src_data.channel:
        raise scope.refuse(
            f"src_data has {surface.src_data.channel} channels but pixel format {pixel.name} delivers "
            f"{pixel.channels}; correct the cube"
        )
    signed = bool(op.pixel_override) or pixel.is_signed
    channels: dict[int, I64] = {}
    for number, plane in enumerate(pixel.planes):
        values = unpack_plane(_plane_bytes(surface, number, plane, offset, scope), plane, signed)
        for component in plane.components:
            channels[pixel.channel(component)] = values[component.letter]
    pixels = np.stack([channels[c] for c in range(pixel.channels)], axis=2)
    if not op.in_cvt.enable or pixel.is_float:
        return pixels.astype(element_type(precision))
    means = [op.mean_ry, op.mean_gu, op.mean_bv, op.mean_ax][: pixel.channels]
    offsets = means if op.mean_format else [op.in_cvt.offset] * pixel.channels
    return _convert(op, pixels, np.array(offsets, np.int64), precision)


def _plane_bytes(surface: ConvSurface, number: int, plane: Plane, offset: int, scope: OperationContext) -> U8:
    cube = surface.src_data
    stride = surface.in_line_uv_stride if number else cube.line_stride
    start = cube.offset + offset + (surface.offset_u if number else 0)
    width = cube.width * plane.size
    role = f"{scope.name} src_data plane {number}"
    extent = (cube.height - 1) * stride + width
    if cube.width < 1 or cube.height < 1 or (cube.height > 1 and stride < width):
        raise scope.refuse(
            f"src_data plane {number}: {cube.height} rows of {width} bytes with line stride {stride}; "
            "rows must not be empty or overlap"
        )
    location = scope.space.locate(cube.address, start, extent, role)
    rows = np.ndarray(
        (cube.height, cube.width, plane.size),
        np.uint8,
        location.memory.data.data,
        location.start,
        (stride, plane.size, 1),
    )
    return rows


def _convert(op: ConvOp, pixels: I64, offsets: I64, precision: Precision) -> AnyArray:
    scaled = (pixels - offsets) * op.in_cvt.scale
    narrow = saturate(shift_right_rounding(scaled, op.in_cvt.truncate), 17)
    return saturate(narrow, 8 * precision.bytes).astype(element_type(precision))
