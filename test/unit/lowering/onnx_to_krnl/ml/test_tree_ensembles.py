"""Ensembles of trees: each comparison, NaN, leaves that say several things or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Batch, Node, batches, check, check_batch
from onnx import TensorProto, numpy_helper

from xonnc.errors import InvalidModelError
from xonnc.native import compile_native

RANDOM = np.random.default_rng(67)
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
FEATURES = 5
VOTES = ("treeids", "nodeids", "ids", "weights")


def rows(dtype: type[np.generic], *, holes: bool = False) -> Array:
    """Of few different numbers, so that comparisons of equal ones are among them."""
    x = RANDOM.integers(-3, 4, (23, FEATURES)) / (1 if np.issubdtype(dtype, np.integer) else 2)
    if holes:
        x[RANDOM.random(x.shape) < 0.2] = np.nan
    return x.astype(dtype)


def grown(kind: str, targets: int, trees: int, modes: tuple[str, ...], **more: object) -> dict[str, object]:
    """The attributes of random trees, whose nodes have numbers with gaps; `kind` is `target` or `class`."""
    nodes: dict[str, list[object]] = {
        name: []
        for name in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")
    }
    nodes["missing_value_tracks_true"] = []
    votes: dict[str, list[object]] = {name: [] for name in VOTES}

    def grow(tree: int, node: int, depth: int) -> None:
        is_leaf = depth == 0 or (depth < 3 and RANDOM.random() < 0.3)
        branches = (node * 2 + 1, node * 2 + 2)
        row: tuple[object, ...] = (tree * 3, node, 0, "LEAF", 0.0, 0, 0)
        if not is_leaf:
            mode = modes[int(RANDOM.integers(len(modes)))]
            feature, number = int(RANDOM.integers(FEATURES)), float(RANDOM.integers(-3, 4)) / 2
            row = (tree * 3, node, feature, mode, number, branches[0], branches[1])
        for name, value in zip(nodes, (*row, int(RANDOM.integers(2))), strict=True):
            nodes[name].append(value)
        if not is_leaf:
            for branch in branches:
                grow(tree, branch, depth - 1)
            return
        for target in RANDOM.permutation(targets)[: RANDOM.integers(1, targets + 1)]:
            said = (tree * 3, node, int(target), float(RANDOM.normal()))
            for name, value in zip(votes, said, strict=True):
                votes[name].append(value)

    for tree in range(trees):
        grow(tree, 0, int(RANDOM.integers(1, 5)))
    return {
        **{f"nodes_{name}": values for name, values in nodes.items()},
        **{f"{kind}_{name}": values for name, values in votes.items()},
        **more,
    }


def ml(
    operator: str,
    x: Array,
    said: Mapping[str, object],
    expected: Sequence[Array] | None = None,
    rtol: float = 2e-5,
) -> Node:
    outputs = 2 if operator == "TreeEnsembleClassifier" else 1
    opset = 3 if operator != "TreeEnsemble" else 5
    return Node(
        operator,
        [x],
        said,
        domain="ai.onnx.ml",
        outputs=outputs,
        expected=expected,
        domain_opset=opset,
        rtol=rtol,
    )


def regressors() -> Iterator[Node]:
    for mode in MODES:
        yield ml("TreeEnsembleRegressor", rows(np.float32), grown("target", 1, 3, (mode,), n_targets=1))
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        said = grown("target", 3, 6, MODES, n_targets=3, aggregate_function=how)
        yield ml("TreeEnsembleRegressor", rows(np.float32, holes=True), said)
        yield ml("TreeEnsembleRegressor", rows(np.float32), {**said, "base_values": [0.5, -1.0, 2.0]})
    # More than are walked at a time, and more targets than have sums in registers.
    for trees in (7, 8, 9, 19):
        for how, targets in (("SUM", 1), ("AVERAGE", 3), ("MAX", 2), ("SUM", 11)):
            said = grown("target", targets, trees, MODES, n_targets=targets, aggregate_function=how)
            yield ml("TreeEnsembleRegressor", rows(np.float32, holes=True), said)
    # A leaf that says two things of one target; of the only target, onnxruntime takes the first.
    once, x = grown("target", 1, 9, MODES[:1], n_targets=1), rows(np.float32)
    twice = dict(once)
    for each in VOTES:
        values = once[f"target_{each}"]
        if isinstance(values, list):
            twice[f"target_{each}"] = [*values, *values]
    yield ml("TreeEnsembleRegressor", x, {**twice, "n_targets": 2})
    yield ml("TreeEnsembleRegressor", x, twice, expected=ml("TreeEnsembleRegressor", x, once).wanted())
    said = grown("target", 2, 4, MODES[:2], n_targets=2)
    for dtype in (np.float64, np.int32, np.int64):
        x = rows(dtype)
        exact = ml("TreeEnsembleRegressor", x.astype(np.float64), said).wanted()[0]
        yield ml("TreeEnsembleRegressor", x, said, expected=[np.asarray(exact, np.float32)])


@pytest.mark.parametrize("batch", batches(regressors()), ids=str)
def test_regressions_are_those_of_the_reference(batch: Batch):
    check_batch(batch)
    check_batch(batch, with_open_shapes=True)


def raw_scores(x: Array, said: dict[str, object]) -> Node:
    """A classifier of two classes by the sign of a sum, as in onnxruntime: the reference asks for 0.5."""
    score = np.asarray(ml("TreeEnsembleClassifier", x, said).wanted()[1], np.float32)[:, 1]
    label = ml("TreeEnsembleClassifier", x, {**said, "post_transform": "LOGISTIC"}).wanted()[0]
    return ml("TreeEnsembleClassifier", x, said, expected=[label, np.stack([-score, score], 1)])


def classifiers() -> Iterator[Node]:
    for after in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        said = grown("class", 3, 5, MODES, classlabels_int64s=[7, -2, 4], post_transform=after)
        yield ml("TreeEnsembleClassifier", rows(np.float32, holes=True), said)
        yield ml("TreeEnsembleClassifier", rows(np.int64), {**said, "base_values": [0.1, 0.2, -0.3]})
        for labels in ([5, 9], [1]):
            said = grown("class", 1, 4, MODES[:1], classlabels_int64s=labels, post_transform=after)
            x = rows(np.float32)
            yield raw_scores(x, said) if after == "NONE" else ml("TreeEnsembleClassifier", x, said)
            weights = np.abs(np.asarray(said["class_weights"])).tolist()
            yield ml("TreeEnsembleClassifier", x, {**said, "class_weights": weights})
    said = grown("class", 2, 3, ("BRANCH_LT",), classlabels_int64s=[0, 1], post_transform="PROBIT")
    said["class_weights"] = RANDOM.uniform(0.05, 0.3, len(np.asarray(said["class_weights"]))).tolist()
    yield ml("TreeEnsembleClassifier", rows(np.float32), said)


def with_scores_in_f32(node: Node) -> Node:
    """A classifier that is expected to give scores in f32, whatever the reference gives."""
    x = node.inputs[0]
    assert x is not None
    label, scores = node.wanted()
    # The reference computes PROBIT in f32, which loses digits.
    rtol = 5e-3 if node.attributes["post_transform"] == "PROBIT" else 2e-5
    return ml(node.operator, x, node.attributes, [label, np.asarray(scores, np.float32)], rtol)


def test_classes_are_those_of_the_reference():
    for batch in batches(map(with_scores_in_f32, classifiers())):
        check_batch(batch)
        check_batch(batch, with_open_shapes=True)


def ensemble(modes: npt.NDArray[np.uint8], dtype: type[np.floating], **more: object) -> dict[str, object]:
    """Two trees of three nodes each, with four leaves each."""
    count = len(modes)
    return {
        "nodes_modes": numpy_helper.from_array(modes),
        "nodes_splits": numpy_helper.from_array((RANDOM.integers(-3, 4, count) / 2).astype(dtype)),
        "nodes_featureids": RANDOM.integers(0, FEATURES, count).tolist(),
        "nodes_truenodeids": [1, 0, 2, 4, 4, 6],
        "nodes_falsenodeids": [2, 1, 3, 5, 5, 7],
        "nodes_trueleafs": [0, 1, 1, 0, 1, 1],
        "nodes_falseleafs": [0, 1, 1, 0, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 0, 1, 1, 0],
        "tree_roots": [0, 3],
        "leaf_targetids": RANDOM.integers(0, 2, 8).tolist(),
        "leaf_weights": numpy_helper.from_array(RANDOM.normal(size=8).astype(dtype)),
        "n_targets": 2,
        **more,
    }


@pytest.mark.parametrize("how", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_ensembles_are_those_of_the_reference(dtype: type[np.floating], how: int):
    modes = np.array([how, 5, 4, (how + 3) % 6, 2, 1], np.uint8)
    said = ensemble(modes, dtype, aggregate_function=how)
    exact = {
        name: numpy_helper.from_array(np.asarray(numpy_helper.to_array(value), np.float64))
        if isinstance(value, TensorProto) and name != "nodes_modes"
        else value
        for name, value in said.items()
    }
    x = rows(dtype, holes=True)
    expected = np.asarray(ml("TreeEnsemble", x.astype(np.float64), exact).wanted()[0])
    # Where no leaf says anything, the farthest number of the type.
    expected = np.clip(expected, -np.finfo(dtype).max, np.finfo(dtype).max)
    rtol = 2e-3 if dtype is np.float16 else 1e-5
    check(ml("TreeEnsemble", x, said, [expected.astype(dtype)], rtol))


def test_members_of_sets():
    said = ensemble(np.array([6, 0, 6, 1, 2, 6], np.uint8), np.float32)
    said["membership_values"] = numpy_helper.from_array(
        np.array([0.5, -1, 1.5, np.nan, 2, np.nan, -0.5, 0, 1, np.nan], np.float32)
    )
    x = rows(np.float32, holes=True)
    # The reference takes sets as it comes by their nodes, and a 0 for the end of one.
    members = {0: [0.5, -1, 1.5], 2: [2.0], 5: [-0.5, 0.0, 1.0]}
    check(ml("TreeEnsemble", x, said, expected=[walked(x, said, members)]))


def walked(x: Array, said: Mapping[str, object], members: Mapping[int, list[float]]) -> Array:
    def table(name: str) -> Array:
        held = said[name]
        return numpy_helper.to_array(held) if isinstance(held, TensorProto) else np.asarray(held)

    made = np.zeros((len(x), 2), np.float32)
    for number, row in enumerate(np.asarray(x, np.float32)):
        for root in (0, 3):
            node, is_leaf = root, False
            while not is_leaf:
                value, split = row[int(table("nodes_featureids")[node])], table("nodes_splits")[node]
                mode = int(table("nodes_modes")[node])
                holds = (
                    value in members[node]
                    if mode == 6
                    else [value <= split, value < split, value >= split][mode]
                )
                holds = holds or (np.isnan(value) and table("nodes_missing_value_tracks_true")[node])
                way = "true" if holds else "false"
                node, is_leaf = int(table(f"nodes_{way}nodeids")[node]), table(f"nodes_{way}leafs")[node]
            made[number, table("leaf_targetids")[node]] += table("leaf_weights")[node]
    return made


MISFITS: Mapping[str, Mapping[str, object]] = {
    "trees ask for feature 9 of 5": {"nodes_featureids": [9]},
    "has child 77, which does not exist": {"nodes_truenodeids": [77]},
    "nodes that form a cycle": {"nodes_truenodeids": [0]},
    "leaves vote for target 4 of 1": {"target_ids": [4]},
    "weights of nodes that do not exist": {"target_nodeids": [50]},
}


@pytest.mark.parametrize(
    ("name", "first", "message"),
    [
        ("nodes_modes", ["BRANCH_ODD"], 'nodes_modes has "BRANCH_ODD"; each is one of BRANCH_LEQ'),
        ("nodes_values", [], "lists that belong together have different lengths: nodes_treeids"),
    ],
)
def test_trees_that_break_rules_are_refused(name: str, first: Sequence[str], message: str):
    said = grown("target", 1, 2, ("BRANCH_LT",), n_targets=1)
    rest = said[name]
    assert isinstance(rest, list)
    said[name] = [*first, *rest[1:]] if first else rest[:-1]
    node = ml("TreeEnsembleRegressor", rows(np.float32), said, expected=[np.zeros((23, 1), np.float32)])
    with pytest.raises(InvalidModelError, match=message):
        compile_native(node.model())


@pytest.mark.parametrize("reason", MISFITS)
def test_trees_that_do_not_fit_stay_with_the_reference(reason: str):
    said = grown("target", 1, 2, ("BRANCH_LT",), n_targets=1)
    for name, first in MISFITS[reason].items():
        assert isinstance(first, list)
        rest = said[name]
        assert isinstance(rest, list)
        said[name] = [*first, *rest[1:]] if first else rest[:-1]
    node = ml("TreeEnsembleRegressor", rows(np.float32), said, expected=[np.zeros((23, 1), np.float32)])
    (line,) = compile_native(node.model()).report()
    assert reason in line.reason
