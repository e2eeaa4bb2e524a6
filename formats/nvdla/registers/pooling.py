"""Registers of PDP and CDP with their read DMAs (docs/internals/nvdla-hardware.md §2.4, §4.4, §4.5)."""

from __future__ import annotations

from xonnc.formats.nvdla.enumerations import MemoryType, PoolMode, Precision
from xonnc.formats.nvdla.records import CdpOp, CdpSurface, DataCube, PdpOp, PdpSurface
from xonnc.formats.nvdla.registers.sdp import RAM
from xonnc.formats.nvdla.registers.writes import AddressWrite, BlockWriter, Locate, Write

_RECIPROCALS = (0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000)
_RECIPROCALS_FP16 = (0x7C00, 0x7800, 0x7555, 0x7400, 0x7266, 0x7155, 0x7092, 0x7000)
"""1/n in the fixed-point format, and in the 17-bit floating-point format, of the averaging multiplier."""

_METHODS = {PoolMode.AVG: "AVERAGE", PoolMode.MAX: "MAX", PoolMode.MIN: "MIN"}


def pdp_writes(op: PdpOp, surface: PdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    """Return the writes of one pooling."""
    reads = [] if surface.src_data.type == MemoryType.HW else _read_dma(op, surface.src_data, locate)
    return [*reads, *_pooling(op, surface, locate)]


def _in_size(writer: BlockWriter, src: DataCube) -> None:
    writer.word("D_DATA_CUBE_IN_WIDTH", src.width - 1)
    writer.word("D_DATA_CUBE_IN_HEIGHT", src.height - 1)
    writer.word("D_DATA_CUBE_IN_CHANNEL", src.channel - 1)


def _partial(direction: str, first: int, middle: int, last: int) -> dict[str, int]:
    """Return the fields of the widths of pieces, counted from one; zero where there is no such piece."""
    widths = {"FIRST": first, "MID": middle, "LAST": last}
    return {f"PARTIAL_WIDTH_{direction}_{name}": max(0, width - 1) for name, width in widths.items()}


def _read_dma(op: PdpOp, src: DataCube, locate: Locate) -> list[Write | AddressWrite]:
    rdma = BlockWriter("PDP_RDMA")
    _in_size(rdma, src)
    rdma.fields("D_FLYING_MODE", FLYING_MODE="OFF_FLYING")
    rdma.address("D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH", locate(src.address, src.offset))
    rdma.word("D_SRC_LINE_STRIDE", src.line_stride)
    rdma.word("D_SRC_SURFACE_STRIDE", src.surf_stride)
    rdma.fields("D_SRC_RAM_CFG", SRC_RAM_TYPE=RAM[MemoryType(src.type)])
    rdma.fields("D_DATA_FORMAT", INPUT_DATA=Precision(op.precision).name)
    rdma.fields("D_OPERATION_MODE_CFG", SPLIT_NUM=op.split_num - 1)
    rdma.fields("D_POOLING_KERNEL_CFG", KERNEL_WIDTH=op.pool_width, KERNEL_STRIDE_WIDTH=op.stride_x - 1)
    rdma.fields("D_POOLING_PADDING_CFG", PAD_WIDTH=op.pad_left)
    widths = op.partial_in_width_first, op.partial_in_width_mid, op.partial_in_width_last
    rdma.fields("D_PARTIAL_WIDTH_IN", **_partial("IN", *widths))
    return rdma.steps


def _pooling(op: PdpOp, surface: PdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    pdp, src, dst = BlockWriter("PDP"), surface.src_data, surface.dst_data
    _in_size(pdp, src)
    pdp.word("D_DATA_CUBE_OUT_WIDTH", dst.width - 1)
    pdp.word("D_DATA_CUBE_OUT_HEIGHT", dst.height - 1)
    pdp.word("D_DATA_CUBE_OUT_CHANNEL", dst.channel - 1)
    is_flying = src.type == MemoryType.HW
    pdp.fields(
        "D_OPERATION_MODE_CFG",
        POOLING_METHOD=f"POOLING_METHOD_{_METHODS[PoolMode(op.pool_mode)]}",
        FLYING_MODE="ON_FLYING" if is_flying else "OFF_FLYING",
        SPLIT_NUM=op.split_num - 1,
    )
    widths = op.partial_in_width_first, op.partial_in_width_mid, op.partial_in_width_last
    pdp.fields("D_PARTIAL_WIDTH_IN", **_partial("IN", *widths))
    widths = op.partial_width_first, op.partial_width_mid, op.partial_width_last
    pdp.fields("D_PARTIAL_WIDTH_OUT", **_partial("OUT", *widths))
    pdp.fields(
        "D_POOLING_KERNEL_CFG",
        KERNEL_WIDTH=op.pool_width,
        KERNEL_HEIGHT=op.pool_height,
        KERNEL_STRIDE_WIDTH=op.stride_x - 1,
        KERNEL_STRIDE_HEIGHT=op.stride_y - 1,
    )
    reciprocals = _RECIPROCALS_FP16 if op.precision == Precision.FP16 else _RECIPROCALS
    pdp.word("D_RECIP_KERNEL_WIDTH", reciprocals[op.pool_width])
    pdp.word("D_RECIP_KERNEL_HEIGHT", reciprocals[op.pool_height])
    pdp.fields(
        "D_POOLING_PADDING_CFG",
        PAD_LEFT=op.pad_left,
        PAD_RIGHT=op.pad_right,
        PAD_TOP=op.pad_top,
        PAD_BOTTOM=op.pad_bottom,
    )
    for count, value in enumerate(op.padding_value, start=1):
        pdp.word(f"D_POOLING_PADDING_VALUE_{count}_CFG", value, 19)
    if not is_flying:
        pdp.address("D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH", locate(src.address, src.offset))
        pdp.word("D_SRC_LINE_STRIDE", src.line_stride)
        pdp.word("D_SRC_SURFACE_STRIDE", src.surf_stride)
    _destination(pdp, dst, locate)
    pdp.fields("D_DST_RAM_CFG", DST_RAM_TYPE=RAM[MemoryType(dst.type)])
    pdp.fields("D_DATA_FORMAT", INPUT_DATA=Precision(op.precision).name)
    return pdp.steps


def _destination(writer: BlockWriter, dst: DataCube, locate: Locate) -> None:
    writer.address("D_DST_BASE_ADDR_LOW", "D_DST_BASE_ADDR_HIGH", locate(dst.address, dst.offset))
    writer.word("D_DST_LINE_STRIDE", dst.line_stride)
    writer.word("D_DST_SURFACE_STRIDE", dst.surf_stride)


def cdp_writes(op: CdpOp, surface: CdpSurface, locate: Locate) -> list[Write | AddressWrite]:
    """Return the writes of one local response normalization."""
    rdma, cdp, src, dst = BlockWriter("CDP_RDMA"), BlockWriter("CDP"), surface.src_data, surface.dst_data
    rdma.word("D_DATA_CUBE_WIDTH", src.width - 1)
    rdma.word("D_DATA_CUBE_HEIGHT", src.height - 1)
    rdma.word("D_DATA_CUBE_CHANNEL", src.channel - 1)
    rdma.address("D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH", locate(src.address, src.offset))
    rdma.word("D_SRC_LINE_STRIDE", src.line_stride)
    rdma.word("D_SRC_SURFACE_STRIDE", src.surf_stride)
    rdma.fields("D_SRC_DMA_CFG", SRC_RAM_TYPE=RAM[MemoryType(src.type)])
    rdma.fields("D_DATA_FORMAT", INPUT_DATA=Precision(op.in_precision).name)
    _destination(cdp, dst, locate)
    cdp.fields("D_DST_DMA_CFG", DST_RAM_TYPE=RAM[MemoryType(dst.type)])
    cdp.fields("D_DATA_FORMAT", INPUT_DATA_TYPE=Precision(op.in_precision).name)
    cdp.fields("D_LRN_CFG", NORMALZ_LEN=f"LEN{op.local_size}")
    cdp.word("D_DATIN_OFFSET", op.in_cvt.offset, 16)
    cdp.word("D_DATIN_SCALE", op.in_cvt.scale, 16)
    cdp.word("D_DATIN_SHIFTER", op.in_cvt.truncate)
    cdp.word("D_DATOUT_OFFSET", op.out_cvt.offset)
    cdp.word("D_DATOUT_SCALE", op.out_cvt.scale, 16)
    cdp.word("D_DATOUT_SHIFTER", op.out_cvt.truncate)
    cdp.fields(
        "D_FUNC_BYPASS",
        SQSUM_BYPASS="ENABLE" if op.bypass_sqsum else "DISABLE",
        MUL_BYPASS="ENABLE" if op.bypass_out_mul else "DISABLE",
    )
    return [*rdma.steps, *cdp.steps]
