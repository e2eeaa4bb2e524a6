"""
Plans the memory of models: the order of calls, results in the place of operands, and offsets in the arena.

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
of the model lie elsewhere. For dynamic sizes, the run computes offsets: `krnl.blocks` says which
buffers share a block of the arena one after the other.
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
from xonnc.lowering.memory_planning.offset_assignment import Buffer, plan_memory
from xonnc.lowering.native.arena_blocks import assign_blocks
from xonnc.lowering.native.call_order import order_calls
from xonnc.lowering.native.in_place import Kernels, replaceable
from xonnc.lowering.native.lifetimes import (
    Lifetimes,
    arena_buffers,
    frames,
    is_dynamic,
    lifetimes,
    root_of,
)
from xonnc.lowering.native.memory_verification import require_apart

MAX_PLACED = 20_000
"""Buffers that are placed anew, over all tries to come down to the peak; some 20 microseconds each."""


@dataclass(frozen=True)
class PlanMemory(ModulePass):
    """Orders calls for memory, and gives buffers offsets in the arena; what has a plan is checked."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plans each function that is a model, or follows from data-dependent shapes."""
        kernels = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        planned = [function for function in kernels.values() if arena_of(function) is not None]
        for function, block in frames(op):
            if function not in planned:
                _plan(function, block, kernels)
            require_apart(block, kernels)


def _plan(function: FuncOp, block: Block, kernels: Kernels) -> None:
    """Plans a frame; the function says what its own takes."""
    order = order_calls(block, kernels)
    alive, arena = lifetimes(block), arena_buffers(block)
    if is_dynamic(block):
        blocks = assign_blocks(block, alive.of)
        _set_places(blocks, BLOCKS)
        sizes = {"blocks": max(blocks.values(), default=-1) + 1}
    else:
        offsets, peak = _offsets(arena, alive, _write_in_place(arena, alive, kernels))
        _set_places(offsets, OFFSETS)
        end = max((offset + arena[buffer] for buffer, offset in offsets.items()), default=0)
        has_regions = any(isinstance(op, scf.IfOp | scf.WhileOp) for op in block.ops)
        bound = _own_bytes(arena, alive, kernels) if has_regions else order.lower_bound
        sizes = {"size": end, "peak": peak, "lower_bound": bound}
    if function.body.block is block:
        set_arena(function, **sizes)


def _set_places(places: Mapping[SSAValue, int], name: str) -> None:
    """Says of each op where its results lie."""
    for op in dict.fromkeys(buffer.owner for buffer in places):
        assert isinstance(op, Operation)
        set_locations(op, name, [places.get(result, -1) for result in op.results])


def _write_in_place(
    arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels
) -> dict[SSAValue, SSAValue]:
    """Has calls write where an operand lies that nothing touches afterwards; what lies where."""
    hosts: dict[SSAValue, SSAValue] = {}
    for step, op in enumerate(alive.steps):
        if not isinstance(op, CallOp):
            continue
        op.in_place = None
        for target, source in replaceable(op, kernels):
            written, read = (root_of(op.parameters[place]) for place in (target, source))
            is_dying = written in arena and read in arena and arena[written] == arena[read]
            if is_dying and alive.of[written].first == step == alive.of[read].last:
                op.in_place = DenseArrayBase.from_list(i64, [target, source])
                hosts[written] = read
                break
    return hosts


def _offsets(
    arena: Mapping[SSAValue, int], alive: Lifetimes, hosts: Mapping[SSAValue, SSAValue]
) -> tuple[dict[SSAValue, int], int]:
    """Where each buffer begins, and the most bytes that are alive at once."""
    groups: dict[SSAValue, list[SSAValue]] = {}
    for buffer in arena:
        if buffer in alive.of:
            groups.setdefault(_first_host(buffer, hosts), []).append(buffer)
    buffers = [
        Buffer(
            arena[first],
            min(alive.of[buffer].first for buffer in group),
            max(alive.of[buffer].last for buffer in group),
        )
        for first, group in groups.items()
    ]
    plan = plan_memory(buffers, MAX_PLACED)
    offsets = {
        buffer: offset
        for group, offset in zip(groups.values(), plan.offsets, strict=True)
        for buffer in group
    }
    return offsets, plan.peak


def _first_host(buffer: SSAValue, hosts: Mapping[SSAValue, SSAValue]) -> SSAValue:
    while buffer in hosts:
        buffer = hosts[buffer]
    return buffer


def _own_bytes(arena: Mapping[SSAValue, int], alive: Lifetimes, kernels: Kernels) -> int:
    """
    The most bytes that one step touches, a bound for frames with branches and loops.

    The search takes those for one step, which keeps more alive than they do.
    """
    found = [0]
    for op in alive.steps:
        if isinstance(op, CallOp):
            roots = {root_of(value) for value in op.parameters}
            saved = [arena.get(root_of(op.parameters[target]), 0) for target, _ in replaceable(op, kernels)]
            found.append(sum(arena.get(root, 0) for root in roots) - max(saved, default=0))
    return max(found)
