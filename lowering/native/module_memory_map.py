"""The memory plan of native code as a map, from the attributes of the IR."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.dialects.krnl.attributes import arena_of
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.locations import node_name
from xonnc.errors import XonncError
from xonnc.lowering.memory_planning.memory_map import MemoryMap, Placed
from xonnc.lowering.native.lifetimes import frames, lifetimes
from xonnc.lowering.native.memory_verification import intervals


def memory_map(module: ModuleOp) -> MemoryMap:
    """The arena of the model in a module after `plan-memory`; of parts that the session calls it has none."""
    function, block = next(frames(module), (None, None))
    arena = None if function is None else arena_of(function)
    if block is None or arena is None:
        raise XonncError("the module has no memory plan; run plan-memory first")
    buffers = tuple(
        Placed(each.name, each.alive.first, each.alive.last, each.offset, each.size)
        for each in intervals(block)
    )
    steps = tuple(map(_name, lifetimes(block).steps))
    size = arena.get("size", arena.get("blocks", 0))
    return MemoryMap(steps, buffers, size, arena.get("peak"), arena.get("lower_bound"))


def _name(op: Operation) -> str:
    kernel = op.func_name.data if isinstance(op, CallOp) else op.name
    node = node_name(op)
    return f"{node}: {kernel}" if node else kernel
