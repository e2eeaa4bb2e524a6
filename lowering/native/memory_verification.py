"""Checks a memory plan: two buffers that are alive at once never overlap, unless a call writes in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, location_of
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import XonncError
from xonnc.formats.native.program import ALIGNMENT
from xonnc.lowering.native.in_place import Kernels, replaceable
from xonnc.lowering.native.lifetimes import Lifetime, arena_buffers, is_dynamic, lifetimes, root_of


@dataclass(frozen=True)
class Interval:
    """When a buffer is alive, and where: `size` bytes from `offset`, or the whole block of that number."""

    buffer: SSAValue
    alive: Lifetime
    offset: int
    size: int

    def overlaps(self, other: Interval) -> bool:
        """Whether both take a byte, or the same block."""
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size

    @property
    def name(self) -> str:
        """What messages call the buffer: the node that it was made for."""
        assert isinstance(self.buffer.owner, Operation)
        return describe(self.buffer.owner)


def intervals(block: Block) -> list[Interval]:
    """The planned buffers of a frame that are alive in some step, the first first."""
    alive = lifetimes(block).of
    has_blocks = is_dynamic(block)
    found: list[Interval] = []
    for buffer, size in arena_buffers(block).items():
        if buffer in alive:
            place = location_of(buffer, BLOCKS if has_blocks else OFFSETS)
            owner = buffer.owner
            assert isinstance(owner, Operation)
            if place is None:
                raise XonncError(f"{describe(owner)}: a buffer has no place in the arena; run plan-memory")
            if not has_blocks and place % ALIGNMENT:
                raise XonncError(
                    f"{describe(owner)}: a buffer lies at {place} in the arena; {ALIGNMENT} divides offsets"
                )
            found.append(Interval(buffer, alive[buffer], place, 1 if has_blocks else size))
    return sorted(found, key=lambda each: each.alive.first)


def require_apart(block: Block, kernels: Kernels) -> None:
    """Raises `XonncError` with two buffers of a frame that are alive at once and overlap."""
    in_place = set(_written_in_place(block, kernels))
    found: list[Interval] = []
    for interval in intervals(block):
        found = [each for each in found if each.alive.last >= interval.alive.first]
        for other in found:
            if interval.overlaps(other) and not _is_replaced(other, interval, in_place):
                raise XonncError(
                    f"{interval.name}: its buffer at {interval.offset} in the arena overlaps that of "
                    f"{other.name} at {other.offset}, and both are alive at once"
                )
        found.append(interval)


def _is_replaced(host: Interval, own: Interval, in_place: set[tuple[SSAValue, SSAValue]]) -> bool:
    """Whether one buffer begins where and when the other ends, as a call says."""
    is_next = host.alive.last == own.alive.first and (host.offset, host.size) == (own.offset, own.size)
    return is_next and (own.buffer, host.buffer) in in_place


def _written_in_place(block: Block, kernels: Kernels) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The pairs of buffers of which calls write the first where the second lies."""
    for op in block.walk():
        if isinstance(op, CallOp) and op.in_place_pairs:
            allowed = set(replaceable(op, kernels))
            for pair in op.in_place_pairs:
                if pair not in allowed:
                    raise XonncError(
                        f"{describe(op)}: the kernel '{op.func_name.data}' may not write parameter {pair[0]} "
                        f"where parameter {pair[1]} lies"
                    )
                written, read = (root_of(op.parameters[place]) for place in pair)
                yield written, read
