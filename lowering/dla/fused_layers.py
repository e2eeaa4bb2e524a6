"""Fused layers in the IR: operations that run as one, and the memory they access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.dla.engines import CdpOp, ConvOp, PdpOp, PowerOp, SdpOp, SoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp, ConstantOp, KernelsOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import FlowType

ENGINE_OPS = (ConvOp, SdpOp, PdpOp, CdpOp)
EMULATED_OPS = (SoftmaxOp, PowerOp)
VIEW_OPS = (ConcatOp, KernelsOp, SliceOp, ReshapeOp)


@dataclass(frozen=True)
class FusedLayer:
    """Operations that hand their cubes on without memory: `conv, sdp, pdp` or a part of it."""

    ops: tuple[Operation, ...]

    @property
    def result(self) -> SSAValue:
        """The cube that the layer writes to memory."""
        return self.ops[-1].results[0]

    @property
    def inputs(self) -> tuple[SSAValue, ...]:
        """The cubes and constants that the layer reads from memory."""
        return tuple(
            operand for op in self.ops for operand in op.operands if not isinstance(operand.type, FlowType)
        )

    @property
    def cubes(self) -> tuple[SSAValue, ...]:
        """The inputs that are not constants; slices of constants count as cubes."""
        return tuple(value for value in self.inputs if not isinstance(value.owner, ConstantOp))


def fused_layers(block: Block) -> Iterator[FusedLayer]:
    """Yield the fused layers of `block`, in the order of their last operations."""
    for op in block.ops:
        is_layer = isinstance(op, ENGINE_OPS + EMULATED_OPS)
        if is_layer and not isinstance(op.results[0].type, FlowType):
            yield FusedLayer(tuple(_upstream(op)))


def _upstream(op: Operation) -> Iterator[Operation]:
    source = op.operands[0]
    if isinstance(source.type, FlowType) and isinstance(source.owner, Operation):
        yield from _upstream(source.owner)
    yield op
