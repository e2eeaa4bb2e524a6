"""Structure of a task: on-the-fly pairs and fused chains (docs/internals/nvdla-hardware.md §5)."""

from __future__ import annotations

from xonnc.formats.nvdla.enumerations import MemoryType, OpType, SdpMode, SdpOpType
from xonnc.formats.nvdla.records import ConvSurface, PdpSurface, SdpOp, SdpSubOp, SdpSurface
from xonnc.formats.nvdla.tasks import DlaTask, Operation

FEEDS = {OpType.CONV: OpType.SDP, OpType.SDP: OpType.PDP}
"""Engines whose results another engine can read on the fly."""


def parent_of(task: DlaTask, operation: Operation) -> Operation | None:
    """Return the operation whose results this one reads on the fly."""
    index = operation.dependency.fused_parent.index
    return task.operations[index] if 0 <= index < len(task.operations) else None


def child_of(task: DlaTask, operation: Operation) -> Operation | None:
    """Return the operation that reads the results of this one on the fly."""
    engine = FEEDS.get(operation.engine)
    if engine is None:
        return None
    index = operation.dependency.consumers[engine].index
    if not 0 <= index < len(task.operations):
        return None
    child = task.operations[index]
    return child if child.dependency.fused_parent.index == operation.index else None


def chains_of(task: DlaTask) -> list[list[int]]:
    """Return for each operation the chain of fused operations that it belongs to, in data order."""
    chains: list[list[int]] = [[operation.index] for operation in task.operations]
    for engine in (OpType.CONV, OpType.SDP):
        for operation in task.operations:
            child = child_of(task, operation) if operation.engine is engine else None
            if child is not None:
                chains[operation.index].append(child.index)
                chains[child.index] = chains[operation.index]
    return chains


def source_type(operation: Operation) -> int:
    """Return the location of the source, as a `MemoryType`."""
    match operation.surface:
        case ConvSurface() | SdpSurface() | PdpSurface() as surface:
            return surface.src_data.type
        case _:
            return MemoryType.MC


def reads_on_the_fly(operation: Operation) -> bool:
    """Whether the source comes directly from another engine."""
    return source_type(operation) == MemoryType.HW


def writes_on_the_fly(operation: Operation) -> bool:
    """Whether the result goes directly to another engine."""
    match operation.surface:
        case ConvSurface() | SdpSurface() | PdpSurface() as surface:
            return surface.dst_data.type == MemoryType.HW
        case _:
            return False


def reads_memory(operation: Operation) -> bool:
    """Whether an operation fetches its source or SDP operands from memory."""
    if not reads_on_the_fly(operation):
        return True
    op = operation.op
    return isinstance(op, SdpOp) and any(fetches(stage) for stage in (op.x1_op, op.x2_op, op.y_op))


def fetches(stage: SdpSubOp) -> bool:
    """Whether an SDP stage fetches operands."""
    return bool(stage.enable) and stage.mode != SdpMode.PER_LAYER and stage.type != SdpOpType.NONE
