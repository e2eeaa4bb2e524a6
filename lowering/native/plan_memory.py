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

Option `mem-alloc` is `auto`, `first-fit` or `best-fit`: the last two are for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import BLOCKS, OFFSETS, arena_of, set_arena, set_locations
from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.memory_planning.offset_assignment import (
    Allocator,
    BufferLifetime,
    assign_offsets,
    peak_live_bytes,
    require_allocator,
)
from xonnc.lowering.native.arena_blocks import assign_blocks, is_dynamic_buffer
from xonnc.lowering.native.call_order import order_calls
from xonnc.lowering.native.in_place import Kernels, in_place_candidates, needs_order, reused_buffer
from xonnc.lowering.native.lifetimes import (
    Lifetime,
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

    mem_alloc: str = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan each allocation scope of the module, and verify the plan."""
        allocator = require_allocator(self.mem_alloc)
        kernels = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        planned = [function for function in kernels.values() if arena_of(function) is not None]
        for function, block in allocation_scopes(op):
            if function not in planned:
                _plan(function, block, kernels, allocator)
            verify_no_overlap(block, kernels)


def _plan(function: FuncOp, block: Block, kernels: Kernels, allocator: Allocator) -> None:
    """Plan a scope; record the totals on the function if the scope is its body."""
    schedule = order_calls(block, kernels)
    restrict_sharing(block)
    alive, arena = lifetimes(block), arena_buffers(block)
    if is_dynamic(block):
        hosts = _assign_in_place(arena, alive, kernels, may_shrink=False)
        blocks = assign_blocks(block, alive.of, hosts)
        _set_locations_by_op(blocks, BLOCKS)
        sizes = {"blocks": max(blocks.values(), default=-1) + 1}
    else:
        offsets, peak = _static_plan(arena, alive, kernels, allocator)
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


def _static_plan(
    arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels, allocator: Allocator
) -> tuple[dict[SSAValue, int], int]:
    """
    Decide on results in place of operands; return the offset of each buffer, and the peak of live bytes.

    Calls that write over the front of a larger operand are not divided among threads, so there are such calls
    only if they lower the peak.
    """
    same_sizes = _grouped(arena, alive, _assign_in_place(arena, alive, kernels, may_shrink=False))
    groups = _grouped(arena, alive, _assign_in_place(arena, alive, kernels, may_shrink=True))
    if peak_live_bytes(list(groups.values())) >= peak_live_bytes(list(same_sizes.values())):
        groups = _grouped(arena, alive, _assign_in_place(arena, alive, kernels, may_shrink=False))
    plan = assign_offsets(list(groups.values()), MAX_PLACEMENTS, allocator)
    offsets = {buffer: offset for group, offset in zip(groups, plan.offsets, strict=True) for buffer in group}
    return offsets, plan.peak


def _assign_in_place(
    arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels, may_shrink: bool
) -> dict[SSAValue, SSAValue]:
    """
    Mark calls that write in place of an operand that dies; return the host buffer of each such result.

    `may_shrink` allows results that are smaller than the operand.
    """
    hosts: dict[SSAValue, SSAValue] = {}
    for step, op in enumerate(alive.steps):
        if not isinstance(op, CallOp):
            continue
        op.in_place = op.sequential = None
        for target, source in in_place_candidates(op, kernels):
            written, read = (root_of(op.parameters[index]) for index in (target, source))
            if written not in arena or read not in arena:
                continue
            if is_dynamic_buffer(written) != is_dynamic_buffer(read):
                continue
            is_ordered = needs_order(op, kernels, target, source)
            fits = arena[written] <= arena[read] if may_shrink else not is_ordered
            if fits and alive.of[written].first == step == alive.of[read].last:
                op.in_place = DenseArrayBase.from_list(i64, [target, source])
                if is_ordered:
                    op.sequential = UnitAttr()
                hosts[written] = read
                break
    return hosts


def _grouped(
    arena: Mapping[SSAValue, int], alive: Lifetimes, hosts: Mapping[SSAValue, SSAValue]
) -> dict[tuple[SSAValue, ...], BufferLifetime]:
    """Return the lifetime of the memory of each group of buffers that are in place of each other."""
    groups: dict[SSAValue, list[SSAValue]] = {}
    for buffer in arena:
        if buffer in alive.of:
            groups.setdefault(reused_buffer(buffer, hosts), []).append(buffer)
    return {
        tuple(group): _lifetime([(arena[buffer], alive.of[buffer]) for buffer in group])
        for group in groups.values()
    }


def _lifetime(group: Sequence[tuple[int, Lifetime]]) -> BufferLifetime:
    """Return the lifetime of memory that buffers use one after the other, none larger than the one before."""
    (size, first), *others = sorted(group, key=lambda each: each[1].first)
    last = max(alive.last for _, alive in group)
    smaller: list[tuple[int, int]] = []
    for after, alive in others:
        # In the step that writes it, the larger one is still live.
        if after < (smaller[-1][1] if smaller else size) and alive.first < last:
            smaller.append((alive.first + 1, after))
    return BufferLifetime(size, first.first, last, tuple(smaller))


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
