"""Rubik: reshaping cubes, contract, split and merge (docs/internals/nvdla-hardware.md §4.6)."""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.enumerations import Precision, RubikMode
from xonnc.formats.nvdla.geometry import MAX_CONTRACT_STRIDE, round_up
from xonnc.formats.nvdla.records import DataCube, RubikOp, RubikSurface
from xonnc.runtime.nvdla.array_types import AnyArray
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.operation_context import OperationContext

# Planar rows are written in whole units of this many bytes.
_UNIT = 32


def run(op: RubikOp, surface: RubikSurface, scope: OperationContext) -> AnyArray:
    """Reshape the source cube into the destination and return what it wrote, `[height, width, lanes]`."""
    if not scope.target.rubik:
        raise scope.refuse(f"{scope.target.name} has no Rubik engine")
    mode = scope.member(RubikMode, op.mode, "mode")
    precision = scope.precision(op.precision, "precision")
    if mode is RubikMode.CONTRACT:
        return _contract(op, surface, precision, scope)
    if mode is RubikMode.SPLIT:
        return _split(surface, precision, scope)
    return _merge(surface, precision, scope)


def _contract(op: RubikOp, surface: RubikSurface, precision: Precision, scope: OperationContext) -> AnyArray:
    """`out[c, y * sy + i, x * sx + j] = in[(i * sx + j) * lanes + c, y, x]`."""
    src, dst = surface.src_data, surface.dst_data
    strides = op.stride_x, op.stride_y
    if min(strides) < 1 or max(strides) > MAX_CONTRACT_STRIDE:
        raise scope.refuse(
            f"contract strides {op.stride_x} x {op.stride_y}: Rubik takes 1 to {MAX_CONTRACT_STRIDE}"
        )
    size = precision.bytes
    layout = scope.feature_layout(dst, src.width * op.stride_x, src.height * op.stride_y, dst.channel, size)
    lanes = layout.surfaces * layout.atom // size
    phases = op.stride_x * op.stride_y
    source = scope.feature_layout(src, src.width, src.height, lanes * phases, size)
    pixels = scope.read_pixels(src, source, element_type(precision), "src_data")
    parts = pixels.reshape(src.height, src.width, op.stride_y, op.stride_x, lanes)
    result = parts.transpose(0, 2, 1, 3, 4).reshape(layout.height, layout.width, lanes)
    scope.write_pixels(dst, layout, result, "dst_data")
    return result


def _split(surface: RubikSurface, precision: Precision, scope: OperationContext) -> AnyArray:
    """One plane per channel; every row is filled with zeros to whole 32-byte units."""
    src, dst = surface.src_data, surface.dst_data
    size = precision.bytes
    layout = scope.feature_layout(src, src.width, src.height, src.channel, size)
    pixels = scope.read_pixels(src, layout, element_type(precision), "src_data")[:, :, : src.channel]
    row = round_up(src.width * size, _UNIT)
    planes = _planes(dst, src, row // size, precision, "dst_data", scope)
    planes[...] = 0
    planes[:, :, : src.width] = pixels.transpose(2, 0, 1)
    return pixels


def _merge(surface: RubikSurface, precision: Precision, scope: OperationContext) -> AnyArray:
    """The inverse of `_split`; lanes past the last channel are zero."""
    src, dst = surface.src_data, surface.dst_data
    size = precision.bytes
    planes = _planes(src, dst, dst.width, precision, "src_data", scope)
    layout = scope.feature_layout(dst, dst.width, dst.height, dst.channel, size)
    result = np.zeros((dst.height, dst.width, layout.surfaces * layout.atom // size), element_type(precision))
    result[:, :, : dst.channel] = planes.transpose(1, 2, 0)
    scope.write_pixels(dst, layout, result, "dst_data")
    return result


def _planes(
    planar: DataCube, cube: DataCube, width: int, precision: Precision, role: str, scope: OperationContext
) -> AnyArray:
    """A view `[channels, height, width]` of a planar tensor with the dimensions of `cube`."""
    size = precision.bytes
    if min(cube.channel, cube.height, cube.width) < 1:
        raise scope.refuse(f"{role}: a tensor of {cube.width} x {cube.height} x {cube.channel} is empty")
    row, plane = width * size, cube.height * planar.line_stride
    if (cube.height > 1 and planar.line_stride < row) or (cube.channel > 1 and planar.plane_stride < plane):
        raise scope.refuse(
            f"{role} line_stride {planar.line_stride}, plane_stride {planar.plane_stride}: "
            f"rows of {row} bytes or planes of {cube.height} rows would overlap"
        )
    extent = (cube.channel - 1) * planar.plane_stride + (cube.height - 1) * planar.line_stride + width * size
    location = scope.space.locate(planar.address, planar.offset, extent, f"{scope.name} {role}")
    location.memory.generation += 1
    return np.ndarray(
        (cube.channel, cube.height, width),
        element_type(precision),
        location.memory.data.data,
        location.start,
        (planar.plane_stride, planar.line_stride, size),
    )
