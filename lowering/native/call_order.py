"""
Reorder the calls of an allocation scope to minimise the peak of live memory.

Read-after-write, write-after-read and write-after-write dependencies on buffers are respected. Host steps are
barriers: calls are reordered only between two of them, since a run of calls becomes one native function.
Where shapes are dynamic, orders are compared by their nominal sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.memory import CallOp
from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime, peak_live_bytes
from xonnc.lowering.memory_planning.scheduling import Schedule, ScheduleStep, min_peak_schedule
from xonnc.lowering.native.in_place import Kernels, in_place_candidates
from xonnc.lowering.native.lifetimes import (
    NATIVE_STEPS,
    NON_COMPUTING_OPS,
    accessed_buffers,
    arena_buffers,
    checked_buffers,
    lifetimes,
    root_of,
)
from xonnc.lowering.native.nominal_sizes import nominal_bytes
from xonnc.lowering.native.read_program import SIZE_OPS


def order_calls(block: Block, kernels: Kernels) -> Schedule:
    """Reorder the steps of a scope for the lowest peak found; return the schedule."""
    ops = [op for op in block.ops if type(op) not in NON_COMPUTING_OPS]
    graph = _DependencyGraph(block, kernels)
    steps = list(graph.steps(ops))
    schedule = min_peak_schedule(steps, graph.sizes, frozenset(graph.pending_checks))
    if schedule.steps != tuple(range(len(ops))):
        _reorder(block, [ops[index] for index in schedule.steps])
    return schedule


class _DependencyGraph:
    """The dependency graph of a scope's steps, and the arena buffers, by number, that each accesses."""

    def __init__(self, block: Block, kernels: Kernels) -> None:
        self._kernels = kernels
        self._arena = {buffer: size or nominal_bytes(buffer) for buffer, size in arena_buffers(block).items()}
        self._numbers = {buffer: number for number, buffer in enumerate(self._arena)}
        self.sizes = list(self._arena.values())
        self._alive = lifetimes(block).of
        self._range_checked = set(checked_buffers(block))
        self.pending_checks: list[int] = []
        """Buffers of range checks, read after the last of the native calls since the previous host step."""
        self._writers: dict[SSAValue, int] = {}
        """The last step that wrote each root buffer."""
        self._readers: dict[SSAValue, list[int]] = {}
        """The steps that read each root buffer since that write."""

    def steps(self, ops: list[Operation]) -> Iterator[ScheduleStep]:
        """Return the scheduling problem for `ops`."""
        host: int | None = None
        calls: list[int] = []
        for index, op in enumerate(ops):
            accessed = accessed_buffers(op)
            needs = self._needs(index, op, accessed)
            needs |= set() if host is None else {host}
            outer = [root for root in accessed if not op.is_ancestor(root.owner) or root in op.results]
            buffers = [self._numbers[root] for root in outer if root in self._numbers]
            if isinstance(op, NATIVE_STEPS):
                calls.append(index)
                self.pending_checks += [self._numbers[root] for root in outer if root in self._range_checked]
            else:
                needs |= set(calls)
                buffers += self.pending_checks
                host, calls, self.pending_checks = index, [], []
            buffers += self._inner(op, accessed)
            yield ScheduleStep(tuple(sorted(needs)), tuple(dict.fromkeys(buffers)), tuple(self._pairs(op)))

    def _needs(self, index: int, op: Operation, accessed: list[SSAValue]) -> set[int]:
        """Return the earlier steps that write what a step accesses, or read what it writes."""
        written = {root_of(value) for value in op.outputs} if isinstance(op, CallOp) else set(accessed)
        needs = {self._writers[root] for root in accessed if root in self._writers}
        for root in accessed:
            if root in written:
                needs.update(self._readers.pop(root, ()))
                self._writers[root] = index
            else:
                self._readers.setdefault(root, []).append(index)
        return needs

    def _inner(self, op: Operation, accessed: list[SSAValue]) -> list[int]:
        """
        Return a pseudo-buffer for the buffers allocated inside of a branch or loop.

        Its size is the peak of what is alive inside at once: outside, only that peak matters.
        """
        if not isinstance(op, scf.IfOp | scf.WhileOp):
            return []
        inside = [root for root in accessed if root in self._numbers and op.is_ancestor(root.owner)]
        spans = [
            BufferLifetime(self._arena[root], self._alive[root].first, self._alive[root].last)
            for root in inside
        ]
        self.sizes.append(peak_live_bytes(spans))
        return [len(self.sizes) - 1]

    def _pairs(self, op: Operation) -> Iterator[tuple[int, int]]:
        """Yield pairs of a buffer that a call may write in place, and the buffer whose memory it takes."""
        for target, source in in_place_candidates(op, self._kernels) if isinstance(op, CallOp) else ():
            written, read = (root_of(op.operands[index]) for index in (target, source))
            if (
                written in self._numbers
                and read in self._numbers
                and self._arena[written] <= self._arena[read]
            ):
                yield self._numbers[written], self._numbers[read]


def _reorder(block: Block, steps: list[Operation]) -> None:
    """
    Move steps into an order, each preceded by the allocations and views that it uses.

    Size arithmetic, which allocations depend on, stays first; operations that no step uses go last.
    """
    end = block.last_op
    assert end is not None
    remaining = dict.fromkeys(op for op in block.ops if op is not end)
    sizes = [op for op in remaining if isinstance(op, SIZE_OPS)]

    def schedule(op: Operation) -> None:
        if op not in remaining:
            return
        del remaining[op]
        for inner in op.walk():
            for operand in inner.operands:
                if isinstance(operand.owner, Operation):
                    schedule(operand.owner)
        op.detach()
        block.insert_op_before(op, end)

    for op in (*sizes, *steps, *list(remaining)):
        schedule(op)
