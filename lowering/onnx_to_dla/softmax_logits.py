"""
Scores: numbers that a softmax alone reads. Only their distances from the greatest matter, and only while
these are small, so that few of 8-bit integers' steps need be spent on the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue

from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp, SoftmaxOp, SoftmaxV11Op
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp, FlattenOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.tensor import (
    IdentityOp,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import static_shape

LOGIT_PRODUCERS = (AveragePoolOp, ConvOp, GemmOp, GlobalAveragePoolOp, MatMulOp)
"""Ops that take a constant sum in without a rounding."""

VIEWS = (FlattenOp, IdentityOp, ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)

LOGIT_MARGIN = 5.0
"""Scores so far below those whose shares add up to the greatest one are e^-5 of it: less than a step."""


def are_logits(value: SSAValue) -> bool:
    """Whether `value` is one row of numbers that a sum makes and nothing but a softmax reads."""
    return isinstance(value, OpResult) and isinstance(value.op, LOGIT_PRODUCERS) and _only_for_softmax(value)


def _only_for_softmax(value: SSAValue) -> bool:
    if not value.has_one_use():
        return False
    use = next(iter(value.uses))
    reader = use.operation
    if isinstance(reader, SoftmaxOp | SoftmaxV11Op):
        shape = static_shape(value.type)
        axis = reader.axis.value.data
        return shape is not None and prod(shape) == shape[axis]
    return isinstance(reader, VIEWS) and use.index == 0 and _only_for_softmax(reader.results[0])


def logits_of(module: ModuleOp) -> Iterator[tuple[SSAValue, float]]:
    """The scores in `module`, and how far below the greatest one they still count."""
    for op in module.walk():
        for result in op.results:
            shape = static_shape(result.type) if isinstance(op, LOGIT_PRODUCERS) else None
            if shape is not None and are_logits(result):
                yield result, LOGIT_MARGIN + log(prod(shape))
