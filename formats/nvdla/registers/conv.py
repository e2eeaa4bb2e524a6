"""Registers of a convolution: CACC, both CMACs, CSC and CDMA (docs/internals/nvdla-hardware.md §2.4)."""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla.enumerations import ConvMode, MemoryType, PixelFormat, Precision, WeightFormat
from xonnc.formats.nvdla.records import ConvOp, ConvSurface, DataCube
from xonnc.formats.nvdla.registers.writes import AddressWrite, BlockWriter, Locate, Write
from xonnc.targets import NvdlaTarget

BLOCKS = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")
"""The blocks of the convolution core, in the order in which they are enabled: consumers first."""

RAM = {MemoryType.MC: "MCIF", MemoryType.CV: "CVIF"}


def conv_writes(
    op: ConvOp, surface: ConvSurface, locate: Locate, target: NvdlaTarget
) -> Iterator[Write | AddressWrite]:
    """Yield the writes of one operation."""
    # The firmware programs the processing precision from out_precision; the two are equal.
    precision, mode = Precision(op.out_precision).name, ConvMode(op.conv_mode).name
    yield from _accumulator(op, surface, precision, mode)
    for block in ("CMAC_A", "CMAC_B"):
        yield Write(block, "D_MISC_CFG", {"PROC_PRECISION": precision, "CONV_MODE": mode})
    yield from _sequencer(op, surface, precision, mode)
    yield from _fetch(op, surface, locate, target, precision, mode)


