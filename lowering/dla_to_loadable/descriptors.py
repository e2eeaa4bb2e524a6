"""
The packed descriptors of one hardware layer from its operation on surfaces (docs/internals/nvdla-hardware.md
§2.3, §2.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import (
    Activation,
    AluFunction,
    BankPlan,
    ConstantLayout,
    Converter,
    ConverterAttr,
    Lut,
    LutMethod,
    LutTable,
    OperandMode,
    PoolMode,
    SdpStage,
    StageFunction,
)
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, SdpOp
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.dla.types import CubeShape, FlowType, PackedType, SurfaceType, cube_of, image_of, shape_of
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import XonncError
from xonnc.formats.nvdla import enumerations as hw
from xonnc.formats.nvdla import records
from xonnc.formats.nvdla.geometry import MAX_POOL_PAD, WINOGRAD_SIDE, operand_group, winograd_extended
from xonnc.lowering.dla.convolution_plans import window_of
from xonnc.lowering.dla.lifetimes import CVSRAM
from xonnc.lowering.dla.packing import CompressedSizes
from xonnc.lowering.dla_planning.feasibility import buffer_demand, column_splits
from xonnc.lowering.dla_planning.lookup_tables import integer_slope
from xonnc.lowering.dla_planning.precision import precision_of, processed_precision
from xonnc.lowering.dla_planning.surface_sizes import descriptor_bytes, format_of
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget

AddressOf: TypeAlias = Callable[[str], int]
"""Maps the name of a memory object to its index in the task's address list."""

UNUSED_CUBE = records.DataCube(type=hw.MemoryType.MC, address=-1)
"""The cube of an unused operand."""

STAGE_TYPES = {
    StageFunction.NONE: hw.SdpOpType.NONE,
    StageFunction.MUL: hw.SdpOpType.MUL,
    StageFunction.ALU: hw.SdpOpType.ADD,
    StageFunction.BOTH: hw.SdpOpType.BOTH,
}
ALU_TYPES = {
    AluFunction.MAX: hw.AluType.MAX,
    AluFunction.MIN: hw.AluType.MIN,
    AluFunction.SUM: hw.AluType.SUM,
    AluFunction.EQUAL: hw.AluType.EQL,
}
MODES = {
    OperandMode.PER_LAYER: hw.SdpMode.PER_LAYER,
    OperandMode.PER_KERNEL: hw.SdpMode.PER_KERNEL,
    OperandMode.PER_POINT: hw.SdpMode.PER_POINT,
}
ACTIVATIONS = {
    Activation.NONE: hw.Activation.NONE,
    Activation.RELU: hw.Activation.RELU,
    Activation.LUT: hw.Activation.LUT,
    Activation.PRELU: hw.Activation.PRELU,
}
LUT_METHODS = {
    LutMethod.EXPONENTIAL: hw.LutMethod.EXPONENTIAL,
    LutMethod.LINEAR: hw.LutMethod.LINEAR,
}
LUT_TABLES = {
    LutTable.LINEAR_EXP: hw.LutPriority.LINEAR_EXP,
    LutTable.LINEAR_ONLY: hw.LutPriority.LINEAR_ONLY,
}
POOL_MODES = {
    PoolMode.AVERAGE: hw.PoolMode.AVG,
    PoolMode.MAX: hw.PoolMode.MAX,
    PoolMode.MIN: hw.PoolMode.MIN,
}


def _by_winograd(direct: records.ConvOp, source: CubeShape) -> records.ConvOp:
    """
    Return the operation `direct` in Winograd mode: the input is extended to whole tiles and the channels to
    whole units (docs/internals/nvdla-hardware.md §3.4).
    """
    width = winograd_extended(direct.input_width_cmac)
    height = winograd_extended(direct.input_height_cmac)
    return replace(
        direct,
        conv_mode=hw.ConvMode.WINOGRAD,
        fetch_grain=WINOGRAD_SIDE,
        release=height,
        input_width_csc=width,
        input_height_csc=height,
        input_channel_csc=direct.kernel_channel_csc,
        pad_x_right=width - source.width - direct.pad_x_left,
        pad_y_bottom=height - source.height - direct.pad_y_top,
    )


