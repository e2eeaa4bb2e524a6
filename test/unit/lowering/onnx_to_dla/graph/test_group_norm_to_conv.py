"""Normalization of groups and instances as poolings and convolutions: the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from rewritten_numbers import assert_same_numbers

from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import DivOp, ExpandOp, SqrtOp
from xonnc.dialects.onnx.ops.nn import GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.tensor import ReshapeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.graph.group_norm_to_conv_onnx import NORMALIZATIONS, GroupNormToConv

GROUPS = "GroupNormalization<epsilon = 0.001, num_groups = 2>"


def normalized(folder: Path, shape: tuple[int, ...], node: str, opset: int, numbers: int) -> Path:
    """A model with one operator, which has a scale and a shift of as many numbers."""
    sizes = ", ".join(map(str, shape))
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[{sizes}] x) => (float[{sizes}] y) {{ y = {node} (x, scale, shift) }}"""
    )
    generator = np.random.default_rng(numbers)
    for name in ("scale", "shift"):
        array = generator.standard_normal(numbers).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("in_fp16", [False, True])
@pytest.mark.parametrize(
    ("shape", "node", "opset", "numbers"),
    [
        ((1, 7, 3, 5), "InstanceNormalization<epsilon = 0.001>", 17, 7),
        ((1, 1, 40, 36), "InstanceNormalization<epsilon = 0.001>", 17, 1),
        ((1, 6, 33), "InstanceNormalization<epsilon = 0.001>", 17, 6),
        ((1, 6, 3, 5), GROUPS, 21, 6),
        ((1, 6, 33), GROUPS, 21, 6),
        ((1, 6, 3, 5), GROUPS, 18, 2),
    ],
)
def test_the_numbers_are_those_of_the_operator(
    shape: tuple[int, ...], node: str, opset: int, numbers: int, in_fp16: bool, tmp_path: Path
):
    path = normalized(tmp_path, shape, node, opset, numbers)
    front = run_frontend(path)
    module = front.module
    # In FP16 single channels have a lowering of their own.
    is_rewritten = not in_fp16 or node == GROUPS
    assert GroupNormToConv(in_fp16).rewrite(module, DisposablePool.of(front.context)) == is_rewritten
    assert any(isinstance(op, NORMALIZATIONS) for op in module.walk()) != is_rewritten
    assert_same_numbers(path, module, shape, 1e-3, 2e-3)


DEVIATIONS = {
    # As torch's older exporter writes timm's EvoNorm, and as the newer one does.
    "groups": (
        (1, 6, 3, 5),
        """
        a = Sigmoid(x)
        d = Mul(x, a)
        r = Reshape(x, grouped)
        m = ReduceMean(r, axes)
        c = Sub(r, m)
        q = Mul(c, c)
        v = ReduceMean(q, axes)
        e = Add(v, epsilon)
        s = Sqrt(e)
        w = Expand(s, grouped)
        b = Reshape(w, shape)
        n = Div(d, b)
        f = Mul(n, scale)
        y = Add(f, shift)
        """,
    ),
    "flat variances": (
        (1, 6, 3, 5),
        """
        d = Relu(x)
        r = Reshape(x, grouped)
        m = ReduceMean(r, axes)
        c = Sub(r, m)
        q = Mul(c, c)
        v = ReduceMean<keepdims = 0>(q, axes)
        e = Add(v, epsilon)
        t = Reshape(e, small)
        s = Sqrt(t)
        w = Expand(s, grouped)
        b = Reshape(w, shape)
        y = Div(d, b)
        """,
    ),
    "single channels": (
        (1, 6, 3, 5),
        """
        d = Relu(x)
        m = ReduceMean(x, plane)
        c = Sub(x, m)
        q = Mul(c, c)
        v = ReduceMean(q, plane)
        e = Add(epsilon, v)
        s = Sqrt(e)
        b = Expand(s, shape)
        y = Div(d, b)
        """,
    ),
}
"""Images divided by a standard deviation."""


