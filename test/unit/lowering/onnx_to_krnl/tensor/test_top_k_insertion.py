"""The best K of rows by insertion: ties, NaN, and rows that end anywhere in a block."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from native_nodes import Array, Node, check_all

from xonnc.lowering.onnx_to_krnl.tensor.top_k_insertion import BLOCK, MAX_INSERTION_K


def expected(x: Array, count: int, largest: int) -> list[Array]:
    """NaN first, equal ones in order."""
    numbers = np.asarray(x, np.float64)
    numbers = np.where(np.isnan(numbers), -np.inf, -numbers if largest else numbers)
    # Infinities that would come first are after NaN.
    is_number = ~np.isnan(np.asarray(x, np.float64))
    order = np.lexsort((numbers, is_number), axis=1)[:, :count]
    return [np.take_along_axis(x, order, axis=1), order]


def top_k(x: Array, count: int, largest: int) -> Node:
    given = [x, np.array([count])]
    return Node(
        "TopK", given, {"largest": largest}, outputs=2, constant=[1], expected=expected(x, count, largest)
    )


@pytest.mark.covering(2)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64])
@pytest.mark.parametrize("count", [1, 3, MAX_INSERTION_K, MAX_INSERTION_K + 2])
def test_rows_with_ties(dtype: type[np.generic], count: int, largest: int):
    """Few different values: of equal ones the first are taken, wherever a block ends."""
    random = np.random.default_rng(count)
    sizes = (count, count + 1, count + BLOCK - 1, count + BLOCK, count + BLOCK + 1, 5 * BLOCK + 3, 200)
    check_all(top_k(random.integers(-3, 4, (3, size)).astype(dtype), count, largest) for size in sizes)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_not_a_number_comes_first(dtype: type[np.generic], largest: int):
    x = np.random.default_rng(1).normal(size=(3, 99)).astype(dtype)
    x[0, [0, 40, 98]] = np.nan
    x[1, [3, 50]] = np.inf
    x[1, [4, 51]] = -np.inf
    x[2] = np.nan
    check_all(top_k(x, count, largest) for count in (1, 2, 4, 7))


@pytest.mark.parametrize("order", [1, -1])
def test_sorted_rows(order: int):
    """Each element is inserted, or none."""
    x = np.arange(100, dtype=np.float32)[None, ::order].copy()
    check_all(top_k(x, 6, largest) for largest in (0, 1))
