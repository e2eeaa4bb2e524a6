"""Linear models of ai.onnx.ml: LinearRegressor, LinearClassifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values, string_values
from xonnc.dialects.onnx.ops.ml import LinearClassifierOp, LinearRegressorOp
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.post_transforms import apply_post_transform, argmax_score
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.rewriting.patterns import Array


@dataclass(frozen=True)
class Linear:
    """A linear model: rows of features, and coefficients for each score."""

    rows: int
    columns: int
    element: Attribute
    kind: Attribute
    coefficients: Array
    """[scores, columns]"""
    intercepts: Array
    """[scores]"""

    @property
    def count(self) -> int:
        """The number of scores."""
        return len(self.coefficients)


def linear(
    x: SSAValue, coefficients: Array | None, added: Array | None, builder: LoweringBuilder
) -> Linear | None:
    """Return a linear model; None if coefficients do not fit the features."""
    shape, element = builder.shape(x), builder.element(x)
    rows, columns = (1, *shape)[-2:] if shape else (1, 1)
    if (
        coefficients is None
        or len(shape) > 2
        or not columns
        or not coefficients.size
        or coefficients.size % columns
    ):
        return None
    kind = f64 if compute_type(element) == f64 else f32
    dtype = np.float64 if kind == f64 else np.float32
    matrix = coefficients.reshape(-1, columns).astype(dtype)
    numbers = np.zeros(1) if added is None or not added.size else added
    if numbers.size not in (1, len(matrix)):
        return None
    return Linear(rows, columns, element, kind, matrix, np.broadcast_to(numbers, len(matrix)).astype(dtype))


def linear_scores(plan: Linear, x: SSAValue, sums: SSAValue, builder: LoweringBuilder) -> None:
    """Compute `X coefficientsᵀ + intercepts`."""
    count, columns, kind = plan.count, plan.columns, plan.kind
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows, count], kind),
            buffer_type([plan.rows, columns], plan.element),
            buffer_type([count, columns], kind),
            buffer_type([count], kind),
        ]
    )
    out, source, matrix, first = kernel.buffers
    with kernel.loops([plan.rows, count]) as (row, score):
        with kernel.reducing([columns], [kernel.constant(0.0, kind)]) as ((column,), accumulators, results):
            number = read_as(kernel, source, [row, column], plan.element, kind)
            term = number * Scalar(kernel, kernel.load(matrix, [score, column]))
            results.append((Scalar(kernel, accumulators[0]) + term).value)
        total = Scalar(kernel, results[0]) + Scalar(kernel, kernel.load(first, [score]))
        kernel.store(total.value, out, [row, score])
    tables = [
        builder.constant_buffer(np.ascontiguousarray(each)) for each in (plan.coefficients, plan.intercepts)
    ]
    builder.call("linear_scores", kernel, [sums], [builder.buffer(x), *tables])


@lowers(LinearRegressorOp)
def linear_regressor(op: LinearRegressorOp, builder: LoweringBuilder) -> str | None:
    """`X coefficients + intercepts` for each target."""
    plan = linear(op.X, numeric_values(op.coefficients), numeric_values(op.intercepts), builder)
    if plan is None or builder.shape(op.Y) != (plan.rows, plan.count):
        return "a number of coefficients that does not match features and targets"
    sums = builder.allocate([plan.rows, plan.count], plan.kind)
    linear_scores(plan, op.X, sums, builder)
    finish(op.Y, sums, plan, op.post_transform.data, builder)
    return None


def finish(result: SSAValue, sums: SSAValue, plan: Linear, after: str, builder: LoweringBuilder) -> None:
    """Apply `post_transform` to the scores and write them."""
    element = builder.element(result)
    kernel = KernelBuilder([buffer_type([plan.rows, plan.count], each) for each in (element, plan.kind)])
    out, scores = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        apply_post_transform(kernel, scores, row, plan.count, after)
        with kernel.loops([plan.count]) as (column,):
            made = Scalar(kernel, kernel.load(scores, [row, column])).to(compute_type(element))
            kernel.write(made.value, out, [row, column], element)
    builder.call("post_transform", kernel, [builder.result(result), sums], [])


@lowers(LinearClassifierOp)
def linear_classifier(op: LinearClassifierOp, builder: LoweringBuilder) -> str | None:
    """
    The class of the highest score, and all scores.

    Two classes may share one score, whose negative is that of the first.
    """
    labels = int_values(op.classlabels_ints)
    if labels is None or string_values(op.classlabels_strings):
        return "string class labels"
    plan = linear(op.X, numeric_values(op.coefficients), numeric_values(op.intercepts), builder)
    is_binary = plan is not None and plan.count == 1 and len(labels) == 2
    count = 2 if is_binary else 0 if plan is None else plan.count
    if plan is None or builder.shape(op.Z) != (plan.rows, count) or len(labels) != count:
        return "a number of coefficients that does not match features and classes"
    after, own = op.post_transform.data, builder.allocate([plan.rows, plan.count], plan.kind)
    linear_scores(plan, op.X, own, builder)
    both = builder.allocate([plan.rows, count], plan.kind)
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows], i64),
            buffer_type([plan.rows, count], f32),
            buffer_type([plan.rows, count], plan.kind),
            buffer_type([plan.rows, plan.count], plan.kind),
            buffer_type([count], i64),
        ]
    )
    label, out, scores, sums, names = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        for column in range(count):
            score = Scalar(kernel, kernel.load(sums, [row, kernel.index(0 if is_binary else column)]))
            score = -score if is_binary and not column else score
            kernel.store(score.value, scores, [row, kernel.index(column)])
        apply_post_transform(kernel, scores, row, count, after)
        if count == 1:
            share = Scalar(kernel, kernel.load(scores, [row, kernel.index(0)]))
            is_it = share >= (0.0 if after == "NONE" else 0.5)
            name = Scalar(kernel, kernel.load(names, [kernel.index(0)]))
            kernel.store(is_it.select(name, 0).value, label, [row])
        else:
            kernel.store(kernel.load(names, [argmax_score(kernel, scores, row, count)]), label, [row])
        with kernel.loops([count]) as (column,):
            made = Scalar(kernel, kernel.load(scores, [row, column])).to(f32)
            kernel.store(made.value, out, [row, column])
    made = [builder.result(op.Y), builder.result(op.Z), both]
    builder.call("class_labels", kernel, made, [own, builder.constant_buffer(np.array(labels, np.int64))])
    return None
