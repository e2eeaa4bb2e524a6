"""
Logits: values that only a softmax reads.

Only differences to the largest logit matter, and only while they are small, so quantization need not cover
the rest of the range.
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
"""Ops that can add a constant without another quantization."""

VIEWS = (FlattenOp, IdentityOp, ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)

LOGIT_MARGIN = 5.0
"""
Logits this far below log(n) of the largest contribute e^-5 of its probability in total, less than a step of
1/127.
"""


def are_logits(value: SSAValue) -> bool:
    """Whether `value` is one row that a linear operator or average produces and only a softmax reads."""
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
    """Yield the logits in `module`, and how far below the largest one they still matter."""
    for op in module.walk():
        for result in op.results:
            shape = static_shape(result.type) if isinstance(op, LOGIT_PRODUCERS) else None
            if shape is not None and are_logits(result):
                yield result, LOGIT_MARGIN + log(prod(shape))
