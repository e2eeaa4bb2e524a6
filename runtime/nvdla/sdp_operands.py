"""
Operands of the SDP's stages: constants, one value per channel, or one per element
(docs/internals/nvdla-hardware.md §3.5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xonnc.formats.nvdla.enumerations import Precision, SdpMode, SdpOpType
from xonnc.formats.nvdla.geometry import ceil_div
from xonnc.formats.nvdla.records import CvtParam, DataCube, SdpSubOp
from xonnc.runtime.nvdla.array_types import F32, I64, AnyArray
from xonnc.runtime.nvdla.cube import CubeLayout
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.fixed_point import convert, sign_extend
from xonnc.runtime.nvdla.floating_point import half_to_single
from xonnc.runtime.nvdla.operation_context import OperationContext


@dataclass(frozen=True)
class Extent:
    """The elements an operation works on; `group` lanes are fetched at once, `lanes` are whole groups."""

    width: int
    height: int
    channels: int
    group: int
    lanes: int


def read_operands(
    stage: SdpSubOp, cube: DataCube, extent: Extent, scope: OperationContext, role: str
) -> tuple[AnyArray, AnyArray]:
    """
    Raw ALU and MUL operands of a memory mode, broadcastable to `[height, width, lanes]`.

    A stage with both takes them interleaved; a stage with one has the same array in both places.
    """
    precision = Precision(stage.precision)
    parts = 2 if stage.type == SdpOpType.BOTH else 1
    size = parts * precision.bytes
    groups = ceil_div(extent.channels, extent.group)
    if stage.mode == SdpMode.PER_KERNEL:
        count = groups * extent.group
        flat = scope.bytes_at(cube, count * size, role).view(element_type(precision))
        values = flat.reshape(1, 1, count, parts)
        _check_single(cube, extent, size, scope, role)
    else:
        atom = extent.group * size
        layout = CubeLayout(extent.width, extent.height, groups, atom, cube.line_stride, cube.surf_stride)
        if extent.width == extent.height == 1:
            _check_single(cube, extent, size, scope, role)
        pixels = scope.read_pixels(cube, layout, element_type(precision), role)
        values = pixels.reshape(extent.height, extent.width, -1, parts)
    missing = extent.lanes - values.shape[2]
    if missing:
        values = np.pad(values, ((0, 0), (0, 0), (0, missing), (0, 0)))
    return values[..., 0], values[..., parts - 1]


def _check_single(cube: DataCube, extent: Extent, size: int, scope: OperationContext, role: str) -> None:
    """With one pixel the fetch unit takes surfaces as packed and asserts that the stride says so (§3.5)."""
    if extent.width == extent.height == 1 and cube.surf_stride != extent.group * size:
        raise scope.refuse(
            f"{role} surf_stride {cube.surf_stride}: for one pixel surfaces are packed, {extent.group * size}"
        )


def integer_operands(
    stage: SdpSubOp, cube: DataCube, extent: Extent, scope: OperationContext, role: str, converts: bool
) -> tuple[I64, I64]:
    """Operands as integers; `converts` tells the Y stage, which has converters and 32-bit constants."""
    if stage.mode == SdpMode.PER_LAYER:
        bits = 32 if converts else 16
        alu, mul = sign_extend(stage.alu_operand, bits), sign_extend(stage.mul_operand, bits)
        return np.array(alu, np.int64), np.array(mul, np.int64)
    alu, mul = (x.astype(np.int64) for x in read_operands(stage, cube, extent, scope, role))
    if converts:
        return _converted(alu, stage.alu_cvt), _converted(mul, stage.mul_cvt)
    return alu, mul


def _converted(operand: I64, by: CvtParam) -> I64:
    return convert(operand, by.offset, by.scale, by.truncate, 32) if by.enable else operand


def single_operands(
    stage: SdpSubOp, cube: DataCube, extent: Extent, scope: OperationContext, role: str, wide: bool
) -> tuple[F32, F32]:
    """Operands as fp32; constants are fp16 bits, or fp32 bits where `wide` (the Y stage)."""
    if stage.mode == SdpMode.PER_LAYER:
        return _constant(stage.alu_operand, wide), _constant(stage.mul_operand, wide)
    alu, mul = read_operands(stage, cube, extent, scope, role)
    return half_to_single(alu.view(np.uint16)), half_to_single(mul.view(np.uint16))


def _constant(field: int, wide: bool) -> F32:
    if wide:
        return np.array([field & 0xFFFFFFFF], np.uint32).view(np.float32)
    return half_to_single(np.array([field & 0xFFFF], np.uint16))
