"""The blocks of an arena whose buffers have sizes that only a run tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.native.lifetimes import Lifetime, arena_buffers

Extents: TypeAlias = tuple[Attribute, tuple[SSAValue, ...]]
"""The type of a buffer and its dynamic sizes: two that have both in common are equally large."""


def assign_blocks(block: Block, alive: Mapping[SSAValue, Lifetime]) -> dict[SSAValue, int]:
    """
    The block of each buffer, in the order in which they begin to live.

    A block is as large as the largest of its buffers, which are alive one after the other. So a buffer takes
    a free block of equally large ones first, then one that has dynamic sizes if and only if the buffer does.
    """
    found: dict[SSAValue, int] = {}
    firsts: list[SSAValue] = []
    ends: list[int] = []
    buffers = [buffer for buffer in arena_buffers(block) if buffer in alive]
    for buffer in sorted(buffers, key=lambda each: (alive[each].first, alive[each].last)):
        free = [number for number, end in enumerate(ends) if end < alive[buffer].first]
        alike = [number for number in free if _extents(firsts[number]) == _extents(buffer)]
        fitting = [number for number in free if _is_dynamic(firsts[number]) == _is_dynamic(buffer)]
        number = next(iter(alike or fitting), len(ends))
        if number == len(ends):
            firsts.append(buffer)
            ends.append(0)
        found[buffer] = number
        ends[number] = alive[buffer].last
    return found


def _extents(buffer: SSAValue) -> Extents:
    sizes = buffer.owner.dynamic_sizes if isinstance(buffer.owner, memref.AllocOp) else ()
    return buffer.type, tuple(sizes)


def _is_dynamic(buffer: SSAValue) -> bool:
    return is_buffer(buffer.type) and DYNAMIC_INDEX in buffer.type.get_shape()
