"""The layers of a network as steps for the planner: which need which, and which activations they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, SSAValue

from xonnc.dialects.dla.engines import SdpOp
from xonnc.dialects.dla.types import cube_of, shape_of
from xonnc.lowering.dla.layers import VIEW_OPS, Chain, chains
from xonnc.lowering.dla.views import Views, is_in_memory, root_bytes
from xonnc.lowering.memory_planning.scheduling import Order, Step, best_order
from xonnc.targets import NvdlaTarget


def best_order_of(block: Block, target: NvdlaTarget) -> tuple[list[Chain], Order]:
    """The chains of a block, and the order of them that keeps least activations alive."""
    units = list(chains(block))
    graph = _Graph(block, target, units)
    return units, best_order(graph.steps(), graph.sizes, frozenset())


def lower_bound_of(block: Block, target: NvdlaTarget) -> int:
    """
    Bytes of activations below which the peak of no order of the chains lies.

    A cube that several layers write, part by part, may lie where another one does all along, of which each
    reads the same part. Equally large ones count as one buffer then, which is alive as long as either; of
    others the smaller counts as nothing.
    """
    graph = _Graph(block, target, list(chains(block)))
    graph.join_parts()
    return best_order(graph.steps(), graph.sizes, frozenset()).lower_bound


class _Graph:
    """Numbers and sizes of the cubes that share memory; inputs and outputs of the network have their own."""

    def __init__(self, block: Block, target: NvdlaTarget, units: Sequence[Chain]):
        self._views = Views(block, target)
        self._units = units
        self.sizes: list[int] = []
        self._numbers: dict[SSAValue, int] = {}
        last = block.last_op
        bound = [*block.args, *(last.operands if last is not None else ())]
        own = {self._views.root(value) for value in bound if is_in_memory(value)}
        for unit in units:
            for root in self._roots(unit):
                if root not in own and root not in self._numbers:
                    self._numbers[root] = len(self.sizes)
                    self.sizes.append(root_bytes(root, target))

    def _roots(self, unit: Chain) -> Iterator[SSAValue]:
        """The cubes with memory that a chain reads or writes."""
        for value in (*unit.cubes, unit.result):
            if is_in_memory(value) and is_in_memory(root := self._views.root(value)):
                yield root

    def join_parts(self) -> None:
        """Leaves out what a cube that is written part by part may save."""
        pairs: dict[tuple[SSAValue, SSAValue], int] = {}
        for unit in self._units:
            root = self._views.root(unit.result)
            for host in self._hosts(unit) if root in self._numbers else ():
                pairs[host, root] = pairs.get((host, root), 0) + 1
        for (host, root), layers in pairs.items():
            # With one layer alone, the other cube has to end there: a pair of its step.
            if layers > 1:
                self._join(self._numbers[host], self._numbers[root])

    def _join(self, host: int, number: int) -> None:
        if self.sizes[host] != self.sizes[number]:
            self.sizes[min(host, number, key=lambda each: self.sizes[each])] = 0
        elif host != number:
            self._numbers = {root: host if own == number else own for root, own in self._numbers.items()}

    def _hosts(self, unit: Chain) -> Iterator[SSAValue]:
        """The roots that a chain may write where they lie."""
        # A convolution's windows reach rows that the pass after it has written already.
        first = [value for op in unit.ops[:-1] for value in op.operands if is_in_memory(value)]
        reached = {self._views.root(value) for value in first}
        for operand in overwritable(unit):
            host = self._views.root(operand)
            if host in self._numbers and host not in reached and self._are_alike(operand, unit.result):
                yield host

    def _are_alike(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether two cubes lie alike in their roots, so that the same elements may have the same place."""
        views = self._views.of(one), self._views.of(other)
        places = [(view.offset, view.line_stride, view.surface_stride) for view in views]
        return places[0] == places[1]

    def steps(self) -> list[Step]:
        """A step for each chain."""
        writer = {unit.result: index for index, unit in enumerate(self._units)}
        return [
            Step(
                tuple(sorted({writer[value] for value in _read(unit) if value in writer})),
                tuple(sorted(self._touched(unit))),
                tuple(self._pairs(unit)),
            )
            for unit in self._units
        ]

    def _touched(self, unit: Chain) -> set[int]:
        return {self._numbers[root] for root in self._roots(unit) if root in self._numbers}

    def _pairs(self, unit: Chain) -> Iterator[tuple[int, int]]:
        root = self._views.root(unit.result)
        if root in self._numbers:
            for host in self._hosts(unit):
                if self._numbers[host] != self._numbers[root]:
                    yield self._numbers[root], self._numbers[host]


def overwritable(chain: Chain) -> tuple[SSAValue, ...]:
    """
    What a chain reads element by element as it writes: the cubes that its last pass of the SDP takes from
    memory.
    """
    op = chain.ops[-1]
    if not isinstance(op, SdpOp):
        return ()
    shape = cube_of(op.result.type)
    cubes = [
        operand for operand in op.operands if operand in chain.cubes and len(shape_of(operand.type)) == 4
    ]
    return tuple(operand for operand in cubes if cube_of(operand.type) == shape)


def _read(unit: Chain) -> Iterator[SSAValue]:
    for operand in unit.inputs:
        yield from shown_by(operand)


def shown_by(value: SSAValue) -> Iterator[SSAValue]:
    """The chains' results that `value` shows, through views."""
    owner = value.owner
    if isinstance(owner, VIEW_OPS):
        for operand in owner.operands:
            yield from shown_by(operand)
    else:
        yield value
