"""
The order of a frame's calls that keeps least memory alive.

What reads and writes the same buffer stays in order, and so do steps of the host with all others: calls move
between two of these alone. For dynamic sizes, orders are compared as if each dynamic dimension of
an input were `NOMINAL`.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.formats.native.program import aligned
from xonnc.lowering.memory_planning.offset_assignment import Buffer, live_set_bound
from xonnc.lowering.memory_planning.scheduling import Order, Step, best_order
from xonnc.lowering.native.in_place import Kernels, replaceable
from xonnc.lowering.native.lifetimes import (
    NATIVE_STEPS,
    SUPPORT,
    arena_buffers,
    checked_buffers,
    lifetimes,
    root_of,
    touched_by,
)
from xonnc.lowering.native.read_program import SIZE_OPS

NOMINAL = 64
"""A dynamic dimension of an input, to compare orders by."""


def order_calls(block: Block, kernels: Kernels) -> Order:
    """Puts the steps of a frame in the best order found; gives that with the bytes of the arena's buffers."""
    ops = [op for op in block.ops if type(op) not in SUPPORT]
    graph = _Graph(block, kernels)
    steps = list(graph.steps(ops))
    order = best_order(steps, graph.sizes, frozenset(graph.checked))
    if order.steps != tuple(range(len(ops))):
        _move(block, [ops[index] for index in order.steps])
    return order


class _Graph:
    """What each step of a frame needs, and which buffers of the arena it touches, by number."""

    def __init__(self, block: Block, kernels: Kernels) -> None:
        self._kernels = kernels
        self._arena = {buffer: size or nominal_bytes(buffer) for buffer, size in arena_buffers(block).items()}
        self._numbers = {buffer: number for number, buffer in enumerate(self._arena)}
        self.sizes = list(self._arena.values())
        self._alive = lifetimes(block).of
        self._held = set(checked_buffers(block))
        self.checked: list[int] = []
        """Buffers that are looked at when the calls since the last step of the host have run."""
        self._writers: dict[SSAValue, int] = {}
        """The step that wrote each root last."""
        self._readers: dict[SSAValue, list[int]] = {}
        """The steps that have read each root since."""

    def steps(self, ops: list[Operation]) -> Iterator[Step]:
        """The steps that `ops` are."""
        host: int | None = None
        calls: list[int] = []
        for index, op in enumerate(ops):
            touched = touched_by(op)
            needs = self._needs(index, op, touched)
            needs |= set() if host is None else {host}
            outer = [root for root in touched if not op.is_ancestor(root.owner) or root in op.results]
            buffers = [self._numbers[root] for root in outer if root in self._numbers]
            if isinstance(op, NATIVE_STEPS):
                calls.append(index)
                self.checked += [self._numbers[root] for root in outer if root in self._held]
            else:
                needs |= set(calls)
                buffers += self.checked
                host, calls, self.checked = index, [], []
            buffers += self._inner(op, touched)
            yield Step(tuple(sorted(needs)), tuple(dict.fromkeys(buffers)), tuple(self._pairs(op)))

    def _needs(self, index: int, op: Operation, touched: list[SSAValue]) -> set[int]:
        """The steps before that write what a step touches, or read what it writes."""
        written = {root_of(value) for value in op.outputs} if isinstance(op, CallOp) else set(touched)
        needs = {self._writers[root] for root in touched if root in self._writers}
        for root in touched:
            if root in written:
                needs.update(self._readers.pop(root, ()))
                self._writers[root] = index
            else:
                self._readers.setdefault(root, []).append(index)
        return needs

    def _inner(self, op: Operation, touched: list[SSAValue]) -> list[int]:
        """A buffer as large as what is alive at once of those that are made inside of a branch or a loop."""
        if not isinstance(op, scf.IfOp | scf.WhileOp):
            return []
        inside = [root for root in touched if root in self._numbers and op.is_ancestor(root.owner)]
        spans = [
            Buffer(self._arena[root], self._alive[root].first, self._alive[root].last) for root in inside
        ]
        self.sizes.append(live_set_bound(spans))
        return [len(self.sizes) - 1]

    def _pairs(self, op: Operation) -> Iterator[tuple[int, int]]:
        """The buffers that a call may write in place, with those that lie there."""
        for target, source in replaceable(op, self._kernels) if isinstance(op, CallOp) else ():
            written, read = (root_of(op.operands[place]) for place in (target, source))
            if (
                written in self._numbers
                and read in self._numbers
                and self._arena[written] == self._arena[read]
            ):
                yield self._numbers[written], self._numbers[read]


def nominal_bytes(buffer: SSAValue) -> int:
    """Bytes of a buffer of which only a run tells sizes, if dynamic dimensions of inputs were `NOMINAL`."""
    owner = buffer.owner
    if not isinstance(owner, memref.AllocOp) or not is_buffer(buffer.type) or not owner.dynamic_sizes:
        return 0
    known: dict[SSAValue, int] = {}
    count = 1
    for size in buffer.type.get_shape():
        count *= max(size, 1)
    for size in owner.dynamic_sizes:
        count *= max(1, _nominal(size, known))
    return aligned(count * numpy_dtype(buffer.type.element_type).itemsize)


def _nominal(size: SSAValue, known: dict[SSAValue, int]) -> int:
    """A size that a run computes, of such inputs."""
    if size in known:
        return known[size]
    owner = size.owner
    values = [_nominal(operand, known) for operand in owner.operands] if isinstance(owner, SIZED) else []
    match owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            found = number.data
        case arith.AddiOp():
            found = values[0] + values[1]
        case arith.MuliOp():
            found = values[0] * values[1]
        case arith.FloorDivSIOp():
            found = values[0] // max(1, values[1])
        case arith.MinSIOp():
            found = min(values)
        case arith.MaxSIOp():
            found = max(values)
        case _:
            found = NOMINAL
    known[size] = found
    return found


SIZED = (arith.AddiOp, arith.FloorDivSIOp, arith.MaxSIOp, arith.MinSIOp, arith.MuliOp)


def _move(block: Block, steps: list[Operation]) -> None:
    """
    Puts steps in an order, each after the buffers and views that it needs and that are not there yet.

    Sizes, on which all depend, stay first; what no step needs goes last.
    """
    end = block.last_op
    assert end is not None
    waiting = dict.fromkeys(op for op in block.ops if op is not end)
    sizes = [op for op in waiting if isinstance(op, SIZE_OPS)]

    def place(op: Operation) -> None:
        if op not in waiting:
            return
        del waiting[op]
        for inner in op.walk():
            for operand in inner.operands:
                if isinstance(operand.owner, Operation):
                    place(operand.owner)
        op.detach()
        block.insert_op_before(op, end)

    for op in (*sizes, *steps, *list(waiting)):
        place(op)
