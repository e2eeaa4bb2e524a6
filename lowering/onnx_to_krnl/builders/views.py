"""Operators that only change the shape: the result shares the operand's buffer."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers_data_movement,
    supports_dynamic_shapes,
)

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

supports_dynamic_shapes(*VIEWS)


@lowers_data_movement(*VIEWS)
def view(op: Operation, builder: LoweringBuilder) -> str | None:
    """The operand's elements in row-major order, in the result's shape."""
    builder.alias(op.results[0], op.operands[0])
    return None
