"""
Node tables of tree ensembles: one row per node.

Leaves are their own children, so that a walk of as many steps as the tree is deep always ends at a leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from xonnc.dialects.onnx.attribute_builders import int_values, numeric_values, string_values
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.ml import TreeEnsembleClassifierOp, TreeEnsembleOp, TreeEnsembleRegressorOp
from xonnc.errors import XonncError

Integers = npt.NDArray[np.int64]

LEAF = "LEAF"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
"""Branch modes, in the order of TreeEnsemble's `nodes_modes`."""


class InvalidTreeEnsembleError(XonncError):
    """Attributes that are not a valid tree ensemble."""


@dataclass(frozen=True)
class LeafWeights:
    """Weights of leaves: those of a node are at `begins[node]` to `begins[node + 1]`, with their scores."""

    begins: Integers
    targets: Integers
    weights: npt.NDArray[np.float64]


@dataclass(frozen=True)
class TreeTables:
    """Features, thresholds and children of nodes."""

    features: Integers
    modes: Sequence[str]
    numbers: npt.NDArray[np.float64]
    missing: npt.NDArray[np.bool_]
    """Whether NaN follows the true branch."""
    children: Integers
    """[nodes, 2]: the child if the comparison is false, and if it is true."""
    roots: Integers
    depths: Integers
    """Per tree."""
    votes: LeafWeights


def _depths(children: Integers, roots: Integers, is_leaf: npt.NDArray[np.bool_]) -> Integers:
    """Return the depth of each tree; raise InvalidTreeEnsembleError for cycles."""
    depths: list[int] = []
    for root in roots.tolist():
        depth, nodes = 0, np.array([root])
        while (nodes := nodes[~is_leaf[nodes]]).size:
            nodes = np.unique(children[nodes])
            depth += 1
            if depth > len(children):
                raise InvalidTreeEnsembleError("nodes that form a cycle")
        depths.append(depth)
    return np.array(depths, np.int64)


def _forest(
    features: Integers,
    modes: Sequence[str],
    numbers: npt.NDArray[np.float64],
    missing: npt.NDArray[np.bool_],
    children: Integers,
    roots: Integers,
    votes: LeafWeights,
) -> TreeTables:
    is_leaf = np.array([mode == LEAF for mode in modes])
    unknown = set(modes) - {LEAF, *MODES[:-1]}
    if unknown:
        raise InvalidTreeEnsembleError(f"nodes of mode {sorted(unknown)[0]}")
    own = np.arange(len(modes))
    children = np.where(is_leaf[:, None], own[:, None], children)
    depths = _depths(children, roots, is_leaf)
    return TreeTables(np.where(is_leaf, 0, features), modes, numbers, missing, children, roots, depths, votes)


def legacy_tree_tables(op: TreeEnsembleClassifierOp | TreeEnsembleRegressorOp) -> TreeTables:
    """Return the tables of TreeEnsembleClassifier or -Regressor, whose node ids are per tree."""
    if isinstance(op, TreeEnsembleClassifierOp):
        leaf_attributes = op.class_treeids, op.class_nodeids, op.class_ids
        weights = _reals(op.class_weights_as_tensor, op.class_weights)
    else:
        leaf_attributes = op.target_treeids, op.target_nodeids, op.target_ids
        weights = _reals(op.target_weights_as_tensor, op.target_weights)
    trees, ids, features = (
        list(int_values(each) or ()) for each in (op.nodes_treeids, op.nodes_nodeids, op.nodes_featureids)
    )
    if len(trees) != len(ids):
        raise InvalidTreeEnsembleError("node attributes of different lengths")
    node_index = {key: index for index, key in enumerate(zip(trees, ids, strict=True))}
    modes = string_values(op.nodes_modes) or ()
    branches = [int_values(each) or () for each in (op.nodes_falsenodeids, op.nodes_truenodeids)]
    count = len(trees)
    numbers = _reals(op.nodes_values_as_tensor, op.nodes_values)
    missing = np.array(int_values(op.nodes_missing_value_tracks_true) or [0] * count, np.bool_)
    if not count or any(len(each) != count for each in (modes, features, numbers, missing, *branches)):
        raise InvalidTreeEnsembleError("node attributes of different lengths")
    children = np.zeros((count, 2), np.int64)
    for index, (tree, mode) in enumerate(zip(trees, modes, strict=True)):
        for side, branch in enumerate(branches):
            target = node_index.get((tree, branch[index]))
            if target is None and mode != LEAF:
                raise InvalidTreeEnsembleError(
                    f"node {ids[index]} of tree {tree} has child {branch[index]}, which does not exist"
                )
            children[index, side] = index if target is None else target
    first: dict[int, int] = {}
    for index, tree in enumerate(trees):
        first.setdefault(tree, index)
    roots = np.array([first[tree] for tree in sorted(first)], np.int64)
    voting = [int_values(each) or () for each in leaf_attributes[:2]]
    if len(voting[0]) != len(voting[1]):
        raise InvalidTreeEnsembleError("leaf attributes of different lengths")
    voters = list(zip(*voting, strict=True))
    targets = np.array(int_values(leaf_attributes[2]) or (), np.int64)
    if any(voter not in node_index for voter in voters) or not len(voters) == len(targets) == len(weights):
        raise InvalidTreeEnsembleError("weights of nodes that do not exist")
    nodes = np.array([node_index[voter] for voter in voters], np.int64)
    if isinstance(op, TreeEnsembleRegressorOp) and (op.n_targets is None or op.n_targets.value.data == 1):
        # As in onnxruntime, and as skl2onnx has it: the leaves of its decision paths have their number as a
        # weight of the only target, once for each class.
        nodes, first_votes = np.unique(nodes, return_index=True)
        targets, weights = targets[first_votes], weights[first_votes]
    votes = _votes(nodes, targets, weights, count)
    return _forest(np.array(features), modes, numbers, missing, children, roots, votes)