def divided(folder: Path, shape: tuple[int, ...], nodes: str) -> Path:
    """A model of nodes with `grouped`, `small`, `shape`, `axes`, `plane`, `epsilon`, `scale` and `shift`."""
    sizes = ", ".join(map(str, shape))
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{sizes}] x) => (float[{sizes}] y) {{ {nodes} }}"""
    )
    generator = np.random.default_rng(3)
    constants = {
        "grouped": np.array([1, 2, 3, *shape[2:]]),
        "small": np.array([1, 2, 1, 1, 1]),
        "shape": np.array(shape),
        "axes": np.array([2, 3, 4]),
        "plane": np.array([2, 3]),
        "epsilon": np.array(0.001, np.float32),
        "scale": generator.standard_normal((6, 1, 1)).astype(np.float32),
        "shift": generator.standard_normal((1, 6, 1, 1)).astype(np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("in_fp16", [False, True])
@pytest.mark.parametrize("name", DEVIATIONS)
def test_images_divided_by_a_standard_deviation(name: str, in_fp16: bool, tmp_path: Path):
    shape, nodes = DEVIATIONS[name]
    path = divided(tmp_path, shape, nodes)
    front = run_frontend(path)
    module = front.module
    assert GroupNormToConv(in_fp16).rewrite(module, DisposablePool.of(front.context))
    assert not any(isinstance(op, DivOp | SqrtOp | ExpandOp | ReshapeOp) for op in module.walk())
    assert_same_numbers(path, module, shape, 1e-3, 2e-3)


@pytest.mark.parametrize(
    "change",
    [
        ("v = ReduceMean(q, axes)", "v = ReduceMean(q, plane)"),
        ("m = ReduceMean(r, axes)", "m = ReduceMean(r, plane)"),
        ("q = Mul(c, c)", "q = Mul(c, r)"),
        ("c = Sub(r, m)", "c = Sub(m, r)"),
        ("s = Sqrt(e)", "s = Abs(e)"),
        ("e = Add(v, epsilon)", "e = Mul(v, epsilon)"),
        ("n = Div(d, b)", "n = Div(b, d)"),
    ],
)
def test_other_divisions_stay(change: tuple[str, str], tmp_path: Path):
    shape, nodes = DEVIATIONS["groups"]
    assert change[0] in nodes
    front = run_frontend(divided(tmp_path, shape, nodes.replace(*change)))
    assert not GroupNormToConv().rewrite(front.module, DisposablePool.of(front.context))


@pytest.mark.parametrize("in_fp16", [False, True])
def test_what_two_reshapes_were_before(in_fp16: bool, tmp_path: Path):
    """MobileViT-v2 reshapes patches to an image, and that to a row: two reshapes of the patches are left."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (float[1, 6, 2, 2, 3, 4] x) => (float[1, 6, 4, 12] y)
        <float[1] one = {1.0}, float[1] zero = {0.0}, int64[3] row = {1, 1, -1},
        int64[4] image = {1, 6, 4, 12}, float[6, 1, 1] scale = {1.0, -0.5, 2.0, 0.1, 1.5, 1.0}>
        {
            a = Relu(x)
            r = Reshape(a, row)
            i = InstanceNormalization<epsilon = 0.001>(r, one, zero)
            p = Reshape(a, image)
            b = Reshape(i, image)
            n = Mul(b, scale)
            y = Add(n, p)
        }"""
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    front = run_frontend(path)
    assert GroupNormToConv(in_fp16).rewrite(front.module, DisposablePool.of(front.context))
    assert not any(isinstance(op, NORMALIZATIONS) for op in front.module.walk())
    # Of the image, not of a row of all its elements.
    means = [op for op in front.module.walk() if isinstance(op, GlobalAveragePoolOp)]
    assert {static_shape(op.X.type) for op in means} == {(1, 6, 4, 12)}
    assert_same_numbers(path, front.module, (1, 6, 2, 2, 3, 4), 1e-3, 2e-3)
