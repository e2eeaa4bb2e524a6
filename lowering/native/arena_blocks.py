"""Assign buffers of dynamic shape to blocks of the arena, which each run lays out for its shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime, peak_live_bytes
from xonnc.lowering.native.in_place import reused_buffer
from xonnc.lowering.native.lifetimes import Lifetime, arena_buffers
from xonnc.lowering.native.nominal_sizes import NOMINAL_DIMENSIONS, nominal_bytes

BufferExtents: TypeAlias = tuple[Attribute, tuple[SSAValue, ...]]
"""The type of a buffer and its dynamic dimensions; buffers for which both are equal have the same size."""


def assign_blocks(
    block: Block, alive: Mapping[SSAValue, Lifetime], hosts: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, int]:
    """
    Return the block number of each buffer, numbered by first use.

    The buffers of a block are alive one after the other, and the block has the size of the largest. Largest
    first, each buffer is assigned to the block that grows least by it, or to a new one; of equals, to one of
    buffers of the same size for any shapes, then to the smallest. Dynamic and static buffers have blocks of
    their own: static sizes stay known at compile time. `hosts` are the buffers in whose place others are
    written.
    """
    groups: dict[SSAValue, list[SSAValue]] = {}
    own_sizes = _relative_sizes(block, alive)
    for buffer in own_sizes:
        groups.setdefault(reused_buffer(buffer, hosts), []).append(buffer)
    sizes = {host: _largest([own_sizes[each] for each in group]) for host, group in groups.items()}
    alive = {host: _span([alive[each] for each in group]) for host, group in groups.items()}
    blocks: list[_Block] = []
    for buffer in sorted(sizes, key=lambda each: (-sum(sizes[each]), alive[each].first, alive[each].last)):
        free = [each for each in blocks if each.may_hold(buffer, alive)]
        best = min(free, key=lambda each: each.cost(buffer, sizes[buffer]), default=None)
        if best is None or best.growth(sizes[buffer]) >= sum(sizes[buffer]):
            best = _Block([], (0.0,) * len(sizes[buffer]))
            blocks.append(best)
        best.buffers.append(buffer)
        best.size = best.size_with(sizes[buffer])
    blocks.sort(key=lambda each: min(alive[buffer].first for buffer in each.buffers))
    return {
        buffer: number
        for number, each in enumerate(blocks)
        for host in each.buffers
        for buffer in groups[host]
    }


Sizes: TypeAlias = tuple[float, ...]
"""A size for each of the `NOMINAL_DIMENSIONS`, as a fraction of the peak for it."""


def _largest(sizes: Sequence[Sizes]) -> Sizes:
    return tuple(map(max, zip(*sizes, strict=True)))


def _span(lifetimes: Sequence[Lifetime]) -> Lifetime:
    """Return the lifetime of memory that buffers use one after the other."""
    return Lifetime(min(each.first for each in lifetimes), max(each.last for each in lifetimes))


@dataclass
class _Block:
    """A block with its buffers so far."""

    buffers: list[SSAValue]
    size: Sizes

    def may_hold(self, buffer: SSAValue, alive: Mapping[SSAValue, Lifetime]) -> bool:
        """Whether a buffer of this kind is alive only while none of the block's buffers is."""
        is_same_kind = is_dynamic_buffer(self.buffers[0]) == is_dynamic_buffer(buffer)
        return is_same_kind and not any(alive[each].overlaps(alive[buffer]) for each in self.buffers)

    def size_with(self, size: Sizes) -> Sizes:
        """The size of the block with another buffer."""
        return tuple(map(max, self.size, size))

    def growth(self, size: Sizes) -> float:
        """How much the block grows by another buffer."""
        return sum(self.size_with(size)) - sum(self.size)

    def cost(self, buffer: SSAValue, size: Sizes) -> tuple[float, bool, float]:
        """The order of preference among blocks for a buffer."""
        return self.growth(size), _extents(self.buffers[0]) != _extents(buffer), sum(self.size)


def _relative_sizes(block: Block, alive: Mapping[SSAValue, Lifetime]) -> dict[SSAValue, Sizes]:
    """Return the size of each buffer that is accessed."""
    arena = {buffer: size for buffer, size in arena_buffers(block).items() if buffer in alive}
    columns: list[list[float]] = []
    for dimension in NOMINAL_DIMENSIONS:
        sizes = [size or nominal_bytes(buffer, dimension) for buffer, size in arena.items()]
        lives = [
            BufferLifetime(size, alive[buffer].first, alive[buffer].last)
            for buffer, size in zip(arena, sizes, strict=True)
        ]
        peak = max(1, peak_live_bytes(lives))
        columns.append([size / peak for size in sizes])
    return dict(zip(arena, zip(*columns, strict=True), strict=True))


def _extents(buffer: SSAValue) -> BufferExtents:
    sizes = buffer.owner.dynamic_sizes if isinstance(buffer.owner, memref.AllocOp) else ()
    return buffer.type, tuple(sizes)


def is_dynamic_buffer(buffer: SSAValue) -> bool:
    return is_buffer(buffer.type) and DYNAMIC_INDEX in buffer.type.get_shape()
