"""Registers of the lookup tables of the SDP and the CDP (docs/internals/nvdla-hardware.md §3.6, §4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.formats.nvdla.enumerations import LutMethod, LutPriority
from xonnc.formats.nvdla.records import LutParam
from xonnc.formats.nvdla.registers.writes import AddressWrite, BlockWriter, Write

_PRIORITIES = {LutPriority.LINEAR_EXP: "LE", LutPriority.LINEAR_ONLY: "LO"}


def lut_writes(block: str, lut: LutParam) -> list[Write | AddressWrite]:
    """Return the writes that load a table into an idle block, `SDP` or `CDP`."""
    writer = BlockWriter(block)
    _table(writer, "LE", lut.linear_exp_table)
    _table(writer, "LO", lut.linear_only_table)
    method = LutMethod(lut.method)
    writer.fields(
        "S_LUT_CFG",
        LUT_LE_FUNCTION="EXPONENTIAL" if method is LutMethod.EXPONENTIAL else "LINEAR",
        LUT_UFLOW_PRIORITY=_PRIORITIES[LutPriority(lut.underflow_priority)],
        LUT_OFLOW_PRIORITY=_PRIORITIES[LutPriority(lut.overflow_priority)],
        LUT_HYBRID_PRIORITY=_PRIORITIES[LutPriority(lut.hybrid_priority)],
    )
    index = "OFFSET" if method is LutMethod.EXPONENTIAL else "SELECT"
    writer.fields(
        "S_LUT_INFO",
        **{f"LUT_LE_INDEX_{index}": lut.linear_exp_offset},
        LUT_LO_INDEX_SELECT=lut.linear_only_offset,
    )
    bounds = {"LE_START": lut.le_start, "LE_END": lut.le_end, "LO_START": lut.lo_start, "LO_END": lut.lo_end}
    for name, value in bounds.items():
        if block == "SDP":
            writer.word(f"S_LUT_{name}", value)
        else:
            # Sums of squares take up to 38 bits.
            writer.word(f"S_LUT_{name}_LOW", value)
            writer.word(f"S_LUT_{name}_HIGH", value >> 32, 6)
    for name, below, above in (
        ("LE", lut.le_underflow, lut.le_overflow),
        ("LO", lut.lo_underflow, lut.lo_overflow),
    ):
        for register, low, high in (
            ("SCALE", below.scale, above.scale),
            ("SHIFT", below.shifter, above.shifter),
        ):
            prefix = f"LUT_{name}_SLOPE"
            fields = {f"{prefix}_UFLOW_{register}": low, f"{prefix}_OFLOW_{register}": high}
            writer.fields(f"S_{prefix}_{register}", **fields)
    return writer.steps


def _table(writer: BlockWriter, name: str, entries: Sequence[int]) -> None:
    # The address counts up with every entry.
    writer.fields("S_LUT_ACCESS_CFG", LUT_TABLE_ID=name, LUT_ACCESS_TYPE="WRITE", LUT_ADDR=0)
    for entry in entries:
        writer.word("S_LUT_ACCESS_DATA", entry, 16)
