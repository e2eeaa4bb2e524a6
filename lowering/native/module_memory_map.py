"""Build the map of a native memory plan from the attributes of the IR."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.dialects.krnl.attributes import arena_of
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.locations import node_name
from xonnc.errors import XonncError
from xonnc.lowering.memory_planning.memory_map import MemoryMap, PlacedBuffer
from xonnc.lowering.native.lifetimes import allocation_scopes, lifetimes
from xonnc.lowering.native.memory_verification import planned_intervals


def memory_map(module: ModuleOp) -> MemoryMap:
    """Return the arena of the model function after `plan-memory`; functions called later are not included."""
    function, block = next(allocation_scopes(module), (None, None))
    arena = None if function is None else arena_of(function)
    if block is None or arena is None:
        raise XonncError("the module has no memory plan; run plan-memory first")
    buffers = tuple(
        PlacedBuffer(each.name, each.alive.first, each.alive.last, each.offset, each.size)
        for each in planned_intervals(block)
    )
    steps = tuple(map(_name, lifetimes(block).steps))
    size = arena.get("size", arena.get("blocks", 0))
    return MemoryMap(steps, buffers, size, arena.get("peak"), arena.get("lower_bound"))


def _name(op: Operation) -> str:
    kernel = op.func_name.data if isinstance(op, CallOp) else op.name
    node = node_name(op)
    return f"{node}: {kernel}" if node else kernel
