"""Shapes of custom operators: tokenizers, and by the pattern that the model gives."""

from __future__ import annotations

from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    InferenceContext,
    Types,
    broadcast,
    infers,
    typed,
)

TOKENIZER = ("com.microsoft", "Tokenizer")
"""Operator of text pipelines exported from scikit-learn: domain and name."""


@infers("Custom")
def custom(ctx: InferenceContext) -> Types:
    """By `shape_infer_pattern`; a tokenizer appends an axis of tokens; other operators are unknown."""
    op = ctx.op
    assert isinstance(op, CustomOp)
    if op.shape_infer_pattern is not None:
        return _by_pattern(ctx, op, op.shape_infer_pattern.data)
    strings = ctx.shape(0) if len(op.operands) == 1 else None
    if (op.domain, op.function_name.data) != TOKENIZER or len(op.results) != 1 or strings is None:
        return [None] * len(op.results)
    return typed((*strings, UNKNOWN), ctx.result_element())


def _by_pattern(ctx: InferenceContext, op: CustomOp, pattern: str) -> Types:
    """
    The shape of the first selected operand (`SameAs`) or the broadcast of all selected ones (`MDBroadcast`).

    `inputs_for_infer` selects operands, all by default. `output_element_type` wins over the operand's type.
    """
    count = len(op.operands)
    if len(op.results) != 1:
        raise ctx.fail(f"Shape inference pattern for multiple outputs NOT supported: {len(op.results)}")
    given = ctx.integers("inputs_for_infer")
    selected = [index for index in range(count) if ctx.has(index)] if given is None else list(given)
    if not selected or any(not 0 <= index < count or not ctx.has(index) for index in selected):
        raise ctx.fail(f"inputs_for_infer {selected} must select some of the {count} inputs")
    element = ctx.element(selected[0]) if op.output_element_type is None else op.output_element_type
    if pattern == "SameAs":
        selected = selected[:1]
    shapes = [shape for index in selected if (shape := ctx.shape(index)) is not None]
    if len(shapes) < len(selected):
        return [None]
    return typed(broadcast(ctx, shapes, lambda: [ctx.operand(index) for index in selected]), element)
