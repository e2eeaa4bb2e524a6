"""Unique: elements and slices, in order or as they come first, of any number."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from native_nodes import Array, Node, check, opened

from xonnc.native import compile_native

RANDOM = np.random.default_rng(53)


def distinct(x: Array, axis: int | None, is_sorted: bool) -> list[Array]:
    """What ONNX says; the reference evaluator takes slices that come first from axis 0 always."""
    y, indices, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if not is_sorted:
        order = np.argsort(indices)
        indices, counts = indices[order], counts[order]
        inverse = np.argsort(order)[inverse.reshape(-1)]
        y = np.take(x.reshape(-1) if axis is None else x, indices, axis=axis or 0)
    return [y, *(each.astype(np.int64).reshape(-1) for each in (indices, inverse, counts))]


def nodes() -> Iterator[Node]:
    some = RANDOM.integers(-2, 3, (5, 3, 2))
    for dtype in (np.float32, np.int64, np.int8, np.float64, np.float16):
        yield node_of(some.astype(dtype), None, True)
    yield node_of(some.astype(ml_dtypes.bfloat16).astype(np.float32), None, False)
    yield node_of(some.astype(np.uint8), None, True)
    yield node_of(some > 0, None, False)
    few = RANDOM.integers(0, 2, (6, 3, 2)).astype(np.float32)
    for axis in (0, 1, 2, -1):
        for is_sorted in (True, False):
            yield node_of(few, axis, is_sorted)
    yield node_of(np.array([np.nan, 1, np.inf, np.nan, -0.0, 0.0, -np.inf], np.float32), None, True)
    yield node_of(np.array([4], np.int32), None, False)
    # Radix sort takes these, by keys of 32 and 64 bits.
    for dtype in (np.float32, np.float64, np.float16, np.int64, np.uint64, np.uint32, np.int8, np.uint8):
        numbers = RANDOM.integers(-50, 50, 300).astype(dtype)
        if numbers.dtype.kind == "f":
            numbers[:8] = (0, 1, np.nan, -np.inf, np.inf, -0.0, np.nan, 1e-7)
        else:
            limits = np.iinfo(numbers.dtype.name)
            numbers[:2] = (limits.min, limits.max)
        yield node_of(numbers, None, True)
        yield node_of(numbers.reshape(20, 15), None, False)
        yield node_of(numbers, 0, True)
    yield node_of(RANDOM.integers(0, 40, 257), None, True)


def node_of(x: Array, axis: int | None, is_sorted: bool, outputs: int = 4) -> Node:
    said = {"sorted": int(is_sorted)} | ({} if axis is None else {"axis": axis})
    requested = distinct(x, axis, is_sorted)[:outputs]
    return Node("Unique", [x], said, outputs=outputs, expected=requested)


@pytest.mark.parametrize("node", list(nodes()), ids=str)
def test_each_is_there_once(node: Node):
    check(node)
    check(node, opened(node.model()))


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_results_that_are_not_used(outputs: int):
    node = node_of(RANDOM.integers(0, 9, 20), None, False, outputs)
    check(node)
    check(node, opened(node.model()))


def test_other_numbers_than_the_model_says():
    model = node_of(np.array([1, 1, 2, 3]), None, True).model()
    for x, count in (([1, 2, 3, 4], 4), ([7, 7, 7, 7], 1)):
        session = compile_native(model)
        with pytest.warns(UserWarning, match=f"^it: keeps {count} elements, the model says 3;"):
            found = session.run(None, {"x0": np.array(x)})
        np.testing.assert_array_equal(np.asarray(found[0]), np.unique(x))


def test_what_reads_the_inverse_needs_no_count():
    """The inverse is as long as the elements, and of results that nothing reads none is cut."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 15]> g (int64[20] x) => (int64[N] y, int32[20] z) {
            y, first, inverse, counts = Unique<sorted = 0>(x)
            z = Cast<to = 6>(inverse) }"""
    )
    session = compile_native(model)
    x = np.random.default_rng(8).integers(-5, 5, 20)
    unique, inverse = (np.asarray(each) for each in session.run(None, {"x": x}))
    np.testing.assert_array_equal(unique, list(dict.fromkeys(x.tolist())))
    np.testing.assert_array_equal(unique[inverse], x)
    assert session.host_calls() == []
    assert [line.what for line in session.report() if line.where == "session"] == ["Keep"]
