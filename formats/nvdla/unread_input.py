"""
Trailing rows and columns that no window of a pooling reads, and their effect on the PDP
(docs/internals/nvdla-hardware.md §9.2).

The engine receives its whole source, but windows may end earlier. Unread input stays in its pipeline:

| source | unread | observed on | effect |
|---|---|---|---|
| on the fly | rows | RTL | hangs, or gives wrong bytes |
| in memory | rows, no columns | RTL | the next pooling hangs or is wrong, even in the next inference |
| any | anything | C-model | the next pooling hangs, if it may start before this one has completed |
"""

from __future__ import annotations

from typing import NamedTuple

from xonnc.formats.nvdla.enumerations import MemoryType
from xonnc.formats.nvdla.records import PdpOp, PdpSurface


class UnreadInput(NamedTuple):
    """Trailing rows and columns of a source, without padding, that no window reads."""

    rows: int
    columns: int

    @property
    def breaks_next_pooling(self) -> bool:
        """Whether, with the source in memory, they break the next pooling."""
        return self.rows > 0 and not self.columns

    def __str__(self) -> str:
        counted = zip(self, ("row", "column"), strict=True)
        return " and ".join(f"{count} {what}{'s' * (count > 1)}" for count, what in counted if count)


def unread_input(op: PdpOp, surface: PdpSurface) -> UnreadInput:
    """Return the input that no window of a pooling reads."""
    src, dst = surface.src_data, surface.dst_data
    rows = (dst.height - 1) * op.stride_y + op.pool_height + 1 - op.pad_top
    columns = (dst.width - 1) * op.stride_x + op.pool_width + 1 - op.pad_left
    return UnreadInput(max(src.height - rows, 0), max(src.width - columns, 0))


def hangs_when_fused(op: PdpOp, surface: PdpSurface) -> bool:
    """Whether a pooling hangs because of unread rows that come from the SDP on the fly."""
    return surface.src_data.type == MemoryType.HW and unread_input(op, surface).rows > 0
