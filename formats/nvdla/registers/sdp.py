"""Registers of the SDP and of its read DMA (docs/internals/nvdla-hardware.md §2.4, §4.2)."""

from __future__ import annotations

from xonnc.formats.nvdla.accesses import sdp_stages
from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    MemoryType,
    Precision,
    SdpMode,
    SdpOpType,
)
from xonnc.formats.nvdla.records import DataCube, SdpOp, SdpSubOp, SdpSurface
from xonnc.formats.nvdla.registers.writes import AddressWrite, BlockWriter, FieldValue, Locate, Write, yes
from xonnc.formats.nvdla.task_graph import fetches

RAM = {MemoryType.MC: "MC", MemoryType.CV: "CV"}

_STAGES = {"x1_data": ("BS", "BRDMA"), "x2_data": ("BN", "NRDMA"), "y_data": ("EW", "ERDMA")}
_MULTIPLIES = (SdpOpType.MUL, SdpOpType.BOTH)
_ADDS = (SdpOpType.ADD, SdpOpType.BOTH)
_USES = {SdpOpType.MUL: "MUL", SdpOpType.ADD: "ALU", SdpOpType.BOTH: "BOTH"}


def reads_memory(op: SdpOp, surface: SdpSurface) -> bool:
    """Whether an operation needs the read DMA."""
    return surface.src_data.type != MemoryType.HW or any(map(fetches, (op.x1_op, op.x2_op, op.y_op)))


