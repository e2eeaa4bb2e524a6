"""The memory of a network's activations as a map, from the attributes of the IR."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import MemoryRole
from xonnc.dialects.dla.storage import MemoryOp
from xonnc.dialects.dla.types import SurfaceType
from xonnc.dialects.onnx.locations import describe
from xonnc.lowering.dla.dla_allocate import ACTIVATIONS
from xonnc.lowering.dla.layers import chains
from xonnc.lowering.dla.networks import bytes_of, network
from xonnc.lowering.dla.steps import shown_by
from xonnc.lowering.memory_planning.memory_map import MemoryMap, Placed
from xonnc.targets import NvdlaTarget


def memory_map(module: ModuleOp, target: NvdlaTarget) -> MemoryMap:
    """The activations of the network in a module after `dla-allocate`."""
    _, block = network(module)
    units = list(chains(block))
    lasts: dict[SSAValue, int] = {}
    for step, unit in enumerate(units):
        for value in (unit.result, *(shown for cube in unit.cubes for shown in shown_by(cube))):
            lasts[value] = step
    buffers = tuple(
        Placed(describe(unit.ops[-1]), step, lasts[unit.result], type_.offset.data, bytes_of(type_, target))
        for step, unit in enumerate(units)
        if isinstance(type_ := unit.result.type, SurfaceType) and type_.memory.data == ACTIVATIONS
    )
    steps = tuple(f"{describe(unit.ops[-1])}: {'+'.join(op.name for op in unit.ops)}" for unit in units)
    for op in module.walk():
        if isinstance(op, MemoryOp) and op.role is MemoryRole.ACTIVATIONS:
            bounds = [None if each is None else each.value.data for each in (op.peak, op.lower_bound)]
            return MemoryMap(steps, buffers, op.size.value.data, *bounds)
    return MemoryMap(steps, buffers, 0, 0, 0)
