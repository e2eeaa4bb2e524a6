"""SVMRegressor and SVMClassifier of ai.onnx.ml, as in libsvm (Chang and Lin, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values
from xonnc.dialects.onnx.ops.ml import SVMClassifierOp, SVMRegressorOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.ml.linear_models import Linear, linear, linear_scores
from xonnc.lowering.onnx_to_krnl.ml.post_transforms import (
    apply_post_transform,
    argmax_score,
    write_transformed,
)
from xonnc.rewriting.patterns import Array

FEATURES = 8
"""Features that are added to the sums of all support vectors in one pass over these."""


@dataclass(frozen=True)
class _SvmKernel:
    """The kernel function of an SVM: linear, RBF, polynomial or sigmoid."""

    name: str
    gamma: float
    offset: float
    degree: int

    def of(self, near: Scalar) -> Scalar:
        """Return the kernel function of a scalar product, or of a squared distance for RBF."""
        match self.name:
            case "RBF":
                return (near * -self.gamma).exp()
            case "POLY":
                return _power(near * self.gamma + self.offset, self.degree)
            case "SIGMOID":
                return (near * self.gamma + self.offset).tanh()
            case _:
                return near

    def write(
        self, plan: Linear, out: Buffer, source: Buffer, columns: Buffer, kernel: Kernel, row: Scalar
    ) -> None:
        """
        Write the kernel function of a row of features and each support vector to a row of `out`.

        `columns` has a row for each feature: support vectors, of which there are more, are side by side in
        vector registers.
        """

        def add(features: Sequence[Scalar]) -> None:
            numbers = [source.read_as(plan.kind, row, feature) for feature in features]
            with kernel.loops([plan.count]) as (vector,):
                total = out[row, vector]
                for x, feature in zip(numbers, features, strict=True):
                    y = columns[feature, vector]
                    total = total + ((x - y) * (x - y) if self.name == "RBF" else x * y)
                out[row, vector] = total

        with kernel.loops([plan.count]) as (vector,):
            out[row, vector] = 0.0
        chunks, rest = divmod(plan.columns, FEATURES)
        if chunks:
            with kernel.loops([chunks]) as (chunk,):
                add([chunk * FEATURES + number for number in range(FEATURES)])
        if rest:
            add([kernel.index(plan.columns - rest + number) for number in range(rest)])
        if self.name != "LINEAR":
            with kernel.loops([plan.count]) as (vector,):
                out[row, vector] = self.of(out[row, vector])


def _svm_kernel(name: str, parameters: Array | None) -> _SvmKernel:
    if parameters is None or len(parameters) < 3:
        return _SvmKernel(name, 0.0, 0.0, 0)
    gamma, offset, degree = parameters[:3]
    return _SvmKernel(name, float(gamma), float(offset), int(degree))


def _power(x: Scalar, exponent: int) -> Scalar:
    made = x.like(1.0)
    for _ in range(exponent):
        made = made * x
    return made


@lowers(SVMRegressorOp)
def svm_regressor(op: SVMRegressorOp, builder: LoweringBuilder) -> str | None:
    """`Σ coefficient K(x, support vector) + rho`; for one-class models, its sign."""
    count = op.n_supports.value.data
    vectors, coefficients, rho, parameters = (
        numeric_values(each) for each in (op.support_vectors, op.coefficients, op.rho, op.kernel_params)
    )
    name = op.kernel_type.data if count else "LINEAR"
    plan = linear(op.X, vectors if count else coefficients, None, builder)
    if plan is None or coefficients is None or rho is None or not rho.size:
        return "support vectors whose length is not the number of features"
    dual_coefficients = coefficients if count else np.ones(1)
    if plan.count != len(dual_coefficients) or builder.shape(op.Y) != (plan.rows, 1):
        return "a number of coefficients that is not that of support vectors"
    similarity = _svm_kernel(name, parameters)
    kind = plan.kind
    scratch, near = (builder.allocate([plan.rows, size], kind) for size in (1, plan.count))
    inputs = [(op.X, [plan.rows, plan.columns]), np.ascontiguousarray(plan.coefficients.T)]
    weights = dual_coefficients.astype(plan.coefficients.dtype)
    kernel = Kernel(builder, "supportvectors", [op.Y, scratch, near], [*inputs, weights])
    out, sums, similarities, source, columns, shares = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        similarity.write(plan, similarities, source, columns, kernel, row)

        def add(total: Scalar, vector: Scalar) -> Scalar:
            return total + similarities[row, vector] * shares[vector]

        made = kernel.reduce(plan.count, kernel.constant(0.0, kind), add) + float(rho[0])
        if op.one_class.value.data:
            made = (made > 0.0).select(made.like(1.0), -1.0)
        sums[row, 0] = made
        apply_post_transform(kernel, sums, row, 1, op.post_transform.data)
        out[row, 0] = sums[row, 0]
    kernel.call()
    return None


@dataclass(frozen=True)
class _Machine:
    """Support vectors grouped by class, and their coefficients."""

    plan: Linear
    """The features, and the support vectors as coefficients."""
    similarity: _SvmKernel
    classes: int
    begins: Sequence[int]
    """The first support vector of each class, and the end."""
    dual_coefficients: Array
    """[classes - 1, support vectors], in libsvm's layout."""
    rho: Array
    """[pairs of classes]"""
    sigmoids: Array | None
    """[2, pairs]: slope and offset of Platt scaling for each pair, if present."""

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """All pairs of classes, the lower index first."""
        return [(i, j) for i in range(self.classes) for j in range(i + 1, self.classes)]


