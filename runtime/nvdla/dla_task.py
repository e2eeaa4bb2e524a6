"""One DLA task: its operations run in the order of the dependency graph, each on its engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xonnc.errors import XonncError
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
from xonnc.formats.nvdla.scheduling import Scheduler, graph_node
from xonnc.formats.nvdla.tasks import DlaTask, Operation
from xonnc.runtime.nvdla import bdma, cdp, pdp, rubik, sdp
from xonnc.runtime.nvdla.arrays import F32, I64, AnyArray
from xonnc.runtime.nvdla.conv import ConvolutionCore
from xonnc.runtime.nvdla.lookup_table import LookupTable, lookup_table
from xonnc.runtime.nvdla.memory import AddressSpace, Place
from xonnc.runtime.nvdla.scope import Scope
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class Finished:
    """What an operation delivered: `[images, height, width, lanes]`, fp16 as bits; None for plain copies."""

    operation: Operation
    values: AnyArray | None
    channels: int


@dataclass(frozen=True)
class TaskRunner:
    """A task with its descriptors, bound to memory."""

    task: DlaTask
    space: AddressSpace
    target: NvdlaTarget
    exact: bool
    done: Callable[[Finished], None]

    def run(self) -> None:
        """Runs the task; the dependency counts in memory end where the firmware would leave them."""
        counts = self._counts()
        nodes = [
            replace(graph_node(operation), dependency_count=int(place.read(1)[0]))
            for operation, place in zip(self.task.operations, counts, strict=True)
        ]
        scheduler = Scheduler(nodes, self.task.network.op_head, self.task.name)
        luts = [lookup_table(record) for record in self.task.luts]
        core = ConvolutionCore()
        scheduler.run(lambda chain: self._run_chain(chain, core, luts))
        for place, count in zip(counts, scheduler.counts, strict=True):
            place.read(1)[...] = count & 0xFF

    def _counts(self) -> list[Place]:
        """Where every operation's dependency count lies in memory."""
        step, first = CommonOpDesc.SIZE, CommonOpDesc.offset_of("dependency_count")
        index = self.task.network.dependency_graph_index
        what = f"{self.task.name} dependency graph"
        return [
            self.space.locate(index, number * step + first, 1, what)
            for number in range(len(self.task.operations))
        ]

    def _run_chain(self, chain: Sequence[int], core: ConvolutionCore, luts: Sequence[LookupTable]) -> None:
        """Runs one operation, or the operations a stream passes through, and hands each result on."""
        accumulators: I64 | F32 | None = None
        pixels: AnyArray | None = None
        for index in chain:
            operation = self.task.operations[index]
            name = f"{self.task.name} operation {index} ({operation.engine.name})"
            scope = Scope(name, self.space, self.target, self.exact)
            match operation.op, operation.surface:
                case ConvOp() as op, ConvSurface() as surface:
                    accumulators = core.run(op, surface, scope)
                    result = accumulators
                case SdpOp() as op, SdpSurface() as surface:
                    pixels = sdp.run(op, surface, accumulators, luts, scope)
                    result = pixels
                case PdpOp() as op, PdpSurface() as surface:
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
