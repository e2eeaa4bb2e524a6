"""Rules of the SDP (docs/internals/nvdla-hardware.md §2.4, §3.5, §4.2, §7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xonnc.formats.nvdla.accesses import operand_bytes, precision_of, sdp_stages
from xonnc.formats.nvdla.checks.problem import (
    OperationContext,
    Violation,
    apply,
    memory_types,
    not_in_memory,
    outside,
)
from xonnc.formats.nvdla.checks.register_fields import illegal_values, missing_feature, missing_precision
from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    MemoryType,
    Precision,
    SdpMode,
    SdpOpType,
)
from xonnc.formats.nvdla.records import ConvOp, ConvSurface, SdpOp, SdpSubOp, SdpSurface
from xonnc.formats.nvdla.task_graph import fetches, parent_of, reads_on_the_fly
from xonnc.targets import NvdlaTarget

_INT8, _INT16, _FP16 = Precision.INT8, Precision.INT16, Precision.FP16

FROM_MEMORY = frozenset(
    {
        (_INT8, _INT8),
        (_INT8, _INT16),
        (_INT8, _FP16),
        (_INT16, _INT16),
        (_INT16, _INT8),
        (_INT16, _FP16),
        (_FP16, _FP16),
        (_FP16, _INT16),
    }
)
"""Source and result precisions of an SDP that reads memory (§4.2)."""

FROM_CONVOLUTION = frozenset(
    {(_INT8, _INT8), (_INT8, _INT16), (_INT16, _INT16), (_FP16, _FP16), (_FP16, _INT16)}
)
"""Source and result precisions of an SDP that takes a convolution's result on the fly (§4.2)."""


class Sdp(NamedTuple):
    """An SDP operation whose fields are valid individually."""

    op: SdpOp
    surface: SdpSurface
    site: OperationContext
    source: Precision

    @property
    def target(self) -> NvdlaTarget:
        """The target of the loadable."""
        return self.site.target

    def stages(self) -> Iterator[tuple[str, SdpSubOp]]:
        """Yield the enabled stages by name."""
        for field, stage, _ in sdp_stages(self.op, self.surface):
            if stage.enable:
                yield field.replace("_data", "_op"), stage


