"""
TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml.

Rows walk several trees at once, so that the loads of one tree hide the latency of another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values, string_values
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.ml import TreeEnsembleClassifierOp, TreeEnsembleOp, TreeEnsembleRegressorOp
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.post_transforms import apply_post_transform, argmax_score
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.tree_tables import (
    LEAF,
    InvalidTreeEnsembleError,
    TreeTables,
    legacy_tree_tables,
    tree_tables,
)
from xonnc.rewriting.patterns import Array

ORDERS = {
    "BRANCH_LEQ": "ole",
    "BRANCH_LT": "olt",
    "BRANCH_GTE": "oge",
    "BRANCH_GT": "ogt",
    "BRANCH_EQ": "oeq",
    "BRANCH_NEQ": "one",
}
"""Predicates of arith.cmpf for branch modes; NaN is handled separately."""

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""In the order of TreeEnsemble's `aggregate_function`."""

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True)
class _EnsemblePlan:
    """A tree ensemble: `count` scores per row, starting at `base`."""

    trees: TreeTables
    rows: int
    columns: int
    element: Attribute
    kind: Attribute
    """The type that features are compared and weights are added in."""
    count: int
    how: str
    base: Array
    differs_if_none: bool
    """Whether BRANCH_NEQ holds for NaN, as in numpy; else only `missing` decides."""


@lowers(TreeEnsembleOp)
def tree_ensemble(op: TreeEnsembleOp, builder: LoweringBuilder) -> str | None:
    """Aggregate the weights of the leaves that each row reaches."""
    count = 1 if op.n_targets is None else op.n_targets.value.data
    how, after = op.aggregate_function.value.data, op.post_transform.value.data
    if not 0 <= how < len(AGGREGATES) or not 0 <= after < len(TRANSFORMS):
        return f"aggregate_function {how} or post_transform {after}"
    try:
        trees = tree_tables(op)
    except InvalidTreeEnsembleError as error:
        return str(error)
    plan = _plan(op.X, trees, count, AGGREGATES[how], np.zeros(0), builder, differs_if_none=True)
    return _regressed(plan, op.X, op.Y, TRANSFORMS[after], builder)


@lowers(TreeEnsembleRegressorOp)
def tree_ensemble_regressor(op: TreeEnsembleRegressorOp, builder: LoweringBuilder) -> str | None:
    """Aggregate the weights of the leaves that each row reaches."""
    count = 1 if op.n_targets is None else op.n_targets.value.data
    base = _base(op)
    try:
        trees = legacy_tree_tables(op)
    except InvalidTreeEnsembleError as error:
        return str(error)
    plan = _plan(op.X, trees, count, op.aggregate_function.data, base, builder)
    return _regressed(plan, op.X, op.Y, op.post_transform.data, builder)


def _base(op: TreeEnsembleRegressorOp | TreeEnsembleClassifierOp) -> Array:
    elements = None if op.base_values_as_tensor is None else elements_array(op.base_values_as_tensor)
    found = numeric_values(op.base_values) if elements is None else elements
    return np.zeros(0) if found is None else found.reshape(-1)


def _plan(
    x: SSAValue,
    trees: TreeTables,
    count: int,
    how: str,
    base: Array,
    builder: LoweringBuilder,
    differs_if_none: bool = False,
) -> _EnsemblePlan:
    shape, element = builder.shape(x), builder.element(x)
    rows, columns = (1, *shape)[-2:] if shape else (1, 1)
    kind = f32 if compute_type(element) == f32 else f64
    return _EnsemblePlan(trees, rows, columns, element, kind, count, how, base, differs_if_none)


def _misfit(plan: _EnsemblePlan, x: SSAValue, scores: Sequence[int], builder: LoweringBuilder) -> str | None:
    """Return why trees do not fit their operands or results, or None."""
    trees = plan.trees
    if len(builder.shape(x)) not in (1, 2) or tuple(scores) != (plan.rows, plan.count):
        return "not rows of features, or scores of another shape"
    if trees.features.min() < 0 or trees.features.max() >= plan.columns:
        return f"trees ask for feature {trees.features.max()} of {plan.columns}"
    targets = trees.votes.targets
    if targets.size and (targets.min() < 0 or targets.max() >= plan.count):
        return f"leaves vote for target {targets.max()} of {plan.count}"
    return None if len(plan.base) in (0, 1, plan.count) else "as many base values as there are scores, or one"