def _votes(nodes: Integers, targets: Integers, weights: npt.NDArray[np.float64], count: int) -> LeafWeights:
    order = np.argsort(nodes, kind="stable")
    begins = np.searchsorted(nodes[order], np.arange(count + 1))
    return LeafWeights(begins.astype(np.int64), targets[order], weights[order])


def tree_tables(op: TreeEnsembleOp) -> TreeTables:
    """Return the tables of TreeEnsemble: leaves follow the nodes, BRANCH_MEMBER is expanded."""
    splits, modes = (elements_array(each) for each in (op.nodes_splits, op.nodes_modes))
    weights = elements_array(op.leaf_weights)
    features = np.array(int_values(op.nodes_featureids), np.int64)
    count = len(features)
    leaves = np.array(int_values(op.leaf_targetids), np.int64)
    if splits is None or modes is None or weights is None:
        raise InvalidTreeEnsembleError("nodes_splits, nodes_modes or leaf_weights without elements")
    ends = [
        (int_values(op.nodes_falsenodeids) or (), int_values(op.nodes_falseleafs) or ()),
        (int_values(op.nodes_truenodeids) or (), int_values(op.nodes_trueleafs) or ()),
    ]
    lengths = {len(each) for pair in ends for each in pair} | {splits.size, modes.size}
    if lengths != {count} or len(leaves) != weights.size or not count or not len(leaves):
        raise InvalidTreeEnsembleError("node attributes of different lengths")
    tables = _TreeTablesBuilder(
        features.tolist(),
        [MODES[mode] if mode < len(MODES) else str(mode) for mode in modes.reshape(-1).astype(np.int64)],
        splits.reshape(-1).astype(np.float64).tolist(),
        list(map(bool, int_values(op.nodes_missing_value_tracks_true) or [0] * count)),
        [[0, 0] for _ in range(count)],
    )
    for side, (nodes, is_leaf) in enumerate(ends):
        for index, (node, leaf) in enumerate(zip(nodes, is_leaf, strict=True)):
            if not 0 <= node < (len(leaves) if leaf else count):
                raise InvalidTreeEnsembleError(f"node {index} has child {node}, which does not exist")
            tables.children[index][side] = count + node if leaf else node
    for _ in leaves:
        tables.add(0, LEAF, 0.0, False, [0, 0])
    members = None if op.membership_values is None else elements_array(op.membership_values)
    tables.expand_set_membership([] if members is None else members.reshape(-1).astype(np.float64).tolist())
    roots = np.array(int_values(op.tree_roots), np.int64)
    if not len(roots) or min(roots) < 0 or max(roots) >= count:
        raise InvalidTreeEnsembleError("tree_roots that are not nodes")
    voters = count + np.arange(len(leaves))
    votes = _votes(voters, leaves, weights.reshape(-1).astype(np.float64), len(tables.modes))
    return _forest(
        np.array(tables.features),
        tables.modes,
        np.array(tables.numbers),
        np.array(tables.missing),
        np.array(tables.children),
        roots,
        votes,
    )


@dataclass(frozen=True)
class _TreeTablesBuilder:
    """Node tables as lists."""

    features: list[int]
    modes: list[str]
    numbers: list[float]
    missing: list[bool]
    children: list[list[int]]

    def add(self, feature: int, mode: str, number: float, missing: bool, children: list[int]) -> int:
        """Append a node; return its index."""
        self.features.append(feature)
        self.modes.append(mode)
        self.numbers.append(number)
        self.missing.append(missing)
        self.children.append(children)
        return len(self.modes) - 1

    def expand_set_membership(self, members: Sequence[float]) -> None:
        """Expand BRANCH_MEMBER nodes to chains of BRANCH_EQ nodes."""
        sets: list[list[float]] = [[]]
        for member in members:
            if np.isnan(member):
                sets.append([])
            else:
                sets[-1].append(member)
        nodes = [index for index, mode in enumerate(self.modes) if mode == MODES[-1]]
        if len(sets) - 1 != len(nodes):
            raise InvalidTreeEnsembleError(
                f"{len(nodes)} nodes of mode BRANCH_MEMBER, but {len(sets) - 1} sets of membership_values"
            )
        for index, numbers in zip(nodes, sets, strict=False):
            otherwise, then = self.children[index]
            # The node itself is the head of the chain and keeps its rule for NaN.
            for number in numbers[1:]:
                otherwise = self.add(self.features[index], "BRANCH_EQ", number, False, [otherwise, then])
            self.modes[index] = "BRANCH_EQ"
            self.numbers[index] = numbers[0] if numbers else np.nan
            self.children[index] = [otherwise, then]


def _reals(tensor: Attribute | None, floats: Attribute | None) -> npt.NDArray[np.float64]:
    """Return the values of whichever attribute is present."""
    found = numeric_values(floats) if tensor is None else elements_array(tensor)
    return np.zeros(0) if found is None else found.reshape(-1).astype(np.float64)
