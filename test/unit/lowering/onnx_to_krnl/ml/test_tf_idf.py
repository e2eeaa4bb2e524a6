"""TfIdfVectorizer of numbers: lengths, gaps, equal n-grams, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from native_nodes import Array, Node, check

from xonnc.native import compile_native

RANDOM = np.random.default_rng(73)

SINGLE, PAIRS, TRIPLES = [2, 3, 5, 4], [5, 6, 7, 8, 6, 7, 5, 6], [5, 6, 7, 2, 3, 5]
TARGETS = [0, 1, 2, 3, 4, 5, 6, 8, 7, 9]
POOL: Mapping[str, object] = {
    "ngram_counts": [0, len(SINGLE), len(SINGLE) + len(PAIRS)],
    "ngram_indexes": TARGETS,
    "pool_int64s": SINGLE + PAIRS + TRIPLES,
}


def weighted(x: Array, mode: str, weights: list[float]) -> Node:
    """The node; what is expected are results of the evaluator, which takes the weights to be of outputs."""
    said = {**POOL, "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 2, "mode": mode}
    by_output = [weights[TARGETS.index(index)] for index in range(len(TARGETS))]
    expected = Node("TfIdfVectorizer", [x], {**said, "weights": by_output}).wanted()
    return Node("TfIdfVectorizer", [x], {**said, "weights": weights}, expected=expected)


def nodes() -> Iterator[Node]:
    x = RANDOM.integers(2, 9, (3, 40)).astype(np.int32)
    for least, most in ((1, 1), (1, 2), (2, 2), (1, 3), (3, 3)):
        for skips in (0, 1, 5):
            said = {"min_gram_length": least, "max_gram_length": most, "max_skip_count": skips}
            yield Node("TfIdfVectorizer", [x], {**POOL, **said, "mode": "TF", "weights": [1.0] * 10})
    said = {"min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 2}
    weights = [float(each) for each in RANDOM.normal(size=10).astype(np.float32)]
    for mode in ("TF", "IDF", "TFIDF"):
        for given in (x.astype(np.int64), x[0]):
            yield weighted(given, mode, weights)
    yield Node("TfIdfVectorizer", [x[:, :2]], {**POOL, **said, "mode": "TF", "weights": weights})


@pytest.mark.parametrize("node", list(nodes()), ids=lambda node: f"{node.attributes['mode']}")
def test_grams_are_counted_as_in_the_reference(node: Node):
    check(node)


def test_without_weights():
    x = np.array([2, 3, 2, 9])
    said = {"ngram_counts": [0], "ngram_indexes": [1, 0], "pool_int64s": [3, 2], "max_skip_count": 0}
    said |= {"min_gram_length": 1, "max_gram_length": 1}
    for mode, requested in (("TF", [2, 1]), ("IDF", [1, 1]), ("TFIDF", [2, 1])):
        node = Node(
            "TfIdfVectorizer", [x], {**said, "mode": mode}, expected=[np.array(requested, np.float32)]
        )
        check(node)


def test_grams_without_a_place_stay_with_the_reference():
    said = {**POOL, "ngram_indexes": [0, 1, 2, 9], "mode": "TF"}
    said |= {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    node = Node("TfIdfVectorizer", [np.array([2, 3])], said, expected=[np.zeros(10, np.float32)])
    (line,) = compile_native(node.model()).report()
    assert line.reason == "a number of n-grams in the pool that is not that of ngram_indexes"