def sdp_problems(op: SdpOp, surface: SdpSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of an SDP operation; rules that relate fields run only if each field is valid."""
    problems = list(apply(FIELD_RULES, site.location, op, surface, site))
    yield from problems
    source = precision_of(op.src_precision)
    if not problems and source is not None:
        yield from apply(SDP_RULES, site.location, Sdp(op, surface, site, source))


def sdp_fields(op: SdpOp, surface: SdpSurface, site: OperationContext) -> Iterator[str]:
    """Fields fit their registers, enumerations have known values; sizes are those of `src_data` (§2.4)."""
    yield from illegal_values(op)
    yield from illegal_values(op.out_cvt, "out_cvt.")
    yield from illegal_values(surface.src_data, "src_data.")
    yield from outside("batch_num", op.batch_num, 1, site.target.batch)
    for field, stage, _ in sdp_stages(op, surface):
        if stage.enable:
            where = field.replace("_data", "_op.")
            yield from illegal_values(stage, where)
            yield from illegal_values(stage.alu_cvt, where + "alu_cvt.")
            yield from illegal_values(stage.mul_cvt, where + "mul_cvt.")


def sdp_memory_types(op: SdpOp, surface: SdpSurface, site: OperationContext) -> Iterator[str]:
    """Source and result are in DRAM or on the fly, operands in DRAM; on-the-fly cubes have no address."""
    for field, cube in (("src_data", surface.src_data), ("dst_data", surface.dst_data)):
        if cube.type not in memory_types(site.target, MemoryType.HW):
            yield f"{field}.type {cube.type}; it is 0 (DRAM) or 2 (on the fly)"
        elif cube.type == MemoryType.HW:
            yield from outside(f"{field}.address", cube.address, -1, -1)
    for field, stage, cube in sdp_stages(op, surface):
        if fetches(stage):
            yield from not_in_memory(f"{field}.type", cube.type, site.target)


def sdp_features(op: SdpOp, surface: SdpSurface, site: OperationContext) -> Iterator[str]:
    """The target supports the precisions, and has the third stage (Y) if that is used."""
    yield from missing_precision("src_precision", op.src_precision, site.target)
    yield from missing_precision("dst_precision", op.dst_precision, site.target)
    if op.y_op.enable:
        yield from missing_feature("y_op.enable 1", "sdp_y", site.target)


FIELD_RULES = (sdp_fields, sdp_memory_types, sdp_features)


def precision_pairs(sdp: Sdp) -> Iterator[str]:
    """The output converter supports the pair of source and result precisions (§4.2)."""
    fused = reads_on_the_fly(sdp.site.operation)
    pairs = FROM_CONVOLUTION if fused else FROM_MEMORY
    pair = (sdp.source, Precision(sdp.op.dst_precision))
    if pair not in pairs:
        results = ", ".join(sorted(result.name for source, result in pairs if source is sdp.source))
        where = "a convolution" if fused else "memory"
        yield f"dst_precision {pair[1].name}; {sdp.source.name} from {where} gives {results}"


def output_scale(sdp: Sdp) -> Iterator[str]:
    """
    The scale of the output converter is not 0, which would make every integer result 0; the identity
    is scale 1.
    """
    if sdp.op.out_cvt.scale == 0 and sdp.source is not _FP16:
        yield "out_cvt.scale 0; every result would be 0, identity is 1"


def operand_precision(sdp: Sdp) -> Iterator[str]:
    """
    Operands in memory are FP16 for an FP16 source, integers for others; those of X2 and Y have 2 bytes
    if the source has 16 bits (§3.5).
    """
    for field, stage in sdp.stages():
        if not fetches(stage):
            continue
        if (stage.precision == _FP16) != (sdp.source is _FP16):
            yield f"{field}.precision {stage.precision}; 2 (FP16) goes with an FP16 source only"
        elif stage.precision == _INT8 and sdp.source is not _INT8 and field != "x1_op":
            yield f"{field}.precision 0; with a 16-bit source this stage takes operands of 2 bytes"


def stage_units(sdp: Sdp) -> Iterator[str]:
    """
    Table lookup exists only in Y, ReLU only in X1 and X2; a PReLU is a multiplication; a stage without
    active units has no operands; equality comparison has no result cube (§2.4, §4.2).
    """
    for field, stage in sdp.stages():
        if field == "y_op" and stage.act == Activation.RELU:
            yield "y_op.act 1 (RELU); Y has none and negative numbers would pass, ALU MAX with 0 does it"
        if field != "y_op" and stage.act == Activation.LUT:
            yield f"{field}.act 2 (LUT); the lookup table is in Y"
        if field != "y_op" and stage.type & SdpOpType.ADD and stage.alu_type == AluType.EQL:
            yield f"{field}.alu_type 3 (EQL); only Y compares"
        if field == "y_op" and stage.type & SdpOpType.ADD and stage.alu_type == AluType.EQL:
            yield "y_op.alu_type 3 (EQL); the comparison ends in a status register, no result is written"
        if stage.type == SdpOpType.NONE and stage.mode != SdpMode.PER_LAYER:
            yield f"{field}.mode {stage.mode} with type 0 (NONE); its operands would not be used, so 0"
        if stage.act == Activation.PRELU and stage.type != SdpOpType.MUL:
            yield f"{field}.type {stage.type} with PReLU; the slope is multiplied, so 1 (MUL)"


def operand_converters(sdp: Sdp) -> Iterator[str]:
    """
    Y's operand converters are used only with operands in memory; otherwise they hold stale values
    (§7).
    """
    stage = sdp.op.y_op
    if stage.enable and stage.mode == SdpMode.PER_LAYER and (stage.alu_cvt.enable or stage.mul_cvt.enable):
        yield "y_op alu_cvt or mul_cvt enabled with mode 0 (PER_LAYER); only operands in memory are converted"


def lookup_table(sdp: Sdp) -> Iterator[str]:
    """`lut_index` is the index of a table of the task, or -1 if no table is used."""
    tables = len(sdp.site.task.luts)
    used = sdp.op.y_op.enable and sdp.op.y_op.act == Activation.LUT
    yield from outside("lut_index", sdp.op.lut_index, 0 if used else -1, tables - 1)


def one_pixel_is_packed(sdp: Sdp) -> Iterator[str]:
    """The surface stride of a cube of one pixel is one atom, that of its operands one group (§3.5)."""
    src, dst, atom = sdp.surface.src_data, sdp.surface.dst_data, sdp.target.memory_atom_bytes
    if (src.width, src.height) != (1, 1):
        return
    for field, cube in (("src_data", src), ("dst_data", dst)):
        if cube.type != MemoryType.HW:
            yield from outside(f"{field}.line_stride", cube.line_stride, atom, atom)
            yield from outside(f"{field}.surf_stride", cube.surf_stride, atom, atom)
    for field, stage, cube in sdp_stages(sdp.op, sdp.surface):
        if fetches(stage):
            unit = operand_bytes(sdp.target, stage, sdp.source)
            yield from outside(f"{field}.surf_stride", cube.surf_stride, unit, unit)


def takes_what_the_convolution_gives(sdp: Sdp) -> Iterator[str]:
    """On the fly, the SDP's sizes, precision, mode and batch equal those of the convolution."""
    parent = parent_of(sdp.site.task, sdp.site.operation)
    if parent is None or not isinstance(parent.op, ConvOp) or not isinstance(parent.surface, ConvSurface):
        yield from outside("conv_mode", sdp.op.conv_mode, ConvMode.DIRECT, ConvMode.DIRECT)
        return
    conv, dst, src = parent.op, parent.surface.dst_data, sdp.surface.src_data
    for field, value, given in (
        ("src_data.width", src.width, dst.width),
        ("src_data.height", src.height, dst.height),
        ("src_data.channel", src.channel, dst.channel),
        ("src_precision", sdp.op.src_precision, conv.out_precision),
        ("conv_mode", sdp.op.conv_mode, conv.conv_mode),
        ("batch_num", sdp.op.batch_num, conv.batch),
    ):
        if value != given:
            yield f"{field} {value}; the convolution gives {given}"


SDP_RULES = (
    precision_pairs,
    output_scale,
    operand_precision,
    stage_units,
    operand_converters,
    lookup_table,
    one_pixel_is_packed,
    takes_what_the_convolution_gives,
)
