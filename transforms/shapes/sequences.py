"""Shapes of operators on sequences; those without a function are inferred by the onnx package."""

from __future__ import annotations

from xonnc.dialects.onnx.ops.sequence import SequenceEmptyOp
from xonnc.dialects.onnx.types import SeqType, element_type
from xonnc.transforms.shapes.control_flow import union
from xonnc.transforms.shapes.inference_context import InferenceContext, Types, infers


@infers("SequenceInsert")
def sequence_insert(ctx: InferenceContext) -> Types:
    """The common type of the elements and the tensor; the tensor's in an empty sequence."""
    sequence, tensor = ctx.op.operands[0], ctx.op.operands[1].type
    if not isinstance(sequence.type, SeqType) or element_type(tensor) is None:
        return [None]
    if isinstance(sequence.owner, SequenceEmptyOp):
        return [SeqType(tensor)]
    common = union(sequence.type.element_type, tensor)
    return [None if common is None else SeqType(common)]
