"""Slices whose start and end are computed from data, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

import xonnc
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]


def model(body: str, result: str = "float[A, B, C] y", x: str = "float[3, 7, 5] x") -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]> g ({x}, float[70] z) => ({result}) {{ {body} }}'
    )


BOUNDS = """
  d = Reshape(z, all) k = Constant<value_ints = [2]>() v, i = TopK(d, k)
  zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>() two = Constant<value_ints = [2]>()
  s = Slice(v, zero, one) e = Slice(v, one, two) start = Cast<to = 7>(s) end = Cast<to = 7>(e)
"""
"""The two largest numbers of `z`, the larger first."""


def fed(*numbers: float) -> dict[str, Array]:
    generator = np.random.default_rng(3)
    z = np.full(70, -1e6, np.float32)
    z[: len(numbers)] = numbers
    return {"x": generator.standard_normal((3, 7, 5)).astype(np.float32), "z": z}


@lru_cache(4)
def session_of(body: str, threads: int = 1, **ports: str) -> Session:
    known = "all = Constant<value_ints = [70]>() " + BOUNDS
    return xonnc.compile(model(known + body, **ports), cache=False, threads=threads)


def check(session: Session, expected: Callable[[Array], Array], *numbers: float) -> None:
    feeds = fed(*numbers)
    (found,) = session.run(None, feeds)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected(feeds["x"]))
    assert session.host_calls() == []
    assert session.compiled == 1


@pytest.mark.parametrize(("start", "end"), [(5, 2), (2, 2), (100, 3), (3, -100), (-2, -4), (6, 6.0)])
@pytest.mark.parametrize(("axis", "size"), [(0, 3), (1, 7), (2, 5), (-1, 5)])
def test_any_axis(axis: int, size: int, start: float, end: float):
    session = session_of(f"a = Constant<value_ints = [{axis}]>() y = Slice(x, end, start, a)")
    check(session, lambda x: x[(slice(None),) * (axis % 3) + (slice(int(end), int(start)),)], start, end)


def test_two_threads():
    session = session_of("a = Constant<value_ints = [0]>() y = Slice(x, end, start, a)", threads=2)
    for start, end in ((3, 1), (2, 2), (3, 0)):
        check(session, lambda x, end=end, start=start: x[end:start], start, end)


@pytest.mark.parametrize("step", [2, 3, -1, -2])
@pytest.mark.parametrize(("start", "end"), [(6, 1), (100, 0), (-1, -6), (3, -3), (50, 40)])
def test_steps(step: int, start: float, end: float):
    session = session_of(
        f"a = Constant<value_ints = [1]>() t = Constant<value_ints = [{step}]>() "
        "y = Slice(x, start, end, a, t)"
    )
    check(session, lambda x: x[:, int(start) : int(end) : step], start, end)


@pytest.mark.parametrize("element", ["bool", "int8", "float16", "double"])
def test_any_type(element: str):
    to = getattr(onnx.TensorProto, element.upper())
    session = session_of(
        f"a = Constant<value_ints = [1]>() t = Cast<to = {to}>(x) y = Slice(t, end, start, a)",
        result=f"{element}[A, B, C] y",
    )
    check(session, lambda x: x.astype(onnx.helper.tensor_dtype_to_np_dtype(to))[:, 2:5], 5, 2)


def test_operators_after_it_are_native():
    session = session_of(
        "a = Constant<value_ints = [1]>() p = Slice(x, end, start, a) r = Softmax<axis = 1>(p) "
        "q = Transpose<perm = [1, 0, 2]>(r) y = Mul(q, q)"
    )
    for start, end in ((5, 2), (7, 6), (3, 3), (7, 0)):
        feeds = fed(start, end)
        part = feeds["x"][:, end:start].astype(np.float64)
        part = np.exp(part - part.max(1, keepdims=True, initial=-np.inf))
        expected = np.transpose(part / part.sum(1, keepdims=True), (1, 0, 2)) ** 2
        (found,) = session.run(None, feeds)
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=1e-5, atol=1e-6)
        assert session.host_calls() == []


LOOP = """
  t = Constant<value = bool {1}>() m = Constant<value = int64 {5}>()
  last, y = Loop(m, t, x) <
    body = turn (int64 i, bool go, float[3, 7, 5] before)
        => (bool on, float[3, 7, 5] after, float[3, 5] seen) {
      one = Constant<value_ints = [1]>() two = Constant<value_ints = [2]>()
      at = Reshape(i, one) until = Add(at, two)
      part = Slice(before, at, until, one) square = Mul(part, part)
      seen = ReduceSum<keepdims = 0>(square, one)
      after = Neg(before) on = Identity(go)
    }
  >