def _compressed_cubes(plain: records.DataCube, sizes: CompressedSizes) -> list[records.DataCube]:
    """Return the cubes of the parts of compressed weights that are where `plain` is."""
    cubes: list[records.DataCube] = []
    offset = plain.offset
    for size in sizes:
        shape = plain if not cubes else records.DataCube(address=plain.address)
        cubes.append(replace(shape, offset=offset, size=size))
        offset += size
    return cubes


@dataclass(frozen=True)
class Descriptors:
    """The operation and surface descriptors of one layer."""

    engine: hw.OpType
    operation: records.Record
    surface: records.Record


class DescriptorWriter:
    """Writes the descriptors of one task's layers."""

    def __init__(self, target: NvdlaTarget, address_of: AddressOf):
        self._target = target
        self._address_of = address_of

    def conv(self, op: ConvOp) -> Descriptors:
        """Describe a convolution of a feature cube or an image."""
        assert op.banks is not None, "dla-split gives banks"
        banks: BankPlan = op.banks.data
        source, result = cube_of(op.source.type), cube_of(op.accumulator.type)
        top, left, bottom, right = op.pads.get_values()
        precision, image = precision_of(op.source.type), image_of(op.source.type)
        kernels, window = shape_of(op.weights.type)[0], window_of(op)
        channels, height, width = window.kernel_shape(precision, source.channels)
        rows = buffer_demand(self._target, precision, source, kernels, window)
        means = (0, 0, 0, 0) if op.means is None else (*op.means.get_values(), 0, 0, 0)[:4]
        operation = records.ConvOp(
            data_reuse=int(banks.data_reuse),
            weight_reuse=int(banks.weight_reuse),
            skip_data_rls=int(banks.skip_data_release),
            skip_weight_rls=int(banks.skip_weight_release),
            entry_per_slice=rows.entries_per_slice,
            data_format=hw.PixelFormat.FEATURE if image is None else format_of(image),
            fetch_grain=1,
            data_bank=banks.data_banks,
            weight_bank=banks.weight_banks,
            release=source.height,
            input_width_csc=source.width,
            input_height_csc=source.height,
            input_channel_csc=source.channels,
            kernel_width_csc=width,
            kernel_height_csc=height,
            kernel_channel_csc=channels,
            input_width_cmac=result.width,
            input_height_cmac=result.height,
            bytes_per_kernel=channels * height * width * precision.bytes,
            conv_stride_x=op.strides.get_values()[1],
            conv_stride_y=op.strides.get_values()[0],
            pad_x_left=left,
            pad_x_right=right,
            pad_y_top=top,
            pad_y_bottom=bottom,
            dilation_x=op.dilations.get_values()[1],
            dilation_y=op.dilations.get_values()[0],
            in_precision=precision,
            out_precision=precision,
            pad_val=op.pad_value.value.data,
            mean_format=int(op.means is not None),
            mean_ry=means[0],
            mean_gu=means[1],
            mean_bv=means[2],
            mean_ax=means[3],
            in_cvt=records.CvtParam(scale=1) if op.in_cvt is None else _converter(op.in_cvt),
            out_cvt=records.CvtParam(scale=1, truncate=op.truncate.value.data, enable=1),
        )
        if window.is_winograd:
            operation = _by_winograd(operation, source)
        weights = op.weights.type
        assert isinstance(weights, PackedType), "dla-allocate places constants"
        plain = records.DataCube(
            address=self._address_of(weights.memory.data),
            offset=weights.offset.data,
            size=weights.size.data,
            width=width,
            height=height,
            channel=channels,
        )
        stored, mask, table = plain, UNUSED_CUBE, UNUSED_CUBE
        constant = op.weights.owner
        if isinstance(constant, ConstantOp) and constant.layout is ConstantLayout.COMPRESSED_KERNELS:
            operation = replace(operation, weight_format=hw.WeightFormat.COMPRESSED)
            stored, mask, table = _compressed_cubes(plain, CompressedSizes.of(constant, self._target))
        surface = records.ConvSurface(
            weight_data=stored,
            wmb_data=mask,
            wgs_data=table,
            src_data=self.cube(op.source),
            dst_data=self.cube(op.accumulator),
        )
        return Descriptors(hw.OpType.CONV, operation, surface)

    def sdp(self, op: SdpOp, lut_index: int) -> Descriptors:
        """Describe an SDP pass, from memory or fused to a convolution; `lut_index` is -1 without a table."""
        source_precision = processed_precision(op)
        conv = op.source.owner
        is_winograd = isinstance(conv, ConvOp) and conv.is_winograd is not None
        operation = records.SdpOp(
            conv_mode=hw.ConvMode.WINOGRAD if is_winograd else hw.ConvMode.DIRECT,
            src_precision=source_precision,
            dst_precision=precision_of(op.result.type),
            lut_index=lut_index,
            out_cvt=_converter(op.out_cvt),
            x1_op=_stage(*op.stages[0], source_precision, fp16_bits),
            x2_op=_stage(*op.stages[1], source_precision, fp16_bits),
            y_op=_stage(*op.stages[2], source_precision, fp32_bits),
        )
        surface = records.SdpSurface(
            src_data=self.cube(op.source),
            x1_data=self._operand(*op.stages[0], source_precision),
            x2_data=self._operand(*op.stages[1], source_precision),
            y_data=self._operand(*op.stages[2], source_precision),
            dst_data=self.cube(op.result),
        )
        return Descriptors(hw.OpType.SDP, operation, surface)

    def pdp(self, op: PdpOp) -> Descriptors:
        """Describe a pooling."""
        source, result = cube_of(op.source.type), cube_of(op.result.type)
        (height, width), (stride_y, stride_x) = op.kernel.get_values(), op.strides.get_values()
        top, left, bottom, right = op.pads.get_values()
        window = Window2D((height, width), (stride_y, stride_x), pads=(top, left, bottom, right))
        pieces = column_splits(source.width, result.width, op.split_num.value.data, window)
        if pieces is None:
            raise XonncError(
                f"{describe(op)}: split_num {op.split_num.value.data} leaves a piece without one of the "
                f"{result.width} columns; use a smaller one"
            )
        operation = records.PdpOp(
            partial_in_width_first=pieces[0][0],
            partial_in_width_mid=pieces[0][1],
            partial_in_width_last=pieces[0][2],
            partial_width_first=pieces[1][0],
            partial_width_mid=pieces[1][1],
            partial_width_last=pieces[1][2],
            split_num=op.split_num.value.data,
            pool_mode=POOL_MODES[op.mode],
            pool_width=width - 1,
            pool_height=height - 1,
            stride_x=stride_x,
            stride_y=stride_y,
            pad_left=left,
            pad_right=right,
            pad_top=top,
            pad_bottom=bottom,
            precision=precision_of(op.result.type),
            padding_value=tuple(count * op.pad_value.value.data for count in range(1, MAX_POOL_PAD + 1)),
        )
        surface = records.PdpSurface(src_data=self.cube(op.source), dst_data=self.cube(op.result))
        return Descriptors(hw.OpType.PDP, operation, surface)

    def cdp(self, op: CdpOp, lut_index: int) -> Descriptors:
        """Describe LRN or a lookup; FP16 ignores the converters."""
        is_function = int(op.is_function is not None)
        operation = records.CdpOp(
            in_precision=precision_of(op.source.type),
            out_precision=precision_of(op.result.type),
            lut_index=lut_index,
            in_cvt=_converter(op.in_cvt),
            out_cvt=_converter(op.out_cvt),
            local_size=op.local_size.value.data,
            bypass_sqsum=is_function,
            bypass_out_mul=is_function,
        )
        surface = records.CdpSurface(src_data=self.cube(op.source), dst_data=self.cube(op.result))
        return Descriptors(hw.OpType.CDP, operation, surface)

    def cube(self, value: SSAValue) -> records.DataCube:
        """
        Return the data cube of a surface, or of a flow, which has no address but states its size (§2.4).
        """
        type_ = value.type
        channels, height, width = cube_of(type_)
        if isinstance(type_, FlowType):
            # A convolution with a single position must state the atom as its line stride (§2.4).
            line = width * self._target.memory_atom_bytes
            return records.DataCube(
                type=hw.MemoryType.HW,
                address=-1,
                width=width,
                height=height,
                channel=channels,
                line_stride=line,
                surf_stride=line * height,
            )
        assert isinstance(type_, SurfaceType), "dla-allocate places cubes"
        on_chip = type_.memory.data == CVSRAM
        return records.DataCube(
            type=hw.MemoryType.CV if on_chip else hw.MemoryType.MC,
            address=self._address_of(type_.memory.data),
            offset=type_.offset.data,
            size=descriptor_bytes(type_, self._target),
            width=width,
            height=height,
            channel=channels,
            line_stride=type_.line_stride.data,
            surf_stride=type_.surface_stride.data,
        )

    def _operand(
        self, stage: SdpStage, operand: SSAValue | None, processed: hw.Precision
    ) -> records.DataCube:
        if operand is None:
            return UNUSED_CUBE
        if isinstance(operand.type, SurfaceType):
            return self.cube(operand)
        type_ = operand.type
        assert isinstance(type_, PackedType), "dla-allocate places constants"
        # One channel group takes one unit: the RDMA asks for it when the cube has one position (§3.5).
        components = 2 if stage.type is StageFunction.BOTH else 1
        stride = operand_group(self._target, processed) * components * precision_of(type_).bytes
        return records.DataCube(
            address=self._address_of(type_.memory.data),
            offset=type_.offset.data,
            size=type_.size.data,
            width=1,
            height=1,
            channel=type_.tensor.get_shape()[0],
            line_stride=stride,
            surf_stride=stride,
        )


