"""Lifetimes of the cubes of a network, and their offsets in the memories that they share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Block, SSAValue

from xonnc.lowering.dla.fused_layers import FusedLayer, fused_layers
from xonnc.lowering.dla.layer_graph import elementwise_operands
from xonnc.lowering.dla.views import Views, is_in_memory, root_bytes
from xonnc.lowering.memory_planning.offset_assignment import (
    Allocator,
    BufferLifetime,
    OffsetAssignment,
    assign_offsets,
)
from xonnc.targets import NvdlaTarget

ACTIVATIONS = "activations"
CVSRAM = "cvsram"
CONSTANTS = "constants"


class Lifetimes:
    """The first and last fused layer that accesses each root (a cube with memory of its own)."""

    def __init__(self, block: Block, target: NvdlaTarget):
        self.views = Views(block, target)
        self._target = target
        self.layers = list(fused_layers(block))
        self._touches: dict[SSAValue, list[int]] = {}
        for index, fused in enumerate(self.layers):
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

    @property
    def roots(self) -> list[SSAValue]:
        """The roots that share memory: all but those of network inputs and outputs, in order of first use."""
        bound = {*self.inputs, *self.outputs}
        return [root for root in self._touches if root not in bound]

    def span(self, root: SSAValue) -> tuple[int, int]:
        """Return the first and the last layer that accesses a root."""
        return self._touches[root][0], self._touches[root][-1]

    def plan(
        self,
        roots: Sequence[SSAValue],
        memory: str,
        max_placed: int | None = None,
        alone: Collection[SSAValue] = (),
        allocator: Allocator = "auto",
    ) -> tuple[OffsetAssignment, dict[SSAValue, tuple[str, int]]]:
        """
        Return the smaller of two plans, with and without writing in place, and the address of each root.

        `max_placed` limits the search as in `assign_offsets`. Cubes in `alone` share memory with no other.
        """
        # Cubes that share memory are placed as one buffer of the joint lifetime, which can fit worse than the
        # separate ones: neither plan is always the smaller.
        hosts = self._hosts([root for root in roots if root not in alone])
        in_place = self._plan(roots, hosts, memory, max_placed, alone, allocator)
        apart = self._plan(roots, {}, memory, max_placed, alone, allocator)
        return min(in_place, apart, key=lambda choice: choice[0].size)

    def _plan(
        self,
        roots: Sequence[SSAValue],
        hosts: dict[SSAValue, SSAValue],
        memory: str,
        max_placed: int | None,
        alone: Collection[SSAValue],
        allocator: Allocator,
    ) -> tuple[OffsetAssignment, dict[SSAValue, tuple[str, int]]]:
        groups: dict[SSAValue, list[SSAValue]] = {}
        for root in roots:
            groups.setdefault(_last_host(root, hosts), []).append(root)
        buffers = [
            BufferLifetime(
                max(self.size(root) for root in group),
                0 if group[0] in alone else min(self._touches[root][0] for root in group),
                len(self.layers) if group[0] in alone else max(self._touches[root][-1] for root in group),
            )
            for group in groups.values()
        ]
        plan = assign_offsets(buffers, max_placed, allocator)
        addresses = {
            root: (memory, offset)
            for group, offset in zip(groups.values(), plan.offsets, strict=True)
            for root in group
        }
        return plan, addresses

    def _hosts(self, roots: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
        """Return for each root the one that it may be written over."""
        hosts: dict[SSAValue, SSAValue] = {}
        taken: set[SSAValue] = set()
        candidates = set(roots)
        for root in roots:
            begin = self._touches[root][0]
            for operand in elementwise_operands(self.layers[begin]):
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
            self._reads_where_it_writes(self.layers[index], root, host)
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
