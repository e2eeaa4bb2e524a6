"""Assign buffers of dynamic shape to blocks of the arena, which each run lays out for its shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.native.lifetimes import Lifetime, arena_buffers

BufferExtents: TypeAlias = tuple[Attribute, tuple[SSAValue, ...]]
"""The type of a buffer and its dynamic dimensions; buffers for which both are equal have the same size."""


def assign_blocks(block: Block, alive: Mapping[SSAValue, Lifetime]) -> dict[SSAValue, int]:
    """
    Return the block number of each buffer, by a linear scan over lifetimes.

    The buffers of a block are alive one after the other, and the block has the size of the largest. A free
    block of equally large buffers is preferred, as it costs nothing. Otherwise a dynamic buffer takes a free
    block of dynamic ones and a static buffer one of static ones: static sizes stay known at compile time.
    """
    blocks: dict[SSAValue, int] = {}
    firsts: list[SSAValue] = []
    ends: list[int] = []
    buffers = [buffer for buffer in arena_buffers(block) if buffer in alive]
    for buffer in sorted(buffers, key=lambda each: (alive[each].first, alive[each].last)):
        free = [number for number, end in enumerate(ends) if end < alive[buffer].first]
        same_size = [number for number in free if _extents(firsts[number]) == _extents(buffer)]
        compatible = [number for number in free if _is_dynamic(firsts[number]) == _is_dynamic(buffer)]
        number = next(iter(same_size or compatible), len(ends))
        if number == len(ends):
            firsts.append(buffer)
            ends.append(0)
        blocks[buffer] = number
        ends[number] = alive[buffer].last
    return blocks


def _extents(buffer: SSAValue) -> BufferExtents:
    sizes = buffer.owner.dynamic_sizes if isinstance(buffer.owner, memref.AllocOp) else ()
    return buffer.type, tuple(sizes)


def _is_dynamic(buffer: SSAValue) -> bool:
    return is_buffer(buffer.type) and DYNAMIC_INDEX in buffer.type.get_shape()
