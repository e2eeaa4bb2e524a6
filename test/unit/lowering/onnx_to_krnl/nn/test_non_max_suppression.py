"""Boxes that overlap no better one too much, where the model says how many are left and where it does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Batch, Node, batches, check, check_batch, opened

RANDOM = np.random.default_rng(43)


def boxes(batches: int, count: int) -> npt.NDArray[np.float32]:
    """Some boxes are empty, flipped or NaN."""
    corners = RANDOM.integers(0, 12, (batches, count, 4)).astype(np.float32)
    corners[:, 3::11, 2] = corners[:, 3::11, 0]
    return corners


def limits(most: int | None, overlap: float | None = None, least: float | None = None) -> list[Array | None]:
    return [
        None if most is None else np.array([most], np.int64),
        None if overlap is None else np.array([overlap], np.float32),
        None if least is None else np.array([least], np.float32),
    ]


def scores(*shape: int) -> npt.NDArray[np.float32]:
    """Of which some are equal."""
    return (RANDOM.integers(0, 9, shape) / 8).astype(np.float32)


def nodes() -> Iterator[Node]:
    for count in (1, 2, 7, 33):
        held = [boxes(2, count), scores(2, 3, count)]
        yield Node("NonMaxSuppression", [*held, *limits(4, 0.2, 0.3)])
        yield Node("NonMaxSuppression", [*held, *limits(100, 0.5, -1.0)])
        yield Node("NonMaxSuppression", [*held, *limits(2, 0.0, 0.1)], {"center_point_box": 1})
        yield Node("NonMaxSuppression", [*held, *limits(3, 0.4, 0.5)], constant=[2, 3, 4])
    yield Node("NonMaxSuppression", [boxes(1, 5), np.full((1, 1, 5), 0.5, np.float32), *limits(5, 1.0, 0.1)])
    yield Node("NonMaxSuppression", [boxes(1, 5), scores(1, 2, 5), *limits(5, 0.1, 2.0)])


@pytest.mark.parametrize("batch", batches(nodes()), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)
    check_batch(batch, with_open_shapes=True)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_thresholds_of_dynamic_size(count: int):
    node = Node("NonMaxSuppression", [boxes(1, count), scores(1, 2, count), *limits(3, 0.4, 0.3)])
    model = opened(node.model())
    for port in model.graph.input:
        for size in port.type.tensor_type.shape.dim:
            size.Clear()
    check(node, model)


def test_without_limits_there_are_none():
    nothing = np.zeros((0, 3), np.int64)
    node = Node("NonMaxSuppression", [boxes(1, 5), scores(1, 2, 5)], expected=[nothing])
    check(node)
    check(node, opened(node.model()))


def test_nan_scores_are_skipped():
    held = np.array([[[0.5, np.nan, 0.75, np.nan]]], np.float32)
    apart = np.array([[[0, 0, 1, 1], [0, 2, 1, 3], [0, 4, 1, 5], [0, 6, 1, 7]]], np.float32)
    requested = np.array([[0, 0, 2], [0, 0, 0]])
    check(Node("NonMaxSuppression", [apart, held, *limits(9, 0.5, 0.0)], expected=[requested]))
