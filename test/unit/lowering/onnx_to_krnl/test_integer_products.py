"""Products and convolutions of 8 bit integers give what exact integers give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Node, check

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(12)


def integers(dtype: str, *shape: int) -> Array:
    """Over the whole range."""
    known = np.iinfo(dtype)
    return RANDOM.integers(known.min, known.max + 1, shape).astype(dtype)


def scale(*shape: int) -> Array:
    return RANDOM.uniform(0.01, 0.1, shape).astype(np.float32)


PRODUCTS: Sequence[tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]] = (
    ((3, 4), (4, 5), (), ()),
    ((5, 33), (33, 17), (), (17,)),
    ((6, 7), (7, 2), (6,), ()),
    ((2, 3, 4), (2, 4, 5), (), ()),
    ((2, 1, 3, 9), (4, 9, 6), (), ()),
    ((2, 3, 9), (9, 6), (), (6,)),
    ((4,), (4,), (), ()),
    ((1, 1), (1, 1), (), ()),
)
"""Shapes of both factors and of their zero points."""


@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("case", PRODUCTS)
def test_products(
    dtypes: tuple[str, str], case: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
):
    a, b = (integers(dtype, *shape) for dtype, shape in zip(dtypes, case[:2], strict=True))
    zeros = [integers(dtype, *shape) for dtype, shape in zip(dtypes, case[2:], strict=True)]
    zeros = [zero.reshape(-1, 1) if place == 0 and zero.ndim else zero for place, zero in enumerate(zeros)]
    left, right = a.astype(np.int32), b.astype(np.int32)
    wanted = np.matmul(left - zeros[0].astype(np.int32), right - zeros[1].astype(np.int32))
    given = [zeros[0].reshape(case[2]), zeros[1]]
    check(Node("MatMulInteger", [a, b, *given], expected=[wanted]))
    check(Node("MatMulInteger", [a, b], constant=[1], expected=[np.matmul(left, right)]))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [(), (6,)])
def test_rescaled_products(dtype: str, columns: Sequence[int]):
    a, b = integers(dtype, 2, 5, 19), integers(dtype, 19, 6)
    inputs = [a, scale(), integers(dtype), b, scale(*columns), integers(dtype, *columns)]
    check(Node("QLinearMatMul", [*inputs, np.array(6.5, np.float32), integers(dtype)]))


def test_halves_go_to_the_even_integer_before_the_zero_point():
    a, b = np.array([[1], [3], [5], [-1]], np.int8), np.array([[1]], np.int8)
    one, zero = np.array(1, np.float32), np.array(0, np.int8)
    node = Node(
        "QLinearMatMul",
        [a, one, zero, b, one, zero, np.array(2, np.float32), np.array(1, np.int8)],
        expected=[np.array([[1], [3], [3], [1]], np.int8)],
    )
    check(node)


CONVOLUTIONS: dict[str, tuple[Sequence[int], Sequence[int], Mapping[str, object]]] = {
    "plain": ((2, 3, 6, 7), (5, 3, 3, 3), {}),
    "padded": ((1, 2, 5, 5), (3, 2, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "grouped": ((1, 4, 5, 5), (6, 2, 2, 2), {"group": 2, "pads": [0, 1, 0, 1]}),
    "of each channel": ((1, 4, 5, 5), (4, 1, 3, 3), {"group": 4}),
    "of a row": ((1, 2, 9), (3, 2, 3), {"dilations": [2]}),
    "same": ((1, 2, 7, 7), (3, 2, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case: str):
    shape, weights, attributes = CONVOLUTIONS[case]
    x, w = integers("uint8", *shape), integers("int8", *weights)
    check(Node("ConvInteger", [x, w, integers("uint8")], attributes))


# The reference evaluator of onnx 1.23 takes scales of filters of images alone.
@pytest.mark.parametrize(
    ("case", "per_filter"),
    [(case, each) for case in CONVOLUTIONS for each in (False, True) if not (each and case == "of a row")],
)
def test_rescaled_convolutions(case: str, per_filter: bool):
    shape, weights, attributes = CONVOLUTIONS[case]
    x, w = integers("uint8", *shape), integers("int8", *weights)
    filters = [weights[0]] if per_filter else []
    inputs = [x, scale(), integers("uint8"), w, scale(*filters), integers("int8", *filters)]
    bias = RANDOM.integers(-5000, 5000, weights[0]).astype(np.int32)
    check(Node("QLinearConv", [*inputs, np.array(0.9, np.float32), integers("uint8"), bias], attributes))