def _regressed(
    plan: _EnsemblePlan, x: SSAValue, result: SSAValue, after: str, builder: LoweringBuilder
) -> str | None:
    reason = _misfit(plan, x, builder.shape(result), builder)
    if reason is not None:
        return reason
    element = builder.element(result)
    sums = builder.allocate([plan.rows, plan.count], plan.kind)
    _vote(plan, x, sums, builder)
    kernel = KernelBuilder([buffer_type([plan.rows, plan.count], each) for each in (element, plan.kind)])
    out, scores = kernel.buffers
    with kernel.loops([plan.rows]) as (row,):
        apply_post_transform(kernel, scores, row, plan.count, after)
        with kernel.loops([plan.count]) as (column,):
            score = Scalar(kernel, kernel.load(scores, [row, column]))
            kernel.write(score.to(compute_type(element)).value, out, [row, column], element)
    builder.call("post_transform", kernel, [builder.result(result), sums], [])
    return None


@lowers(TreeEnsembleClassifierOp)
def tree_ensemble_classifier(op: TreeEnsembleClassifierOp, builder: LoweringBuilder) -> str | None:
    """The class with the largest sum of leaf weights, and all scores."""
    labels = int_values(op.classlabels_int64s)
    if labels is None or string_values(op.classlabels_strings):
        return "string class labels"
    try:
        trees = legacy_tree_tables(op)
    except InvalidTreeEnsembleError as error:
        return str(error)
    targets = trees.votes.targets
    is_binary = len(np.unique(targets)) == 1 and len(labels) <= 2
    if (len(labels) == 1 and labels != (1,)) or (is_binary and targets[0] != 0) or not labels:
        return "a single class that is not the first, or whose label is not 1"
    plan = _plan(op.X, trees, max(2, len(labels)), "SUM", _base(op), builder)
    if compute_type(plan.element) != f64:
        plan = replace(plan, kind=f32)
    reason = _misfit(plan, op.X, builder.shape(op.Z), builder)
    if reason is not None:
        return reason
    sums = builder.allocate([plan.rows, plan.count], plan.kind)
    _vote(plan, op.X, sums, builder)
    named = builder.constant_buffer(np.array((0, 1) if len(labels) == 1 else labels, np.int64))
    sizes = [plan.rows, plan.count]
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows], i64),
            buffer_type(sizes, builder.element(op.Z)),
            buffer_type(sizes, plan.kind),
            buffer_type([plan.count], i64),
        ]
    )
    label, out, scores, names = kernel.buffers
    after = op.post_transform.data
    with kernel.loops([plan.rows]) as (row,):
        if is_binary:
            score = Scalar(kernel, kernel.load(scores, [row, kernel.index(0)]))
            against = 1.0 - score if after in ("NONE", "PROBIT") else -score
            for column, value in enumerate((against, score)):
                kernel.store(value.value, scores, [row, kernel.index(column)])
        apply_post_transform(kernel, scores, row, plan.count, after)
        kernel.store(kernel.load(names, [argmax_score(kernel, scores, row, plan.count)]), label, [row])
        with kernel.loops([plan.count]) as (column,):
            made = Scalar(kernel, kernel.load(scores, [row, column])).to(f32)
            kernel.store(made.value, out, [row, column])
    builder.call("class_labels", kernel, [builder.result(op.Y), builder.result(op.Z), sums], [named])
    return None


FEATURE, THRESHOLD, CHILDREN = range(3)
"""Columns of the table of nodes: feature, bits of the threshold in f32, children for false and true."""

IN_FLIGHT = 8
"""Trees that a row walks at a time: walks are bound by load latency."""

MAX_CARRIED = 8
"""Scores that are carried in registers from tree to tree at most."""


