"""Layers as they are added to a sequence of plans: what they ask of memory and engines is found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.dla.attributes import ConstantLayout, OperandMode
from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, SdpOp
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.dla.types import CubeShape, cube_of, shape_of
from xonnc.formats.nvdla.cycles import (
    CDP_DEPTH,
    PDP_DEPTH,
    SDP_DEPTH,
    Demand,
    bottom_elements,
    dram_equivalent,
    element_cycles,
    on_chip_saving,
)
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla.convolution_plans import plan_of, window_of
from xonnc.lowering.dla.fused_layers import EMULATED_OPS, FusedLayer
from xonnc.lowering.dla.packing import constant_bytes
from xonnc.lowering.dla.plan_sequence import (
    PlanSequence,
    RowRange,
    RowsDone,
    source_rows,
    views_of,
    weights_stay,
)
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

POOL_TILES: Final = (1, 2, 4, 8)
"""Numbers of tiles that are tried for a pooling."""


ROUNDING: Final = 1e-9
"""More than sums of cycles in another order differ, relative to them."""


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


class PlanWork(NamedTuple):
    """The cycles in which the tiles of a plan multiply, and the bytes of DRAM that take as long as theirs."""

    compute: float
    traffic: float
    first_weights: float
    """The part of the traffic that is saved if the weights are in the buffer: those of the first tile."""


class KindPlans:
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
        self._work: dict[ConvolutionPlan, PlanWork] = {}
        self._saving = on_chip_saving(target)

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

    def work(self, plan: ConvolutionPlan) -> PlanWork:
        """Return what the tiles of a plan ask together."""
        found = self._work.get(plan)
        if found is None:
            demands = self.demands(plan)
            traffic = sum(dram_equivalent(demand, self._saving) for demand in demands)
            found = PlanWork(sum(map(_compute, demands)), traffic, demands[0].weights)
            self._work[plan] = found
        return found

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


class PlannedConvolution:
    """A fused layer with a convolution, whose plans are tried."""

    def __init__(self, layer: FusedLayer, op: ConvOp, plans: KindPlans):
        self._layer, self._op, self._plans = layer, op, plans
        self.kind = plans.kind
        self._operands = _row_operands(layer)
        views = views_of((op.source, *self._operands))
        self.signature = self.kind, cube_of(layer.result.type).height, views.structure
        self.roots = views.roots
        self.result, self.weights = layer.result, op.weights
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
        left = self._plans.work(plan).compute
        reuses = self._reuses(sequence, plan)
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

    def earliest_end(self, sequence: PlanSequence, plan: ConvolutionPlan) -> float:
        """Return a lower bound of the cycle in which a sequence ends that goes on with a plan."""
        compute, traffic, first_weights = self._plans.work(plan)
        if self._reuses(sequence, plan):
            traffic -= first_weights
        return sequence.timeline.earliest_end(compute, traffic)

    def _reuses(self, sequence: PlanSequence, plan: ConvolutionPlan) -> bool:
        """Whether the convolution before left the weights in the buffer."""
        return self.weights is sequence.weights and weights_stay(sequence.plans[-1], plan)

    def _read_by(self, tile: RowTile) -> tuple[RowRange, ...]:
        """Return the rows that a tile reads, of the input and of operands of the passes after it."""
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
        sequence.done[self.result] = self.add(sequence, plan)
        sequence.plans.append(plan)
        sequence.weights = self.weights
        sequence.traffic += plan.traffic


def _engines(layer: FusedLayer) -> tuple[str, ...]:
    return tuple(op.name.removeprefix("dla.").upper() for op in layer.ops)


def _row_operands(layer: FusedLayer) -> list[SSAValue]:
    """Return the cubes that passes after a convolution read element by element."""
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


class PlannedPool:
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
        views = views_of((op.source,))
        cubes = tuple(
            (cube_of(value.type).height, dense_bytes(value.type, target)) for value in (op.source, op.result)
        )
        self.signature = self._demand, self._engines, tuple(self._choices), cubes, views.structure
        self.roots, self.result = views.roots, op.result

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
        sequence.done[self.result] = self._add(sequence, tiles)
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


class PlannedElements:
    """A layer that reads and writes its cubes whole."""

    def __init__(self, layer: FusedLayer, target: NvdlaTarget):
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
        rows = tuple(each[1:] for each in self._read)
        self.signature = demand, self._engines, self._is_emulated, self._height, rows
        self.roots, self.result = tuple(each.value for each in self._read), layer.result

    def append(self, sequence: PlanSequence) -> None:
        """Continue a sequence with the layer."""
        after = set(sequence.writers(self._read))
        if self._is_emulated:
            sequence.timeline.barrier()
            sequence.weights = None
        step = len(sequence.timeline.spans)
        sequence.timeline.add(self._demand, self._engines, after)
        sequence.done[self.result] = (RowsDone(0, self._height, step),)
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
