"""
`dla-schedule`: layers in the order that keeps least memory alive; constants first, views where they are
ready.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.dla.storage import ConstantOp
from xonnc.lowering.dla.layers import VIEW_OPS, Chain, chains
from xonnc.lowering.dla.networks import blocks
from xonnc.lowering.dla.views import Views, is_in_memory, root_bytes
from xonnc.lowering.memory_planning.order import Step, best_order
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class DlaSchedule(ModulePass):
    """Orders the layers of a network."""

    name = "dla-schedule"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule(op, load_target(self.target))


def schedule(module: ModuleOp, target: NvdlaTarget) -> None:
    """Orders the layers of every function of `module`."""
    for block in blocks(module):
        _schedule_block(block, target)


def _schedule_block(block: Block, target: NvdlaTarget) -> None:
    units = list(chains(block))
    writer = {unit.result: index for index, unit in enumerate(units)}
    roots = _Roots(block, target)
    steps = [
        Step(
            tuple(
                sorted(
                    {
                        writer[value]
                        for operand in unit.inputs
                        for value in _written(operand)
                        if value in writer
                    }
                )
            ),
            tuple(
                sorted({roots.number(value) for value in (*unit.inputs, unit.result) if is_in_memory(value)})
            ),
        )
        for unit in units
    ]
    order = best_order(steps, roots.sizes, frozenset(roots.kept))
    _reorder(block, [units[index] for index in order.steps])


class _Roots:
    """Numbers and sizes of the cubes that have memory of their own."""

    def __init__(self, block: Block, target: NvdlaTarget):
        self._views = Views(block, target)
        self._target = target
        self._numbers: dict[SSAValue, int] = {}
        self.sizes: list[int] = []
        last = block.last_op
        bound = [*block.args, *(last.operands if last is not None else ())]
        self.kept = {self.number(value) for value in bound if is_in_memory(value)}

    def number(self, value: SSAValue) -> int:
        """The number of the root in which `value` lies."""
        root = self._views.root(value)
        if root not in self._numbers:
            self._numbers[root] = len(self.sizes)
            self.sizes.append(root_bytes(root, self._target))
        return self._numbers[root]


def _written(value: SSAValue) -> Iterator[SSAValue]:
    """The chains' results that `value` shows, through views."""
    owner = value.owner
    if isinstance(owner, VIEW_OPS):
        for operand in owner.operands:
            yield from _written(operand)
    else:
        yield value


def _reorder(block: Block, units: list[Chain]) -> None:
    """Constants first, then the chains as given; a view follows what it is made of."""
    last = block.last_op
    assert last is not None
    views = [op for op in block.ops if isinstance(op, VIEW_OPS)]
    constants = [op for op in block.ops if isinstance(op, ConstantOp)]
    waiting: dict[Operation, int] = {view: len(set(view.operands)) for view in views}
    readers: dict[SSAValue, list[Operation]] = {}
    for view in views:
        for operand in set(view.operands):
            readers.setdefault(operand, []).append(view)
    ordered: list[Operation] = [*constants]

    def available(value: SSAValue) -> None:
        for view in readers.get(value, ()):
            waiting[view] -= 1
            if not waiting[view]:
                ordered.append(view)
                available(view.results[0])

    for value in (*block.args, *(constant.result for constant in constants)):
        available(value)
    for unit in units:
        ordered.extend(unit.ops)
        available(unit.result)
    for op in ordered:
        op.detach()
        block.insert_op_before(op, last)
