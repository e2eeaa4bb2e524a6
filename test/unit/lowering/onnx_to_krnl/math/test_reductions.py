"""Reductions give what the reference gives, for all their types and for axes that are fed."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check, check_batch
from onnx import TensorProto, helper

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(17)
AXES = np.array([0, -1], np.int64)


def numbers(dtype: str, *shape: int) -> Array:
    return (RANDOM.normal(size=shape) * (3 if dtype.startswith("float") else 40)).astype(dtype)


def nodes() -> Iterator[Node]:
    for operator in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceSumSquare"):
        # The reference gives squares of int32 as int64.
        whole = ("int64",) if operator == "ReduceSumSquare" else ("int32", "int64")
        for dtype in (*whole, "float32", "float64", "float16"):
            x = numbers(dtype, 3, 5, 7) if operator != "ReduceProd" else numbers(dtype, 3, 2, 2)
            rtol = 5e-3 if dtype == "float16" else 2e-5
            yield Node(operator, [x, AXES], {"keepdims": 0}, constant=[1], rtol=rtol)
            yield Node(operator, [x], {"keepdims": 1}, rtol=rtol * 4)
    for operator in ("ReduceMax", "ReduceMin"):
        for dtype in ("int8", "uint8", "float16"):
            yield Node(operator, [numbers("int32", 4, 9).astype(dtype), AXES[1:]])
        yield Node(operator, [RANDOM.random((4, 9)) < 0.5, AXES[1:]], opset=20)
        special = np.array([[1, np.nan, 2], [-np.inf, np.inf, 0]], np.float32)
        yield Node(operator, [special, AXES[1:]])
    for operator in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        for dtype in ("float32", "float64"):
            yield Node(operator, [np.abs(numbers("float64", 3, 33)).astype(dtype), AXES[1:]])
    steep = np.array([[1000.0, 1001, -5], [-np.inf, -np.inf, -np.inf], [np.inf, 0, 1]], np.float32)
    known = np.array([[1001.3132617], [-np.inf], [np.inf]], np.float32)
    yield Node("ReduceLogSumExp", [steep, AXES[1:]], expected=[known])
    none = np.zeros((2, 0, 3), np.float32)
    for operator in ("ReduceSum", "ReduceProd", "ReduceL2", "ReduceLogSumExp"):
        yield Node(operator, [none, np.array([1], np.int64)], constant=[1])
    yield Node("ReduceSum", [numbers("float32", 2, 3), np.zeros(0, np.int64)], {"noop_with_empty_axes": 1})
    yield from in_columns()
    yield from of_long_rows()
    yield from extremes()
    for operator in ("Softmax", "LogSoftmax"):
        for axis in (0, -1):
            half = numbers("float16", 5, 11)
            yield Node(operator, [half], {"axis": axis}, rtol=1e-2)
        for shape, axis in (((5, 17), 0), ((3, 600), 0), ((2, 7, 4, 9), 1), ((2, 3, 16), -2)):
            special = numbers("float32", *shape)
            special[0, ..., 1], special[-1, ..., 2], special[0, ..., 0] = np.nan, np.inf, -np.inf
            for x in (numbers("float64", *shape), numbers("float32", *shape), special):
                yield Node(operator, [x], {"axis": axis}, rtol=2e-5)


def of_long_rows() -> Iterator[Node]:
    """Rows of more and less than four vectors of partial results, with tails."""
    for operator in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceMean"):
        for size in (63, 64, 65, 128, 201):
            x = numbers("float32", 3, size)
            x[0, size // 2], x[1, -1], x[2, 0] = np.nan, np.inf, -np.inf
            yield Node(operator, [x, AXES[1:]], {"keepdims": 0}, constant=[1])
            if operator in ("ReduceSum", "ReduceMax"):
                yield Node(operator, [numbers("int32", 3, size), AXES[1:]], constant=[1])
                yield Node(operator, [numbers("float64", 3, size), AXES[1:]], constant=[1])


def in_columns() -> Iterator[Node]:
    """Of elements side by side each belongs to another result: a prime number of them, many, and few."""
    for shape, axes in (
        ((5, 17), [0]),
        ((3, 600), [0]),
        ((2, 3, 4, 20), [0, 2]),
        ((4, 7, 16), [1]),
        ((9, 3), [0]),
    ):
        along = np.array(axes, np.int64)
        for operator in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2"):
            yield Node(
                operator, [numbers("float32", *shape), along], {"keepdims": 0}, constant=[1], rtol=2e-5
            )
        yield Node("ReduceProd", [numbers("float64", *shape), along], constant=[1], rtol=1e-6)
        yield Node("ReduceMean", [numbers("int64", *shape), along], constant=[1])
        yield Node("ReduceMax", [numbers("int8", *shape), along], constant=[1])
        yield Node("ReduceMax", [numbers("float16", *shape), along], constant=[1])
        yield Node("ReduceMax", [RANDOM.random(shape) < 0.2, along], constant=[1], opset=20)
        special = numbers("float32", *shape)
        special[0, ..., 1], special[-1, ..., 2], special[0, ..., 0] = np.nan, np.inf, -np.inf
        yield Node("ReduceMin", [special, along], constant=[1])
        yield Node("ReduceMax", [special, along], constant=[1])


def extremes() -> Iterator[Node]:
    """Of floats with NaN or infinities among them, along rows and in columns."""
    random = np.random.default_rng(79)
    rows = [np.full((2, 40), np.nan), np.full((2, 40), -np.inf), random.normal(size=(3, 50))]
    rows[0][0, 5:30] = -np.inf
    rows[2][0, 17], rows[2][1, 49], rows[2][2, 0] = np.nan, np.inf, -np.inf
    for operator in ("ReduceMax", "ReduceMin"):
        for x in rows:
            for dtype in ("float32", "float64", "float16"):
                for axis in range(2):
                    yield Node(operator, [x.astype(dtype), AXES[1:] * 0 + axis], constant=[1])
        for dtype in ("uint8", "uint32", "int8"):
            x = random.integers(0, 99, (7, 33)).astype(dtype)
            yield Node(operator, [x, AXES[1:] * 0], constant=[1], opset=20)
    sums = random.normal(size=(9, 34)).astype(np.float16)
    exact = np.asarray(sums, np.float32).mean(0, keepdims=True).astype(np.float16)
    yield Node("ReduceMean", [sums, AXES[1:] * 0], constant=[1], rtol=2e-3, expected=[exact])


def of_integers() -> Iterator[Node]:
    """Roots and logarithms of integers are those of reals, towards 0: the reference has none or overflows."""
    for dtype in ("int32", "int64", "uint32"):
        x = np.array([[70_000, 60_000, 1], [5, 12, 0]]).astype(dtype)
        reals = np.asarray(x, np.float64)
        small = np.array([[9, 10, 8], [5, 12, 0]]).astype(dtype)
        for operator, given, known in (
            ("ReduceL2", x, np.sqrt((reals**2).sum(1))),
            ("ReduceLogSum", x, np.log(reals.sum(1))),
            ("ReduceLogSumExp", small, np.log(np.exp(np.asarray(small, np.float64)).sum(1))),
        ):
            requested = [known.astype(dtype)]
            yield Node(operator, [given, AXES[1:]], {"keepdims": 0}, opset=18, expected=requested)


@pytest.mark.parametrize("batch", batches([*nodes(), *of_integers()]), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)


def test_sums_of_small_floats_are_rounded_once():
    x = np.ones((1, 600), ml_dtypes.bfloat16)
    known = [np.array([600], ml_dtypes.bfloat16)]
    check(Node("ReduceSum", [x, AXES[1:]], {"keepdims": 0}, expected=known))


def test_a_model_is_compiled_for_the_axes_that_it_is_fed():
    x = numbers("float32", 3, 4)
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4]),
        helper.make_tensor_value_info("axes", TensorProto.INT64, [1]),
    ]
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph([node], "g", ports, [made])
    session = compile_native(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    for axis in (0, 1, -1, 0):
        given = np.asarray(session.run(None, {"x": x, "axes": np.array([axis])})[0], np.float32)
        np.testing.assert_allclose(given, np.asarray(x, np.float32).sum(axis), rtol=1e-5)
        assert session.host_calls() == []


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_gives_what_is_below_the_least_normal_number(axis: int):
    powers = np.array([0, -50, -87.2, -87.4, -95, -103, -104.1, -np.inf], np.float32)
    x = np.tile(powers, (20, 1))
    x = x if axis else np.ascontiguousarray(x.T)
    node = Node("Softmax", [x], {"axis": axis})
    (found,) = compile_native(node.model()).run(None, node.feeds)
    found = np.asarray(found, np.float32)
    expected = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(
        found, expected, rtol=1e-5, atol=float(np.finfo(np.float32).smallest_subnormal)
    )
    assert np.count_nonzero(found) == 20 * 6
