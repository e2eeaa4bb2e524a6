"""The layers of a network as steps for the memory planner: dependencies and accessed buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from xdsl.ir import Block, SSAValue

from xonnc.dialects.dla.engines import SdpOp
from xonnc.dialects.dla.types import cube_of, shape_of
from xonnc.lowering.dla.fused_layers import VIEW_OPS, FusedLayer, fused_layers
from xonnc.lowering.dla.views import Views, is_in_memory, is_on_chip, root_bytes
from xonnc.lowering.dla_planning.precision import precision_of
from xonnc.lowering.memory_planning.scheduling import (
    LiveBytes,
    Schedule,
    ScheduleStep,
    min_peak_schedule,
    schedule_peak,
)
from xonnc.targets import NvdlaTarget


def best_layer_order(block: Block, target: NvdlaTarget) -> tuple[list[FusedLayer], Schedule]:
    """Return the fused layers of a block, and the order with the least peak memory."""
    layers = list(fused_layers(block))
    graph = LayerGraph(block, target, layers)
    return layers, min_peak_schedule(graph.steps(), graph.sizes, frozenset())


def activation_lower_bound(block: Block, target: NvdlaTarget) -> int:
    """
    Return a lower bound in bytes of the peak of activations over all orders.

    A cube that several layers write part by part may occupy the memory of another that they read part by
    part. Such pairs of equal size count as one buffer that lives as long as either; of unequal ones the
    smaller counts as 0.
    """
    graph = LayerGraph(block, target, list(fused_layers(block)))
    graph.merge_partial_writes()
    return min_peak_schedule(graph.steps(), graph.sizes, frozenset()).lower_bound


class LayerGraph:
    """Ids and sizes of the cubes that share memory; network inputs and outputs have memory of their own."""

    def __init__(self, block: Block, target: NvdlaTarget, layers: Sequence[FusedLayer]):
        self._views = Views(block, target)
        self._units = layers
        self.sizes: list[int] = []
        self._buffer_ids: dict[SSAValue, int] = {}
        last = block.last_op
        bound = [*block.args, *(last.operands if last is not None else ())]
        own = {self._views.root(value) for value in bound if is_in_memory(value)}
        for layer in layers:
            for root in self._roots(layer):
                if root not in own and root not in self._buffer_ids and not is_on_chip(root):
                    self._buffer_ids[root] = len(self.sizes)
                    self.sizes.append(root_bytes(root, target))

    def _roots(self, layer: FusedLayer) -> Iterator[SSAValue]:
        """Yield the cubes with memory that a layer reads or writes."""
        for value in (*layer.cubes, layer.result):
            if is_in_memory(value) and is_in_memory(root := self._views.root(value)):
                yield root

    def peak(self, order: Sequence[int]) -> int:
        """Return the peak of live bytes of an order of the layers."""
        return schedule_peak(self._known_steps, order, self.sizes, frozenset())

    def live_bytes(self) -> LiveBytes:
        """Return the live bytes of an order that is found layer by layer."""
        return LiveBytes(self._known_steps, self.sizes)

    @cached_property
    def _known_steps(self) -> list[ScheduleStep]:
        return self.steps()

    def merge_partial_writes(self) -> None:
        """Merge buffers that a partly written cube may share."""
        pairs: dict[tuple[SSAValue, SSAValue], int] = {}
        for layer in self._units:
            root = self._views.root(layer.result)
            for target_root in self._in_place_targets(layer) if root in self._buffer_ids else ():
                pairs[target_root, root] = pairs.get((target_root, root), 0) + 1
        for (target_root, root), layers in pairs.items():
            # With one layer alone, the other cube has to end there: a pair of its step.
            if layers > 1:
                self._merge(self._buffer_ids[target_root], self._buffer_ids[root])

    def _merge(self, target_root: int, buffer: int) -> None:
        if self.sizes[target_root] != self.sizes[buffer]:
            self.sizes[min(target_root, buffer, key=lambda each: self.sizes[each])] = 0
        elif target_root != buffer:
            self._buffer_ids = {
                root: target_root if own == buffer else own for root, own in self._buffer_ids.items()
            }

    def _in_place_targets(self, layer: FusedLayer) -> Iterator[SSAValue]:
        """Yield the roots that a layer may overwrite in place."""
        # A convolution's windows reach rows that the pass after it has written already.
        first = [value for op in layer.ops[:-1] for value in op.operands if is_in_memory(value)]
        reached = {self._views.root(value) for value in first}
        for operand in elementwise_operands(layer):
            target_root = self._views.root(operand)
            if (
                target_root in self._buffer_ids
                and target_root not in reached
                and self._have_equal_layout(operand, layer.result)
            ):
                yield target_root

    def _have_equal_layout(self, one: SSAValue, other: SSAValue) -> bool:
        """Whether two cubes have equal offsets and strides in their roots."""
        views = self._views.of(one), self._views.of(other)
        layouts = [(view.offset, view.line_stride, view.surface_stride) for view in views]
        return layouts[0] == layouts[1]

    def steps(self) -> list[ScheduleStep]:
        """Return a step for each layer."""
        writer = {layer.result: index for index, layer in enumerate(self._units)}
        return [
            ScheduleStep(
                tuple(sorted({writer[value] for value in _read(layer) if value in writer})),
                tuple(sorted(self._touched(layer))),
                tuple(self._pairs(layer)),
            )
            for layer in self._units
        ]

    def _touched(self, layer: FusedLayer) -> set[int]:
        return {self._buffer_ids[root] for root in self._roots(layer) if root in self._buffer_ids}

    def _pairs(self, layer: FusedLayer) -> Iterator[tuple[int, int]]:
        root = self._views.root(layer.result)
        if root in self._buffer_ids:
            for target_root in self._in_place_targets(layer):
                if self._buffer_ids[target_root] != self._buffer_ids[root]:
                    yield self._buffer_ids[root], self._buffer_ids[target_root]


def elementwise_operands(fused: FusedLayer) -> tuple[SSAValue, ...]:
    """
    Return the cubes that a layer reads elementwise as it writes: operands of its last SDP pass in memory, in
    the layout of its result.
    """
    op = fused.ops[-1]
    if not isinstance(op, SdpOp):
        return ()
    shape, precision = cube_of(op.result.type), precision_of(op.result.type)
    cubes = [
        operand for operand in op.operands if operand in fused.cubes and len(shape_of(operand.type)) == 4
    ]
    return tuple(
        operand
        for operand in cubes
        if cube_of(operand.type) == shape and precision_of(operand.type) is precision
    )


def _read(layer: FusedLayer) -> Iterator[SSAValue]:
    for operand in layer.inputs:
        yield from view_sources(operand)


def view_sources(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the results of layers that `value` is a view of."""
    owner = value.owner
    if isinstance(owner, VIEW_OPS):
        for operand in owner.operands:
            yield from view_sources(operand)
    else:
        yield value
