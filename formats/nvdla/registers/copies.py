"""Registers of the BDMA and of Rubik (docs/internals/nvdla-hardware.md §2.4, §4.6)."""

from __future__ import annotations

from xonnc.formats.nvdla.enumerations import MemoryType, Precision, RubikMode
from xonnc.formats.nvdla.geometry import ceil_div
from xonnc.formats.nvdla.records import BdmaSurface, RubikOp, RubikSurface
from xonnc.formats.nvdla.registers.conv import RAM
from xonnc.formats.nvdla.registers.writes import AddressWrite, BlockWriter, Locate, Write
from xonnc.targets import NvdlaTarget

_BDMA_RAM = {MemoryType.MC: "MC", MemoryType.CV: "CVSRAM"}
_LINE_UNIT = 32
"""The BDMA counts lines in units of this many bytes."""


def bdma_writes(surface: BdmaSurface, locate: Locate) -> list[Write | AddressWrite]:
    """Return the writes that queue the transfers of one operation."""
    bdma = BlockWriter("BDMA")
    for transfer in surface.transfers[: surface.num_transfers]:
        bdma.address("CFG_SRC_ADDR_LOW", "CFG_SRC_ADDR_HIGH", locate(transfer.source_address, 0))
        bdma.address("CFG_DST_ADDR_LOW", "CFG_DST_ADDR_HIGH", locate(transfer.destination_address, 0))
        bdma.word("CFG_LINE", transfer.line_size // _LINE_UNIT - 1)
        bdma.fields(
            "CFG_CMD",
            SRC_RAM_TYPE=_BDMA_RAM[MemoryType(surface.source_type)],
            DST_RAM_TYPE=_BDMA_RAM[MemoryType(surface.destination_type)],
        )
        bdma.word("CFG_LINE_REPEAT", transfer.line_repeat - 1)
        bdma.word("CFG_SRC_LINE", transfer.source_line)
        bdma.word("CFG_DST_LINE", transfer.destination_line)
        bdma.word("CFG_SURF_REPEAT", transfer.surface_repeat - 1)
        bdma.word("CFG_SRC_SURF", transfer.source_surface)
        bdma.word("CFG_DST_SURF", transfer.destination_surface)
        bdma.fields("CFG_OP", EN="ENABLE")
    return bdma.steps


def rubik_writes(
    op: RubikOp, surface: RubikSurface, locate: Locate, target: NvdlaTarget
) -> list[Write | AddressWrite]:
    """Return the writes of one reshape."""
    rubik, src, dst = BlockWriter("RBK"), surface.src_data, surface.dst_data
    mode, precision = RubikMode(op.mode), Precision(op.precision)
    rubik.fields("D_MISC_CFG", RUBIK_MODE=mode.name, IN_PRECISION=precision.name)
    rubik.fields("D_DAIN_RAM_TYPE", DATAIN_RAM_TYPE=RAM[MemoryType(src.type)])
    rubik.fields("D_DATAIN_SIZE_0", DATAIN_WIDTH=src.width - 1, DATAIN_HEIGHT=src.height - 1)
    rubik.fields("D_DATAIN_SIZE_1", DATAIN_CHANNEL=src.channel - 1)
    rubik.address("D_DAIN_ADDR_LOW", "D_DAIN_ADDR_HIGH", locate(src.address, src.offset))
    rubik.word("D_DAIN_LINE_STRIDE", src.line_stride)
    if mode is RubikMode.MERGE:
        rubik.word("D_DAIN_PLANAR_STRIDE", src.plane_stride)
    else:
        rubik.word("D_DAIN_SURF_STRIDE", src.surf_stride)
    rubik.fields("D_DAOUT_RAM_TYPE", DATAOUT_RAM_TYPE=RAM[MemoryType(dst.type)])
    rubik.fields("D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=dst.channel - 1)
    rubik.address("D_DAOUT_ADDR_LOW", "D_DAOUT_ADDR_HIGH", locate(dst.address, dst.offset))
    rubik.word("D_DAOUT_LINE_STRIDE", dst.line_stride)
    if mode is RubikMode.SPLIT:
        rubik.word("D_DAOUT_PLANAR_STRIDE", dst.plane_stride)
    else:
        rubik.word("D_DAOUT_SURF_STRIDE", dst.surf_stride)
    if mode is RubikMode.CONTRACT:
        surfaces = ceil_div(dst.channel * precision.bytes, target.memory_atom_bytes)
        rubik.word("D_CONTRACT_STRIDE_0", surfaces * src.surf_stride)
        rubik.word("D_CONTRACT_STRIDE_1", op.stride_y * dst.line_stride)
        rubik.fields("D_DECONV_STRIDE", DECONV_X_STRIDE=op.stride_x - 1, DECONV_Y_STRIDE=op.stride_y - 1)
    return rubik.steps
