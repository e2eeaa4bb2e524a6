"""
Plan the memory of models: order of calls, in-place results, and offsets in the arena.

```mlir
%a = memref.alloc() : memref<64xf32>
"krnl.call"(%a, %x) {funcName = "tanh_0"} : …
%b = memref.alloc() : memref<64xf32>
"krnl.call"(%b, %a) {funcName = "exp_1"} : …
```

becomes

```mlir
%a = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<64xf32>
"krnl.call"(%a, %x) {funcName = "tanh_0"} : …
%b = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<64xf32>
"krnl.call"(%b, %a) {funcName = "exp_1", inPlace = array<i64: 0, 1>} : …
```

in a function with `krnl.arena = {size = 256, peak = 256, lower_bound = 256}`. Constants, inputs and results
of the model are stored elsewhere. For dynamic shapes each run computes offsets: `krnl.blocks` says which
buffers share a block of the arena, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, arena_of, set_arena, set_locations
from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime, assign_offsets
from xonnc.lowering.native.arena_blocks import assign_blocks
from xonnc.lowering.native.call_order import order_calls
from xonnc.lowering.native.in_place import Kernels, in_place_candidates
from xonnc.lowering.native.lifetimes import (
    Lifetimes,
    allocation_scopes,
    arena_buffers,
    is_dynamic,
    lifetimes,
    root_of,
)
from xonnc.lowering.native.memory_verification import verify_no_overlap
from xonnc.lowering.native.shareable_memory import restrict_sharing

MAX_PLACEMENTS = 20_000
"""Limit of buffer placements over all attempts to reach the peak; each takes about 20 microseconds."""


@dataclass(frozen=True)
class PlanMemory(ModulePass):
    """Order calls to minimise memory and assign arena offsets to buffers; verify existing plans."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan each allocation scope of the module, and verify the plan."""
        kernels = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        planned = [function for function in kernels.values() if arena_of(function) is not None]
        for function, block in allocation_scopes(op):
            if function not in planned:
                _plan(function, block, kernels)
            verify_no_overlap(block, kernels)


def _plan(function: FuncOp, block: Block, kernels: Kernels) -> None:
    """Plan a scope; record the totals on the function if the scope is its body."""
    schedule = order_calls(block, kernels)
    restrict_sharing(block)
    alive, arena = lifetimes(block), arena_buffers(block)
    if is_dynamic(block):
        blocks = assign_blocks(block, alive.of)
        _set_locations_by_op(blocks, BLOCKS)
        sizes = {"blocks": max(blocks.values(), default=-1) + 1}
    else:
        offsets, peak = _offsets(arena, alive, _assign_in_place(arena, alive, kernels))
        _set_locations_by_op(offsets, OFFSETS)
        end = max((offset + arena[buffer] for buffer, offset in offsets.items()), default=0)
        has_regions = any(isinstance(op, scf.IfOp | scf.WhileOp) for op in block.ops)
        bound = _max_step_bytes(arena, alive, kernels) if has_regions else schedule.lower_bound
        sizes = {"size": end, "peak": peak, "lower_bound": bound}
    if function.body.block is block:
        set_arena(function, **sizes)


def _set_locations_by_op(locations: Mapping[SSAValue, int], name: str) -> None:
    """Set the attribute with the offsets, or blocks, of its results on each operation."""
    for op in dict.fromkeys(buffer.owner for buffer in locations):
        assert isinstance(op, Operation)
        set_locations(op, name, [locations.get(result, -1) for result in op.results])


def _assign_in_place(
    arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels
) -> dict[SSAValue, SSAValue]:
    """Mark calls that write in place of an operand that dies; return the host buffer of each such result."""
    hosts: dict[SSAValue, SSAValue] = {}
    for step, op in enumerate(alive.steps):
        if not isinstance(op, CallOp):
            continue
        op.in_place = None
        for target, source in in_place_candidates(op, kernels):
            written, read = (root_of(op.parameters[index]) for index in (target, source))
            same_size = written in arena and read in arena and arena[written] == arena[read]
            if same_size and alive.of[written].first == step == alive.of[read].last:
                op.in_place = DenseArrayBase.from_list(i64, [target, source])
                hosts[written] = read
                break
    return hosts


def _offsets(
    arena: Mapping[SSAValue, int], alive: Lifetimes, hosts: Mapping[SSAValue, SSAValue]
) -> tuple[dict[SSAValue, int], int]:
    """Return the offset of each buffer, and the peak of live bytes."""
    groups: dict[SSAValue, list[SSAValue]] = {}
    for buffer in arena:
        if buffer in alive.of:
            groups.setdefault(_outermost_host(buffer, hosts), []).append(buffer)
    buffers = [
        BufferLifetime(
            arena[first],
            min(alive.of[buffer].first for buffer in group),
            max(alive.of[buffer].last for buffer in group),
        )
        for first, group in groups.items()
    ]
    plan = assign_offsets(buffers, MAX_PLACEMENTS)
    offsets = {
        buffer: offset
        for group, offset in zip(groups.values(), plan.offsets, strict=True)
        for buffer in group
    }
    return offsets, plan.peak


def _outermost_host(buffer: SSAValue, hosts: Mapping[SSAValue, SSAValue]) -> SSAValue:
    while buffer in hosts:
        buffer = hosts[buffer]
    return buffer


def _max_step_bytes(arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels) -> int:
    """
    Return the maximum of bytes that one step accesses, a lower bound for scopes with branches and loops.

    The schedule treats a branch or loop as one step with all its buffers live, so its bound does not hold.
    """
    found = [0]
    for op in alive.steps:
        if isinstance(op, CallOp):
            roots = {root_of(value) for value in op.parameters}
            saved = [
                arena.get(root_of(op.parameters[target]), 0) for target, _ in in_place_candidates(op, kernels)
            ]
            found.append(sum(arena.get(root, 0) for root in roots) - max(saved, default=0))
    return max(found)