@lowers(SVMClassifierOp)
def svm_classifier(op: SVMClassifierOp, builder: LoweringBuilder) -> str | None:
    """The class that wins most pairwise decisions; decision values, or libsvm's probabilities."""
    labels = int_values(op.classlabels_ints)
    if labels is None or len(labels) < 2:
        return "string class labels, or a single class"
    counts = int_values(op.vectors_per_class) or ()
    if not sum(counts):
        return _linear_classifier(op, labels, builder)
    machine = _machine(op, len(labels), counts, builder)
    if isinstance(machine, str):
        return machine
    after, rows = op.post_transform.data, machine.plan.rows
    count = len(machine.pairs)
    has_one = machine.sigmoids is None and count == 1
    columns_expected = 2 if has_one else count if machine.sigmoids is None else len(labels)
    if builder.shape(op.Z) != (rows, columns_expected):
        return f"scores of shape {list(builder.shape(op.Z))}, not {[rows, columns_expected]}"
    if has_one and after == "PROBIT":
        return "PROBIT of one score for two classes"
    scores, votes = (
        builder.allocate([rows, count], machine.plan.kind),
        builder.allocate([rows, len(labels)], i64),
    )
    _decide(machine, op.X, scores, votes, builder)
    if machine.sigmoids is not None:
        scores = _probabilities(machine, scores, builder)
    elif has_one:
        scores = _both(scores, rows, machine.plan, builder)
    _name(votes, op, labels, builder)
    write_transformed(op.Z, scores, (rows, columns_expected), after, builder)
    return None


def _machine(
    op: SVMClassifierOp, classes: int, counts: Sequence[int], builder: LoweringBuilder
) -> _Machine | str:
    vectors, dual_coefficients, rho, parameters, slopes, offsets = (
        numeric_values(each)
        for each in (op.support_vectors, op.coefficients, op.rho, op.kernel_params, op.prob_a, op.prob_b)
    )
    plan = linear(op.X, vectors, None, builder)
    pairs = classes * (classes - 1) // 2
    if plan is None or plan.count != sum(counts) or len(counts) != classes or min(counts) < 0:
        return "support vectors that do not match features or vectors_per_class"
    if dual_coefficients is None or dual_coefficients.size != (classes - 1) * plan.count:
        return "a number of coefficients that is not (classes - 1) · support vectors"
    if rho is None or rho.size != pairs:
        return "a number of values of rho that is not that of pairs of classes"
    sigmoids = None
    if slopes is not None and slopes.size:
        if offsets is None or slopes.size != pairs or offsets.size != pairs:
            return "a number of values of prob_a or prob_b that is not that of pairs of classes"
        sigmoids = np.stack([slopes, offsets]).astype(np.float64)
    dtype = plan.coefficients.dtype
    begins = [0, *accumulate(counts)]
    similarity = _svm_kernel(op.kernel_type.data, parameters)
    matrix = dual_coefficients.reshape(classes - 1, plan.count).astype(dtype)
    return _Machine(plan, similarity, classes, begins, matrix, rho.astype(dtype), sigmoids)