def _accumulator(op: ConvOp, surface: ConvSurface, precision: str, mode: str) -> list[Write | AddressWrite]:
    cacc, dst = BlockWriter("CACC"), surface.dst_data
    cacc.fields("D_MISC_CFG", PROC_PRECISION=precision, CONV_MODE=mode)
    cacc.fields("D_DATAOUT_SIZE_0", DATAOUT_WIDTH=dst.width - 1, DATAOUT_HEIGHT=dst.height - 1)
    cacc.fields("D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=dst.channel - 1)
    # Results go to the SDP on the fly.
    cacc.word("D_DATAOUT_ADDR", 0)
    cacc.word("D_BATCH_NUMBER", op.batch - 1)
    cacc.word("D_LINE_STRIDE", dst.line_stride)
    cacc.word("D_SURF_STRIDE", dst.surf_stride)
    packed = "TRUE" if dst.width == dst.height == 1 else "FALSE"
    cacc.fields("D_DATAOUT_MAP", LINE_PACKED=packed, SURF_PACKED=packed)
    cacc.word("D_CLIP_CFG", op.out_cvt.truncate)
    return cacc.steps


def _reuse(op: ConvOp) -> dict[str, int]:
    return {
        "DATA_REUSE": op.data_reuse,
        "WEIGHT_REUSE": op.weight_reuse,
        "SKIP_DATA_RLS": op.skip_data_rls,
        "SKIP_WEIGHT_RLS": op.skip_weight_rls,
    }


def _format(op: ConvOp) -> str:
    return "FEATURE" if op.data_format == PixelFormat.FEATURE else "PIXEL"


def _sequencer(op: ConvOp, surface: ConvSurface, precision: str, mode: str) -> list[Write | AddressWrite]:
    csc, dst = BlockWriter("CSC"), surface.dst_data
    csc.fields("D_MISC_CFG", IN_PRECISION=precision, PROC_PRECISION=precision, CONV_MODE=mode, **_reuse(op))
    csc.fields("D_DATAIN_FORMAT", DATAIN_FORMAT=_format(op))
    csc.fields(
        "D_DATAIN_SIZE_EXT_0",
        DATAIN_WIDTH_EXT=op.input_width_csc - 1,
        DATAIN_HEIGHT_EXT=op.input_height_csc - 1,
    )
    csc.fields("D_DATAIN_SIZE_EXT_1", DATAIN_CHANNEL_EXT=op.input_channel_csc - 1)
    csc.word("D_BATCH_NUMBER", op.batch - 1)
    csc.word("D_POST_Y_EXTENSION", op.post_extension)
    csc.word("D_ENTRY_PER_SLICE", op.entry_per_slice - 1)
    csc.fields("D_WEIGHT_FORMAT", WEIGHT_FORMAT=WeightFormat(op.weight_format).name)
    csc.fields(
        "D_WEIGHT_SIZE_EXT_0",
        WEIGHT_WIDTH_EXT=op.kernel_width_csc - 1,
        WEIGHT_HEIGHT_EXT=op.kernel_height_csc - 1,
    )
    csc.fields(
        "D_WEIGHT_SIZE_EXT_1",
        WEIGHT_CHANNEL_EXT=op.kernel_channel_csc - 1,
        WEIGHT_KERNEL=dst.channel - 1,
    )
    csc.word("D_WEIGHT_BYTES", surface.weight_data.size)
    csc.word("D_WMB_BYTES", _mask_bytes(op, surface))
    csc.fields(
        "D_DATAOUT_SIZE_0",
        DATAOUT_WIDTH=op.input_width_cmac - 1,
        DATAOUT_HEIGHT=op.input_height_cmac - 1,
    )
    csc.fields("D_DATAOUT_SIZE_1", DATAOUT_CHANNEL=dst.channel - 1)
    csc.word("D_ATOMICS", op.input_width_cmac * op.input_height_cmac - 1)
    csc.word("D_RELEASE", op.release - 1)
    csc.fields(
        "D_CONV_STRIDE_EXT",
        CONV_X_STRIDE_EXT=op.conv_stride_x - 1,
        CONV_Y_STRIDE_EXT=op.conv_stride_y - 1,
    )
    csc.fields("D_DILATION_EXT", X_DILATION_EXT=op.dilation_x - 1, Y_DILATION_EXT=op.dilation_y - 1)
    csc.fields("D_ZERO_PADDING", PAD_LEFT=op.pad_x_left, PAD_TOP=op.pad_y_top)
    csc.word("D_ZERO_PADDING_VALUE", op.pad_val, 16)
    csc.fields("D_BANK", DATA_BANK=op.data_bank - 1, WEIGHT_BANK=op.weight_bank - 1)
    csc.word("D_PRA_CFG", op.pra_truncate)
    return csc.steps


def _mask_bytes(op: ConvOp, surface: ConvSurface) -> int:
    return surface.wmb_data.size if op.weight_format == WeightFormat.COMPRESSED else 0


def _fetch(
    op: ConvOp, surface: ConvSurface, locate: Locate, target: NvdlaTarget, precision: str, mode: str
) -> list[Write | AddressWrite]:
    cdma = BlockWriter("CDMA")
    cdma.fields(
        "D_MISC_CFG",
        IN_PRECISION=Precision(op.in_precision).name,
        PROC_PRECISION=precision,
        CONV_MODE=mode,
        **_reuse(op),
    )
    _fetch_data(cdma, op, surface, locate, target)
    _fetch_weights(cdma, op, surface, locate)
    _convert(cdma, op)
    cdma.fields("D_CONV_STRIDE", CONV_X_STRIDE=op.conv_stride_x - 1, CONV_Y_STRIDE=op.conv_stride_y - 1)
    cdma.fields(
        "D_ZERO_PADDING",
        PAD_LEFT=op.pad_x_left,
        PAD_RIGHT=op.pad_x_right,
        PAD_TOP=op.pad_y_top,
        PAD_BOTTOM=op.pad_y_bottom,
    )
    cdma.word("D_ZERO_PADDING_VALUE", op.pad_val, 16)
    cdma.fields("D_BANK", DATA_BANK=op.data_bank - 1, WEIGHT_BANK=op.weight_bank - 1)
    return cdma.steps


def _fetch_data(
    cdma: BlockWriter, op: ConvOp, surface: ConvSurface, locate: Locate, target: NvdlaTarget
) -> None:
    src = surface.src_data
    pixels: dict[str, int | str] = {}
    if op.data_format != PixelFormat.FEATURE:
        pixels = {
            "PIXEL_FORMAT": f"T_{PixelFormat(op.data_format).name}",
            "PIXEL_MAPPING": "PITCH_LINEAR",
            "PIXEL_SIGN_OVERRIDE": "SIGNED_INT" if op.pixel_override else "UNSIGNED_INT",
        }
    cdma.fields("D_DATAIN_FORMAT", DATAIN_FORMAT=_format(op), **pixels)
    cdma.fields("D_DATAIN_SIZE_0", DATAIN_WIDTH=src.width - 1, DATAIN_HEIGHT=src.height - 1)
    cdma.fields("D_DATAIN_SIZE_1", DATAIN_CHANNEL=src.channel - 1)
    cdma.fields(
        "D_DATAIN_SIZE_EXT_0",
        DATAIN_WIDTH_EXT=op.input_width_csc - 1,
        DATAIN_HEIGHT_EXT=op.input_height_csc - 1,
    )
    cdma.fields("D_PIXEL_OFFSET", PIXEL_X_OFFSET=0, PIXEL_Y_OFFSET=0)
    cdma.fields("D_DAIN_RAM_TYPE", DATAIN_RAM_TYPE=RAM[MemoryType(src.type)])
    start = locate(src.address, src.offset)
    cdma.address("D_DAIN_ADDR_LOW_0", "D_DAIN_ADDR_HIGH_0", start)
    cdma.address("D_DAIN_ADDR_LOW_1", "D_DAIN_ADDR_HIGH_1", start + surface.offset_u)
    cdma.word("D_LINE_STRIDE", src.line_stride)
    cdma.word("D_LINE_UV_STRIDE", surface.in_line_uv_stride)
    cdma.word("D_SURF_STRIDE", src.surf_stride)
    cdma.fields("D_DAIN_MAP", **_packed(src, target.memory_atom_bytes))
    cdma.word("D_BATCH_NUMBER", op.batch - 1)
    cdma.word("D_BATCH_STRIDE", op.batch_stride)
    cdma.word("D_ENTRY_PER_SLICE", op.entry_per_slice - 1)
    cdma.word("D_FETCH_GRAIN", op.fetch_grain - 1)


def _packed(src: DataCube, atom: int) -> dict[str, str]:
    line = src.line_stride == src.width * atom
    surf = src.surf_stride == src.line_stride * src.height
    return {"LINE_PACKED": str(line).upper(), "SURF_PACKED": str(surf).upper()}


def _fetch_weights(cdma: BlockWriter, op: ConvOp, surface: ConvSurface, locate: Locate) -> None:
    weights, kernels = surface.weight_data, surface.dst_data.channel
    cdma.fields("D_WEIGHT_FORMAT", WEIGHT_FORMAT=WeightFormat(op.weight_format).name)
    cdma.word("D_WEIGHT_SIZE_0", op.bytes_per_kernel - 1)
    cdma.word("D_WEIGHT_SIZE_1", kernels - 1)
    cdma.fields("D_WEIGHT_RAM_TYPE", WEIGHT_RAM_TYPE=RAM[MemoryType(weights.type)])
    cdma.address("D_WEIGHT_ADDR_LOW", "D_WEIGHT_ADDR_HIGH", locate(weights.address, weights.offset))
    cdma.word("D_WEIGHT_BYTES", weights.size)
    if op.weight_format == WeightFormat.COMPRESSED:
        groups, mask = surface.wgs_data, surface.wmb_data
        cdma.address("D_WGS_ADDR_LOW", "D_WGS_ADDR_HIGH", locate(groups.address, groups.offset))
        cdma.address("D_WMB_ADDR_LOW", "D_WMB_ADDR_HIGH", locate(mask.address, mask.offset))
        cdma.word("D_WMB_BYTES", mask.size)


def _convert(cdma: BlockWriter, op: ConvOp) -> None:
    """Write the conversion of the input elements."""
    cdma.fields("D_MEAN_FORMAT", MEAN_FORMAT="ENABLE" if op.mean_format else "DISABLE")
    if op.mean_format:
        cdma.fields("D_MEAN_GLOBAL_0", MEAN_RY=op.mean_ry, MEAN_GU=op.mean_gu)
        cdma.fields("D_MEAN_GLOBAL_1", MEAN_BV=op.mean_bv, MEAN_AX=op.mean_ax)
    if not op.in_cvt.enable:
        cdma.fields("D_CVT_CFG", CVT_EN="DISABLE")
        return
    cdma.fields("D_CVT_CFG", CVT_EN="ENABLE", CVT_TRUNCATE=op.in_cvt.truncate)
    cdma.word("D_CVT_OFFSET", op.in_cvt.offset, 16)
    cdma.word("D_CVT_SCALE", op.in_cvt.scale, 16)
