"""SSA dominance, which MLIR requires of all regions except graph regions (modules, `onnx.Fused`)."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, Region

from xonnc.dialects.onnx.ops.extra import FusedOp

GRAPH_REGION_OPS = (ModuleOp, FusedOp)
"""Ops whose regions are graphs: their order says nothing."""


def dominance_violations(root: Operation) -> Iterator[tuple[Operation, int]]:
    """
    Return the ops under `root` that use a value before its definition, with operand indices.

    Of regions with several blocks only uses within a block are looked at.
    """
    for region in root.regions:
        yield from _in_region(region, set(), isinstance(root, GRAPH_REGION_OPS))


def _in_region(
    region: Region, waiting: set[Operation], is_unordered: bool
) -> Iterator[tuple[Operation, int]]:
    """Check a region; results of ops in `waiting` are not visible: those are later, or in another body."""
    for block in region.blocks:
        if not is_unordered:
            yield from _in_block(block, waiting)
            if len(region.blocks) == 1:
                # What a body makes is not seen outside of it.
                waiting.update(block.ops)
            continue
        for op in block.ops:
            for inner in op.regions:
                yield from _in_region(inner, waiting, isinstance(op, GRAPH_REGION_OPS))


def _in_block(block: Block, waiting: set[Operation]) -> Iterator[tuple[Operation, int]]:
    mine = set(block.ops)
    waiting |= mine
    for op in block.ops:
        for index, operand in enumerate(op.operands):
            if isinstance(operand, OpResult) and operand.op in waiting:
                yield op, index
        for region in op.regions:
            yield from _in_region(region, waiting, isinstance(op, GRAPH_REGION_OPS))
        waiting.discard(op)