def _decide(
    machine: _Machine, x: SSAValue, scores: SSAValue, votes: SSAValue, builder: LoweringBuilder
) -> None:
    """
    Compute the decision value of each pair of classes, and the votes (one-vs-one).

    For classes i < j: `rho` plus the sum over vectors of class i with coefficients `[j - 1]`, and of class j
    with coefficients `[i]`, times the kernel function. Above 0, class i gets the vote.
    """
    plan, kind, count = machine.plan, machine.plan.kind, len(machine.pairs)
    near = builder.allocate([plan.rows, plan.count], kind)
    operands = [(x, [plan.rows, plan.columns]), np.ascontiguousarray(plan.coefficients.T)]
    kernel = Kernel(builder, "svm_kernel", [near], operands)
    out, source, columns = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        machine.similarity.write(plan, out, source, columns, kernel, row)
    kernel.call()
    tables = [
        machine.dual_coefficients,
        machine.rho,
        np.array(machine.pairs, np.int64),
        np.array(machine.begins, np.int64),
    ]
    kernel = Kernel(builder, "svm_decisions", [scores, votes], [near, *tables])
    out, won, source, dual_coefficients, rho, pairs, begins = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        with kernel.loops([machine.classes]) as (index,):
            won[row, index] = 0
        with kernel.loops([count]) as (pair,):
            first, second = (pairs[pair, index].to(INDEX) for index in (0, 1))
            total = rho[pair]
            for own, line in ((first, second - 1), (second, first)):
                begin, end = (begins[index].to(INDEX) for index in (own, own + 1))

                def add(sum_: Scalar, step: Scalar, begin: Scalar = begin, line: Scalar = line) -> Scalar:
                    vector = begin + step
                    return sum_ + dual_coefficients[line, vector] * source[row, vector]

                total = kernel.reduce(end - begin, total, add)
            out[row, pair] = total
            winner = (total > 0.0).select(first.to(i64), second.to(i64)).to(INDEX)
            won[row, winner] = won[row, winner] + 1
    kernel.call()


MAX_COUPLING_ITERATIONS = 100
"""Iterations of pairwise coupling at most (libsvm: max(100, k))."""

GROUP = 10
"""Iterations of pairwise coupling that are left out together."""

MIN_PROBABILITY = 1e-7
"""Pairwise probabilities are kept this far from 0 and 1."""


