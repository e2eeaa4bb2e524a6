"""Einsum of dynamic and of empty dimensions gives what NumPy gives, by one program for all shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

RANDOM = np.random.default_rng(3)

SIZES = (
    {"b": 2, "n": 3, "m": 5, "t": 4, "s": 6},
    {"b": 1, "n": 1, "m": 1, "t": 1, "s": 1},
    {"b": 3, "n": 7, "m": 2, "t": 5, "s": 9},
    {"b": 2, "n": 0, "m": 3, "t": 2, "s": 0},
)


def session_of(
    equation: str, shapes: Sequence[Sequence[str | int]], element: np.dtype[np.generic]
) -> Session:
    kind = helper.np_dtype_to_tensor_dtype(element)
    names = [f"x{index}" for index in range(len(shapes))]
    rank = len(equation.partition("->")[2].replace("...", "b"))
    inputs = [
        helper.make_tensor_value_info(name, kind, shape) for name, shape in zip(names, shapes, strict=True)
    ]
    output = helper.make_tensor_value_info("y", kind, [None] * rank)
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    graph = helper.make_graph([node], "g", inputs, [output])
    return compile_native(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9))


def drawn(shape: Sequence[str | int], sizes: dict[str, int]) -> npt.NDArray[np.float64]:
    return RANDOM.normal(size=[sizes[size] if isinstance(size, str) else size for size in shape]) * 4


@pytest.mark.parametrize("kind", ["float32", "int32"])
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bnts,bsnh->btnh", [("b", 2, "t", "s"), ("b", "s", 2, 4)]),
        ("ij->ji", [("n", "m")]),
        ("ii->i", [("n", "n")]),
        ("ii->", [("n", "n")]),
        ("i,j->ij", [("n",), ("m",)]),
        ("ij->", [("n", "m")]),
        ("...ij,jk->...ik", [("b", "n", "m"), ("m", 4)]),
        ("bij,bkj,bkm->bim", [("b", "n", "t"), ("b", "s", "t"), ("b", "s", 3)]),
        ("bij,bij->b", [("b", "n", 1), ("b", "n", "m")]),
    ],
)
def test_dynamic_dimensions(equation: str, shapes: Sequence[Sequence[str | int]], kind: str):
    session = session_of(equation, shapes, np.dtype(kind))
    for sizes in SIZES:
        operands = [drawn(shape, sizes).astype(np.dtype(kind)).astype(np.float64) for shape in shapes]
        feeds = {f"x{index}": each.astype(np.dtype(kind)) for index, each in enumerate(operands)}
        given = np.asarray(session.run(None, feeds)[0])
        wanted = np.asarray(np.einsum(equation, *operands))
        assert given.shape == wanted.shape
        np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-4)
    assert session.compiled == 1
    assert not session.host_calls()


def test_a_dimension_that_may_be_1_or_equal_has_a_program_for_each_shape():
    session = session_of("ij,jk->ik", [("n", "m"), ("s", 3)], np.dtype(np.float32))
    for rows in (4, 1):
        operands = drawn((2, 4), {}).astype(np.float32), drawn((rows, 3), {}).astype(np.float32)
        (given,) = session.run(None, dict(zip(("x0", "x1"), operands, strict=True)))
        wanted = np.einsum("ij,jk->ik", operands[0], np.broadcast_to(operands[1], (4, 3)))
        np.testing.assert_allclose(np.asarray(given), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shapes", [[(2, 0), (0, 3)], [(0, 2), (2, 3)]])
def test_sums_of_nothing_are_zero(shapes: Sequence[Sequence[int]]):
    session = session_of("ij,jk->ik", shapes, np.dtype(np.float32))
    operands = [np.ones(shape, np.float32) for shape in shapes]
    (given,) = session.run(None, {f"x{index}": each for index, each in enumerate(operands)})
    np.testing.assert_array_equal(np.asarray(given), np.einsum("ij,jk->ik", *operands))
    assert not session.host_calls()