def _vote(plan: _EnsemblePlan, x: SSAValue, sums: SSAValue, builder: LoweringBuilder) -> None:
    """Walk each row through all trees, and aggregate the leaves' weights."""
    trees, kind = plan.trees, plan.kind
    votes = trees.votes
    number = np.float32 if kind == f32 else np.float64
    dense = _dense_weights(plan)
    # What a step reads of a node is in one cache line.
    thresholds = trees.numbers.astype(np.float32).view(np.int32)
    nodes = np.column_stack((trees.features, thresholds, trees.children)).astype(np.int32)
    tables: dict[str, tuple[Array, Attribute]] = {
        "nodes": (nodes, i32),
        "roots": (trees.roots, i64),
        # The largest depth of the trees in flight; shallower walks stay at their leaves.
        "depths": (np.maximum.reduceat(trees.depths, np.arange(0, len(trees.depths), IN_FLIGHT)), i64),
        "modes": (
            np.array([list(ORDERS).index(mode) if mode != LEAF else 0 for mode in trees.modes], np.int32),
            i32,
        ),
        "missing": (trees.missing, i1),
    }
    if kind == f64:
        tables["numbers"] = trees.numbers.astype(np.float64), f64
    if dense is None:
        tables["begins"] = votes.begins, i64
        tables["targets"] = votes.targets, i64
        tables["weights"] = votes.weights.astype(number), kind
    else:
        tables["weights"] = dense.astype(number), kind
    types = [buffer_type(table.shape, element) for table, element in tables.values()]
    kernel = KernelBuilder(
        [
            buffer_type([plan.rows, plan.count], kind),
            buffer_type([plan.rows, plan.columns], plan.element),
            *types,
        ]
    )
    out, source, *table_buffers = kernel.buffers
    walk = _Traversal(kernel, plan, source, dict(zip(tables, table_buffers, strict=True)))
    groups, rest = divmod(len(trees.roots), IN_FLIGHT)
    with kernel.loops([plan.rows]) as (row,):
        if dense is None:
            _start(kernel, plan, out, row)
            with kernel.loops([groups]) as (group,):
                for leaf in walk.leaves(row, group, IN_FLIGHT):
                    _add_votes(walk, out, row, leaf)
            for leaf in walk.leaves(row, kernel.index(groups), rest):
                _add_votes(walk, out, row, leaf)
        else:
            zeros = [kernel.constant(0.0, kind)] * plan.count
            with kernel.reducing([groups], zeros) as ((group,), totals, results):
                results += _summed(walk, totals, walk.leaves(row, group, IN_FLIGHT))
            totals = _summed(walk, results, walk.leaves(row, kernel.index(groups), rest))
            for column, total in enumerate(totals):
                kernel.store(total, out, [row, kernel.index(column)])
        _end(kernel, plan, out, row)
    builder.call(
        "tree_ensemble",
        kernel,
        [sums],
        [builder.buffer(x), *(builder.constant_buffer(table) for table, _ in tables.values())],
    )


def _dense_weights(plan: _EnsemblePlan) -> Array | None:
    """
    Return the weight of each node for each score, [nodes, scores], 0 where it has none.

    None for many scores, and where adding zeros or reordering additions would change the result.
    """
    votes = plan.trees.votes
    if plan.count > MAX_CARRIED or plan.how not in ("SUM", "AVERAGE"):
        return None
    nodes = np.repeat(np.arange(len(votes.begins) - 1), np.diff(votes.begins))
    if len(np.unique(nodes * plan.count + votes.targets)) != len(nodes):
        return None
    weights = np.zeros((len(votes.begins) - 1, plan.count))
    weights[nodes, votes.targets] = votes.weights
    return weights


def _summed(walk: _Traversal, totals: Sequence[SSAValue], leaves: Sequence[Scalar]) -> Sequence[SSAValue]:
    """Add the leaves' dense weights to the totals, in order."""
    kernel = walk.kernel
    for leaf in leaves:
        weights = [
            Scalar(kernel, kernel.load(walk.tables["weights"], [leaf.value, kernel.index(column)]))
            for column in range(len(totals))
        ]
        totals = [
            (Scalar(kernel, total) + weight).value for total, weight in zip(totals, weights, strict=True)
        ]
    return totals


def _add_votes(walk: _Traversal, out: SSAValue, row: SSAValue, leaf: Scalar) -> None:
    """Aggregate the weights of a leaf into a row of `out`."""
    kernel = walk.kernel
    begin, end = (
        Scalar(kernel, kernel.load(walk.tables["begins"], [index.value])) for index in (leaf, leaf + 1)
    )
    with kernel.loops([(end - begin).to(INDEX).value]) as (vote,):
        index = (begin.to(INDEX) + Scalar(kernel, vote)).value
        weight = Scalar(kernel, kernel.load(walk.tables["weights"], [index]))
        target = Scalar(kernel, kernel.load(walk.tables["targets"], [index])).to(INDEX).value
        total = Scalar(kernel, kernel.load(out, [row, target]))
        kernel.store(_together(total, weight, walk.plan.how).value, out, [row, target])