def lut_param(lut: Lut) -> records.LutParam:
    """Describe a lookup table: bounds are FP32 bits and slopes FP16 bits, or integers."""
    bound = _integer_bound if lut.is_integer else _fp32_register
    slope = _integer_slope if lut.is_integer else _slope
    return records.LutParam(
        linear_exp_table=lut.linear_exp_table,
        linear_only_table=lut.linear_only_table,
        linear_exp_offset=lut.linear_exp_offset,
        linear_only_offset=lut.linear_only_offset,
        le_start=bound(lut.le_start),
        le_end=bound(lut.le_end),
        lo_start=bound(lut.lo_start),
        lo_end=bound(lut.lo_end),
        le_underflow=slope(lut.le_underflow),
        le_overflow=slope(lut.le_overflow),
        lo_underflow=slope(lut.lo_underflow),
        lo_overflow=slope(lut.lo_overflow),
        hybrid_priority=LUT_TABLES[lut.hybrid_priority],
        underflow_priority=LUT_TABLES[lut.underflow_priority],
        overflow_priority=LUT_TABLES[lut.overflow_priority],
        method=LUT_METHODS[lut.method],
    )


def fp16_bits(value: float) -> int:
    """Return the bits of `value` in FP16, the format of scalar operands of X1 and X2."""
    return int(np.float16(value).view(np.uint16))