def sdp_writes(op: SdpOp, surface: SdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    """Return the writes of one operation."""
    reads = _read_dma(op, surface, locate) if reads_memory(op, surface) else []
    return [*reads, *_processor(op, surface, locate)]


def _mode(op: SdpOp, surface: SdpSurface) -> dict[str, FieldValue]:
    return {
        "FLYING_MODE": "ON" if surface.src_data.type == MemoryType.HW else "OFF",
        "WINOGRAD": "ON" if op.conv_mode == ConvMode.WINOGRAD else "OFF",
        "BATCH_NUMBER": op.batch_num - 1,
    }


def _processing(op: SdpOp) -> str:
    """Return the precision of the data path: 16-bit data that becomes 8-bit is processed as such."""
    if Precision.INT8 in (op.src_precision, op.dst_precision):
        return "INT8"
    return Precision(op.src_precision).name


def _size(writer: BlockWriter, src: DataCube) -> None:
    writer.word("D_DATA_CUBE_WIDTH", src.width - 1)
    writer.word("D_DATA_CUBE_HEIGHT", src.height - 1)
    writer.word("D_DATA_CUBE_CHANNEL", src.channel - 1)


def _read_dma(op: SdpOp, surface: SdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    rdma, src = BlockWriter("SDP_RDMA"), surface.src_data
    rdma.fields(
        "D_FEATURE_MODE_CFG",
        IN_PRECISION=Precision(op.src_precision).name,
        OUT_PRECISION=Precision(op.dst_precision).name,
        PROC_PRECISION=_processing(op),
        **_mode(op, surface),
    )
    for role, stage, cube in sdp_stages(op, surface):
        _operand_dma(rdma, role, stage, cube, locate)
    if src.type != MemoryType.HW:
        rdma.fields("D_SRC_DMA_CFG", SRC_RAM_TYPE=RAM[MemoryType(src.type)])
        rdma.address("D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH", locate(src.address, src.offset))
        rdma.word("D_SRC_LINE_STRIDE", src.line_stride)
        rdma.word("D_SRC_SURFACE_STRIDE", src.surf_stride)
    _size(rdma, src)
    return rdma.steps


def _operand_dma(rdma: BlockWriter, role: str, stage: SdpSubOp, cube: DataCube, locate: Locate) -> None:
    name, dma = _STAGES[role]
    if not fetches(stage):
        rdma.fields(f"D_{dma}_CFG", **{f"{dma}_DISABLE": "YES"})
        return
    fields = {
        "DISABLE": "NO",
        "DATA_USE": _USES[SdpOpType(stage.type)],
        "DATA_SIZE": "ONE_BYTE" if stage.precision == Precision.INT8 else "TWO_BYTE",
        "DATA_MODE": "PER_ELEMENT" if stage.mode == SdpMode.PER_POINT else "PER_KERNEL",
        "RAM_TYPE": RAM[MemoryType(cube.type)],
    }
    rdma.fields(f"D_{dma}_CFG", **{f"{dma}_{field}": value for field, value in fields.items()})
    start = locate(cube.address, cube.offset)
    rdma.address(f"D_{name}_BASE_ADDR_LOW", f"D_{name}_BASE_ADDR_HIGH", start)
    rdma.word(f"D_{name}_LINE_STRIDE", cube.line_stride)
    rdma.word(f"D_{name}_SURFACE_STRIDE", cube.surf_stride)


def _processor(op: SdpOp, surface: SdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    sdp, dst = BlockWriter("SDP"), surface.dst_data
    _size(sdp, surface.src_data)
    if dst.type != MemoryType.HW:
        sdp.fields("D_DST_DMA_CFG", DST_RAM_TYPE=RAM[MemoryType(dst.type)])
        sdp.address("D_DST_BASE_ADDR_LOW", "D_DST_BASE_ADDR_HIGH", locate(dst.address, dst.offset))
        sdp.word("D_DST_LINE_STRIDE", dst.line_stride)
        sdp.word("D_DST_SURFACE_STRIDE", dst.surf_stride)
    _x_stage(sdp, "BS", op.x1_op)
    _x_stage(sdp, "BN", op.x2_op)
    _y_stage(sdp, op.y_op)
    output = "PDP" if dst.type == MemoryType.HW else "MEM"
    sdp.fields("D_FEATURE_MODE_CFG", OUTPUT_DST=output, **_mode(op, surface))
    sdp.fields(
        "D_DATA_FORMAT", PROC_PRECISION=_processing(op), OUT_PRECISION=Precision(op.dst_precision).name
    )
    sdp.word("D_CVT_OFFSET", op.out_cvt.offset)
    sdp.word("D_CVT_SCALE", op.out_cvt.scale, 16)
    sdp.word("D_CVT_SHIFT", op.out_cvt.truncate)
    sdp.word("D_DST_BATCH_STRIDE", op.batch_stride)
    return sdp.steps


def _bypasses(name: str, stage: SdpSubOp) -> dict[str, FieldValue]:
    return {
        f"{name}_BYPASS": yes(not stage.enable),
        f"{name}_ALU_BYPASS": yes(stage.type not in _ADDS),
        f"{name}_ALU_ALGO": AluType(stage.alu_type).name,
        f"{name}_MUL_BYPASS": yes(stage.type not in _MULTIPLIES),
        f"{name}_MUL_PRELU": yes(stage.act == Activation.PRELU),
    }


def _source(stage: SdpSubOp) -> str:
    return "REG" if stage.mode == SdpMode.PER_LAYER else "MEM"


def _x_stage(sdp: BlockWriter, name: str, stage: SdpSubOp) -> None:
    relu = {f"{name}_RELU_BYPASS": yes(stage.act != Activation.RELU)}
    sdp.fields(f"D_DP_{name}_CFG", **_bypasses(name, stage), **relu)
    if not stage.enable:
        return
    source = _source(stage)
    if stage.type in _ADDS:
        fields = {f"{name}_ALU_SRC": source, f"{name}_ALU_SHIFT_VALUE": stage.shift_value}
        sdp.fields(f"D_DP_{name}_ALU_CFG", **fields)
    if stage.mode == SdpMode.PER_LAYER:
        sdp.word(f"D_DP_{name}_ALU_SRC_VALUE", stage.alu_operand, 16)
        sdp.word(f"D_DP_{name}_MUL_SRC_VALUE", stage.mul_operand, 16)
    # The shift applies whether the multiplier is bypassed or not.
    fields = {f"{name}_MUL_SRC": source, f"{name}_MUL_SHIFT_VALUE": stage.truncate}
    sdp.fields(f"D_DP_{name}_MUL_CFG", **fields)


def _y_stage(sdp: BlockWriter, stage: SdpSubOp) -> None:
    sdp.fields("D_DP_EW_CFG", **_bypasses("EW", stage), EW_LUT_BYPASS=yes(stage.act != Activation.LUT))
    if not stage.enable:
        return
    operands = (
        ("ALU", _ADDS, stage.alu_operand, stage.alu_cvt),
        ("MUL", _MULTIPLIES, stage.mul_operand, stage.mul_cvt),
    )
    for unit, kinds, operand, converter in operands:
        if stage.type not in kinds:
            continue
        # Converters apply to operands from memory alone.
        is_memory = stage.mode != SdpMode.PER_LAYER
        bypass = yes(not (is_memory and converter.enable))
        fields = {f"EW_{unit}_SRC": _source(stage), f"EW_{unit}_CVT_BYPASS": bypass}
        sdp.fields(f"D_DP_EW_{unit}_CFG", **fields)
        if is_memory:
            sdp.word(f"D_DP_EW_{unit}_CVT_OFFSET_VALUE", converter.offset)
            sdp.word(f"D_DP_EW_{unit}_CVT_SCALE_VALUE", converter.scale, 16)
            sdp.word(f"D_DP_EW_{unit}_CVT_TRUNCATE_VALUE", converter.truncate)
        else:
            sdp.word(f"D_DP_EW_{unit}_SRC_VALUE", operand)
    sdp.word("D_DP_EW_TRUNCATE_VALUE", stage.truncate)
