"""
The single data processor: one SDP operation from its source to its destination
(docs/internals/nvdla-hardware.md §4.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.formats.nvdla.enumerations import Activation, AluType, MemoryType, Precision, SdpMode, SdpOpType
from xonnc.formats.nvdla.geometry import channels_per_atom, operand_group, round_up
from xonnc.formats.nvdla.records import DataCube, SdpOp, SdpSubOp, SdpSurface
from xonnc.runtime.nvdla.array_types import F32, I64, AnyArray
from xonnc.runtime.nvdla.cube import CubeLayout
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.fixed_point import convert, saturate
from xonnc.runtime.nvdla.floating_point import half_to_int16, half_to_single, int17_to_half, single_to_half
from xonnc.runtime.nvdla.lookup_table import LookupTable
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.sdp_operands import Extent, integer_operands, single_operands
from xonnc.runtime.nvdla.sdp_stages import (
    StageSettings,
    x_stage_integers,
    x_stage_singles,
    y_stage_integers,
    y_stage_singles,
)

_Y = "y_data"
_OPERAND_ROLES = ("x1_data", "x2_data", _Y)


def run(
    op: SdpOp,
    surface: SdpSurface,
    accumulators: I64 | F32 | None,
    luts: Sequence[LookupTable],
    scope: OperationContext,
) -> AnyArray:
    """
    Run one operation and write its destination unless that is the PDP.

    `accumulators` `[images, height, width, kernels]` come from the convolution, None for a source in memory.
    Returns `[images, height, width, lanes]` in the destination's element type.
    """
    _check(op, accumulators, scope)
    extent = _extent(op, surface.src_data, scope)
    results: list[AnyArray] = []
    for image in range(op.batch_num):
        if accumulators is None:
            source = _read_source(op, surface, extent, scope)
        else:
            source = _from_convolution(accumulators[image], extent, scope)
        if op.src_precision == Precision.FP16:
            result = _process_singles(op, surface, source.view(np.float32), extent, luts, scope)
        else:
            result = _process_integers(op, surface, source.view(np.int64), extent, luts, scope)
        _write(op, surface, result, image, extent, scope)
        results.append(result)
    return np.stack(results) if len(results) > 1 else results[0][None]


def _check(op: SdpOp, accumulators: I64 | F32 | None, scope: OperationContext) -> None:
    source = scope.precision(op.src_precision, "src_precision")
    destination = scope.precision(op.dst_precision, "dst_precision")
    if source is Precision.FP16 and destination is Precision.INT8:
        raise scope.refuse("FP16 to INT8: the SDP has no such conversion; go through INT16")
    if op.batch_num < 1:
        raise scope.refuse("batch_num 0: the field counts from 1")
    if accumulators is not None:
        if source is Precision.INT16 and destination is Precision.INT8:
            raise scope.refuse("INT16 to INT8 after a convolution: only a source in memory can be narrowed")
        if (source is Precision.FP16) != (accumulators.dtype == np.float32):
            raise scope.refuse(f"src_precision {source.name} is not that of the convolution before")
        if len(accumulators) != op.batch_num:
            raise scope.refuse(f"batch_num {op.batch_num} after a convolution of {len(accumulators)} images")
    if op.y_op.enable and not scope.target.sdp_y:
        raise scope.refuse(f"y_op: {scope.target.name} has no Y stage")


def _extent(op: SdpOp, src: DataCube, scope: OperationContext) -> Extent:
    """Sizes come from src_data, also after a convolution; lanes fill whole atoms on both sides."""
    if min(src.width, src.height, src.channel) < 1:
        raise scope.refuse(
            f"src_data is {src.width} x {src.height} x {src.channel}; every dimension is at least 1"
        )
    group = operand_group(scope.target, Precision(op.src_precision))
    lanes = max(group, channels_per_atom(scope.target, Precision(op.dst_precision)))
    return Extent(src.width, src.height, src.channel, group, round_up(src.channel, lanes))


def _read_source(op: SdpOp, surface: SdpSurface, extent: Extent, scope: OperationContext) -> AnyArray:
    precision = Precision(op.src_precision)
    cube = surface.src_data
    layout = scope.feature_layout(cube, extent.width, extent.height, extent.lanes, precision.bytes)
    _check_single(layout, "src_data", scope)
    pixels = scope.read_pixels(cube, layout, element_type(precision), "src_data")
    return half_to_single(pixels.view(np.uint16)) if precision is Precision.FP16 else pixels.astype(np.int64)


def _check_single(layout: CubeLayout, role: str, scope: OperationContext) -> None:
    """With one pixel the DMA takes surfaces as packed and asserts that the stride says so (§3.5)."""
    if layout.width == layout.height == 1 and layout.surf_stride != layout.atom:
        raise scope.refuse(
            f"{role} surf_stride {layout.surf_stride}: for one pixel surfaces are packed, {layout.atom}"
        )


def _from_convolution(accumulators: I64 | F32, extent: Extent, scope: OperationContext) -> AnyArray:
    height, width, kernels = accumulators.shape
    if (height, width) != (extent.height, extent.width) or kernels < extent.channels:
        raise scope.refuse(
            f"src_data is {extent.width} x {extent.height} x {extent.channels} but the convolution delivers "
            f"{width} x {height} x {kernels}"
        )
    delivered = accumulators[:, :, : extent.lanes]
    missing = extent.lanes - delivered.shape[2]
    return np.pad(delivered, ((0, 0), (0, 0), (0, missing))) if missing else np.ascontiguousarray(delivered)


def _stages(op: SdpOp, surface: SdpSurface) -> list[tuple[SdpSubOp, DataCube, str]]:
    parts = (op.x1_op, op.x2_op, op.y_op)
    cubes = (surface.x1_data, surface.x2_data, surface.y_data)
    return [
        (part, cube, role)
        for part, cube, role in zip(parts, cubes, _OPERAND_ROLES, strict=True)
        if part.enable
    ]


def _stage(
    op: SdpOp, part: SdpSubOp, role: str, luts: Sequence[LookupTable], scope: OperationContext
) -> StageSettings:
    _check_operands(op, part, role, scope)
    units = scope.member(SdpOpType, part.type, f"{role[:2]} type")
    alu = scope.member(AluType, part.alu_type, f"{role[:2]} alu_type")
    has_alu = units in (SdpOpType.ADD, SdpOpType.BOTH)
    if has_alu and alu is AluType.EQL:
        raise scope.refuse(f"{role[:2]}: the EQL comparison writes no output, only its status register")
    activation = scope.member(Activation, part.act, f"{role[:2]} act")
    lut = None
    if activation is Activation.LUT:
        if role != _Y:
            raise scope.refuse(f"{role[:2]}: only the Y stage has a lookup table")
        if not 0 <= op.lut_index < len(luts):
            raise scope.refuse(f"lut_index {op.lut_index}: the task has {len(luts)} lookup tables")
        lut = luts[op.lut_index]
    return StageSettings(
        alu=alu if has_alu else None,
        multiplies=units in (SdpOpType.MUL, SdpOpType.BOTH),
        activation=activation,
        shift=part.shift_value,
        truncate=part.truncate,
        lut=lut,
    )


def _check_operands(op: SdpOp, part: SdpSubOp, role: str, scope: OperationContext) -> None:
    if scope.member(SdpMode, part.mode, f"{role} mode") is SdpMode.PER_LAYER:
        return
    operand = scope.member(Precision, part.precision, f"{role} precision")
    data = Precision(op.src_precision)
    if (operand is Precision.FP16) != (data is Precision.FP16):
        raise scope.refuse(
            f"{role} has precision {operand.name} in {data.name} processing; FP16 operands go with FP16 data"
        )
    if data is Precision.INT16 and operand is Precision.INT8 and role != _OPERAND_ROLES[0]:
        raise scope.refuse(f"{role}: 16-bit data takes 2-byte operands in X2 and Y")


def _process_integers(
    op: SdpOp,
    surface: SdpSurface,
    x: I64,
    extent: Extent,
    luts: Sequence[LookupTable],
    scope: OperationContext,
) -> AnyArray:
    for part, cube, role in _stages(op, surface):
        stage = _stage(op, part, role, luts, scope)
        alu, mul = integer_operands(part, cube, extent, scope, role, converts=role == _Y)
        run_stage = y_stage_integers if role == _Y else x_stage_integers
        x = run_stage(x, stage, alu, mul)
    by = op.out_cvt
    narrow = convert(x, by.offset, by.scale, by.truncate, 17)
    if op.dst_precision == Precision.FP16:
        return int17_to_half(narrow)
    precision = Precision(op.dst_precision)
    return saturate(narrow, 8 * precision.bytes).astype(element_type(precision))


def _process_singles(
    op: SdpOp,
    surface: SdpSurface,
    x: F32,
    extent: Extent,
    luts: Sequence[LookupTable],
    scope: OperationContext,
) -> AnyArray:
    for part, cube, role in _stages(op, surface):
        stage = _stage(op, part, role, luts, scope)
        alu, mul = single_operands(part, cube, extent, scope, role, wide=role == _Y)
        run_stage = y_stage_singles if role == _Y else x_stage_singles
        x = run_stage(x, stage, alu, mul)
    half = single_to_half(x)
    return half if op.dst_precision == Precision.FP16 else half_to_int16(half).astype(np.int16)


def _write(
    op: SdpOp, surface: SdpSurface, result: AnyArray, image: int, extent: Extent, scope: OperationContext
) -> None:
    cube = surface.dst_data
    if cube.type == MemoryType.HW:
        return
    size = Precision(op.dst_precision).bytes
    layout = scope.feature_layout(cube, extent.width, extent.height, extent.lanes, size)
    _check_single(layout, "dst_data", scope)
    scope.write_pixels(cube, layout, result, "dst_data", image * op.batch_stride)
