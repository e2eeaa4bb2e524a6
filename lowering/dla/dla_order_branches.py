"""
`dla-order-branches`: alternate between independent branches, so that one loads while the other computes.

A layer loads its rows and weights while the queued layer before it computes, unless it reads that layer's
results (docs/internals/nvdla-hardware.md §9.4). Where the order of layers is free, each next layer is the one
after which the following layers end first by the cycle model, with the plans of convolutions as they are in
the order given. The new order is taken if the network, planned again, then takes at least 1.1 % fewer cycles,
and no more memory. Layers of several images alternate already (`dla-batch-images`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from xonnc.dialects.dla.images import holds_several_images
from xonnc.lowering.dla.dla_schedule import reorder
from xonnc.lowering.dla.fused_layers import EMULATED_OPS, FusedLayer, fused_layers
from xonnc.lowering.dla.layer_graph import LayerGraph
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.pipelined_plans import PlannedLayers
from xonnc.lowering.dla.plan_sequence import PlanSequence
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target

WINDOW: Final = 6
"""The next layers in order of which one is tried as the next."""

MIN_GAIN: Final = 0.011
"""
The part of the cycles that another order has to save. The timeline does not know which cubes will share
memory, and the events that its reuse needs: they can take all of smaller savings.
"""

LOOKAHEAD: Final = (4, 8)
"""Numbers of layers that are followed to compare the next ones; the better order is taken."""


@dataclass(frozen=True)
class DlaOrderBranches(ModulePass):
    """Alternate between independent branches of a network where that takes fewer cycles."""

    name = "dla-order-branches"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        order_branches(op, load_target(self.target))


def order_branches(module: ModuleOp, target: NvdlaTarget) -> None:
    """Order independent layers of every function of `module`."""
    for block in blocks(module):
        if not holds_several_images(block):
            _order(block, target)


def _order(block: Block, target: NvdlaTarget) -> None:
    layers = list(fused_layers(block))
    graph = LayerGraph(block, target, layers)
    planned = PlannedLayers(layers, target)
    search = _OrderSearch(layers, graph, planned)
    last = block.last_op
    assert last is not None
    if not search.has_choice() or not may_decide(DlaOrderBranches.name, "branch order", last):
        return
    least, best = (1 - MIN_GAIN) * planned.cycles, layers
    for indices in dict.fromkeys(search.order(lookahead) for lookahead in LOOKAHEAD):
        if indices != tuple(range(len(layers))) and (cycles := planned.cycles_of(indices)) < least:
            least, best = cycles, [layers[index] for index in indices]
    if best is not layers:
        reorder(block, best)


class _OrderSearch:
    """Orders of layers that respect what they read, and the peak memory of the given order."""

    def __init__(self, layers: Sequence[FusedLayer], graph: LayerGraph, planned: PlannedLayers):
        self._layers, self._graph, self._planned = layers, graph, planned
        self._needs = [step.needs for step in graph.steps()]
        self._peak = graph.peak(range(len(layers)))

    def has_choice(self) -> bool:
        """Whether some layer could come before another, unlike it, in the given order."""
        count = len(self._layers)
        return any(len([*self._choices(range(first, count), range(first))]) > 1 for first in range(count))

    def order(self, lookahead: int) -> tuple[int, ...]:
        """Return the order in which each layer is the best of the next ones."""
        sequence, live = self._planned.start(), self._graph.live_bytes()
        rest, order, done = [*range(len(self._layers))], list[int](), set[int]()
        while rest:
            # What is live after the window does not depend on the order within, so that the peak of the
            # layers behind stays as it is in the given order.
            window = rest[:WINDOW]
            tried = [
                index
                for index in self._choices(rest, done)
                if index == rest[0] or live.peak_of(_moved(window, index)) <= self._peak
            ]
            ends = [self._end(sequence, _moved(rest[:lookahead], index)) for index in tried[1:] and tried]
            best = tried[ends.index(min(ends))] if ends else rest[0]
            self._planned.append(sequence, best)
            live.run(best)
            rest.remove(best)
            order.append(best)
            done.add(best)
        return tuple(order)

    def _end(self, sequence: PlanSequence, following: Sequence[int]) -> float:
        """Return when layers that follow a sequence end."""
        mark = sequence.mark()
        for index in following:
            self._planned.append(sequence, index)
        end = sequence.timeline.end
        sequence.rewind(mark)
        return end

    def _choices(self, rest: Sequence[int], done: Container[int]) -> Iterator[int]:
        """
        Yield the first layer of `rest`, and those in the window that read nothing from others there; only the
        first of those that are alike.
        """
        seen: set[object] = set()
        for index in rest[:WINDOW]:
            is_emulated = isinstance(self._layers[index].ops[0], EMULATED_OPS)
            if is_emulated and seen:
                # Emulated operations are tasks of their own, which stay where they are.
                return
            kind = self._planned.kind(index)
            if kind not in seen and all(each in done for each in self._needs[index]):
                seen.add(kind)
                yield index
            if is_emulated:
                return


def _moved(rest: Sequence[int], index: int) -> list[int]:
    """Return `rest` with a layer moved to its begin."""
    return [index, *(each for each in rest if each != index)]
