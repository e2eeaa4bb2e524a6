"""Execution of a DLA task: its operations in the order of the dependency graph, each on its engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.event_order import EventOrder
from xonnc.formats.nvdla.checks.pooling_queue import overlapping_poolings
from xonnc.formats.nvdla.event_scheduling import Scheduler, graph_node
from xonnc.formats.nvdla.records import (
    BdmaSurface,
    CdpOp,
    CdpSurface,
    CommonOpDesc,
    ConvOp,
    ConvSurface,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSurface,
)
from xonnc.formats.nvdla.tasks import DlaTask, Operation
from xonnc.formats.nvdla.unread_input import unread_input
from xonnc.runtime.nvdla import bdma, cdp, pdp, rubik, sdp
from xonnc.runtime.nvdla.array_types import F32, I64, AnyArray
from xonnc.runtime.nvdla.conv import ConvolutionCore
from xonnc.runtime.nvdla.lookup_table import LookupTable, lookup_table
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class Finished:
    """The result of an operation: `[images, height, width, lanes]`, fp16 as bits; None for plain copies."""

    operation: Operation
    values: AnyArray | None
    channels: int


@dataclass
class PoolingState:
    """The state of the PDP between poolings; it persists across tasks and inferences."""

    spoiled_by: str = ""
    """The last pooling and its unread input, for messages, if its windows left input unread; else empty."""

    def enter(self, op: PdpOp, surface: PdpSurface, scope: OperationContext) -> None:
        """Update the state for the next pooling; raise `XonncError` if that one would hang."""
        if self.spoiled_by:
            raise scope.refuse(
                f"it deadlocks after {self.spoiled_by}; end the source at the last row that the windows read"
            )
        over = unread_input(op, surface)
        self.spoiled_by = f"{scope.name}, whose windows leave {over} over" if over.breaks_next_pooling else ""


@dataclass(frozen=True)
class TaskRunner:
    """A task with its descriptors, bound to memory; `poolings` is the state of the pooling engine."""

    task: DlaTask
    space: AddressSpace
    target: NvdlaTarget
    exact: bool
    done: Callable[[Finished], None]
    poolings: PoolingState

    def run(self) -> None:
        """Run the task, and leave the dependency counts in memory as the firmware would."""
        counts = self._counts()
        nodes = [
            replace(graph_node(operation), dependency_count=int(counter.read(1)[0]))
            for operation, counter in zip(self.task.operations, counts, strict=True)
        ]
        self._check_poolings()
        scheduler = Scheduler(nodes, self.task.network.op_head, self.task.name)
        luts = [lookup_table(record) for record in self.task.luts]
        core = ConvolutionCore()
        scheduler.run(lambda chain: self._run_chain(chain, core, luts))
        for counter, count in zip(counts, scheduler.counts, strict=True):
            counter.read(1)[...] = count & 0xFF

    def _check_poolings(self) -> None:
        """
        Refuse poolings that may start while an earlier one has unread input, since they hang.

        See docs/internals/nvdla-hardware.md §9.2.
        """
        poolings = [
            unread_input(operation.op, operation.surface)
            for operation in self.task.operations
            if isinstance(operation.op, PdpOp) and isinstance(operation.surface, PdpSurface)
        ]
        if not any(any(over) for over in poolings[:-1]):
            return
        for first, second in overlapping_poolings(self.task, EventOrder(self.task)):
            raise XonncError(
                f"{self.task.name} operation {second} (PDP): it deadlocks after operation {first}, whose "
                "windows leave something over; end the source at the last row that the windows read"
            )

    def _counts(self) -> list[MemoryLocation]:
        """Return the place in memory of every operation's dependency count."""
        step, first = CommonOpDesc.SIZE, CommonOpDesc.offset_of("dependency_count")
        index = self.task.network.dependency_graph_index
        what = f"{self.task.name} dependency graph"
        return [
            self.space.locate(index, number * step + first, 1, what)
            for number in range(len(self.task.operations))
        ]

    def _run_chain(self, chain: Sequence[int], core: ConvolutionCore, luts: Sequence[LookupTable]) -> None:
        """Run an operation or a fused chain: each passes its result on the fly to the next."""
        accumulators: I64 | F32 | None = None
        pixels: AnyArray | None = None
        for index in chain:
            operation = self.task.operations[index]
            name = f"{self.task.name} operation {index} ({operation.engine.name})"
            scope = OperationContext(name, self.space, self.target, self.exact)
            match operation.op, operation.surface:
                case ConvOp() as op, ConvSurface() as surface:
                    accumulators = core.run(op, surface, scope)
                    result = accumulators
                case SdpOp() as op, SdpSurface() as surface:
                    pixels = sdp.run(op, surface, accumulators, luts, scope)
                    result = pixels
                case PdpOp() as op, PdpSurface() as surface:
                    self.poolings.enter(op, surface, scope)
                    result = pdp.run(op, surface, pixels, scope)
                case CdpOp() as op, CdpSurface() as surface:
                    result = cdp.run(op, surface, luts, scope)
                case RubikOp() as op, RubikSurface() as surface:
                    result = rubik.run(op, surface, scope)
                case _, BdmaSurface() as surface:
                    bdma.run(surface, scope)
                    result = None
                case _:
                    raise XonncError(f"{name}: its descriptors are those of different engines")
            self.done(Finished(operation, result, _channels(operation)))


def _channels(operation: Operation) -> int:
    surface = operation.surface
    match surface:
        case SdpSurface():
            return surface.src_data.channel
        case BdmaSurface():
            return 0
        case _:
            return surface.dst_data.channel