def fp32_bits(value: float) -> int:
    """Return the bits of `value` in FP32 as a signed integer, the format of scalar operands of Y."""
    return int(np.float32(value).view(np.int32))


def _fp32_register(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def _integer_bound(value: float) -> int:
    """Mask a bound to the 38 bits of the CDP's sums (docs/internals/nvdla-hardware.md §3.6)."""
    return int(value) & ((1 << 38) - 1)


def _converter(attribute: ConverterAttr | None) -> records.CvtParam:
    found = attribute.data if attribute is not None else Converter()
    return records.CvtParam(scale=found.scale, truncate=found.truncate, enable=1, offset=found.offset)


def _slope(value: float) -> records.LutSlope:
    return records.LutSlope(scale=int(np.float16(value).view(np.int16)))


def _integer_slope(value: float) -> records.LutSlope:
    scale, shift = integer_slope(value)
    return records.LutSlope(scale=scale, shifter=shift)


def _stage(
    stage: SdpStage, operand: SSAValue | None, processed: hw.Precision, bits: Callable[[float], int]
) -> records.SdpSubOp:
    if stage == SdpStage():
        return records.SdpSubOp()
    number = bits if processed is hw.Precision.FP16 else int
    offset = records.CvtParam()
    if stage.mul_offset:
        offset = records.CvtParam(scale=1, enable=1, offset=stage.mul_offset)
    per_layer = stage.mode is OperandMode.PER_LAYER
    return records.SdpSubOp(
        enable=1,
        alu_type=ALU_TYPES[stage.alu],
        type=STAGE_TYPES[stage.type],
        mode=MODES[stage.mode],
        act=ACTIVATIONS[stage.act],
        shift_value=stage.shift_value,
        truncate=stage.truncate,
        precision=processed if operand is None else precision_of(operand.type),
        alu_operand=number(stage.alu_operand) if per_layer else 0,
        mul_operand=number(stage.mul_operand) if per_layer else 0,
        mul_cvt=offset,
    )
