"""Rules of the pooling engine (docs/internals/nvdla-hardware.md §2.4, §3.8, §4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.accesses import precision_of
from xonnc.formats.nvdla.checks.problem import (
    OperationContext,
    Violation,
    apply,
    memory_types,
    not_in_memory,
    outside,
)
from xonnc.formats.nvdla.checks.register_fields import illegal_values, missing_precision
from xonnc.formats.nvdla.enumerations import MemoryType, Precision
from xonnc.formats.nvdla.records import PdpOp, PdpSurface, SdpOp, SdpSurface
from xonnc.formats.nvdla.task_graph import parent_of
from xonnc.formats.nvdla.unread_input import hangs_when_fused, unread_input

_PAD_VALUE = 1 << 18
"""Padding values are 19-bit signed integers (§2.4)."""
_PARTIALS = (
    "partial_in_width_first",
    "partial_in_width_mid",
    "partial_in_width_last",
    "partial_width_first",
    "partial_width_mid",
    "partial_width_last",
)


class Pdp(NamedTuple):
    """A pooling whose fields are valid individually."""

    op: PdpOp
    surface: PdpSurface
    site: OperationContext
    precision: Precision

    @property
    def kernel(self) -> tuple[int, int]:
        """Height and width of the window."""
        return self.op.pool_height + 1, self.op.pool_width + 1


def pdp_problems(op: PdpOp, surface: PdpSurface, site: OperationContext) -> Iterator[Violation]:
    """Yield the problems of a pooling; rules that relate fields run only if each field is valid."""
    problems = list(apply(FIELD_RULES, site.location, op, surface, site))
    yield from problems
    precision = precision_of(op.precision)
    if not problems and precision is not None:
        yield from apply(PDP_RULES, site.location, Pdp(op, surface, site, precision))


def pdp_fields(op: PdpOp, surface: PdpSurface, site: OperationContext) -> Iterator[str]:
    """Fields fit their registers; pad values fit 19 bits and are 0 in FP16."""
    yield from illegal_values(op)
    yield from illegal_values(surface.src_data, "src_data.")
    yield from illegal_values(surface.dst_data, "dst_data.")
    largest = 0 if op.precision == Precision.FP16 else _PAD_VALUE - 1
    smallest = 0 if op.precision == Precision.FP16 else -_PAD_VALUE
    for index, value in enumerate(op.padding_value):
        yield from outside(f"padding_value[{index}]", value, smallest, largest)


def pdp_memory_types(op: PdpOp, surface: PdpSurface, site: OperationContext) -> Iterator[str]:
    """The source is in DRAM or on the fly from the SDP; the result is in DRAM."""
    src = surface.src_data
    if src.type not in memory_types(site.target, MemoryType.HW):
        yield f"src_data.type {src.type}; it is 0 (DRAM) or 2 (on the fly)"
    elif src.type == MemoryType.HW:
        yield from outside("src_data.address", src.address, -1, -1)
    yield from not_in_memory("dst_data.type", surface.dst_data.type, site.target)


def pdp_precision(op: PdpOp, surface: PdpSurface, site: OperationContext) -> Iterator[str]:
    """The target supports the precision."""
    yield from missing_precision("precision", op.precision, site.target)


FIELD_RULES = (pdp_fields, pdp_memory_types, pdp_precision)


def pooled_size(pdp: Pdp) -> Iterator[str]:
    """
    Output sizes are floor((input + pads - window) / stride) + 1; the number of channels is
    unchanged.
    """
    op, src, dst = pdp.op, pdp.surface.src_data, pdp.surface.dst_data
    height, width = pdp.kernel
    columns = (src.width + op.pad_left + op.pad_right - width) // op.stride_x + 1
    rows = (src.height + op.pad_top + op.pad_bottom - height) // op.stride_y + 1
    if (dst.width, dst.height) != (columns, rows):
        yield (
            f"dst_data {dst.width}x{dst.height} (width x height); input, pads, window and stride give "
            f"{columns}x{rows}"
        )
    yield from outside("dst_data.channel", dst.channel, src.channel, src.channel)


def pads_are_below_the_window(pdp: Pdp) -> Iterator[str]:
    """A pad is smaller than the window; otherwise a window would contain no input."""
    height, width = pdp.kernel
    for field, most in (
        ("pad_left", width - 1),
        ("pad_right", width - 1),
        ("pad_top", height - 1),
        ("pad_bottom", height - 1),
    ):
        yield from outside(field, getattr(pdp.op, field), 0, most)


def pooled_row_fits(pdp: Pdp) -> Iterator[str]:
    """A result row, or each part of a split row, fits the line buffer (§3.8)."""
    op = pdp.op
    widest = geometry.pdp_line_width(pdp.site.target, pdp.precision, pdp.kernel[0], op.stride_y)
    if op.split_num == 1:
        if pdp.surface.dst_data.width > widest:
            yield f"dst_data.width {pdp.surface.dst_data.width}; without a split {widest} are held"
        return
    for field in _PARTIALS[3:]:
        yield from outside(field, getattr(op, field), 0, widest)


def split_covers_the_row(pdp: Pdp) -> Iterator[str]:
    """
    The parts of a split row cover it: each reads the input of its windows except the `kernel - stride`
    columns that it shares with the part before (§3.8). Without a split the widths are 0.
    """
    op, parts = pdp.op, pdp.op.split_num
    if parts == 1:
        for field in _PARTIALS:
            yield from outside(field, getattr(op, field), 0, 0)
        return
    if pdp.surface.src_data.type == MemoryType.HW:
        yield f"split_num {parts}; what comes on the fly cannot be split, so 1"
        return
    kernel, stride, overlap = pdp.kernel[1], op.stride_x, pdp.kernel[1] - op.stride_x
    yield from _part("first", op.partial_in_width_first + op.pad_left, op.partial_width_first, kernel, stride)
    last_in = op.partial_in_width_last + op.pad_right + overlap
    yield from _part("last", last_in, op.partial_width_last, kernel, stride)
    if parts > 2:
        mid_in = op.partial_in_width_mid + overlap
        yield from _part("mid", mid_in, op.partial_width_mid, kernel, stride)
    else:
        yield from outside("partial_width_mid", op.partial_width_mid, 0, 0)
    total = op.partial_width_first + (parts - 2) * op.partial_width_mid + op.partial_width_last
    width = pdp.surface.dst_data.width
    if total != width:
        yield f"split_num {parts}: the parts give {total} columns; dst_data.width is {width}"


def _part(name: str, inputs: int, outputs: int, kernel: int, stride: int) -> Iterator[str]:
    if outputs < 1:
        yield f"partial_width_{name} {outputs}; it is 1 or more"
    elif inputs != (outputs - 1) * stride + kernel:
        needed = (outputs - 1) * stride + kernel
        yield (
            f"partial_in_width_{name}: {inputs} columns with pads and overlap; {outputs} results use {needed}"
        )


def takes_what_the_sdp_gives(pdp: Pdp) -> Iterator[str]:
    """On the fly, the PDP's sizes and precision equal those of the SDP, and the batch is 1."""
    parent = parent_of(pdp.site.task, pdp.site.operation)
    if parent is None or not isinstance(parent.op, SdpOp) or not isinstance(parent.surface, SdpSurface):
        return
    given, src = parent.surface.src_data, pdp.surface.src_data
    for field, value, from_sdp in (
        ("src_data.width", src.width, given.width),
        ("src_data.height", src.height, given.height),
        ("src_data.channel", src.channel, given.channel),
        ("precision", pdp.op.precision, parent.op.dst_precision),
    ):
        if value != from_sdp:
            yield f"{field} {value}; the SDP gives {from_sdp}"
    if parent.op.batch_num != 1:
        yield f"the SDP gives a batch of {parent.op.batch_num}; on the fly there is one image"


def no_rows_over_on_the_fly(pdp: Pdp) -> Iterator[str]:
    """
    On the fly the last window ends with the last row: unread rows after it make the engine hang or
    write wrong bytes (§9.2).
    """
    if hangs_when_fused(pdp.op, pdp.surface):
        over, height = unread_input(pdp.op, pdp.surface).rows, pdp.surface.src_data.height
        yield f"src_data.height {height}; the windows end at {height - over} and what is over makes it hang"


PDP_RULES = (
    pooled_size,
    pads_are_below_the_window,
    pooled_row_fits,
    split_covers_the_row,
    takes_what_the_sdp_gives,
    no_rows_over_on_the_fly,
)