def _probabilities(machine: _Machine, scores: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """
    Compute class probabilities from pairwise ones, in f64 as in libsvm.

    Pairwise: Platt scaling, `r[i, j] = 1 / (1 + e^(a score + b))`. Class probabilities minimize `Σ (r[j, i]
    p[i] - r[i, j] p[j])²`, by algorithm 2 of Wu, Lin and Weng, "Probability estimates for multi-class
    classification by pairwise coupling" (JMLR 5, 2004): with `Q[t, t] = Σ r[j, t]²` and `Q[t, j] = -r[j, t]
    r[t, j]`, until `max |Q p - p'Q p|` is below `0.005 / k`.
    """
    assert machine.sigmoids is not None
    plan, k, count = machine.plan, machine.classes, len(machine.pairs)
    chances, squares, current, made = (
        builder.allocate(shape, f64)
        for shape in ([plan.rows, k, k], [plan.rows, k, k], [plan.rows, k], [plan.rows, k])
    )
    inputs = [scores, machine.sigmoids, np.array(machine.pairs, np.int64)]
    kernel = Kernel(builder, "svm_probabilities", [chances, squares, current, made], inputs)
    r, q, qp, p, source, sigmoids, pairs = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        with kernel.loops([count]) as (pair,):
            slope, offset = sigmoids[0, pair], sigmoids[1, pair]
            score = source[row, pair].to(f64)
            chance = (1.0 / (1.0 + (score * slope + offset).exp())).clamp(
                MIN_PROBABILITY, 1 - MIN_PROBABILITY
            )
            first, second = (pairs[pair, index].to(INDEX) for index in (0, 1))
            r[row, first, second] = chance
            r[row, second, first] = 1.0 - chance
        _couple(kernel, row, (r, q, qp, p), k)
    kernel.call()
    return made


def _couple(kernel: Kernel, row: Scalar, buffers: tuple[Buffer, Buffer, Buffer, Buffer], k: int) -> None:
    """Emit the iteration for one row."""
    r, q, _, p = buffers
    zero = kernel.constant(0.0, f64)
    with kernel.loops([k]) as (t,):
        p[row, t] = 1 / k
        with kernel.reducing([k], [zero]) as ((j,), (total,), sums):
            is_self = j.equals(t)
            # The diagonal of r is not initialized.
            back = is_self.select(zero, r[row, j, t])
            q[row, t, j] = -back * is_self.select(zero, r[row, t, j])
            sums.append(total + back * back)
        q[row, t, t] = sums[0]
    most = max(MAX_COUPLING_ITERATIONS, k)
    # Loops cannot be left: after convergence, groups have 0 iterations, and iterations loops of 0.
    groups = (most + GROUP - 1) // GROUP
    with kernel.reducing([groups], [kernel.constant(1, i1)]) as ((group,), (has_group,), group_conditions):
        count = has_group.to(INDEX) * GROUP
        with kernel.reducing([count], [has_group]) as ((number,), (goes_on,), conditions):
            is_last = group * GROUP + number >= most - 1
            conditions.append(_coupling_step(kernel, row, buffers, k, goes_on) & ~is_last)
        group_conditions.append(conditions[0])


def _coupling_step(
    kernel: Kernel, row: Scalar, buffers: tuple[Buffer, Buffer, Buffer, Buffer], k: int, goes_on: Scalar
) -> Scalar:
    """Emit one iteration, which does nothing unless `goes_on`; return whether the next one does."""
    _, q, qp, p = buffers
    zero, iterations = kernel.constant(0.0, f64), goes_on.to(INDEX)
    with kernel.reducing([iterations, k], [zero]) as ((_, t), (total,), totals):
        product = kernel.reduce(k, zero, lambda part, j: part + q[row, t, j] * p[row, j])
        qp[row, t] = product
        totals.append(total + product * p[row, t])
    with kernel.reducing([iterations, k], [zero]) as ((_, t), (max_error,), errors):
        errors.append(max_error.maximum((qp[row, t] - totals[0]).abs()))
    is_far = ~(errors[0] < 0.005 / k) & goes_on
    with kernel.reducing([is_far.to(INDEX), k], [totals[0]]) as ((_, t), (norm,), norms):
        own = q[row, t, t]
        step = (norm - qp[row, t]) / own
        p[row, t] = p[row, t] + step
        inverse = 1.0 / (step + 1.0)
        norms.append((norm + step * (step * own + qp[row, t] * 2.0)) * inverse * inverse)
        with kernel.loops([k]) as (j,):
            qp[row, j] = (qp[row, j] + step * q[row, t, j]) * inverse
            p[row, j] = p[row, j] * inverse
    return is_far


def _both(scores: SSAValue, rows: int, plan: Linear, builder: LoweringBuilder) -> SSAValue:
    """For two classes: the negated score, and the score."""
    made = builder.allocate([rows, 2], plan.kind)
    kernel = Kernel(builder, "binary_scores", [made], [(scores, [rows, 1])])
    out, source = kernel.buffers
    with kernel.loops([rows]) as (row,):
        score = source[row, 0]
        out[row, 0] = -score
        out[row, 1] = score
    kernel.call()
    return made


def _name(scores: SSAValue, op: SVMClassifierOp, labels: Sequence[int], builder: LoweringBuilder) -> None:
    """Write the label of the highest score or number of votes, of equal ones the first."""
    kernel = Kernel(builder, "class_labels", [op.Y], [scores, np.array(labels, np.int64)])
    out, source, names = kernel.buffers
    with kernel.loops(builder.shape(op.Y)) as (row,):
        out[row] = names[argmax_score(kernel, source, row, len(labels))]
    kernel.call()


def _linear_classifier(op: SVMClassifierOp, labels: Sequence[int], builder: LoweringBuilder) -> str | None:
    """Without support vectors: linear scores plus the first value of rho."""
    rho = numeric_values(op.rho)
    if rho is None or not rho.size:
        return "rho is absent"
    plan = linear(op.X, numeric_values(op.coefficients), rho[:1], builder)
    if plan is None or plan.count != len(labels) or builder.shape(op.Z) != (plan.rows, plan.count):
        return "a number of coefficients that does not match features and classes"
    scores = builder.allocate([plan.rows, plan.count], plan.kind)
    linear_scores(plan, op.X, scores, builder)
    _name(scores, op, labels, builder)
    write_transformed(op.Z, scores, (plan.rows, plan.count), op.post_transform.data, builder)
    return None
