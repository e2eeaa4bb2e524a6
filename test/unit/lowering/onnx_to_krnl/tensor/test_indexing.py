"""Operators that read and write where indices say; indices out of range end a run with one line."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check_batch

from xonnc.errors import XonncError
from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(23)


def data(dtype: type[np.generic], *shape: int) -> Array:
    return (RANDOM.normal(size=shape) * 20).astype(dtype)


def small(dtype: type[np.generic], *shape: int) -> Array:
    return RANDOM.integers(-3, 4, shape).astype(dtype)


def indices(below: int, *shape: int, dtype: type[np.generic] = np.int64) -> Array:
    """From both ends."""
    return RANDOM.integers(-below, below, shape).astype(dtype)


def gathers() -> Iterator[Node]:
    for dtype in (np.float32, np.int8, np.float16, np.complex64, ml_dtypes.bfloat16, np.bool_):
        x = data(np.float32, 4, 5, 6).astype(dtype)
        yield Node("Gather", [x, indices(5, 2, 3)], {"axis": 1})
    x = data(np.float32, 4, 5, 6)
    yield Node("Gather", [x, np.array(-1, np.int64)], {"axis": -1})
    yield Node("Gather", [x, indices(4, 7, dtype=np.int32)])
    yield Node("Gather", [x, indices(4, 7)], constant=[1])
    yield Node("Gather", [x, np.zeros((0,), np.int64)])
    yield Node("GatherElements", [x, indices(5, 4, 3, 6)], {"axis": 1})
    yield Node("GatherElements", [x, indices(6, 4, 5, 9, dtype=np.int32)], {"axis": 2})
    yield Node("GatherND", [x, np.stack([indices(4, 7), indices(5, 7)], axis=1)])
    yield Node("GatherND", [x, indices(5, 4, 2, 1)], {"batch_dims": 1})
    yield Node("GatherND", [x.astype(np.float64), np.array([1, 2, 3], np.int64)])


def scatters() -> Iterator[Node]:
    x = data(np.float32, 4, 5)
    # Each place once: else the order decides.
    positions = np.array([[0, -1, 2], [3, 1, 0]], np.int64)
    yield Node("ScatterElements", [x, positions, data(np.float32, 2, 3)], {"axis": 1})
    yield Node("ScatterElements", [x.astype(np.int16), positions, data(np.int16, 2, 3)])
    for how in ("add", "mul", "max", "min"):
        for dtype in (np.float32, np.int32, np.float16):
            many = indices(4, 7, 5)
            updates = small(dtype, 7, 5)
            start = small(dtype, 4, 5)
            yield Node("ScatterElements", [start, many, updates], {"reduction": how}, opset=18)
            rows = np.stack([indices(4, 6), indices(5, 6)], axis=1)
            yield Node("ScatterND", [start, rows, updates[:6, 0]], {"reduction": how}, opset=18)
    yield Node(
        "ScatterND",
        [data(ml_dtypes.bfloat16, 4, 5, 3), np.array([[1], [-1]]), data(ml_dtypes.bfloat16, 2, 5, 3)],
    )


def others() -> Iterator[Node]:
    values = np.array([2, 5], np.float32)
    depth = np.array(4, np.int64)
    for dtype in (np.int64, np.int32, np.float32, np.uint8):
        where = np.array([[0, 3, 2], [1, 9, 0]]).astype(dtype)
        yield Node("OneHot", [where, depth, values], {"axis": 1}, constant=[1])
    yield Node("OneHot", [np.array([-1, -4, -5], np.int64), depth, values], constant=[1])
    lengths = np.array([1, 4, 3], np.int64)
    yield Node("ReverseSequence", [data(np.float32, 4, 3, 2), lengths], {"time_axis": 0, "batch_axis": 1})
    yield Node("ReverseSequence", [data(np.int8, 3, 4), lengths], {"time_axis": 1, "batch_axis": 0})


@pytest.mark.parametrize("batch", batches([*gathers(), *scatters(), *others()]), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)


X = data(np.float32, 4, 5)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            Node("Gather", [X, np.array([0, 5], np.int64)], {"axis": 1}, expected=[X[:, :2]]),
            "it: index 5 is out of range: axis 1 has 5 elements",
        ),
        (
            Node("Gather", [X, np.array([-5, 1], np.int32)], {"axis": 0}, expected=[X[:2]]),
            "it: index -5 is out of range: axis 0 has 4 elements",
        ),
        (
            Node("GatherElements", [X, np.full((1, 5), 1 << 40)], expected=[X[:1]]),
            "it: index 1099511627776 is out of range: axis 0 has 4 elements",
        ),
        (
            Node("GatherND", [X, np.array([[0, 7]], np.int64)], expected=[X[0, :1]]),
            "it: index 7 is out of range: axis 1 has 5 elements",
        ),
        (
            Node("ScatterElements", [X, np.full((1, 1), -6), X[:1, :1]], {"axis": 1}, expected=[X]),
            "it: index -6 is out of range: axis 1 has 5 elements",
        ),
        (
            Node("ScatterND", [X, np.array([[9]], np.int64), X[:1]], expected=[X]),
            "it: index 9 is out of range: axis 0 has 4 elements",
        ),
    ],
    ids=str,
)
def test_indices_out_of_range_end_the_run(node: Node, message: str):
    session = compile_native(node.model())
    with pytest.raises(XonncError) as caught:
        session.run(None, node.feeds)
    assert str(caught.value) == message
    # The session goes on with indices in range.
    session.run(None, node.feeds | {"x1": np.zeros_like(node.feeds["x1"])})
