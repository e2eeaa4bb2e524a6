"""Linear models of ai.onnx.ml: LinearRegressor, LinearClassifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values, string_values
from xonnc.dialects.onnx.ops.ml import LinearClassifierOp, LinearRegressorOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.ml.post_transforms import (
    apply_post_transform,
    argmax_score,
    write_transformed,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
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
    tables = [np.ascontiguousarray(each) for each in (plan.coefficients, plan.intercepts)]
    kernel = Kernel(builder, "linear_scores", [sums], [(x, [plan.rows, plan.columns]), *tables])
    out, source, matrix, first = kernel.buffers
    zero = kernel.constant(0.0, plan.kind)
    with kernel.loops([plan.rows, plan.count]) as (row, score):

        def add(total: Scalar, column: Scalar) -> Scalar:
            return total + source.read_as(plan.kind, row, column) * matrix[score, column]

        out[row, score] = kernel.reduce(plan.columns, zero, add) + first[score]
    kernel.call()


@lowers(LinearRegressorOp)
def linear_regressor(op: LinearRegressorOp, builder: LoweringBuilder) -> str | None:
    """`X coefficients + intercepts` for each target."""
    plan = linear(op.X, numeric_values(op.coefficients), numeric_values(op.intercepts), builder)
    if plan is None or builder.shape(op.Y) != (plan.rows, plan.count):
        return "a number of coefficients that does not match features and targets"
    sums = builder.allocate([plan.rows, plan.count], plan.kind)
    linear_scores(plan, op.X, sums, builder)
    write_transformed(op.Y, sums, (plan.rows, plan.count), op.post_transform.data, builder)
    return None


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
    outputs = [(op.Y, [plan.rows]), op.Z, both]
    kernel = Kernel(builder, "class_labels", outputs, [own, np.array(labels, np.int64)])
    label, out, scores, sums, names = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        for column in range(count):
            score = sums[row, 0 if is_binary else column]
            scores[row, column] = -score if is_binary and not column else score
        apply_post_transform(kernel, scores, row, count, after)
        if count == 1:
            is_it = scores[row, 0] >= (0.0 if after == "NONE" else 0.5)
            label[row] = is_it.select(names[0], 0)
        else:
            label[row] = names[argmax_score(kernel, scores, row, count)]
        with kernel.loops([count]) as (column,):
            out[row, column] = scores[row, column]
    kernel.call()
    return None
