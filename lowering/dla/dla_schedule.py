"""
`dla-schedule`: order layers for the least peak memory; constants come first, views follow their sources.

The layers of several images (`dla-batch-images`) keep their order, in which one image loads while the other
computes, and weights stay in the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.dla.images import holds_several_images
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.lowering.dla.fused_layers import VIEW_OPS, FusedLayer, fused_layers
from xonnc.lowering.dla.layer_graph import best_layer_order
from xonnc.lowering.dla.network_checks import blocks
from xonnc.rewriting.decision_limit import may_decide
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class DlaSchedule(ModulePass):
    """Order the layers of a network for the least peak memory."""

    name = "dla-schedule"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule(op, load_target(self.target))


def schedule(module: ModuleOp, target: NvdlaTarget) -> None:
    """Order the layers of every function of `module`."""
    for block in blocks(module):
        _schedule_block(block, target)


def _schedule_block(block: Block, target: NvdlaTarget) -> None:
    if holds_several_images(block):
        reorder(block, list(fused_layers(block)))
        return
    layers, order = best_layer_order(block, target)
    last = block.last_op
    assert last is not None
    if not may_decide(DlaSchedule.name, "layer order", last):
        # Constants come first all the same.
        reorder(block, list(layers))
        return
    reorder(block, [layers[index] for index in order.steps])


def reorder(block: Block, layers: list[FusedLayer]) -> None:
    """Place constants first, then the layers as given; views follow their sources."""
    last = block.last_op
    assert last is not None
    views = [op for op in block.ops if isinstance(op, VIEW_OPS)]
    constants = [op for op in block.ops if isinstance(op, ConstantOp)]
    waiting: dict[Operation, int] = {view: len(set(view.operands)) for view in views}
    readers: dict[SSAValue, list[Operation]] = {}
    for view in views:
        for operand in set(view.operands):
            readers.setdefault(operand, []).append(view)
    ordered: list[Operation] = [*constants]

    def available(value: SSAValue) -> None:
        for view in readers.get(value, ()):
            waiting[view] -= 1
            if not waiting[view]:
                ordered.append(view)
                available(view.results[0])

    for value in (*block.args, *(constant.result for constant in constants)):
        available(value)
    for layer in layers:
        ordered.extend(layer.ops)
        available(layer.result)
    for op in ordered:
        op.detach()
        block.insert_op_before(op, last)
