"""The memory map of a network's activations, from the attributes of the IR."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import MemoryRole
from xonnc.dialects.dla.storage import MemoryOp
from xonnc.dialects.dla.types import SurfaceType
from xonnc.dialects.onnx.locations import describe
from xonnc.lowering.dla.fused_layers import fused_layers
from xonnc.lowering.dla.layer_graph import view_sources
from xonnc.lowering.dla.lifetimes import ACTIVATIONS
from xonnc.lowering.dla.network_checks import bytes_of, network
from xonnc.lowering.memory_planning.memory_map import MemoryMap, PlacedBuffer
from xonnc.targets import NvdlaTarget


def memory_map(module: ModuleOp, target: NvdlaTarget) -> MemoryMap:
    """Return the activations of the network in a module after `dla-allocate`."""
    _, block = network(module)
    layers = list(fused_layers(block))
    lasts: dict[SSAValue, int] = {}
    for step, layer in enumerate(layers):
        for value in (layer.result, *(shown for cube in layer.cubes for shown in view_sources(cube))):
            lasts[value] = step
    buffers = tuple(
        PlacedBuffer(
            describe(layer.ops[-1]), step, lasts[layer.result], type_.offset.data, bytes_of(type_, target)
        )
        for step, layer in enumerate(layers)
        if isinstance(type_ := layer.result.type, SurfaceType) and type_.memory.data == ACTIVATIONS
    )
    steps = tuple(f"{describe(layer.ops[-1])}: {'+'.join(op.name for op in layer.ops)}" for layer in layers)
    for op in module.walk():
        if isinstance(op, MemoryOp) and op.role is MemoryRole.ACTIVATIONS:
            bounds = [None if each is None else each.value.data for each in (op.peak, op.lower_bound)]
            return MemoryMap(steps, buffers, op.size.value.data, *bounds)
    return MemoryMap(steps, buffers, 0, 0, 0)