def _together(total: Scalar, weight: Scalar, how: str) -> Scalar:
    match how:
        case "MIN":
            return total.minimum(weight)
        case "MAX":
            return total.maximum(weight)
        case _:
            return total + weight


def _start(kernel: KernelBuilder, plan: _EnsemblePlan, out: SSAValue, row: SSAValue) -> None:
    """Initialize scores; MIN and MAX start at the extreme finite numbers, as in the reference evaluator."""
    dtype = np.float16 if plan.element == f16 else np.float32 if plan.kind == f32 else np.float64
    most = float(np.finfo(dtype).max)
    first = {"MIN": most, "MAX": -most}.get(plan.how, 0.0)
    with kernel.loops([plan.count]) as (column,):
        kernel.store(kernel.constant(first, plan.kind), out, [row, column])


def _end(kernel: KernelBuilder, plan: _EnsemblePlan, out: SSAValue, row: SSAValue) -> None:
    """Divide for AVERAGE, and add the base values."""
    base = plan.base
    for column in range(plan.count):
        own = float(base[column if len(base) > 1 else 0]) if len(base) else 0.0
        at = [row, kernel.index(column)]
        score = Scalar(kernel, kernel.load(out, at))
        if plan.how == "AVERAGE":
            score = score / float(len(plan.trees.roots))
        kernel.store((score + own).value, out, at)


@dataclass(frozen=True)
class _Traversal:
    """Walks rows from roots to leaves by the tables of nodes."""

    kernel: KernelBuilder
    plan: _EnsemblePlan
    source: SSAValue
    tables: dict[str, SSAValue]

    def leaves(self, row: SSAValue, group: SSAValue, count: int) -> Sequence[Scalar]:
        """Return the leaves (indices) that a row reaches in the first `count` trees of a group."""
        kernel = self.kernel
        if not count:
            return []
        first = Scalar(kernel, kernel.affine(group, IN_FLIGHT))
        roots = [
            Scalar(kernel, kernel.load(self.tables["roots"], [(first + number).value])).to(INDEX).value
            for number in range(count)
        ]
        depth = Scalar(kernel, kernel.load(self.tables["depths"], [group])).to(INDEX)
        with kernel.reducing([depth.value], roots) as (_, nodes, results):
            results += [self._next(row, node).value for node in nodes]
        return [Scalar(kernel, leaf) for leaf in results]

    def _next(self, row: SSAValue, node: SSAValue) -> Scalar:
        """Return the child that a row goes to; leaves return themselves."""
        kernel = self.kernel
        feature = self._of_node(node, kernel.index(FEATURE)).to(INDEX)
        x = read_as(kernel, self.source, [row, feature.value], self.plan.element, self.plan.kind)
        branch = self._holds(x, node).to(i64).to(INDEX)
        return self._of_node(node, (branch + CHILDREN).value).to(INDEX)

    def _of_node(self, node: SSAValue, column: SSAValue) -> Scalar:
        return Scalar(self.kernel, self.kernel.load(self.tables["nodes"], [node, column]))

    def _threshold(self, node: SSAValue) -> Scalar:
        if "numbers" in self.tables:
            return Scalar(self.kernel, self.kernel.load(self.tables["numbers"], [node]))
        bits = self._of_node(node, self.kernel.index(THRESHOLD))
        return Scalar(self.kernel, self.kernel.add(arith.BitcastOp(bits.value, f32)))

    def _holds(self, x: Scalar, node: SSAValue) -> Scalar:
        kernel, trees = self.kernel, self.plan.trees
        number = self._threshold(node)
        modes = sorted(set(trees.modes) - {LEAF}, key=list(ORDERS).index) or ["BRANCH_LEQ"]
        holds = self._compared(x, number, modes[0])
        for mode in modes[1:]:
            own = Scalar(kernel, kernel.load(self.tables["modes"], [node]))
            holds = own.equals(list(ORDERS).index(mode)).select(self._compared(x, number, mode), holds)
        if trees.missing.any():
            counts = Scalar(kernel, kernel.load(self.tables["missing"], [node]))
            holds = holds | (counts & x.differs(x))
        return holds

    def _compared(self, x: Scalar, number: Scalar, mode: str) -> Scalar:
        order = "une" if mode == "BRANCH_NEQ" and self.plan.differs_if_none else ORDERS[mode]
        return Scalar(self.kernel, self.kernel.add(arith.CmpfOp(x.value, number.value, order)))
