"""
Prefetching of the next panel of weights into L2, spread over the tiles that multiply by the present one.

The first tile that reads a panel is bound by L3 or memory, the others find it in L2. So the tiles of a panel
share the lines of the next one, and each step of a tile asks for a few bytes of its share
(docs/internals/cpu-kernels.md §4.1).
"""

from __future__ import annotations

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder

LINE = 64
"""Bytes of a cache line, or fewer."""


def share_of_next_panel(
    builder: LLVMBuilder, panel: SSAValue, panel_bytes: int, tile: SSAValue, share: int | SSAValue
) -> SSAValue:
    """Return the address of the part of the next panel, of `share` bytes, that a tile fetches."""
    return ahead_of(builder, ahead_of(builder, panel, panel_bytes), builder.imul(tile, share))


def dynamic_step(builder: LLVMBuilder, row_bytes: int, tiles: int | SSAValue) -> SSAValue:
    """
    Return the bytes that each step of a tile fetches where the number of tiles is found at run time.

    All tiles together fetch the panel: its `row_bytes` of a step, divided by the number of tiles.
    """
    return builder.size(builder.ceil_div(row_bytes, tiles))


def ahead_of(builder: LLVMBuilder, pointer: SSAValue, distance: int | SSAValue) -> SSAValue:
    """Return an address that may be past the end of the buffer, which `inbounds` would make poison."""
    return builder.add(llvm_ops.address(pointer, distance, i8, inbounds=False))


def prefetch_share(builder: LLVMBuilder, pointer: SSAValue, step_bytes: int | SSAValue) -> None:
    """Prefetch the bytes of a share that a step asks for; of a dynamic number, the first line."""
    for start in range(0, step_bytes if isinstance(step_bytes, int) else LINE, LINE):
        builder.prefetch(pointer, start, level=2)