"""


def test_in_a_loop():
    session = session_of(LOOP)
    feeds = fed(1)
    (found,) = session.run(None, feeds)
    expected = np.stack([(feeds["x"][:, index : index + 2] ** 2).sum(1) for index in range(5)])
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
    assert session.host_calls() == []


@pytest.mark.parametrize("offsets", [[0, 3, 3, 9], [0, 0, 11, 12], [5, 2, 12, 0]])
def test_by_small_inputs_and_iterations(offsets: list[int]):
    """Bags of embeddings, as torch writes them: no value of the offsets makes the start a constant."""
    session = bags()
    generator = np.random.default_rng(4)
    indices = generator.integers(0, 20, 12)
    table = generator.standard_normal((20, 3)).astype(np.float32)
    feeds = {"indices": indices, "offsets": np.array(offsets), "table": table}
    (found,) = session.run(None, feeds)
    ends = [*offsets[1:], 12]
    expected = [table[indices[start:end]].sum(axis=0) for start, end in zip(offsets, ends, strict=True)]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)
    assert session.host_calls() == []
    assert session.compiled == 1


@lru_cache(1)
def bags() -> Session:
    text = """<ir_version: 10, opset_import: ["": 21]>
    g (int64[12] indices, int64[4] offsets, float[20, 3] table) => (float[N, M] y)
    <int64[1] zero = {0}, int64[1] size = {12}, int64 count = {4}, int64 next = {1}, bool yes = {1}> {
        bounds = Concat<axis = 0>(offsets, size)
        y = Loop(count, yes) <body = bag (int64 i, bool c) => (bool c2, float[M] row) {
            c2 = Identity(c)  j = Add(i, next)
            a = Gather(bounds, i)  b = Gather(bounds, j)
            start = Unsqueeze(a, zero)  end = Unsqueeze(b, zero)
            own = Slice(indices, start, end, zero)
            rows = Gather(table, own)
            row = ReduceSum<keepdims = 0>(rows, zero) }>
    }"""
    return xonnc.compile(parser.parse_model(text), cache=False)


def test_a_slice_by_small_inputs_is_compiled_for_their_values():
    proto = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[3, 7] x, int64[1] n) => (float[A, 7] y) '
        "{ s = Constant<value_ints = [0]>() y = Slice(x, s, n, s) }"
    )
    session = xonnc.compile(proto, cache=False)
    assert session.shape_determining == ["n"]
    x = np.ones((3, 7), np.float32)
    (found,) = session.run(None, {"x": x, "n": np.array([2])})
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 7)
    assert session.compiled == 2


def test_ranges_by_a_small_matrix_of_sizes_are_compiled_for_its_values():
    """As vision towers of Qwen-VL read sizes of images, `grid_thw`. Floats and larger matrices are data."""
    body = (
        "z = Constant<value_ints = [0, 1]>() s = Gather(grid, z) m = ReduceMax<keepdims = 0>(s) "
        "n = Cast<to = 7>(m) a = Constant<value_int = 0>() d = Constant<value_int = 1>() "
        "r = Range(a, n, d) f = Cast<to = 1>(r) y = Mul(f, f)"
    )
    sessions = [
        xonnc.compile(
            parser.parse_model(
                f'<ir_version: 10, opset_import: ["": 21]> g ({grid} grid) => (float[N] y) {{ {body} }}'
            ),
            cache=False,
        )
        for grid in ("int64[2, 3]", "float[2, 3]", "int64[2, 33]")
    ]
    assert [list(session.shape_determining) for session in sessions] == [["grid"], [], []]
    for numbers in ([[1, 4, 0], [2, 0, 3]], [[1, 1, 1], [0, -2, 0]], [[0, 0, 0], [0, 0, -1]]):
        (found,) = sessions[0].run(None, {"grid": np.array(numbers)})
        np.testing.assert_array_equal(np.asarray(found), np.arange(np.max(numbers), dtype=np.float32) ** 2)
        assert sessions[0].host_calls() == []


def test_a_slice_to_the_size_of_an_input_has_a_dynamic_kernel():
    proto = parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[N, 4] x) => (float[N, 4] y) '
        f"{{ w = Constant<value = float[5, 4] {{{', '.join(map(str, range(1, 21)))}}}>() "
        "z = Constant<value_ints = [0]>() n = Shape<start = 0, end = 1>(x) p = Slice(w, z, n, z) "
        "y = Add(x, p) }"
    )
    session = xonnc.compile(proto, cache=False)
    for rows in (2, 5):
        (found,) = session.run(None, {"x": np.zeros((rows, 4), np.float32)})
        np.testing.assert_array_equal(np.asarray(found).ravel(), np.arange(1, 4 * rows + 1))
    assert session.compiled == 1
    assert session.host_calls() == []
