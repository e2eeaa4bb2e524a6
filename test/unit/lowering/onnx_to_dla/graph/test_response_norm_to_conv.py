"""Global response normalization as poolings and convolutions: the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from rewritten_numbers import assert_same_numbers

from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import DivOp
from xonnc.lowering.onnx_to_dla.graph.response_norm_to_conv_onnx import ResponseNormToConv

CHANNELS_FIRST = """
    n = ReduceL2<axes = [2, 3]>(x)
    m = ReduceMean<axes = [1]>(n)
    d = Add (epsilon, m)
    q = Div (n, d)
    p = Mul (q, x)
    s = Mul (w, p)
    y = Add (s, x)
"""
CHANNELS_LAST = """
    t = Transpose<perm = [0, 2, 3, 1]>(x)
    n = ReduceL2<axes = [1, 2]>(t)
    m = ReduceMean<axes = [-1]>(n)
    d = Add (m, epsilon)
    q = Div (n, d)
    p = Mul (t, q)
    s = Mul (p, w)
    z = Add (t, s)
    y = Transpose<perm = [0, 3, 1, 2]>(z)
"""
QUOTIENT = """
    n = ReduceL2<axes = [2]>(x)
    m = ReduceMean<axes = [1]>(n)
    d = Add (m, epsilon)
    y = Div (n, d)
"""


@pytest.mark.parametrize("in_fp16", [False, True])
@pytest.mark.parametrize(
    ("nodes", "shape", "factors"),
    [
        (CHANNELS_FIRST, (1, 7, 3, 5), (7, 1, 1)),
        (CHANNELS_FIRST, (1, 1, 9, 2), (1, 1, 1, 1)),
        (CHANNELS_LAST, (1, 7, 3, 5), (7,)),
        (CHANNELS_LAST, (1, 4, 4, 4), (1, 1, 1, 4)),
        (QUOTIENT, (1, 6, 33), (1,)),
    ],
)
def test_the_numbers_stay(
    nodes: str, shape: tuple[int, ...], factors: tuple[int, ...], in_fp16: bool, tmp_path: Path
):
    sizes, results = ", ".join(map(str, shape)), ", ".join("abcd"[: len(shape)])
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{sizes}] x) => (float[{results}] y) {{ {nodes} }}"""
    )
    weights = np.random.default_rng(3).standard_normal(factors).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    model.graph.initializer.append(numpy_helper.from_array(np.array(0.01, np.float32), "epsilon"))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    front = run_frontend(path)
    assert ResponseNormToConv(in_fp16).rewrite(front.module, DisposablePool.of(front.context))
    assert not any(isinstance(op, DivOp) for op in front.module.walk())
    assert_same_numbers(path, front.module, shape, 1e-4, 1e-5)
