"""Operators along one axis and those whose elements follow from where they are, against the reference."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check_all, check_batch
from onnx import TensorProto, helper

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(29)


def few(dtype: type[np.generic], *shape: int) -> Array:
    """Few different numbers, so that there are equal ones."""
    return RANDOM.integers(0, 6, shape).astype(dtype)


def indices() -> Iterator[Node]:
    for operator in ("ArgMax", "ArgMin"):
        for dtype in (np.float32, np.int8, np.uint64, np.float16):
            for last in (0, 1):
                attributes = {"axis": 1, "select_last_index": last}
                yield Node(operator, [few(dtype, 3, 9, 4)], attributes | {"keepdims": last})
    unknown = np.array([[1, np.nan, 3], [np.nan, 1, 0]], np.float32)
    yield Node("ArgMax", [unknown], {"axis": 1})
    for axis in (0, -1):
        yield Node("Hardmax", [few(np.float32, 4, 7)], {"axis": axis})


def indices_of_many() -> Iterator[Node]:
    """Rows and columns that fill vectors, with NaN, infinities, zeros of both signs and ties."""
    random = np.random.default_rng(31)
    for dtype in (np.float32, np.float64, np.float16, np.int8, np.uint8, np.int64, np.uint64):
        x = random.integers(-9, 9, (7, 75)).astype(dtype)
        if x.dtype.kind == "f":
            x[0, ::17], x[1, 5:70:30], x[2], x[3], x[4] = np.nan, np.inf, -np.inf, np.nan, np.inf
            x[5], x[6] = random.choice([0.0, -0.0], 75), -0.0
        for operator in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                find = np.argmax if operator == "ArgMax" else np.argmin
                at = find(x[:, ::-1] if last else x, axis=1)
                at = x.shape[1] - 1 - at if last else at
                said = {"select_last_index": last, "keepdims": 0}
                yield Node(operator, [x], {"axis": 1} | said, expected=[at])
                yield Node(operator, [x.T.copy()], {"axis": 0} | said, expected=[at])
                columns = np.repeat(x.T[:, :, np.newaxis], 5, axis=2)
                known = np.repeat(at[:, np.newaxis], 5, axis=1)
                yield Node(operator, [columns], {"axis": 0} | said, expected=[known])


def running() -> Iterator[Node]:
    for operator, opset in (("CumSum", 14), ("CumProd", 26)):
        for dtype in (np.float32, np.float64, np.int32, np.int64):
            x = RANDOM.integers(-2, 4, (3, 5, 2)).astype(dtype)
            for exclusive, reverse in ((0, 0), (1, 0), (0, 1), (1, 1)):
                attributes = {"exclusive": exclusive, "reverse": reverse}
                yield Node(operator, [x, np.array(-2, np.int64)], attributes, opset=opset)
                columns = np.repeat(x, 19, axis=2)
                yield Node(operator, [columns, np.array(1, np.int64)], attributes, opset=opset)


def best() -> Iterator[Node]:
    for dtype in (np.float32, np.int16, np.uint8):
        for size, count in ((1, 1), (2, 1), (7, 7), (33, 5), (64, 64)):
            for largest in (0, 1):
                x = few(dtype, 3, size, 2)
                known = sorted_by_hand(x, count, largest)
                inputs = [x, np.array([count], np.int64)]
                yield Node("TopK", inputs, {"axis": 1, "largest": largest}, outputs=2, expected=known)


def sorted_by_hand(x: Array, count: int, largest: int) -> tuple[Array, Array]:
    """Of equal ones the lower place first, which the reference does not keep to."""
    keys = x.astype(np.int64)
    order = np.argsort(-keys if largest else keys, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(x, order, axis=1), order


def generated() -> Iterator[Node]:
    for upper in (0, 1):
        for k in (-2, 0, 1, 9):
            yield Node("Trilu", [few(np.int32, 2, 4, 5), np.array(k, np.int64)], {"upper": upper})
    yield Node("Trilu", [few(np.float32, 4, 3).astype(ml_dtypes.bfloat16)])
    for k in (-1, 0, 2, 7):
        yield Node("EyeLike", [few(np.float32, 3, 5)], {"k": k, "dtype": TensorProto.INT16})
    for dtype, start, limit, delta in (
        (np.float32, 1, 5, 0.5),
        (np.float64, 10, 4, -2),
        (np.int64, 10, 4, -4),
        (np.int16, 3, 3, 1),
        (np.int32, -7, 20, 3),
    ):
        yield Node("Range", [np.array(each, dtype) for each in (start, limit, delta)])
    for fill in (np.array([2.5], np.float16), np.array([7], np.uint8), np.array([True])):
        value = helper.make_tensor(
            "value", helper.np_dtype_to_tensor_dtype(fill.dtype), [1], fill.tobytes(), raw=True
        )
        known = np.full((2, 3), fill[0])
        yield Node("ConstantOfShape", [np.array([2, 3], np.int64)], {"value": value}, expected=[known])
    for p in (1, 2):
        x = np.array([[1, -2, 2], [0, 0, 0], [3, 4, 0]], np.float32)
        known = np.array([[1, -2, 2], [0, 0, 0], [3, 4, 0]], np.float32)
        known /= np.array([[5], [1], [7]] if p == 1 else [[3], [1], [5]], np.float32)
        yield Node("LpNormalization", [x], {"p": p, "axis": 1}, expected=[known])


@pytest.mark.parametrize(
    "batch", batches([*indices(), *indices_of_many(), *running(), *best(), *generated()]), ids=str
)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)


def test_a_range_of_another_length_is_told():
    inputs = [np.array(each, np.int32) for each in (0, 4, 1)]
    session = compile_native(Node("Range", inputs).model())
    feeds = {"x0": inputs[0], "x1": np.array(9, np.int32), "x2": inputs[2]}
    with pytest.warns(UserWarning, match=r"^it: gives 9 elements, the model says 4;"):
        found = session.run(None, feeds)
    np.testing.assert_array_equal(np.asarray(found[0]), np.arange(9, dtype=np.int32))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64])
def test_the_best_of_many(dtype: type[np.generic], largest: int):
    sizes = [(200, 3), (200, 28), (130, 130), (64, 16), (33, 11)]
    check_all(node for size, count in sizes for node in best_of_many(dtype, size, count, largest))


def best_of_many(dtype: type[np.generic], size: int, count: int, largest: int) -> Iterator[Node]:
    """Rows with NaN, infinities and ties, and the same as columns."""
    random = np.random.default_rng(83)
    x = random.integers(-50, 50, (3, size)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, ::17], x[1, 5], x[1, 40:43], x[2] = np.nan, np.inf, -np.inf, np.arange(size)
    # NaN sorts first; ties go to the first index.
    keys = np.where(np.isnan(x.astype(np.float64)), np.inf, x.astype(np.float64) * (1 if largest else -1))
    keys = np.where(np.isnan(x.astype(np.float64)), 1e30, np.clip(keys, -1e20, 1e20))
    indices = np.argsort(-keys, axis=1, kind="stable")[:, :count]
    requested = [np.take_along_axis(x, indices, 1), indices]
    yield Node(
        "TopK", [x, np.array([count])], {"largest": largest}, outputs=2, constant=[1], expected=requested
    )
    requested = [each.T for each in requested]
    said = {"largest": largest, "axis": 0}
    yield Node("TopK", [x.T.copy(), np.array([count])], said, outputs=2, constant=[1], expected=requested)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16, np.int32, np.uint32])
def test_the_best_of_extremes(dtype: type[np.generic], largest: int):
    """Keys of all bits, zeros of both signs, denormals: their order is that of the numbers."""
    random = np.random.default_rng(84)
    bits = random.integers(0, 256, (2, 140 * np.dtype(dtype).itemsize), np.uint8)
    x = bits.view(dtype)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), dtype(0), x)
        x[0, :8] = 0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38, -3.4e38
        x[0, 100:103] = -0.0, 0.0, -0.0
    else:
        x[0, :2] = np.iinfo(x.dtype.name).min, np.iinfo(x.dtype.name).max
    numbers = x.astype(np.float64)
    indices = np.argsort(-numbers if largest else numbers, axis=1, kind="stable")
    kept = [(count, indices[:, :count]) for count in (1, 5, 8, 11, 60, 140)]
    check_all(
        Node(
            "TopK",
            [x, np.array([count])],
            {"largest": largest},
            outputs=2,
            constant=[1],
            expected=[np.take_along_axis(x, found, 1), found],
        )
        for count, found in kept
    )
