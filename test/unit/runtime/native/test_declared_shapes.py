"""Sizes that a model declares of results whose shapes follow from values, and that are wrong."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from xonnc.errors import DimensionNameError, XonncError
from xonnc.native import compile_native

HEAD = '<ir_version: 10, opset_import: ["": 21]> g '

X = np.array([[1, 0, -2, 3], [0, np.nan, 0, 6]], np.float32)

BOXES = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], np.float32)

FEEDS = {
    "x": X,
    "c": np.array([1, 0, 1, 0, 1, 1, 0, 0], np.bool_),
    "first": np.array(0),
    "last": np.array(5),
    "step": np.array(1),
    "starts": np.array([1]),
    "ends": np.array([4]),
    "axes": np.array([1]),
    "boxes": BOXES,
    "scores": np.array([[[0.9, 0.8, 0.7, 0.6]]], np.float32),
    "most": np.array(2),
}

NODES: Mapping[str, tuple[str, str, str, npt.NDArray[np.generic]]] = {
    "NonZero": ("float[2,4] x", "(x)", "int64[2,{}]", np.array(np.nonzero(X))),
    "Compress": ("float[2,4] x, bool[8] c", "(x, c)", "float[{}]", X.reshape(-1)[[0, 2, 4, 5]]),
    "Unique": ("float[2,4] x", "(x)", "float[{}]", np.unique(X)),
    "Range": ("int64 first, int64 last, int64 step", "(first, last, step)", "int64[{}]", np.arange(5)),
    "Slice": (
        "float[2,4] x, int64[1] starts, int64[1] ends, int64[1] axes",
        "(x, starts, ends, axes)",
        "float[2,{}]",
        X[:, 1:4],
    ),
    "NonMaxSuppression": (
        "float[1,4,4] boxes, float[1,1,4] scores, int64 most",
        "(boxes, scores, most)",
        "int64[{},3]",
        np.array([[0, 0, 0], [0, 0, 2]]),
    ),
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("size", [0, 1, 9, 100_000])
@pytest.mark.parametrize("kind", ["output", "inner"])
@pytest.mark.parametrize("operator", NODES)
def test_what_is_declared_is_not_believed(operator: str, kind: str, size: int):
    inputs, operands, declared, expected = NODES[operator]
    type_ = declared.format(size)
    if kind == "output":
        text = f"({inputs}) => ({type_} y) {{ [n] y = {operator} {operands} }}"
    else:
        rank = ",".join("AB"[: expected.ndim])
        given = f"{type_.partition('[')[0]}[{rank}]"
        text = (
            f"({inputs}) => ({given} y) <{type_} t> {{ [n] t = {operator} {operands} "
            "a = Neg (t) b = Neg (a) s = Shape (t) y = Expand (b, s) }"
        )
    session = compile_native(parser.parse_model(HEAD + text), cache=False)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        (found,) = session.run(None, {port.name: FEEDS[port.name] for port in session.inputs})
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)


NAMED = f"""{HEAD}(bool[1] again, float[n,3] x, float[n,3] z) => (float[m,3] y)
    {{ y = If (again) <then_branch = t () => (float[k,3] p) {{ p = Relu (z) }},
                       else_branch = e () => (float[k,3] q) {{ q = Add (x, x) }}> }}"""


def test_sizes_that_a_dimension_of_one_name_cannot_have():
    """As a merged decoder of optimum has it: what one branch does not read may have another size."""
    session = compile_native(parser.parse_model(NAMED))
    x, z = np.ones((4, 3), np.float32), np.zeros((0, 3), np.float32)
    message = "input 'z': dimension 'n' cannot be 0 here and 4 elsewhere; the names of dimensions are ignored"
    with pytest.warns(UserWarning, match=f"^{message}$"):
        (y,) = session.run(None, {"again": np.array([False]), "x": x, "z": z})
    np.testing.assert_array_equal(np.asarray(y), 2 * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (y,) = session.run(None, {"again": np.array([True]), "x": x, "z": -x[:2]})
    np.testing.assert_array_equal(np.asarray(y), 0 * x[:2])


def test_sizes_of_one_name_that_no_operator_takes():
    session = compile_native(
        parser.parse_model(f"{HEAD}(float[n] x, float[n] z) => (float[n] y) {{ y = Add (x, z) }}")
    )
    ones, feeds = np.ones(3, np.float32), {"x": np.ones(3, np.float32), "z": np.ones(2, np.float32)}
    for _ in range(2):
        with pytest.raises(
            DimensionNameError, match="input 'z': dimension 'n' cannot be 2 here and 3 elsewhere"
        ):
            session.run(None, feeds)
        (y,) = session.run(None, {"x": ones, "z": ones})
        np.testing.assert_array_equal(np.asarray(y), 2 * ones)


BATCH = f"""{HEAD}(float[n,3,h] x, float[1,3,1] t) => (float[n,l,2] y) <float[1,3,h] a,
    int64[1] first = {{0}}, int64[2] rest = {{-1, 1}}, int64[3] flat = {{0, -1, 1}}>
    {{ a = Add (x, t) b = Relu (a) s = Shape (b) n = Gather (s, first) to = Concat <axis = 0> (n, rest)
       r = Reshape (b, to) f = Reshape (x, flat) y = Concat <axis = 2> (r, f) }}"""


def test_a_batch_that_inner_values_declare_otherwise():
    """As torch exports a batch of one where it may be any: shapes are computed from what is declared."""
    session = compile_native(parser.parse_model(BATCH), cache=False)
    x, t = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 9, np.array([[[1], [-2], [3]]], np.float32)
    parts = [np.maximum(x + t, 0), x]
    expected = np.concatenate([part.reshape(2, -1, 1) for part in parts], 2)
    with pytest.warns(UserWarning, match="the declared shapes are ignored$"):
        (found,) = session.run(None, {"x": x, "t": t})
    np.testing.assert_array_equal(np.asarray(found), expected)
    (found,) = session.run(None, {"x": x[:1], "t": t})
    np.testing.assert_array_equal(np.asarray(found), expected[:1])


def test_sizes_that_operators_do_not_take_are_refused_as_such():
    session = compile_native(
        parser.parse_model(f"{HEAD}(float[n] x, float[m] z) => (float[k] y) {{ y = Add (x, z) }}"),
        cache=False,
    )
    with pytest.raises(XonncError, match="Add: Broadcast op with incompatible shapes"):
        session.run(None, {"x": np.ones(3, np.float32), "z": np.ones(4, np.float32)})
