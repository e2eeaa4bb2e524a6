"""
`dla-allocate`: assign an address to every cube and constant; tensors become surfaces.

Network inputs and outputs have a memory object each. Constants share one, and so do all other cubes, which
reuse memory of dead ones. An elementwise SDP pass may write in place over an operand whose last reader it is.
Results of operations with the attribute `cvsram` share the on-chip memory in the same way. `mem-alloc` is
`auto`, `first-fit` or `best-fit`: the last two are for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout, MemoryRole
from xonnc.dialects.dla.storage import ConstantOp, KernelsOp, MemoryOp
from xonnc.dialects.dla.types import PackedType, SurfaceType, cube_of, image_of, tensor_of
from xonnc.errors import XonncError
from xonnc.formats.nvdla.geometry import round_up
from xonnc.lowering.dla.layer_graph import activation_lower_bound
from xonnc.lowering.dla.lifetimes import ACTIVATIONS, CONSTANTS, CVSRAM, Lifetimes
from xonnc.lowering.dla.network_checks import network
from xonnc.lowering.dla.packing import constant_bytes
from xonnc.lowering.dla.views import ON_CHIP, Views, is_in_memory, is_on_chip, root_bytes
from xonnc.lowering.memory_planning.offset_assignment import Allocator, require_allocator
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target

CONSTANT_ALIGNMENT = 128
"""Recommended alignment of weights (docs/internals/nvdla-hardware.md §3.4)."""


@dataclass(frozen=True)
class DlaAllocate(ModulePass):
    """Assign an address to every cube and constant."""

    name = "dla-allocate"

    target: str = "nv_full"
    mem_alloc: str = "auto"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate(op, load_target(self.target), require_allocator(self.mem_alloc))


def allocate(module: ModuleOp, target: NvdlaTarget, allocator: Allocator = "auto") -> None:
    """Assign addresses in the only function of `module`."""
    function, block = network(module)
    if any(isinstance(op, MemoryOp) for op in module.walk()):
        raise XonncError("the module has memory objects already; run dla-allocate on cubes without addresses")
    lifetimes = Lifetimes(block, target)
    roots = lifetimes.roots
    alone = {root for root in roots if not _may_share(root)}
    plan, addresses = lifetimes.plan(
        [root for root in roots if not is_on_chip(root)], ACTIVATIONS, alone=alone, allocator=allocator
    )
    on_chip, on_chip_addresses = lifetimes.plan(
        [root for root in roots if is_on_chip(root)], CVSRAM, alone=alone, allocator=allocator
    )
    if on_chip.size > target.cvsram_bytes:
        raise XonncError(
            f"the cubes marked '{ON_CHIP}' take {on_chip.size} bytes; the on-chip memory of {target.name} "
            f"has {target.cvsram_bytes}"
        )
    addresses |= on_chip_addresses
    lower_bound = activation_lower_bound(block, target)
    memories = {
        ACTIVATIONS: (plan.size, MemoryRole.ACTIVATIONS),
        CVSRAM: (on_chip.size, MemoryRole.ON_CHIP),
    }
    for index, root in enumerate(lifetimes.inputs):
        addresses[root] = (f"input_{index}", 0)
        memories[f"input_{index}"] = (lifetimes.size(root), MemoryRole.INPUT)
    for index, root in enumerate(lifetimes.outputs):
        addresses[root] = (f"output_{index}", 0)
        memories[f"output_{index}"] = (lifetimes.size(root), MemoryRole.OUTPUT)
    constants, size = _constant_types(block, target)
    memories[CONSTANTS] = (size, MemoryRole.CONSTANTS)
    addresses |= {value: (CONSTANTS, type_.offset.data) for value, type_ in constants.items()}
    cubes = _cube_types(block, lifetimes.views, addresses)
    for value, type_ in (constants | cubes).items():
        Rewriter.replace_value_with_new_type(value, type_)
    function.update_function_type()
    for name, (size, role) in memories.items():
        if size:
            bounds = (plan.peak, lower_bound) if role is MemoryRole.ACTIVATIONS else None
            _before(function, MemoryOp(name, size, role, bounds))


def _may_share(root: SSAValue) -> bool:
    """Whether a cube may share memory with others: bisection may give it memory of its own."""
    assert isinstance(root.owner, Operation), "arguments are network inputs"
    return may_decide(DlaAllocate.name, "shared memory", root.owner)


def _before(function: FuncOp, memory: MemoryOp) -> None:
    block = function.parent_block()
    assert block is not None
    block.insert_op_before(memory, function)


def _constant_types(
    block: Block, target: NvdlaTarget
) -> tuple[dict[SSAValue, SurfaceType | PackedType], int]:
    """Assign addresses to all constants, in order; return them with the total size."""
    types: dict[SSAValue, SurfaceType | PackedType] = {}
    end = 0
    for op in [op for op in block.ops if isinstance(op, ConstantOp)]:
        tensor, size = tensor_of(op.result.type), constant_bytes(op, target)
        if op.layout is ConstantLayout.CUBE:
            cube = cube_of(tensor)
            line = cube.width * target.memory_atom_bytes
            types[op.result] = _surface(op.result, CONSTANTS, end, line, line * cube.height)
        else:
            types[op.result] = PackedType(tensor, StringAttr(CONSTANTS), IntAttr(end), IntAttr(size))
        end += round_up(size, CONSTANT_ALIGNMENT)
    return types, end


def _cube_types(
    block: Block, views: Views, addresses: dict[SSAValue, tuple[str, int]]
) -> dict[SSAValue, SurfaceType | PackedType]:
    types: dict[SSAValue, SurfaceType | PackedType] = {}
    for value in _cubes(block):
        view = views.of(value)
        memory, base = addresses[view.root]
        if isinstance(value.owner, KernelsOp):
            tensor, size = tensor_of(value.type), root_bytes(view.root, views.target)
            types[value] = PackedType(tensor, StringAttr(memory), IntAttr(base), IntAttr(size))
            continue
        types[value] = _surface(value, memory, base + view.offset, view.line_stride, view.surface_stride)
    return types


def _cubes(block: Block) -> Iterator[SSAValue]:
    yield from (value for value in block.args if is_in_memory(value))
    for op in block.ops:
        yield from (value for value in op.results if is_in_memory(value))


def _surface(value: SSAValue, memory: str, offset: int, line: int, surface: int) -> SurfaceType:
    cube = image_of(value.type) or tensor_of(value.type)
    return SurfaceType(cube, StringAttr(memory), IntAttr(offset), IntAttr(line), IntAttr(surface))
