"""
Plans of all convolutions of a network together, so that one convolution is loaded while another computes.

The timeline of the hardware is followed layer by layer (`formats/nvdla/timeline.py`). For each convolution
every plan is tried after the best few sequences of plans so far. A tile may start once the tiles are done
whose rows it reads; its loads run beside the layer before it if both split the buffer alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from xonnc.formats.nvdla.timeline import Timeline
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


class RowsDone(NamedTuple):
    """Rows `begin` to `end` of a cube are written by layer `step` of the timeline."""

    begin: int
    end: int
    step: int


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
    best = _planned(layers, target)
    return PipelinedPlans(dict(zip(convolutions, best.plans, strict=True)), best.pools)


def cycles_of(layers: Iterable[FusedLayer], target: NvdlaTarget) -> float:
    """Return the cycles of layers that run by themselves, with the plans that end first."""
    return _planned(layers, target).timeline.end


def _planned(layers: Iterable[FusedLayer], target: NvdlaTarget) -> PlanSequence:
    """Return the sequence of plans that ends first, of those that were tried."""
    found = [PlanSequence(Timeline(target, REGISTER_CYCLES))]
    kinds: dict[ConvolutionKind, _KindPlans] = {}
    repeated = _RepeatedChoice()
    for layer in layers:
        first = layer.ops[0]
        if isinstance(first, ConvOp):
            kind = kind_of(layer, first, target)
            plans = kinds.setdefault(kind, _KindPlans(kind, first, target))
            found = _extended(found, _PlannedConvolution(layer, first, plans), repeated)
            continue
        repeated.reset()
        for sequence in found:
            _add_other(sequence, layer, target)
    return found[0]


def _add_other(sequence: PlanSequence, layer: FusedLayer, target: NvdlaTarget) -> None:
    """Add a layer without convolution."""
    first = layer.ops[0]
    if isinstance(first, PdpOp):
        _add_pool(sequence, layer, first, target)
    else:
        _add_elements(sequence, layer, target)


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
    """Layers whose convolutions have plans, chosen for the given order, to follow them in other orders."""

    def __init__(self, layers: Sequence[FusedLayer], target: NvdlaTarget):
        self._layers, self._target = layers, target
        kinds: dict[ConvolutionKind, _KindPlans] = {}
        self._convolutions: dict[int, _PlannedConvolution] = {}
        for index, layer in enumerate(layers):
            conv = layer.ops[0]
            if isinstance(conv, ConvOp):
                kind = kind_of(layer, conv, target)
                plans = kinds.setdefault(kind, _KindPlans(kind, conv, target))
                self._convolutions[index] = _PlannedConvolution(layer, conv, plans)

    def kind(self, index: int) -> object:
        """Return the same object for layers that are alike, such as pieces of a convolution."""
        return self._convolutions[index].kind if index in self._convolutions else index

    @cached_property
    def _given(self) -> PlanSequence:
        return _planned(self._layers, self._target)

    @property
    def cycles(self) -> float:
        """The cycles in the given order."""
        return self._given.timeline.end

    @cached_property
    def _plans(self) -> dict[int, ConvolutionPlan]:
        return dict(zip(self._convolutions, self._given.plans, strict=True))

    def start(self) -> PlanSequence:
        """Return a sequence without layers."""
        return PlanSequence(Timeline(self._target, REGISTER_CYCLES))

    def append(self, sequence: PlanSequence, index: int) -> None:
        """Continue a sequence with a layer."""
        if index in self._convolutions:
            self._convolutions[index].append(sequence, self._plans[index])
            return
        _add_other(sequence, self._layers[index], self._target)


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

    def add(self, sequence: PlanSequence, plan: ConvolutionPlan, limit: float = inf) -> tuple[RowsDone, ...]:
        """
        Add the tiles of a plan to the timeline of a sequence; return the rows that they write.

        Tiles are left out once it is certain that the last would end after `limit`.
        """
        timeline = sequence.timeline
        last = len(timeline.spans) - 1
        split = plan.data_banks, plan.weight_banks
        waits = not self._plans.target.queues_bank_splits and last >= 0 and sequence.splits != (split,)
        done: list[RowsDone] = []
        left = self._plans.compute(plan)
        reuses = self._op.weights is sequence.weights and weights_stay(sequence.plans[-1], plan)
        for tile, demand in zip(plan.tiles, self._plans.demands(plan), strict=True):
            if reuses and not done:
                demand = demand._replace(weights=0, first_weights=0)
            after = set(sequence.writers(self._read_by(tile)))
            if waits and not done:
                after.add(last)
            rows = tile.first_output, tile.first_output + tile.outputs
            done.append(RowsDone(*rows, len(timeline.spans)))
            span = timeline.add(demand, self.kind.engines, tuple(after))
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
        mark = sequence.timeline.mark()
        for plan in convolution.plans(sequence) if known is None else known:
            split = plan.data_banks, plan.weight_banks
            limit = earliest.limit(split)
            rows = convolution.add(sequence, plan, limit)
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


def _add_pool(sequence: PlanSequence, layer: FusedLayer, op: PdpOp, target: NvdlaTarget) -> None:
    """Add a pooling with the number of tiles that ends first: tiles start when their rows are there."""
    read, mark = rows_read(op.result), sequence.timeline.mark()
    best: tuple[float, tuple[RowTile, ...]] | None = None
    for count in POOL_TILES:
        tiles = pool_tiles(op, count)
        if len(tiles) < count or not all(read.intersection(tile.rows) for tile in tiles):
            continue
        _add_pool_tiles(sequence, layer, op, tiles, target)
        if best is None or sequence.timeline.end < best[0]:
            best = sequence.timeline.end, tiles
        sequence.timeline.rewind(mark)
    tiles = pool_tiles(op, 1) if best is None else best[1]
    sequence.done[op.result] = _add_pool_tiles(sequence, layer, op, tiles, target)
    if len(tiles) > 1:
        sequence.pools[op] = tiles


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


def _add_pool_tiles(
    sequence: PlanSequence, layer: FusedLayer, op: PdpOp, tiles: tuple[RowTile, ...], target: NvdlaTarget
) -> tuple[RowsDone, ...]:
    source, result = cube_of(op.source.type), cube_of(op.result.type)
    full_demand = _with_elements(Demand(), op, target)
    done: list[RowsDone] = []
    for tile in tiles:
        demand = full_demand._replace(
            streamed=dense_bytes(op.source.type, target) * tile.inputs // source.height,
            results=dense_bytes(op.result.type, target) * tile.outputs // result.height,
            elements=full_demand.elements * tile.inputs // source.height,
        )
        read = source_rows(op.source, tile.first_input, tile.first_input + tile.inputs)
        after = set(sequence.writers(read))
        done.append(RowsDone(tile.rows.start, tile.rows.stop, len(sequence.timeline.spans)))
        sequence.timeline.add(demand, _engines(layer), tuple(after))
    return tuple(done)


def _add_elements(sequence: PlanSequence, layer: FusedLayer, target: NvdlaTarget) -> None:
    """Add a layer without convolution to the timeline."""
    demand = Demand(
        streamed=sum(_bytes(value, target) for value in layer.inputs), results=_bytes(layer.result, target)
    )
    for op in layer.ops:
        demand = _with_elements(demand, op, target)
    height = cube_of(layer.result.type).height
    read = (rows for value in layer.cubes for rows in source_rows(value, 0, cube_of(value.type).height))
    after = set(sequence.writers(read))
    if isinstance(layer.ops[-1], EMULATED_OPS):
        sequence.timeline.barrier()
        sequence.weights = None
    step = len(sequence.timeline.spans)
    sequence.timeline.add(demand, _engines(layer), tuple(after))
    sequence.done[layer.result] = (RowsDone(0, height, step),)
    if isinstance(layer.ops[-1], EMULATED_OPS):
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
