"""Decompose SoftmaxCrossEntropyLoss (docs/internals/onnx-rules.md §5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import is_ranked, numpy_dtype, tensor_type
from xonnc.rewriting.onnx import (
    And,
    Cast,
    Dim,
    Div,
    Einsum,
    Equal,
    LogSoftmax,
    Mul,
    Neg,
    Not,
    OneHot,
    ReduceMean,
    ReduceSum,
    SoftmaxCrossEntropyLoss,
    Squeeze,
    Unsqueeze,
    Where,
)
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.op_builder import OpBuilder


@dataclass(frozen=True)
class _Loss:
    """Operands and types of one loss."""

    builder: OpBuilder
    scores: SSAValue
    labels: SSAValue
    weights: SSAValue
    type: TensorType[Attribute]
    label_type: TensorType[Attribute]
    ignored: int | None

    @property
    def unreduced_type(self) -> Attribute:
        """Return the type of a scalar."""
        return tensor_type((), self.type.element_type)

    def mask(self) -> SSAValue:
        """Return the one-hot mask of the labels without ignored ones: [N, C, …] of i1."""
        builder, shape, labels = self.builder, self.type.get_shape(), self.label_type
        known = shape[1] != DYNAMIC_INDEX
        classes = builder.ints(shape[1]) if known else builder(Dim, self.scores, axis=1)
        values = builder.constant(np.array([0, 1], numpy_dtype(labels.element_type)))
        sizes = labels.get_shape()
        hot_type = tensor_type((sizes[0], shape[1], *sizes[1:]), labels.element_type)
        hot = builder(OneHot, self.labels, classes, values, types=[hot_type], axis=1)
        mask_type = tensor_type(hot_type.get_shape(), i1)
        mask = builder(Cast, hot, types=[mask_type], saturate=1, to=i1)
        if self.ignored is None:
            return mask
        ignored = builder.constant(np.array(self.ignored, numpy_dtype(labels.element_type)))
        counts = builder(Not, builder(Equal, self.labels, ignored, types=[tensor_type(sizes, i1)]))
        return builder(And, mask, builder(Unsqueeze, counts, builder.ints(1)), types=[mask_type])

    def for_each(self, mask: SSAValue, logarithm: SSAValue) -> SSAValue:
        """Return the weighted log-probability of each label, the negated loss: [N, 1, …]."""
        builder, shape = self.builder, self.type.get_shape()
        zero = builder.constant(np.array(0, numpy_dtype(self.type.element_type)))
        own = builder(Where, mask, logarithm, zero, types=[self.type])
        if not is_absent(self.weights):
            axes = builder.ints(0, *range(2, len(shape)))
            own = builder(Mul, own, builder(Unsqueeze, self.weights, axes), types=[self.type])
        summed = tensor_type((shape[0], 1, *shape[2:]), self.type.element_type)
        return builder(ReduceSum, own, builder.ints(1), types=[summed])

    def total(self, loss: SSAValue) -> SSAValue:
        """Return the sum of all elements."""
        return self.builder(ReduceSum, loss, self.builder.none(), types=[self.unreduced_type], keepdims=0)

    def mean(self, mask: SSAValue, loss: SSAValue) -> SSAValue:
        """Return the weighted mean over labels that are not ignored."""
        builder, sizes = self.builder, self.label_type.get_shape()
        if is_absent(self.weights) and self.ignored is None:
            return builder(ReduceMean, loss, builder.none(), types=[self.unreduced_type], keepdims=0)
        total = self.total(loss)
        hot_type = tensor_type((sizes[0], self.type.get_shape()[1], *sizes[1:]), self.type.element_type)
        hot = builder(Cast, mask, types=[hot_type], saturate=1, to=self.type.element_type)
        if not is_absent(self.weights):
            each = tensor_type(sizes, self.type.element_type)
            hot = builder(Einsum, hot, self.weights, types=[each], equation="ij...,j->i...")
        return builder(Div, total, self.total(hot), types=[self.unreduced_type])


@rule(
    SoftmaxCrossEntropyLoss(
        value.scores, value.labels, value.weights, ignore_index=attr.ignored, reduction=attr.reduction
    )
)
def softmax_cross_entropy(
    root: Operation,
    scores: SSAValue,
    labels: SSAValue,
    weights: SSAValue,
    ignored: int | None,
    reduction: str,
) -> RewriteResult:
    """
    loss = -w log(softmax(scores)) at each label; optionally the sum or the weighted mean

    Unlike onnx-mlir's decomposition, it uses LogSoftmax, selects by Where instead of multiplying by zero (a
    logarithm may be -inf, and -inf · 0 is NaN), and supports `ignore_index`.
    """
    if not is_ranked(scores.type) or not is_ranked(labels.type):
        return MatchFailure("the ranks are not known")
    type_, label_type = scores.type, labels.type

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        nothing = builder.none()
        loss = _Loss(builder, scores, labels, weights, type_, label_type, ignored)
        mask = loss.mask()
        logarithm = builder(LogSoftmax, scores, types=[type_], axis=1)
        each = loss.for_each(mask, logarithm)
        if reduction == "mean":
            result = loss.mean(mask, each)
        elif reduction == "sum":
            result = loss.total(each)
        else:
            result = builder(Squeeze, each, builder.ints(1))
        negative = builder(Neg, result, types=[op.results[0].type])
        absent = isinstance(op.results[1].type, NoneType)
        return [negative, nothing if absent else logarithm]

    return ImperativeRewrite(write)


RULES = rules(SoftmaxCrossEntropyLoss=softmax_cross_entropy)
