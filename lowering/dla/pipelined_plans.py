"""
Plans of all convolutions of a network together, so that one convolution is loaded while another computes.

The timeline of the hardware is followed layer by layer (`formats/nvdla/timeline.py`). For each convolution
every plan is tried after the best few sequences of plans so far. A tile may start once the tiles are done
whose rows it reads; its loads run beside the layer before it if both split the buffer alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Final, NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.dla.attributes import ConstantLayout, OperandMode
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, SdpOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of, shape_of
from xonnc.formats.nvdla.cycles import (
    CDP_DEPTH,
    PDP_DEPTH,
    SDP_DEPTH,
    Demand,
    bottom_elements,
    element_cycles,
)
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.timeline import Mark, Timeline
from xonnc.lowering.dla.convolution_plans import plan_of, window_of
from xonnc.lowering.dla.fused_layers import EMULATED_OPS, FusedLayer, fused_layers
from xonnc.lowering.dla.packing import constant_bytes
from xonnc.lowering.dla.rows_read import rows_read
from xonnc.lowering.dla_planning.convolution_tiling import (
    ConvBufferDemand,
    ConvolutionPlan,
    RowTile,
    candidate_plans,
    equal_tiles,
)
from xonnc.lowering.dla_planning.feasibility import buffer_demand, buffer_of
from xonnc.lowering.dla_planning.plan_cycles import PassDemand, tile_demands
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.dla_planning.surface_sizes import dense_bytes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget

REGISTER_CYCLES: Final = 4.0
"""Cycles of an access to a register by software that takes no time itself, so that no tile is tiny."""

POOL_TILES: Final = (1, 2, 4, 8)
"""Numbers of tiles that are tried for a pooling."""

ROUNDING: Final = 1e-9
"""More than sums of cycles in another order differ, relative to them."""

BEAM: Final = 3
"""Sequences of plans that are kept, each with another bank split of the last convolution."""

RESUMPTIONS: Final = 16
"""Points of the given order of layers from which another order may go on."""


class RowsDone(NamedTuple):
    """Rows `begin` to `end` of a cube are written by layer `step` of the timeline."""

    begin: int
    end: int
    step: int


class SequenceMark(NamedTuple):
    """A point in a sequence: its timeline, and the numbers of plans, layers and poolings so far."""

    timeline: Mark
    plans: int
    layers: int
    pools: int
    traffic: int
    weights: SSAValue | None


@dataclass
class PlanSequence:
    """Plans of the convolutions so far, and the timeline that they make."""

    timeline: Timeline
    plans: list[ConvolutionPlan] = field(default_factory=list[ConvolutionPlan])
    done: dict[SSAValue, tuple[RowsDone, ...]] = field(default_factory=dict[SSAValue, tuple[RowsDone, ...]])
    traffic: int = 0
    pools: dict[PdpOp, tuple[RowTile, ...]] = field(default_factory=dict[PdpOp, "tuple[RowTile, ...]"])
    """Tiles of poolings that run beside the convolutions before them."""
    weights: SSAValue | None = None
    """Weights of the last convolution of the task, if there is one."""

    def copy(self) -> PlanSequence:
        """Return a sequence that can go on by itself."""
        return replace(
            self,
            timeline=self.timeline.copy(),
            plans=self.plans.copy(),
            done=self.done.copy(),
            pools=self.pools.copy(),
        )

    def mark(self) -> SequenceMark:
        """Return the point to which `rewind` goes back."""
        sizes = len(self.plans), len(self.done), len(self.pools)
        return SequenceMark(self.timeline.mark(), *sizes, self.traffic, self.weights)

    def rewind(self, mark: SequenceMark) -> None:
        """Remove the layers added after `mark`."""
        self.timeline.rewind(mark.timeline)
        del self.plans[mark.plans :]
        for entries, count in ((self.done, mark.layers), (self.pools, mark.pools)):
            while len(entries) > count:
                entries.popitem()
        self.traffic, self.weights = mark.traffic, mark.weights

    @property
    def splits(self) -> tuple[tuple[int, int], ...]:
        """The bank split of the last convolution."""
        return tuple((plan.data_banks, plan.weight_banks) for plan in self.plans[-1:])

    def writers(self, rows: Iterable[RowRange]) -> Iterator[int]:
        """Yield the layers that write any of `rows`."""
        for value, begin, end in rows:
            for each in self.done.get(value, ()):
                if each.begin < end and begin < each.end:
                    yield each.step


class RowRange(NamedTuple):
    """Rows `begin` to `end` of a cube."""

    value: SSAValue
    begin: int
    end: int


def source_rows(value: SSAValue, begin: int, end: int) -> Iterator[RowRange]:
    """Yield the rows of results and inputs that rows `begin` to `end` of `value` are views of."""
    owner = value.owner
    if isinstance(owner, SliceOp):
        first = owner.offsets.get_values()[1]
        yield from source_rows(owner.source, begin + first, end + first)
    elif isinstance(owner, ReshapeOp):
        # Positions keep their order.
        source, width = cube_of(owner.source.type), cube_of(owner.result.type).width
        yield from source_rows(owner.source, begin * width // source.width, -(-end * width // source.width))
    elif isinstance(owner, ConcatOp) and owner.is_interleaved is not None:
        count = len(owner.sources)
        for source in owner.sources:
            yield from source_rows(source, begin // count, -(-end // count))
    elif isinstance(owner, ConcatOp):
        for source, first in zip(owner.sources, _first_rows(owner), strict=True):
            height = cube_of(source.type).height
            yield from source_rows(source, max(begin - first, 0), min(end - first, height))
    else:
        yield RowRange(value, begin, end)


def weights_stay(before: ConvolutionPlan, after: ConvolutionPlan) -> bool:
    """Whether weights that two convolutions in a row share stay in the buffer between them."""
    banks = (before.data_banks, before.weight_banks) == (after.data_banks, after.weight_banks)
    return banks and before.weights_resident and after.weights_resident


def _first_rows(op: ConcatOp) -> Sequence[int]:
    """Return where the rows of each source begin in the result."""
    if op.axis.value.data != 2:
        return [0] * len(op.sources)
    return list(op.begins)[: len(op.sources)]


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


class ConvolutionKind(NamedTuple):
    """Everything that the plans of a convolution depend on; pieces of a grouped one are of one kind."""

    precision: Precision
    source: CubeShape
    kernels: int
    window: Window2D
    passed: PassDemand
    engines: tuple[str, ...]
    is_narrow: bool
    """Whether the result has one column."""
    rows_read: frozenset[int]
    """The rows of the result that are read."""
    compressed_bytes: int | None
    """The size of the weights, if they are compressed."""


def kind_of(layer: FusedLayer, op: ConvOp, target: NvdlaTarget) -> ConvolutionKind:
    return ConvolutionKind(
        precision_of(op.source.type),
        cube_of(op.source.type),
        shape_of(op.weights.type)[0],
        window_of(op),
        _pass_demand(layer, op, target),
        _engines(layer),
        cube_of(op.accumulator.type).width == 1,
        rows_read(layer.result),
        _compressed_bytes(op, target),
    )


def _compressed_bytes(op: ConvOp, target: NvdlaTarget) -> int | None:
    constant = op.weights.owner
    if not isinstance(constant, ConstantOp) or constant.layout is not ConstantLayout.COMPRESSED_KERNELS:
        return None
    return constant_bytes(constant, target)


class PlannedLayers:
    """
    The layers of a network with plans of the convolutions: those that end first, of those that were tried.

    What layers ask of memory and engines does not depend on their order, so that it is found once for all.
    """

    def __init__(self, layers: Iterable[FusedLayer], target: NvdlaTarget):
        self._target = target
        kinds: dict[ConvolutionKind, _KindPlans] = {}
        self._layers = [_planned_layer(layer, target, kinds) for layer in layers]
        self._resumptions: dict[int, _Beam] = {}
        """Beams after the first layers of the given order, by the number of these."""

    def kind(self, index: int) -> object:
        """Return the same object for layers that are alike, such as pieces of a convolution."""
        layer = self._layers[index]
        return layer.kind if isinstance(layer, _PlannedConvolution) else index

    @cached_property
    def given(self) -> PlanSequence:
        """The sequence of plans in the given order."""
        beam, step = _Beam.begin(self._target), -(-len(self._layers) // RESUMPTIONS)
        for index, layer in enumerate(self._layers):
            if index and index % step == 0:
                self._resumptions[index] = beam.copy()
            beam.add(layer)
        return beam.best

    @property
    def cycles(self) -> float:
        """The cycles in the given order."""
        return self.given.timeline.end

    def cycles_of(self, order: Sequence[int]) -> float:
        """Return the cycles in another order, with the plans that end first there."""
        _ = self.given
        same = next((at for at, index in enumerate(order) if at != index), len(order))
        known = max((count for count in self._resumptions if count <= same), default=0)
        beam = self._resumptions[known].copy() if known else _Beam.begin(self._target)
        for index in order[known:]:
            beam.add(self._layers[index])
        return beam.best.timeline.end

    @cached_property
    def _plans(self) -> dict[int, ConvolutionPlan]:
        convolutions = [
            index for index, layer in enumerate(self._layers) if isinstance(layer, _PlannedConvolution)
        ]
        return dict(zip(convolutions, self.given.plans, strict=True))

    def start(self) -> PlanSequence:
        """Return a sequence without layers."""
        return PlanSequence(Timeline(self._target, REGISTER_CYCLES))

    def append(self, sequence: PlanSequence, index: int) -> None:
        """Continue a sequence with a layer; a convolution has its plan of the given order."""
        layer = self._layers[index]
        if isinstance(layer, _PlannedConvolution):
            layer.append(sequence, self._plans[index])
        else:
            layer.append(sequence)


def _planned_layer(
    layer: FusedLayer, target: NvdlaTarget, kinds: dict[ConvolutionKind, _KindPlans]
) -> _PlannedConvolution | _PlannedPool | _PlannedElements:
    """Return a layer as it is added to sequences; `kinds` are those of the convolutions before."""
    first = layer.ops[0]
    if isinstance(first, ConvOp):
        kind = kind_of(layer, first, target)
        plans = kinds.setdefault(kind, _KindPlans(kind, first, target))
        return _PlannedConvolution(layer, first, plans)
    return _PlannedPool(layer, first, target) if isinstance(first, PdpOp) else _PlannedElements(layer, target)


@dataclass
class _Beam:
    """The sequences of plans that are followed, the best first."""

    sequences: list[PlanSequence]
    repeated: _RepeatedChoice

    @staticmethod
    def begin(target: NvdlaTarget) -> _Beam:
        """Return a beam without layers."""
        return _Beam([PlanSequence(Timeline(target, REGISTER_CYCLES))], _RepeatedChoice())

    @property
    def best(self) -> PlanSequence:
        """The sequence that ends first."""
        return self.sequences[0]

    def copy(self) -> _Beam:
        """Return a beam that can go on by itself."""
        return _Beam([sequence.copy() for sequence in self.sequences], copy(self.repeated))

    def add(self, layer: _PlannedConvolution | _PlannedPool | _PlannedElements) -> None:
        """Continue the sequences with a layer."""
        if isinstance(layer, _PlannedConvolution):
            self.sequences = _extended(self.sequences, layer, self.repeated)
            return
        self.repeated.reset()
        for sequence in self.sequences:
            layer.append(sequence)


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
    return prod(shape_of(conv.weights.type)) <= 8 * bank and bool(_KindPlans(kind, conv, target).plans(()))


class _KindPlans:
    """The plans to try for convolutions of a kind, of which `example` is one."""

    def __init__(self, kind: ConvolutionKind, example: ConvOp, target: NvdlaTarget):
        self.kind = kind
        self.target = target
        self._example = example
        self._shape = kind.precision, kind.source, kind.kernels
        rows = buffer_demand(target, *self._shape, kind.window)
        self._rows = replace(rows, compressed_bytes=kind.compressed_bytes)
        self._buffer = buffer_of(target, kind.compressed_bytes is not None)
        self._plans: dict[tuple[tuple[int, int], ...], list[ConvolutionPlan]] = {}
        self._demands: dict[ConvolutionPlan, list[Demand]] = {}
        self._compute: dict[ConvolutionPlan, float] = {}

    def plans(self, splits: tuple[tuple[int, int], ...]) -> list[ConvolutionPlan]:
        """Return the plans to try after a convolution with bank split `splits`, if there is one."""
        if splits not in self._plans:
            plans = list(candidate_plans(self._rows, self._buffer, splits))
            if self.kind.engines[-1] == "PDP":
                # Pooling on the fly takes the whole image.
                plans = [plan for plan in plans if len(plan.tiles) == 1]
            else:
                plans = [plan for plan in plans if not self._has_single_positions(plan)] or plans
                plans = [plan for plan in plans if self._is_read(plan)] or plans
            if not plans and self.kind.compressed_bytes is None:
                plans = [plan_of(self.target, self._example)]
            self._plans[splits] = plans
        return self._plans[splits]

    def demands(self, plan: ConvolutionPlan) -> list[Demand]:
        """Return what each tile of a plan asks of memory and engines."""
        if plan not in self._demands:
            passed = self.kind.passed
            demands = tile_demands(self.target, *self._shape, self.kind.window, self._rows, plan, passed)
            self._demands[plan] = list(demands)
        return self._demands[plan]

    def compute(self, plan: ConvolutionPlan) -> float:
        """Return the cycles in which the tiles of a plan multiply."""
        if plan not in self._compute:
            self._compute[plan] = sum(map(_compute, self.demands(plan)))
        return self._compute[plan]

    def _is_read(self, plan: ConvolutionPlan) -> bool:
        """Whether every tile gives a row that is read."""
        return all(self.kind.rows_read.intersection(tile.rows) for tile in plan.tiles)

    def _has_single_positions(self, plan: ConvolutionPlan) -> bool:
        """
        Whether a tile is one position of a larger cube.

        The SDP takes the surfaces of a single position as packed (docs/internals/nvdla-hardware.md §3.5).
        """
        is_tiled = self.kind.is_narrow and len(plan.tiles) > 1
        return is_tiled and any(tile.outputs == 1 for tile in plan.tiles)


def _compute(demand: Demand) -> float:
    return demand.conv.compute if demand.conv is not None else 0.0


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


class _PlannedConvolution:
    """A fused layer with a convolution, whose plans are tried."""

    def __init__(self, layer: FusedLayer, op: ConvOp, plans: _KindPlans):
        self._layer, self._op, self._plans = layer, op, plans
        self.kind = plans.kind
        self._operands = _row_operands(layer)
        self._read: dict[RowTile, tuple[RowRange, ...]] = {}

    def plans(self, sequence: PlanSequence) -> Sequence[ConvolutionPlan]:
        """Return the plans to try after a sequence."""
        return self._plans.plans(sequence.splits)

    def add(
        self,
        sequence: PlanSequence,
        plan: ConvolutionPlan,
        limit: float = inf,
        known: dict[RowTile, frozenset[int]] | None = None,
    ) -> tuple[RowsDone, ...]:
        """
        Add the tiles of a plan to the timeline of a sequence; return the rows that they write.

        Tiles are left out once it is certain that the last would end after `limit`. `known` are the layers
        that write what tiles of the convolution read, for all plans that are tried after the sequence.
        """
        timeline, known = sequence.timeline, {} if known is None else known
        last = len(timeline.spans) - 1
        split = plan.data_banks, plan.weight_banks
        waits = not self._plans.target.queues_bank_splits and last >= 0 and sequence.splits != (split,)
        done: list[RowsDone] = []
        left = self._plans.compute(plan)
        reuses = self._op.weights is sequence.weights and weights_stay(sequence.plans[-1], plan)
        for tile, demand in zip(plan.tiles, self._plans.demands(plan), strict=True):
            if reuses and not done:
                demand = demand._replace(weights=0, first_weights=0)
            after = known.get(tile)
            if after is None:
                after = known[tile] = frozenset(sequence.writers(self._read_by(tile)))
            if waits and not done:
                after |= {last}
            rows = tile.first_output, tile.first_output + tile.outputs
            done.append(RowsDone(*rows, len(timeline.spans)))
            span = timeline.add(demand, self.kind.engines, after)
            left -= _compute(demand)
            # Tiles multiply one after the other.
            if max(timeline.end, span.computed + left) > limit * (1 + ROUNDING):
                break
        if isinstance(self._layer.ops[-1], PdpOp):
            done = [RowsDone(0, cube_of(self._layer.result.type).height, done[-1].step)]
        return tuple(done)

    def _read_by(self, tile: RowTile) -> tuple[RowRange, ...]:
        """Return the rows that a tile reads, of the input and of operands of the passes behind it."""
        if tile not in self._read:
            found = [*source_rows(self._op.source, tile.first_input, tile.first_input + tile.inputs)]
            for operand in self._operands:
                found += source_rows(operand, tile.first_output, tile.first_output + tile.outputs)
            self._read[tile] = tuple(found)
        return self._read[tile]

    def extended(self, sequence: PlanSequence, plan: ConvolutionPlan) -> PlanSequence:
        """Return a sequence that goes on with a plan."""
        result = sequence.copy()
        self.append(result, plan)
        return result

    def append(self, sequence: PlanSequence, plan: ConvolutionPlan) -> None:
        """Continue a sequence with a plan."""
        sequence.done[self._layer.result] = self.add(sequence, plan)
        sequence.plans.append(plan)
        sequence.weights = self._op.weights
        sequence.traffic += plan.traffic


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


def _extended(
    found: list[PlanSequence], convolution: _PlannedConvolution, repeated: _RepeatedChoice
) -> list[PlanSequence]:
    """
    Return the sequences with a plan of a convolution that end first, of different bank splits: the next
    convolution loads beside the last one if it has the same.
    """
    tried: list[tuple[float, int, int, ConvolutionPlan]] = []
    known = repeated.plans(convolution.kind)
    earliest = _EarliestEnds()
    for index, sequence in enumerate(found):
        mark, writers = sequence.timeline.mark(), dict[RowTile, frozenset[int]]()
        for plan in convolution.plans(sequence) if known is None else known:
            split = plan.data_banks, plan.weight_banks
            limit = earliest.limit(split)
            rows = convolution.add(sequence, plan, limit, writers)
            end = sequence.timeline.end
            if len(rows) == len(plan.tiles) and end <= limit:
                earliest.note(split, end)
                tried.append((end, sequence.traffic + plan.traffic, index, plan))
            sequence.timeline.rewind(mark)
    tried.sort(key=lambda one: one[:3])
    retained: list[PlanSequence] = []
    chosen: list[ConvolutionPlan] = []
    splits: set[tuple[int, int]] = set()
    for _, _, index, plan in tried:
        split = plan.data_banks, plan.weight_banks
        if split in splits:
            continue
        splits.add(split)
        retained.append(convolution.extended(found[index], plan))
        chosen.append(plan)
        if len(retained) == BEAM:
            break
    repeated.add(convolution.kind, chosen)
    return retained


def _engines(layer: FusedLayer) -> tuple[str, ...]:
    return tuple(op.name.removeprefix("dla.").upper() for op in layer.ops)


def _row_operands(layer: FusedLayer) -> list[SSAValue]:
    """Return the cubes that passes behind a convolution read element by element."""
    return [
        operand
        for op in layer.ops
        if isinstance(op, SdpOp)
        for stage, operand in op.stages
        if operand is not None and stage.mode is OperandMode.PER_POINT
    ]


def _pass_demand(layer: FusedLayer, op: ConvOp, target: NvdlaTarget) -> PassDemand:
    streamed = _row_operands(layer)
    per_kernel = [
        constant_bytes(operand.owner, target)
        for each in layer.ops[1:]
        for operand in each.operands
        if isinstance(operand.owner, ConstantOp) and operand not in streamed
    ]
    height = cube_of(op.accumulator.type).height
    return PassDemand(
        sum(per_kernel),
        sum(dense_bytes(value.type, target) for value in streamed) // height,
        dense_bytes(layer.result.type, target) // height,
        _rate(layer, target),
    )


def _rate(layer: FusedLayer, target: NvdlaTarget) -> float:
    rate = target.sdp_elements_per_cycle
    for op in layer.ops:
        if isinstance(op, SdpOp) and op.y_stage is not None:
            rate = min(rate, target.sdp_y_elements_per_cycle)
        if isinstance(op, PdpOp):
            rate = min(rate, target.pdp_elements_per_cycle)
    return rate


class _PlannedPool:
    """A pooling, of which several numbers of tiles are tried: tiles start when their rows are there."""

    def __init__(self, layer: FusedLayer, op: PdpOp, target: NvdlaTarget):
        self._op, self._target = op, target
        self._engines = _engines(layer)
        self._demand = _with_elements(Demand(), op, target)
        self._tried: dict[RowTile, tuple[Demand, tuple[RowRange, ...]]] = {}
        read = rows_read(op.result)
        tried = ((count, pool_tiles(op, count)) for count in POOL_TILES)
        self._choices = [
            tiles
            for count, tiles in tried
            if len(tiles) == count and all(read.intersection(tile.rows) for tile in tiles)
        ] or [pool_tiles(op, 1)]

    def append(self, sequence: PlanSequence) -> None:
        """Continue a sequence with the number of tiles that ends first."""
        mark = sequence.timeline.mark()
        best: tuple[float, tuple[RowTile, ...]] | None = None
        for tiles in self._choices if len(self._choices) > 1 else ():
            self._add(sequence, tiles)
            if best is None or sequence.timeline.end < best[0]:
                best = sequence.timeline.end, tiles
            sequence.timeline.rewind(mark)
        tiles = self._choices[0] if best is None else best[1]
        sequence.done[self._op.result] = self._add(sequence, tiles)
        if len(tiles) > 1:
            sequence.pools[self._op] = tiles

    def _add(self, sequence: PlanSequence, tiles: Sequence[RowTile]) -> tuple[RowsDone, ...]:
        """Add tiles to the timeline; return the rows that they write."""
        done: list[RowsDone] = []
        for tile in tiles:
            demand, read = self._demand_of(tile)
            after = set(sequence.writers(read))
            done.append(RowsDone(tile.rows.start, tile.rows.stop, len(sequence.timeline.spans)))
            sequence.timeline.add(demand, self._engines, after)
        return tuple(done)

    def _demand_of(self, tile: RowTile) -> tuple[Demand, tuple[RowRange, ...]]:
        """Return what a tile asks of memory and the engine, and the rows that it reads."""
        if tile not in self._tried:
            op, target = self._op, self._target
            source, result = cube_of(op.source.type), cube_of(op.result.type)
            demand = self._demand._replace(
                streamed=dense_bytes(op.source.type, target) * tile.inputs // source.height,
                results=dense_bytes(op.result.type, target) * tile.outputs // result.height,
                elements=self._demand.elements * tile.inputs // source.height,
            )
            read = source_rows(op.source, tile.first_input, tile.first_input + tile.inputs)
            self._tried[tile] = demand, tuple(read)
        return self._tried[tile]


def pool_tiles(op: PdpOp, count: int) -> tuple[RowTile, ...]:
    """Return `count` tiles of a pooling, fewer if it has fewer rows."""
    source, result = cube_of(op.source.type), cube_of(op.result.type)
    demand = ConvBufferDemand(
        height=source.height,
        output_height=result.height,
        kernel_height=op.kernel.get_values()[0],
        stride=op.strides.get_values()[0],
        pad_top=op.pads.get_values()[0],
        entries_per_slice=0,
        row_bytes=0,
        weight_bytes=0,
        group_bytes=0,
    )
    return equal_tiles(demand, min(count, result.height))


class _PlannedElements:
    """A layer that reads and writes its cubes whole."""

    def __init__(self, layer: FusedLayer, target: NvdlaTarget):
        self._result = layer.result
        self._height = cube_of(layer.result.type).height
        self._engines = _engines(layer)
        self._is_emulated = isinstance(layer.ops[-1], EMULATED_OPS)
        demand = Demand(
            streamed=sum(_bytes(value, target) for value in layer.inputs),
            results=_bytes(layer.result, target),
        )
        for op in layer.ops:
            demand = _with_elements(demand, op, target)
        self._demand = demand
        self._read = tuple(
            rows for value in layer.cubes for rows in source_rows(value, 0, cube_of(value.type).height)
        )

    def append(self, sequence: PlanSequence) -> None:
        """Continue a sequence with the layer."""
        after = set(sequence.writers(self._read))
        if self._is_emulated:
            sequence.timeline.barrier()
            sequence.weights = None
        step = len(sequence.timeline.spans)
        sequence.timeline.add(self._demand, self._engines, after)
        sequence.done[self._result] = (RowsDone(0, self._height, step),)
        if self._is_emulated:
            sequence.timeline.barrier()


def _bytes(value: SSAValue, target: NvdlaTarget) -> int:
    if isinstance(value.owner, ConstantOp):
        return constant_bytes(value.owner, target)
    return dense_bytes(value.type, target)


def _with_elements(demand: Demand, op: Operation, target: NvdlaTarget) -> Demand:
    """Return the demand with the cycles of an engine, if they are more."""
    match op:
        case SdpOp():
            rate, depth = target.sdp_elements_per_cycle, SDP_DEPTH
        case PdpOp():
            rate, depth = target.pdp_elements_per_cycle, PDP_DEPTH
            if op.pads.get_values()[2]:
                depth += bottom_elements(target, cube_of(op.result.type).width)
        case CdpOp():
            rate, depth = target.cdp_elements_per_cycle, CDP_DEPTH
        case _:
            return demand
    cube = cube_of(op.operands[0].type)
    precision = precision_of(op.results[0].type)
    cycles = element_cycles(target, precision, cube.channels, cube.positions, rate)
    return demand if cycles <= demand.elements else demand._replace(elements=cycles, depth=depth)
