"""
`dla-allocate`: assign an address to every cube and constant; tensors become surfaces.

Network inputs and outputs have a memory object each. Constants share one, and so do all other cubes, which
reuse memory of dead ones. An elementwise SDP pass may write in place over an operand whose last reader it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import ConstantLayout, MemoryRole
from xonnc.dialects.dla.storage import ConstantOp, MemoryOp
from xonnc.dialects.dla.types import PackedType, SurfaceType, cube_of, image_of, tensor_of
from xonnc.errors import XonncError
from xonnc.formats.nvdla.geometry import round_up
from xonnc.lowering.dla.fused_layers import FusedLayer, fused_layers
from xonnc.lowering.dla.layer_graph import activation_lower_bound, elementwise_operands
from xonnc.lowering.dla.network_checks import network
from xonnc.lowering.dla.packing import constant_bytes
from xonnc.lowering.dla.views import Views, is_in_memory, root_bytes
from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime, OffsetAssignment, assign_offsets
from xonnc.targets import NvdlaTarget, load_target

ACTIVATIONS = "activations"
CONSTANTS = "constants"
CONSTANT_ALIGNMENT = 128
"""Recommended alignment of weights (docs/internals/nvdla-hardware.md §3.4)."""


@dataclass(frozen=True)
class DlaAllocate(ModulePass):
    """Assign an address to every cube and constant."""

    name = "dla-allocate"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate(op, load_target(self.target))


def allocate(module: ModuleOp, target: NvdlaTarget) -> None:
    """Assign addresses in the only function of `module`."""
    function, block = network(module)
    if any(isinstance(op, MemoryOp) for op in module.walk()):
        raise XonncError("the module has memory objects already; run dla-allocate on cubes without addresses")
    lifetimes = _Lifetimes(block, target)
    plan, places = lifetimes.plan()
    lower_bound = activation_lower_bound(block, target)
    memories = {ACTIVATIONS: (plan.size, MemoryRole.ACTIVATIONS)}
    for index, root in enumerate(lifetimes.inputs):
        places[root] = (f"input_{index}", 0)
        memories[f"input_{index}"] = (lifetimes.size(root), MemoryRole.INPUT)
    for index, root in enumerate(lifetimes.outputs):
        places[root] = (f"output_{index}", 0)
        memories[f"output_{index}"] = (lifetimes.size(root), MemoryRole.OUTPUT)
    constants, size = _constant_types(block, target)
    memories[CONSTANTS] = (size, MemoryRole.CONSTANTS)
    places |= {value: (CONSTANTS, type_.offset.data) for value, type_ in constants.items()}
    cubes = _cube_types(block, lifetimes.views, places)
    for value, type_ in (constants | cubes).items():
        Rewriter.replace_value_with_new_type(value, type_)
    function.update_function_type()
    for name, (size, role) in memories.items():
        if size:
            bounds = (plan.peak, lower_bound) if role is MemoryRole.ACTIVATIONS else None
            _before(function, MemoryOp(name, size, role, bounds))


def _before(function: FuncOp, memory: MemoryOp) -> None:
    block = function.parent_block()
    assert block is not None
    block.insert_op_before(memory, function)


class _Lifetimes:
    """The first and last fused layer that accesses each root (a cube with memory of its own)."""

    def __init__(self, block: Block, target: NvdlaTarget):
        self.views = Views(block, target)
        self._target = target
        self._chains = list(fused_layers(block))
        self._touches: dict[SSAValue, list[int]] = {}
        for index, fused in enumerate(self._chains):
            for value in (*fused.cubes, fused.result):
                root = self.views.root(value)
                if is_in_memory(root):
                    self._touches.setdefault(root, []).append(index)
        last = block.last_op
        self.inputs: tuple[SSAValue, ...] = tuple(block.args)
        self.outputs = tuple(self.views.root(value) for value in (last.operands if last is not None else ()))

    def size(self, root: SSAValue) -> int:
        """Return the bytes of a root."""
        return root_bytes(root, self._target)

    def plan(self) -> tuple[OffsetAssignment, dict[SSAValue, tuple[str, int]]]:
        """
        Return the smaller of two plans, with and without writing in place, and the address of each root.
        """
        bound = {*self.inputs, *self.outputs}
        roots = [root for root in self._touches if root not in bound]
        # Cubes that share memory are placed as one buffer of the joint lifetime, which can fit worse than the
        # separate ones: neither plan is always the smaller.
        in_place = self._plan(roots, self._hosts(roots))
        apart = self._plan(roots, {})
        return min(in_place, apart, key=lambda choice: choice[0].size)

    def _plan(
        self, roots: list[SSAValue], hosts: dict[SSAValue, SSAValue]
    ) -> tuple[OffsetAssignment, dict[SSAValue, tuple[str, int]]]:
        groups: dict[SSAValue, list[SSAValue]] = {}
        for root in roots:
            groups.setdefault(_last_host(root, hosts), []).append(root)
        buffers = [
            BufferLifetime(
                max(self.size(root) for root in group),
                min(self._touches[root][0] for root in group),
                max(self._touches[root][-1] for root in group),
            )
            for group in groups.values()
        ]
        plan = assign_offsets(buffers)
        places = {
            root: (ACTIVATIONS, offset)
            for group, offset in zip(groups.values(), plan.offsets, strict=True)
            for root in group
        }
        return plan, places

    def _hosts(self, roots: list[SSAValue]) -> dict[SSAValue, SSAValue]:
        """Return for each root the one that it may be written over."""
        hosts: dict[SSAValue, SSAValue] = {}
        taken: set[SSAValue] = set()
        candidates = set(roots)
        for root in roots:
            begin = self._touches[root][0]
            for operand in elementwise_operands(self._chains[begin]):
                host = self.views.root(operand)
                # One root per host: two that are written over the same host could be live at once.
                if host in candidates and host not in taken and self._may_overwrite(root, host):
                    hosts[root] = host
                    taken.add(host)
                    break
        return hosts

    def _may_overwrite(self, root: SSAValue, host: SSAValue) -> bool:
        """
        Whether every layer that reads `host` from the write of `root` on reads each element where it writes
        it.
        """
        begin = self._touches[root][0]
        if root == host or self._touches[host][0] >= begin:
            return False
        return all(
            self._reads_where_it_writes(self._chains[index], root, host)
            for index in self._touches[host]
            if index >= begin
        )

    def _reads_where_it_writes(self, fused: FusedLayer, root: SSAValue, host: SSAValue) -> bool:
        here = self.views.of(fused.result)
        # Windows of a fused convolution reach rows that the SDP pass has already overwritten.
        first = [operand for op in fused.ops[:-1] for operand in op.operands]
        if any(is_in_memory(operand) and self.views.root(operand) == host for operand in first):
            return False
        reads = [operand for operand in fused.cubes if self.views.root(operand) == host]
        allowed = set(elementwise_operands(fused))
        return here.root == root and all(
            operand in allowed
            and self.views.of(operand).offset == here.offset
            and self.views.of(operand).line_stride == here.line_stride
            and self.views.of(operand).surface_stride == here.surface_stride
            for operand in reads
        )


def _last_host(root: SSAValue, hosts: dict[SSAValue, SSAValue]) -> SSAValue:
    while root in hosts:
        root = hosts[root]
    return root


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
    block: Block, views: Views, places: dict[SSAValue, tuple[str, int]]
) -> dict[SSAValue, SurfaceType | PackedType]:
    types: dict[SSAValue, SurfaceType | PackedType] = {}
    for value in _cubes(block):
        view = views.of(value)
        memory, base = places[view.root]
        types[value] = _surface(value, memory, base + view.offset, view.line_stride, view.surface_stride)
    return types


def _cubes(block: Block) -> Iterator[SSAValue]:
    yield from (value for value in block.args if is_in_memory(value))
    for op in block.ops:
        yield from (value for value in op.results if is_in_memory(value))


def _surface(value: SSAValue, memory: str, offset: int, line: int, surface: int) -> SurfaceType:
    held = image_of(value.type) or tensor_of(value.type)
    return SurfaceType(held, StringAttr(memory), IntAttr(offset), IntAttr(line), IntAttr(surface))
