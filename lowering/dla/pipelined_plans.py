"""
Plans of all convolutions of a network together, so that one convolution is loaded while another computes.

The timeline of the hardware is followed layer by layer (`formats/nvdla/timeline.py`). For each convolution
every plan is tried after the best few sequences of plans so far. A tile may start once the tiles are done
whose rows it reads; its loads run beside the layer before it if both split the buffer alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import ClassVar, Final, NamedTuple
from weakref import WeakKeyDictionary

from xdsl.ir import Block, SSAValue

from xonnc.dialects.dla.engines import ConvOp, PdpOp
from xonnc.dialects.dla.types import shape_of
from xonnc.formats.nvdla.timeline import Timeline
from xonnc.lowering.dla.fused_layers import FusedLayer, fused_layers
from xonnc.lowering.dla.plan_sequence import PlanSequence
from xonnc.lowering.dla.planned_layers import (
    ROUNDING,
    ConvolutionKind,
    KindPlans,
    PlannedConvolution,
    PlannedElements,
    PlannedPool,
    kind_of,
)
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan, RowTile
from xonnc.targets import NvdlaTarget

REGISTER_CYCLES: Final = 4.0
"""Cycles of an access to a register by software that takes no time itself, so that no tile is tiny."""

BEAM: Final = 3
"""Sequences of plans that are kept, each with another bank split of the last convolution."""


RESUMPTIONS: Final = 16
"""Points of the given order of layers from which another order may go on."""


class PipelinedPlans(NamedTuple):
    """A plan for each convolution, and the tiles of poolings that have several."""

    convolutions: dict[ConvOp, ConvolutionPlan]
    pools: dict[PdpOp, tuple[RowTile, ...]]


def pipelined_plans(block: Block, target: NvdlaTarget) -> PipelinedPlans:
    """Return plans for a scheduled block; an error for a convolution that does not fit."""
    layers = list(fused_layers(block))
    convolutions = [layer.ops[0] for layer in layers if isinstance(layer.ops[0], ConvOp)]
    best = PlannedLayers(layers, target).given
    return PipelinedPlans(dict(zip(convolutions, best.plans, strict=True)), best.pools)


def cycles_of(layers: Iterable[FusedLayer], target: NvdlaTarget) -> float:
    """Return the cycles of layers that run by themselves, with the plans that end first."""
    return PlannedLayers(layers, target).cycles


class PlannedLayers:
    """
    The layers of a network with plans of the convolutions: those that end first, of those that were tried.

    What layers ask of memory and engines does not depend on their order, so that it is found once for all.
    """

    def __init__(self, layers: Iterable[FusedLayer], target: NvdlaTarget):
        self._target = target
        kinds: dict[ConvolutionKind, KindPlans] = {}
        layers = list(layers)
        self._layers = [_planned_layer(layer, target, kinds) for layer in layers]
        block = layers[0].ops[0].parent_block() if layers else None
        self._choices = _Choices.of_block(block, target) if block else _Choices()
        self._resumptions: dict[int, _Beam] = {}
        """Beams after the first layers of the given order, by the number of these."""

    def kind(self, index: int) -> object:
        """Return the same object for layers that are alike, such as pieces of a convolution."""
        layer = self._layers[index]
        return layer.kind if isinstance(layer, PlannedConvolution) else index

    @cached_property
    def given(self) -> PlanSequence:
        """The sequence of plans in the given order."""
        beam, step = self._begin(), -(-len(self._layers) // RESUMPTIONS)
        for index, layer in enumerate(self._layers):
            if index and index % step == 0:
                self._resumptions[index] = beam.copy()
            beam.add(layer)
        return beam.best

    def _begin(self) -> _Beam:
        """Return a beam without layers."""
        return _Beam([self.start()], _RepeatedChoice(), self._choices)

    @property
    def cycles(self) -> float:
        """The cycles in the given order."""
        return self.given.timeline.end

    def cycles_of(self, order: Sequence[int]) -> float:
        """Return the cycles in another order, with the plans that end first there."""
        _ = self.given
        same = next((at for at, index in enumerate(order) if at != index), len(order))
        known = max((count for count in self._resumptions if count <= same), default=0)
        beam = self._resumptions[known].copy() if known else self._begin()
        for index in order[known:]:
            beam.add(self._layers[index])
        return beam.best.timeline.end

    @cached_property
    def _plans(self) -> dict[int, ConvolutionPlan]:
        convolutions = [
            index for index, layer in enumerate(self._layers) if isinstance(layer, PlannedConvolution)
        ]
        return dict(zip(convolutions, self.given.plans, strict=True))

    def start(self) -> PlanSequence:
        """Return a sequence without layers."""
        return PlanSequence(Timeline(self._target, REGISTER_CYCLES))

    def append(self, sequence: PlanSequence, index: int) -> None:
        """Continue a sequence with a layer; a convolution has its plan of the given order."""
        layer = self._layers[index]
        if isinstance(layer, PlannedConvolution):
            layer.append(sequence, self._plans[index])
        else:
            layer.append(sequence)


def _planned_layer(
    layer: FusedLayer, target: NvdlaTarget, kinds: dict[ConvolutionKind, KindPlans]
) -> PlannedConvolution | PlannedPool | PlannedElements:
    """Return a layer as it is added to sequences; `kinds` are those of the convolutions before."""
    first = layer.ops[0]
    if isinstance(first, ConvOp):
        kind = kind_of(layer, first, target)
        plans = kinds.setdefault(kind, KindPlans(kind, first, target))
        return PlannedConvolution(layer, first, plans)
    return PlannedPool(layer, first, target) if isinstance(first, PdpOp) else PlannedElements(layer, target)


@dataclass
class _Beam:
    """The sequences of plans that are followed, the best first."""

    sequences: list[PlanSequence]
    repeated: _RepeatedChoice
    choices: _Choices
    state: int = 0
    """The layers so far, as `choices` count them."""
    positions: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """The number of the layer that makes each result."""

    @property
    def best(self) -> PlanSequence:
        """The sequence that ends first."""
        return self.sequences[0]

    def copy(self) -> _Beam:
        """Return a beam that can go on by itself."""
        sequences = [sequence.copy() for sequence in self.sequences]
        return replace(
            self, sequences=sequences, repeated=copy(self.repeated), positions=self.positions.copy()
        )

    def add(self, layer: PlannedConvolution | PlannedPool | PlannedElements) -> None:
        """Continue the sequences with a layer."""
        shares_weights = isinstance(layer, PlannedConvolution) and layer.weights is self.best.weights
        read = tuple(self.positions.get(root) for root in layer.roots)
        self.positions[layer.result] = len(self.positions)
        key = self.state, layer.signature, read, shares_weights
        known = self.choices.of(key)
        if not isinstance(layer, PlannedConvolution):
            self.repeated.reset()
            for sequence in self.sequences:
                layer.append(sequence)
            chosen = ()
        elif known is not None:
            chosen = known.plans
            self.sequences = _followed(self.sequences, layer, chosen, self.repeated)
        else:
            chosen = _chosen(self.sequences, layer, self.repeated)
            self.sequences = _followed(self.sequences, layer, chosen, self.repeated)
        self.state = self.choices.add(key, chosen).state if known is None else known.state


class _Choice(NamedTuple):
    """
    The plans of a convolution with which sequences go on, and the numbers of these; `state` stands for it and
    all layers before.
    """

    state: int
    plans: tuple[tuple[int, ConvolutionPlan], ...]


class _Choices:
    """
    The choices that were made after the same layers, as several passes plan a network: what one of them
    changes, another order or other weights, leaves the layers before it as they are.
    """

    _of_blocks: ClassVar[WeakKeyDictionary[Block, dict[NvdlaTarget, _Choices]]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, ...], _Choice] = {}

    @staticmethod
    def of_block(block: Block, target: NvdlaTarget) -> _Choices:
        """Return the choices for a block, which last as long as it does."""
        return _Choices._of_blocks.setdefault(block, {}).setdefault(target, _Choices())

    def of(self, key: tuple[Hashable, ...]) -> _Choice | None:
        """Return what was chosen after a state for a layer, if it was."""
        return self._known.get(key)

    def add(self, key: tuple[Hashable, ...], plans: tuple[tuple[int, ConvolutionPlan], ...]) -> _Choice:
        """Note a choice."""
        self._known[key] = found = _Choice(len(self._known) + 1, plans)
        return found


class SingleCycles:
    """The cycles of convolutions that run by themselves; those of a kind take as many."""

    def __init__(self, target: NvdlaTarget):
        self._target = target
        self._known: dict[ConvolutionKind, float] = {}

    def of(self, layer: FusedLayer) -> float:
        """Return the cycles of a layer with a convolution."""
        conv = layer.ops[0]
        assert isinstance(conv, ConvOp)
        kind = kind_of(layer, conv, self._target)
        if kind not in self._known:
            self._known[kind] = cycles_of([layer], self._target)
        return self._known[kind]


def fits_compressed(layer: FusedLayer, target: NvdlaTarget) -> bool:
    """
    Whether a convolution with compressed weights fits the buffer in one tile, and their mask the bank that it
    has there.
    """
    conv = layer.ops[0]
    assert isinstance(conv, ConvOp)
    kind, bank = kind_of(layer, conv, target), target.cbuf_entries * target.cbuf_entry_bytes
    return prod(shape_of(conv.weights.type)) <= 8 * bank and bool(KindPlans(kind, conv, target).plans(()))


class _RepeatedChoice:
    """
    The plans that convolutions of one kind in a row were given: once two in a row were given the same, the
    others try only these.
    """

    def __init__(self) -> None:
        self._kind: ConvolutionKind | None = None
        self._last: tuple[ConvolutionPlan, ...] = ()
        self._is_steady = False

    def reset(self) -> None:
        """Forget the plans, as another layer follows."""
        self._kind = None

    def plans(self, kind: ConvolutionKind) -> Sequence[ConvolutionPlan] | None:
        """Return the plans to try for a convolution, `None` for all of its kind."""
        return self._last if kind is self._kind and self._is_steady else None

    def add(self, kind: ConvolutionKind, plans: Iterable[ConvolutionPlan]) -> None:
        """Note the plans that sequences were extended by for a convolution."""
        found = tuple(dict.fromkeys(plans))
        self._is_steady = kind is self._kind and set(found) <= set(self._last)
        if not self._is_steady:
            self._last = found
        self._kind = kind


class _EarliestEnds:
    """The earliest end with each bank split, of the plans tried; later ones need not be followed."""

    def __init__(self) -> None:
        self._ends: dict[tuple[int, int], float] = {}
        self._last = inf
        """The latest end of the sequences that would be retained."""

    def limit(self, split: tuple[int, int]) -> float:
        """Return the latest end with which a plan of a bank split could be retained."""
        return min(self._ends.get(split, inf), self._last)

    def note(self, split: tuple[int, int], end: float) -> None:
        """Note an end within the limit."""
        self._ends[split] = end
        if len(self._ends) >= BEAM:
            self._last = sorted(self._ends.values())[BEAM - 1]


def _chosen(
    found: Sequence[PlanSequence], convolution: PlannedConvolution, repeated: _RepeatedChoice
) -> tuple[tuple[int, ConvolutionPlan], ...]:
    """
    Return the numbers of sequences, and the plans of a convolution with which they end first, of different
    bank splits: the next convolution loads beside the last one if it has the same.
    """
    tried: list[tuple[float, int, int, int, ConvolutionPlan]] = []
    known = repeated.plans(convolution.kind)
    earliest = _EarliestEnds()
    for index, sequence in enumerate(found):
        mark, writers = sequence.timeline.mark(), dict[RowTile, frozenset[int]]()
        plans = convolution.plans(sequence) if known is None else known
        # Plans that may end early come first: others then need not be followed.
        ends = [convolution.earliest_end(sequence, plan) for plan in plans]
        for number in sorted(range(len(plans)), key=ends.__getitem__):
            plan = plans[number]
            split = plan.data_banks, plan.weight_banks
            limit = earliest.limit(split)
            if ends[number] > limit * (1 + ROUNDING):
                continue
            rows = convolution.add(sequence, plan, limit, writers)
            end = sequence.timeline.end
            if len(rows) == len(plan.tiles) and end <= limit:
                earliest.note(split, end)
                tried.append((end, sequence.traffic + plan.traffic, index, number, plan))
            sequence.timeline.rewind(mark)
    tried.sort(key=lambda one: one[:4])
    first: dict[tuple[int, int], tuple[int, ConvolutionPlan]] = {}
    for *_, index, _, plan in tried:
        first.setdefault((plan.data_banks, plan.weight_banks), (index, plan))
    return tuple(first.values())[:BEAM]


def _followed(
    found: Sequence[PlanSequence],
    convolution: PlannedConvolution,
    chosen: Iterable[tuple[int, ConvolutionPlan]],
    repeated: _RepeatedChoice,
) -> list[PlanSequence]:
    """Return the sequences that go on with chosen plans."""
    repeated.add(convolution.kind, (plan for _, plan in chosen))
    return [convolution.extended(found[index], plan) for index, plan in chosen]
