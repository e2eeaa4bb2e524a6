"""
TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml.

Rows walk several trees at once, so that the loads of one tree hide the latency of another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values, string_values
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.ml import TreeEnsembleClassifierOp, TreeEnsembleOp, TreeEnsembleRegressorOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.ml.post_transforms import (
    apply_post_transform,
    argmax_score,
    write_transformed,
)
from xonnc.lowering.onnx_to_krnl.ml.tree_tables import (
    LEAF,
    InvalidTreeEnsembleError,
    TreeTables,
    legacy_tree_tables,
    tree_tables,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
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
    sums = builder.allocate([plan.rows, plan.count], plan.kind)
    _vote(plan, x, sums, builder)
    write_transformed(result, sums, (plan.rows, plan.count), after, builder)
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
    named = np.array((0, 1) if len(labels) == 1 else labels, np.int64)
    kernel = Kernel(builder, "class_labels", [(op.Y, [plan.rows]), op.Z, sums], [named])
    label, out, scores, names = kernel.buffers
    after = op.post_transform.data
    # Negative weights sum to no probability: raw scores are compared with 0, as in onnxruntime.
    # The reference evaluator always compares them with 0.5, which is not what exporters of raw scores mean.
    is_probability = after == "PROBIT" or (after == "NONE" and not (trees.votes.weights < 0).any())
    with kernel.loops([plan.rows]) as (row,):
        if is_binary:
            score = scores[row, 0]
            against = 1.0 - score if is_probability else -score
            for column, value in enumerate((against, score)):
                scores[row, column] = value
        apply_post_transform(kernel, scores, row, plan.count, after)
        label[row] = names[argmax_score(kernel, scores, row, plan.count)]
        with kernel.loops([plan.count]) as (column,):
            out[row, column] = scores[row, column]
    kernel.call()
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
    tables: dict[str, Array] = {
        "nodes": nodes,
        "roots": trees.roots,
        # The largest depth of the trees in flight; shallower walks stay at their leaves.
        "depths": np.maximum.reduceat(trees.depths, np.arange(0, len(trees.depths), IN_FLIGHT)),
        "modes": np.array(
            [list(ORDERS).index(mode) if mode != LEAF else 0 for mode in trees.modes], np.int32
        ),
        "missing": trees.missing,
    }
    if kind == f64:
        tables["numbers"] = trees.numbers.astype(np.float64)
    if dense is None:
        tables["begins"] = votes.begins
        tables["targets"] = votes.targets
        tables["weights"] = votes.weights.astype(number)
    else:
        tables["weights"] = dense.astype(number)
    operands = [(x, [plan.rows, plan.columns]), *tables.values()]
    kernel = Kernel(builder, "tree_ensemble", [sums], operands)
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
                out[row, column] = total
        _end(plan, out, row)
    kernel.call()


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


def _summed(walk: _Traversal, totals: Sequence[Scalar], leaves: Sequence[Scalar]) -> Sequence[Scalar]:
    """Add the leaves' dense weights to the totals, in order."""
    for leaf in leaves:
        weights = [walk.tables["weights"][leaf, column] for column in range(len(totals))]
        totals = [total + weight for total, weight in zip(totals, weights, strict=True)]
    return totals


def _add_votes(walk: _Traversal, out: Buffer, row: Scalar, leaf: Scalar) -> None:
    """Aggregate the weights of a leaf into a row of `out`."""
    begin, end = (walk.tables["begins"][index] for index in (leaf, leaf + 1))
    with walk.kernel.loops([end - begin]) as (vote,):
        index = begin.to(INDEX) + vote
        weight = walk.tables["weights"][index]
        target = walk.tables["targets"][index].to(INDEX)
        out[row, target] = _together(out[row, target], weight, walk.plan.how)


def _together(total: Scalar, weight: Scalar, how: str) -> Scalar:
    match how:
        case "MIN":
            return total.minimum(weight)
        case "MAX":
            return total.maximum(weight)
        case _:
            return total + weight


def _start(kernel: Kernel, plan: _EnsemblePlan, out: Buffer, row: Scalar) -> None:
    """Initialize scores; MIN and MAX start at the extreme finite numbers, as in the reference evaluator."""
    dtype = np.float16 if plan.element == f16 else np.float32 if plan.kind == f32 else np.float64
    most = float(np.finfo(dtype).max)
    first = {"MIN": most, "MAX": -most}.get(plan.how, 0.0)
    with kernel.loops([plan.count]) as (column,):
        out[row, column] = first


def _end(plan: _EnsemblePlan, out: Buffer, row: Scalar) -> None:
    """Divide for AVERAGE, and add the base values."""
    base = plan.base
    for column in range(plan.count):
        own = float(base[column if len(base) > 1 else 0]) if len(base) else 0.0
        score = out[row, column]
        if plan.how == "AVERAGE":
            score = score / float(len(plan.trees.roots))
        out[row, column] = score + own


@dataclass(frozen=True)
class _Traversal:
    """Walks rows from roots to leaves by the tables of nodes."""

    kernel: Kernel
    plan: _EnsemblePlan
    source: Buffer
    tables: dict[str, Buffer]

    def leaves(self, row: Scalar, group: Scalar, count: int) -> Sequence[Scalar]:
        """Return the leaves (indices) that a row reaches in the first `count` trees of a group."""
        if not count:
            return []
        first = group * IN_FLIGHT
        roots = [self.tables["roots"][first + number].to(INDEX) for number in range(count)]
        depth = self.tables["depths"][group]
        with self.kernel.reducing([depth], roots) as (_, nodes, results):
            results += [self._next(row, node) for node in nodes]
        return results

    def _next(self, row: Scalar, node: Scalar) -> Scalar:
        """Return the child that a row goes to; leaves return themselves."""
        nodes = self.tables["nodes"]
        x = self.source.read_as(self.plan.kind, row, nodes[node, FEATURE])
        branch = self._holds(x, node).to(INDEX)
        return nodes[node, branch + CHILDREN].to(INDEX)

    def _threshold(self, node: Scalar) -> Scalar:
        if "numbers" in self.tables:
            return self.tables["numbers"][node]
        return self.tables["nodes"][node, THRESHOLD].bitcast(f32)

    def _holds(self, x: Scalar, node: Scalar) -> Scalar:
        trees, number = self.plan.trees, self._threshold(node)
        modes = sorted(set(trees.modes) - {LEAF}, key=list(ORDERS).index) or ["BRANCH_LEQ"]
        holds = self._compared(x, number, modes[0])
        for mode in modes[1:]:
            is_mode = self.tables["modes"][node].equals(list(ORDERS).index(mode))
            holds = is_mode.select(self._compared(x, number, mode), holds)
        if trees.missing.any():
            holds = holds | (self.tables["missing"][node] & x.differs(x))
        return holds

    def _compared(self, x: Scalar, number: Scalar, mode: str) -> Scalar:
        order = "une" if mode == "BRANCH_NEQ" and self.plan.differs_if_none else ORDERS[mode]
        return Scalar(x.kernel, x.kernel.add(arith.CmpfOp(x.value, number.value, order)))
