"""The bridge DMA: strided copies between memory objects (docs/internals/nvdla-hardware.md §4.6)."""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.records import BdmaSurface, BdmaTransfer
from xonnc.runtime.nvdla.array_types import U8
from xonnc.runtime.nvdla.operation_context import OperationContext

_LARGEST_COUNT = 20


def run(surface: BdmaSurface, scope: OperationContext) -> None:
    """Perform the transfers of an operation in order."""
    if not scope.target.bdma:
        raise scope.refuse(f"{scope.target.name} has no BDMA engine")
    if surface.num_transfers > _LARGEST_COUNT:
        raise scope.refuse(
            f"num_transfers {surface.num_transfers}: one operation takes up to {_LARGEST_COUNT}"
        )
    for number, transfer in enumerate(surface.transfers[: surface.num_transfers]):
        source = _lines(
            transfer,
            (transfer.source_address, transfer.source_surface, transfer.source_line),
            f"transfer {number} source",
            scope,
        )
        destination = _lines(
            transfer,
            (transfer.destination_address, transfer.destination_surface, transfer.destination_line),
            f"transfer {number} destination",
            scope,
        )
        # Source and destination may overlap in one memory object: read everything before writing.
        destination[...] = source.copy()


def _lines(transfer: BdmaTransfer, side: tuple[int, int, int], role: str, scope: OperationContext) -> U8:
    """A view `[surfaces, lines, bytes]` of one side of a transfer."""
    address, surface, line = side
    shape = (transfer.surface_repeat, transfer.line_repeat, transfer.line_size)
    if min(shape) < 1:
        raise scope.refuse(
            f"{role}: line_size {shape[2]}, line_repeat {shape[1]}, surface_repeat {shape[0]}; all start at 1"
        )
    if (shape[1] > 1 and line < shape[2]) or (shape[0] > 1 and surface < (shape[1] - 1) * line + shape[2]):
        raise scope.refuse(
            f"{role}: line stride {line}, surface stride {surface}: "
            f"{shape[1]} lines of {shape[2]} bytes would overlap"
        )
    extent = (shape[0] - 1) * surface + (shape[1] - 1) * line + shape[2]
    location = scope.space.locate(address, 0, extent, f"{scope.name} {role}")
    location.memory.generation += 1
    return np.ndarray(shape, np.uint8, location.memory.data.data, location.start, (surface, line, 1))
