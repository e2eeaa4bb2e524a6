"""Whether each value is made before it is used, as MLIR asks of every region but modules and `onnx.Fused`."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, Region

from xonnc.dialects.onnx.ops.extra import FusedOp

GRAPH_REGION_OPS = (ModuleOp, FusedOp)
"""Ops whose regions are graphs: their order says nothing."""


def dominance_violations(root: Operation) -> Iterator[tuple[Operation, int]]:
    """
    The ops under `root` that use a value before it is made, each with the operand's number.

    Of regions with several blocks only uses within a block are looked at.
    """
    for region in root.regions:
        yield from _in_region(region, set(), isinstance(root, GRAPH_REGION_OPS))


def _in_region(
    region: Region, waiting: set[Operation], is_unordered: bool
) -> Iterator[tuple[Operation, int]]:
    """`waiting` holds the ops whose results are not to be seen: they come later, or are in another body."""
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
