"""Divisions by norms as products: the same numbers, and networks of one loadable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from rewritten_numbers import assert_same_numbers

from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import DivOp
from xonnc.lowering.onnx_to_dla.graph.division_to_product_onnx import MEANS, DivisionToProduct
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

NORMALIZED = """
    n = ReduceL2<axes = [1]>(x)
    c = Clip (n, epsilon)
    s = Shape (x)
    d = Expand (c, s)
    y = Div (x, d)
"""
DEVIATION = """
    m = ReduceMean<axes = [1]>(x)
    c = Sub (x, m)
    q = Pow (c, two)
    v = ReduceMean<axes = [1]>(q)
    e = Add (v, epsilon)
    r = Sqrt (e)
    y = Div (c, r)
"""
ABSOLUTE = """
    n = ReduceL1<axes = [2]>(x)
    b = Max (n, epsilon)
    y = Div (x, b)
"""
SQUARES = """
    n = ReduceSumSquare<axes = [-1], keepdims = 0>(x)
    u = Unsqueeze (n, last)
    d = Add (epsilon, u)
    y = Div (x, d)
"""
NORM = "y = ReduceL2<axes = [1, -1], keepdims = 0>(x)"
ATTENTION = """
    a = Transpose<perm = [0, 2, 1]>(x)
    n = ReduceL2<axes = [-1]>(a)
    c = Clip (n, epsilon)
    s = Shape (a)
    d = Expand (c, s)
    q = Div (a, d)
    w = MatMul (q, one)
    v = ReduceL2<axes = [1]>(w)
    b = Clip (v, epsilon)
    t = Div (w, b)
    p = Mul (t, q)
    g = ReduceSum (p, second)
    o = Relu (x)
    h = Transpose<perm = [0, 2, 1]>(o)
    k = Mul (g, h)
    y = Transpose<perm = [0, 2, 1]>(k)
"""
"""The additive attention of SwiftFormer."""


def written(nodes: str, shape: tuple[int, ...], path: Path, rank: int | None = None) -> Path:
    sizes, results = ", ".join(map(str, shape)), ", ".join("abcd"[: rank or len(shape)])
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{sizes}] x) => (float[{results}] y) {{ {nodes} }}"""
    )
    constants = {
        "epsilon": np.array(0.01, np.float32),
        "two": np.array(2, np.float32),
        "one": np.linspace(-1, 1, shape[1], dtype=np.float32).reshape(-1, 1),
        "last": np.array([-1]),
        "second": np.array([1]),
    }
    model.graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in constants.items())
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("in_fp16", [False, True])
@pytest.mark.parametrize(
    ("nodes", "shape", "rank"),
    [
        (NORMALIZED, (1, 7, 3, 5), 4),
        (DEVIATION, (2, 3, 5), 3),
        (ABSOLUTE, (1, 4, 3, 5), 4),
        (SQUARES, (1, 1, 9, 2), 4),
        (NORM, (1, 3, 33), 1),
    ],
)
def test_the_numbers_stay(nodes: str, shape: tuple[int, ...], rank: int, in_fp16: bool, tmp_path: Path):
    path = written(nodes, shape, tmp_path / "model.onnx", rank)
    front = run_frontend(path)
    assert DivisionToProduct(in_fp16).rewrite(front.module, DisposablePool.of(front.context))
    assert not any(isinstance(op, (DivOp, *MEANS)) for op in front.module.walk())
    assert_same_numbers(path, front.module, shape, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [(NORMALIZED, (1, 16, 5, 4)), (DEVIATION, (1, 16, 4, 4)), (ATTENTION, (1, 16, 24))],
)
def test_a_network_is_one_loadable(nodes: str, shape: tuple[int, ...], tmp_path: Path):
    path = written(nodes, shape, tmp_path / "model.onnx")
    generator = np.random.default_rng(2)
    images = [{"x": generator.standard_normal(shape).astype(np.float32)} for _ in range(5)]
    package = compile_package(path, "nv_small", calibrate=lambda module: calibrate_module(module, images[:4]))
    assert [step.kind for step in package.manifest.steps] == ["dla"]
    package.write(tmp_path / "model.xpkg")
    (found,) = load_package(tmp_path / "model.xpkg").run(images[4]).values()
    expected = np.asarray(ReferenceModel(path).run(images[4])[0])
    assert np.vdot(found, expected) > 0.998 * np.linalg.norm(found) * np.linalg.norm(expected)


def test_zeros_divided_by_their_norm_are_zeros_in_fp16(tmp_path: Path):
    nodes = "n = ReduceL2<axes = [1]>(x) y = Div (x, n)"
    package = compile_package(written(nodes, (1, 4, 2, 2), tmp_path / "model.onnx"), "nv_full")
    package.write(tmp_path / "model.xpkg")
    images = np.ones((1, 4, 2, 2), np.float32)
    images[..., 0] = 0
    (found,) = load_package(tmp_path / "model.xpkg").run({"x": images}).values()
    np.testing.assert_array_equal(found, images / 2)
