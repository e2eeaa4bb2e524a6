"""Verify a memory plan: buffers with overlapping lifetimes are disjoint, unless a call writes in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, location_of
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import XonncError
from xonnc.formats.native.program import ALIGNMENT
from xonnc.lowering.native.in_place import Kernels, in_place_candidates, needs_order
from xonnc.lowering.native.lifetimes import Lifetime, arena_buffers, is_dynamic, lifetimes, root_of


@dataclass(frozen=True)
class PlannedInterval:
    """The lifetime and the bytes `[offset, offset + size)` of a buffer; its block if shapes are dynamic."""

    buffer: SSAValue
    alive: Lifetime
    offset: int
    size: int

    def overlaps(self, other: PlannedInterval) -> bool:
        """Whether both use the same byte, or the same block."""
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size

    @property
    def name(self) -> str:
        """The node that the buffer is a result of, for messages."""
        assert isinstance(self.buffer.owner, Operation)
        return describe(self.buffer.owner)


def planned_intervals(block: Block) -> list[PlannedInterval]:
    """Return the planned buffers of a scope that are live in some step, by first step."""
    alive = lifetimes(block).of
    has_blocks = is_dynamic(block)
    found: list[PlannedInterval] = []
    for buffer, size in arena_buffers(block).items():
        if buffer in alive:
            location = location_of(buffer, BLOCKS if has_blocks else OFFSETS)
            owner = buffer.owner
            assert isinstance(owner, Operation)
            if location is None:
                raise XonncError(f"{describe(owner)}: a buffer has no offset in the arena; run plan-memory")
            if not has_blocks and location % ALIGNMENT:
                raise XonncError(
                    f"{describe(owner)}: a buffer has offset {location} in the arena; "
                    f"offsets are multiples of {ALIGNMENT}"
                )
            found.append(PlannedInterval(buffer, alive[buffer], location, 1 if has_blocks else size))
    return sorted(found, key=lambda each: each.alive.first)


def verify_no_overlap(block: Block, kernels: Kernels) -> None:
    """Raise `XonncError` for two buffers of a scope that are live at the same time and overlap."""
    in_place = set(_in_place_writes(block, kernels))
    found: list[PlannedInterval] = []
    for interval in planned_intervals(block):
        found = [each for each in found if each.alive.last >= interval.alive.first]
        for other in found:
            if interval.overlaps(other) and not _reuses_in_place(other, interval, in_place):
                raise XonncError(
                    f"{interval.name}: its buffer at {interval.offset} in the arena overlaps that of "
                    f"{other.name} at {other.offset}, and both are alive at once"
                )
        found.append(interval)


def _reuses_in_place(
    host: PlannedInterval, own: PlannedInterval, in_place: set[tuple[SSAValue, SSAValue]]
) -> bool:
    """Whether a call writes one buffer in place of the other at the step where that dies."""
    is_next = host.alive.last == own.alive.first and host.offset == own.offset and own.size <= host.size
    return is_next and (own.buffer, host.buffer) in in_place


def _in_place_writes(block: Block, kernels: Kernels) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield pairs of buffers (written, read) of calls that are marked in-place; check that they may be."""
    for op in block.walk():
        if isinstance(op, CallOp) and op.in_place_pairs:
            allowed = set(in_place_candidates(op, kernels))
            for pair in op.in_place_pairs:
                if pair not in allowed:
                    raise XonncError(
                        f"{describe(op)}: the kernel '{op.func_name.data}' may not write parameter {pair[0]} "
                        f"where parameter {pair[1]} lies"
                    )
                has_range = op.iterations is not None or op.iterations_parameter is not None
                if has_range and op.sequential is None and needs_order(op, kernels, *pair):
                    raise XonncError(
                        f"{describe(op)}: the kernel '{op.func_name.data}' may write parameter {pair[0]} "
                        f"over the larger parameter {pair[1]} in order only; make the call 'sequential'"
                    )
                written, read = (root_of(op.parameters[index]) for index in pair)
                yield written, read
