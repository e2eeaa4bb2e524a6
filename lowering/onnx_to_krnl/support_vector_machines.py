"""SVMRegressor and SVMClassifier of ai.onnx.ml, as in libsvm (Chang and Lin, 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values
from xonnc.dialects.onnx.ops.ml import SVMClassifierOp, SVMRegressorOp
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.linear_models import Linear, linear, linear_scores
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.post_transforms import apply_post_transform, argmax_score
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.rewriting.patterns import Array


@dataclass(frozen=True)
class _SvmKernel:
    """The kernel function of an SVM: linear, RBF, polynomial or sigmoid."""

    name: str
    gamma: float
    offset: float
    degree: int

    def of(
        self, kernel: KernelBuilder, plan: Linear, source: SSAValue, matrix: SSAValue, at: Sequence[SSAValue]
    ) -> Scalar:
        """Return the kernel function of a row of features and a support vector."""
        row, vector = at
        zero = kernel.constant(0.0, plan.kind)
        with kernel.reducing([plan.columns], [zero]) as ((column,), carried, results):
            x = read_as(kernel, source, [row, column], plan.element, plan.kind)
            y = Scalar(kernel, kernel.load(matrix, [vector, column]))
            term = (x - y) * (x - y) if self.name == "RBF" else x * y
            results.append((Scalar(kernel, carried[0]) + term).value)
        near = Scalar(kernel, results[0])
        match self.name:
            case "RBF":
                return (near * -self.gamma).exp()
            case "POLY":
                return _power(near * self.gamma + self.offset, self.degree)
            case "SIGMOID":
                return (near * self.gamma + self.offset).tanh()
            case _:
                return near


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
    kind, columns = plan.kind, plan.columns
    dtype = plan.coefficients.dtype
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows, 1], builder.element(op.Y)),
            buffer_type([plan.rows, 1], kind),
            buffer_type([plan.rows, columns], plan.element),
            buffer_type([plan.count, columns], kind),
            buffer_type([plan.count], kind),
        ]
    )
    out, sums, source, matrix, weights = kernel.buffers
    zero = kernel.constant(0.0, kind)
    with kernel.loops([plan.rows]) as (row,):
        with kernel.reducing([plan.count], [zero]) as ((vector,), total, totals):
            near = similarity.of(kernel, plan, source, matrix, [row, vector])
            share = Scalar(kernel, kernel.load(weights, [vector]))
            totals.append((Scalar(kernel, total[0]) + near * share).value)
        made = Scalar(kernel, totals[0]) + float(rho[0])
        if op.one_class.value.data:
            made = (made > 0.0).select(made.like(1.0), -1.0)
        at = [row, kernel.index(0)]
        kernel.store(made.value, sums, at)
        apply_post_transform(kernel, sums, row, 1, op.post_transform.data)
        made = Scalar(kernel, kernel.load(sums, at)).to(compute_type(builder.element(op.Y)))
        kernel.write(made.value, out, at, builder.element(op.Y))
    scratch = builder.allocate([plan.rows, 1], kind)
    tables = [
        builder.constant_buffer(plan.coefficients),
        builder.constant_buffer(dual_coefficients.astype(dtype)),
    ]
    builder.call("supportvectors", kernel, [builder.result(op.Y), scratch], [builder.buffer(op.X), *tables])
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
    _name(votes, len(labels), i64, op, labels, builder)
    _write(scores, (rows, columns_expected), machine.plan, after, op, builder)
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
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows, plan.count], kind),
            buffer_type([plan.rows, plan.columns], plan.element),
            buffer_type([plan.count, plan.columns], kind),
        ]
    )
    out, source, matrix = kernel.buffers
    with kernel.loops([plan.rows, plan.count]) as (row, vector):
        made = machine.similarity.of(kernel, plan, source, matrix, [row, vector])
        kernel.store(made.value, out, [row, vector])
    builder.call(
        "svm_kernel", kernel, [near], [builder.buffer(x), builder.constant_buffer(plan.coefficients)]
    )
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows, count], kind),
            buffer_type([plan.rows, machine.classes], i64),
            buffer_type([plan.rows, plan.count], kind),
            buffer_type([machine.classes - 1, plan.count], kind),
            buffer_type([count], kind),
            buffer_type([count, 2], i64),
            buffer_type([machine.classes + 1], i64),
        ]
    )
    out, won, source, dual_coefficients, rho, pairs, begins = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        with kernel.loops([machine.classes]) as (index,):
            kernel.store(kernel.constant(0, i64), won, [row, index])
        with kernel.loops([count]) as (pair,):
            first, second = (
                Scalar(kernel, kernel.load(pairs, [pair, kernel.index(index)])).to(INDEX) for index in (0, 1)
            )
            total = Scalar(kernel, kernel.load(rho, [pair]))
            for own, line in ((first, second - 1), (second, first)):
                begin, end = (
                    Scalar(kernel, kernel.load(begins, [index.value])).to(INDEX) for index in (own, own + 1)
                )
                with kernel.reducing([(end - begin).value], [total.value]) as (
                    (iteration,),
                    accumulators,
                    results,
                ):
                    vector = (begin + Scalar(kernel, iteration)).value
                    share = Scalar(kernel, kernel.load(dual_coefficients, [line.value, vector]))
                    term = share * Scalar(kernel, kernel.load(source, [row, vector]))
                    results.append((Scalar(kernel, accumulators[0]) + term).value)
                total = Scalar(kernel, results[0])
            kernel.store(total.value, out, [row, pair])
            winner = (total > 0.0).select(first.to(i64), second.to(i64)).to(INDEX).value
            count_ = Scalar(kernel, kernel.load(won, [row, winner])) + 1
            kernel.store(count_.value, won, [row, winner])
    tables = [
        machine.dual_coefficients,
        machine.rho,
        np.array(machine.pairs, np.int64),
        np.array(machine.begins, np.int64),
    ]
    builder.call("svm_decisions", kernel, [scores, votes], [near, *map(builder.constant_buffer, tables)])


MAX_COUPLING_ITERATIONS = 100
"""Iterations of pairwise coupling at most (libsvm: max(100, k))."""

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
    kernel = KernelBuilder(
        [
            *(buffer_type([plan.rows, k, k], f64) for _ in range(2)),
            *(buffer_type([plan.rows, k], f64) for _ in range(2)),
            buffer_type([plan.rows, count], plan.kind),
            buffer_type([2, count], f64),
            buffer_type([count, 2], i64),
        ]
    )
    r, q, qp, p, source, sigmoids, pairs = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        with kernel.loops([count]) as (pair,):
            slope, offset = (
                Scalar(kernel, kernel.load(sigmoids, [kernel.index(index), pair])) for index in (0, 1)
            )
            score = Scalar(kernel, kernel.load(source, [row, pair])).to(f64)
            chance = (1.0 / (1.0 + (score * slope + offset).exp())).clamp(
                MIN_PROBABILITY, 1 - MIN_PROBABILITY
            )
            first, second = (
                Scalar(kernel, kernel.load(pairs, [pair, kernel.index(index)])).to(INDEX).value
                for index in (0, 1)
            )
            kernel.store(chance.value, r, [row, first, second])
            kernel.store((1.0 - chance).value, r, [row, second, first])
        _couple(kernel, row, (r, q, qp, p), k)
    tables = [machine.sigmoids, np.array(machine.pairs, np.int64)]
    outputs = [chances, squares, current, made]
    builder.call("svm_probabilities", kernel, outputs, [scores, *map(builder.constant_buffer, tables)])
    return made


def _couple(
    kernel: KernelBuilder, row: SSAValue, buffers: tuple[SSAValue, SSAValue, SSAValue, SSAValue], k: int
) -> None:
    """Emit the iteration for one row."""
    r, q, qp, p = buffers

    def load(buffer: SSAValue, *at: SSAValue) -> Scalar:
        return Scalar(kernel, kernel.load(buffer, [row, *at]))

    zero = kernel.constant(0.0, f64)
    with kernel.loops([k]) as (t,):
        kernel.store(kernel.constant(1 / k, f64), p, [row, t])
        with kernel.reducing([k], [zero]) as ((j,), accumulators, sums):
            is_self = Scalar(kernel, j).equals(Scalar(kernel, t))
            # The diagonal of r is not initialized.
            back = is_self.select(Scalar(kernel, zero), load(r, j, t))
            kernel.store((-back * is_self.select(Scalar(kernel, zero), load(r, t, j))).value, q, [row, t, j])
            sums.append((Scalar(kernel, accumulators[0]) + back * back).value)
        kernel.store(sums[0], q, [row, t, t])
    with kernel.reducing([max(MAX_COUPLING_ITERATIONS, k)], [kernel.constant(1, i1)]) as (
        _,
        accumulators,
        conditions,
    ):
        # After convergence, the inner loops run 0 iterations.
        iterations = Scalar(kernel, accumulators[0]).to(i64).to(INDEX).value
        with kernel.reducing([iterations, k], [zero]) as ((_, t), carried, totals):
            with kernel.reducing([k], [zero]) as ((j,), part, sums):
                sums.append((Scalar(kernel, part[0]) + load(q, t, j) * load(p, j)).value)
            kernel.store(sums[0], qp, [row, t])
            totals.append((Scalar(kernel, carried[0]) + Scalar(kernel, sums[0]) * load(p, t)).value)
        total = Scalar(kernel, totals[0])
        with kernel.reducing([iterations, k], [zero]) as ((_, t), carried, errors):
            error = (load(qp, t) - total).abs()
            errors.append(Scalar(kernel, carried[0]).maximum(error).value)
        is_far = ~(Scalar(kernel, errors[0]) < 0.005 / k) & Scalar(kernel, accumulators[0])
        steps = is_far.to(i64).to(INDEX).value
        with kernel.reducing([steps, k], [total.value]) as ((_, t), carried, norms):
            norm = Scalar(kernel, carried[0])
            own = load(q, t, t)
            step = (norm - load(qp, t)) / own
            kernel.store((load(p, t) + step).value, p, [row, t])
            scale = step + 1.0
            norms.append(((norm + step * (step * own + load(qp, t) * 2.0)) / scale / scale).value)
            with kernel.loops([k]) as (j,):
                kernel.store(((load(qp, j) + step * load(q, t, j)) / scale).value, qp, [row, j])
                kernel.store((load(p, j) / scale).value, p, [row, j])
        conditions.append(is_far.value)


def _both(scores: SSAValue, rows: int, plan: Linear, builder: LoweringBuilder) -> SSAValue:
    """For two classes: the negated score, and the score."""
    made = builder.allocate([rows, 2], plan.kind)
    kernel = KernelBuilder([buffer_type([rows, 2], plan.kind), buffer_type([rows, 1], plan.kind)])
    out, source = kernel.buffers
    with kernel.loops([rows]) as (row,):
        score = Scalar(kernel, kernel.load(source, [row, kernel.index(0)]))
        kernel.store((-score).value, out, [row, kernel.index(0)])
        kernel.store(score.value, out, [row, kernel.index(1)])
    builder.call("binary_scores", kernel, [made], [scores])
    return made


def _name(
    scores: SSAValue,
    count: int,
    kind: Attribute,
    op: SVMClassifierOp,
    labels: Sequence[int],
    builder: LoweringBuilder,
) -> None:
    """Write the label of the highest score or number of votes, of equal ones the first."""
    rows = builder.shape(op.Y)[0]
    kernel = KernelBuilder(
        [buffer_type([rows], i64), buffer_type([rows, count], kind), buffer_type([count], i64)]
    )
    out, source, names = kernel.buffers
    with kernel.loops([rows]) as (row,):
        kernel.store(kernel.load(names, [argmax_score(kernel, source, row, count)]), out, [row])
    builder.call(
        "class_labels",
        kernel,
        [builder.result(op.Y)],
        [scores, builder.constant_buffer(np.array(labels, np.int64))],
    )


def _write(
    scores: SSAValue,
    shape: tuple[int, int],
    plan: Linear,
    after: str,
    op: SVMClassifierOp,
    builder: LoweringBuilder,
) -> None:
    """Apply `post_transform` and write the scores."""
    rows, count = shape
    kind = element_of(scores)
    kernel = KernelBuilder([buffer_type([rows, count], f32), buffer_type([rows, count], kind)])
    out, source = kernel.buffers
    with kernel.loops([rows]) as (row,):
        apply_post_transform(kernel, source, row, count, after)
        with kernel.loops([count]) as (column,):
            kernel.store(Scalar(kernel, kernel.load(source, [row, column])).to(f32).value, out, [row, column])
    builder.call("post_transform", kernel, [builder.result(op.Z), scores], [])


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
    _name(scores, plan.count, plan.kind, op, labels, builder)
    _write(scores, (plan.rows, plan.count), plan, op.post_transform.data, op, builder)
    return None
