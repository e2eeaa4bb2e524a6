"""Operators that change a shape and nothing else: their results are their operands' buffers."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering, moves, takes_open

VIEWS = (
    nn.FlattenOp,
    tensor.IdentityOp,
    tensor.ReshapeOp,
    tensor.SqueezeOp,
    tensor.SqueezeV11Op,
    tensor.UnsqueezeOp,
    tensor.UnsqueezeV11Op,
)
"""Kinds of op that change a shape."""

takes_open(*VIEWS)


@moves(*VIEWS)
def view(op: Operation, to: Lowering) -> str | None:
    """The operand's elements in rows, in the result's shape."""
    to.alias(op.results[0], op.operands[0])
    return None
