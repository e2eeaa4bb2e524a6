"""
Rules of the memory-to-memory engines CDP, Rubik and BDMA (docs/internals/nvdla-hardware.md §2.4, §4.4, §4.6).
"""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.accesses import precision_of
from xonnc.formats.nvdla.checks.problem import OperationContext, Violation, apply, not_in_memory, outside
from xonnc.formats.nvdla.checks.register_fields import illegal_values, missing_feature, missing_precision
from xonnc.formats.nvdla.enumerations import MemoryType, RubikMode
from xonnc.formats.nvdla.records import BdmaOp, BdmaSurface, CdpOp, CdpSurface, RubikOp, RubikSurface
from xonnc.targets import NvdlaTarget, limits

MAX_TRANSFERS = 20
_BDMA_UNIT = 32
_MAX_REPEAT = 8192


def cdp_problems(op: CdpOp, surface: CdpSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of a CDP operation."""
    yield from apply(CDP_RULES, site.location, op, surface, site)


def cdp_fields(op: CdpOp, surface: CdpSurface, site: OperationContext) -> Iterator[str]:
    """Fields fit their registers; the normalization window is 3, 5, 7 or 9 channels."""
    yield from illegal_values(op)
    yield from illegal_values(op.in_cvt, "in_cvt.")
    yield from illegal_values(op.out_cvt, "out_cvt.")
    yield from illegal_values(surface.src_data, "src_data.")
    if op.local_size not in limits.LRN_SIZES:
        yield f"local_size {op.local_size}; it is 3, 5, 7 or 9"


def cdp_in_memory(op: CdpOp, surface: CdpSurface, site: OperationContext) -> Iterator[str]:
    """Source and destination are in DRAM and have equal sizes."""
    yield from _in_memory(surface, site.target)
    src, dst = surface.src_data, surface.dst_data
    for field in ("width", "height", "channel"):
        size: int = getattr(src, field)
        yield from outside(f"dst_data.{field}", getattr(dst, field), size, size)


def cdp_precision(op: CdpOp, surface: CdpSurface, site: OperationContext) -> Iterator[str]:
    """`in_precision` equals `out_precision`, and the target supports it."""
    yield from missing_precision("in_precision", op.in_precision, site.target)
    if op.in_precision != op.out_precision:
        yield f"out_precision {op.out_precision}; it is in_precision {op.in_precision}"


def cdp_table(op: CdpOp, surface: CdpSurface, site: OperationContext) -> Iterator[str]:
    """
    `lut_index` is the index of a table of the task; otherwise the engine would use the table loaded
    before.
    """
    tables = len(site.task.luts)
    if not 0 <= op.lut_index < tables:
        yield f"lut_index {op.lut_index}; the task has {tables} tables and the engine needs one"


CDP_RULES = (cdp_fields, cdp_in_memory, cdp_precision, cdp_table)


def _in_memory(surface: CdpSurface | RubikSurface, target: NvdlaTarget) -> Iterator[str]:
    for field, cube in (("src_data", surface.src_data), ("dst_data", surface.dst_data)):
        yield from not_in_memory(f"{field}.type", cube.type, target)


def rubik_problems(op: RubikOp, surface: RubikSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of a Rubik operation."""
    problems = list(apply(RUBIK_FIELD_RULES, site.location, op, surface, site))
    yield from problems
    if not problems:
        yield from apply(RUBIK_RULES, site.location, op, surface, site)


def rubik_fields(op: RubikOp, surface: RubikSurface, site: OperationContext) -> Iterator[str]:
    """Fields fit their registers; strides of a contraction are 1 to 32."""
    yield from illegal_values(op)
    yield from illegal_values(surface.src_data, "src_data.")
    yield from illegal_values(surface.dst_data, "dst_data.")
    if op.mode == RubikMode.CONTRACT:
        yield from outside("stride_x", op.stride_x, *limits.CONTRACT_STRIDE.range)
        yield from outside("stride_y", op.stride_y, *limits.CONTRACT_STRIDE.range)


def rubik_exists(op: RubikOp, surface: RubikSurface, site: OperationContext) -> Iterator[str]:
    """The target has a Rubik engine and supports the precision; source and destination are in DRAM."""
    yield from missing_feature("op_type 5 (RUBIK)", "rubik", site.target)
    yield from missing_precision("precision", op.precision, site.target)
    yield from _in_memory(surface, site.target)


RUBIK_FIELD_RULES = (rubik_fields, rubik_exists)


def rubik_sizes(op: RubikOp, surface: RubikSurface, site: OperationContext) -> Iterator[str]:
    """
    Split and merge keep sizes; a contraction distributes groups of padded channels over pixels
    (§4.6).
    """
    src, dst = surface.src_data, surface.dst_data
    precision = precision_of(op.precision)
    if precision is None:
        return
    width, height, channels = src.width, src.height, src.channel
    if op.mode == RubikMode.CONTRACT:
        width, height = src.width * op.stride_x, src.height * op.stride_y
        padded = geometry.round_up(dst.channel, geometry.channels_per_atom(site.target, precision))
        expected = padded * op.stride_x * op.stride_y
        yield from outside("src_data.channel", src.channel, expected, expected)
        channels = dst.channel
    yield from outside("dst_data.width", dst.width, width, width)
    yield from outside("dst_data.height", dst.height, height, height)
    yield from outside("dst_data.channel", dst.channel, channels, channels)


def rubik_planes(op: RubikOp, surface: RubikSurface, site: OperationContext) -> Iterator[str]:
    """The planar side of a split or merge has a plane stride."""
    if op.mode == RubikMode.SPLIT and not surface.dst_data.plane_stride:
        yield "dst_data.plane_stride 0; a split writes a plane for every channel"
    if op.mode == RubikMode.MERGE and not surface.src_data.plane_stride:
        yield "src_data.plane_stride 0; a merge reads a plane for every channel"


RUBIK_RULES = (rubik_sizes, rubik_planes)


def bdma_problems(op: BdmaOp, surface: BdmaSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of a BDMA operation."""
    yield from apply(BDMA_RULES, site.location, op, surface, site)


def bdma_exists(op: BdmaOp, surface: BdmaSurface, site: OperationContext) -> Iterator[str]:
    """The target has a BDMA engine; source and destination are in DRAM."""
    yield from missing_feature("op_type 0 (BDMA)", "bdma", site.target)
    yield from outside("source_type", surface.source_type, MemoryType.MC, MemoryType.MC)
    yield from outside("destination_type", surface.destination_type, MemoryType.MC, MemoryType.MC)


def bdma_transfers(op: BdmaOp, surface: BdmaSurface, site: OperationContext) -> Iterator[str]:
    """At most 20 transfers; line sizes are multiples of 32 bytes, repeat counts 1 to 8192."""
    yield from outside("num_transfers", surface.num_transfers, 0, MAX_TRANSFERS)
    if op.num_transfers != surface.num_transfers:
        yield f"num_transfers {op.num_transfers}; the surface has {surface.num_transfers}"
    for index, transfer in enumerate(surface.transfers[: surface.num_transfers]):
        where = f"transfers[{index}]"
        if transfer.line_size % _BDMA_UNIT or not transfer.line_size:
            yield f"{where}.line_size {transfer.line_size}; it is a multiple of {_BDMA_UNIT} above 0"
        yield from outside(f"{where}.line_repeat", transfer.line_repeat, 1, _MAX_REPEAT)
        yield from outside(f"{where}.surface_repeat", transfer.surface_repeat, 1, _MAX_REPEAT)


BDMA_RULES = (bdma_exists, bdma_transfers)
