"""BatchNormalization in training mode as inference mode, with ReduceMean for the batch statistics."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape
from xonnc.rewriting.onnx import (
    Add,
    BatchNormalization,
    BatchNormalizationInferenceMode,
    Cast,
    Mul,
    ReduceMean,
    Reshape,
    Sub,
)
from xonnc.rewriting.patterns import MatchFailure, OperandSpec, RewriteResult, absent, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.decompose_versions import listed


@rule(
    BatchNormalization(
        value.x,
        value.scale,
        value.bias,
        value.mean,
        value.variance,
        epsilon=attr.epsilon,
        momentum=attr.momentum,
        training_mode=attr.training,
    )
)
def batch_normalization(
    root: Operation,
    x: SSAValue,
    scale: SSAValue,
    bias: SSAValue,
    mean: SSAValue,
    variance: SSAValue,
    epsilon: float,
    momentum: float,
    training: int,
) -> RewriteResult:
    """
    y = (x - m) scale / sqrt(v + epsilon) + bias, with the mean m and variance v of x per channel

    The running mean becomes momentum · mean + (1 - momentum) · m; the running variance likewise.
    """
    shape = static_shape(x.type)
    if not training or shape is None or len(shape) < 2:
        return MatchFailure("it is not in training, or the shape is not known")
    own, wide = element_type(x.type), element_type(mean.type)
    if own is None or wide is None or numpy_dtype(own).itemsize > numpy_dtype(wide).itemsize:
        return MatchFailure("its statistics have a narrower type than its input")
    # From opset 15 on the statistics of float16 may be float32, in which they are computed then.
    data = x if own == wide else Cast(x, to=wide)
    axes = listed([axis for axis in range(len(shape)) if axis != 1])
    own_mean = ReduceMean(data, axes, keepdims=0, noop_with_empty_axes=0)
    apart = Sub(data, Reshape(own_mean, listed([1, shape[1], *[1] * (len(shape) - 2)])))
    own_variance = ReduceMean(Mul(apart, apart), axes, keepdims=0, noop_with_empty_axes=0)
    made: list[OperandSpec] = [
        BatchNormalizationInferenceMode(x, scale, bias, own_mean, own_variance, epsilon=epsilon)
    ]
    share, rest = (np.asarray(each).astype(numpy_dtype(wide)) for each in (momentum, 1 - momentum))
    for result, statistic, current in zip(
        root.results[1:], (mean, variance), (own_mean, own_variance), strict=True
    ):
        made.append(absent if result.type == NONE else Add(Mul(statistic, share), Mul(current, rest)))
    return made


RULES = rules(BatchNormalization=batch_normalization)
