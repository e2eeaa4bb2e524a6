"""Integer convolutions and pools of images of dynamic height and width: one program for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc.errors import XonncError
from xonnc.native import compile_native

EXPORTS = Path(__file__).parents[4] / "data" / "exports"

RANDOM = np.random.default_rng(5)

SCALES = "one = Constant<value_float = 0.02>()\n step = Constant<value_float = 0.05>()"

QDQ = {
    "dense": "a = Conv<pads=[1,1,1,1]>(v, w, b)",
    "strided": "a = Conv<pads=[1,1,1,1], strides=[2,2]>(v, w)",
    "dilated": "a = Conv<pads=[0,2,2,1], dilations=[2,1]>(v, w)",
    "point": "a = Conv(v, point)",
    "depthwise": "a = Conv<pads=[1,1,1,1], group=16>(v, deep)",
    "groups": "a = Conv<pads=[1,1,1,1], group=2>(v, parts)",
    "offsets": "a = Conv<pads=[1,1,1,1]>(v, wide)",
    "residual": "c = Conv<pads=[1,1,1,1]>(v, w)\n a = Add(c, v)",
    "sizes": """c = Conv<pads=[1,1,1,1]>(v, w)
        q = QuantizeLinear(c, step, zero)
        d = DequantizeLinear(q, step, zero)
        e = Conv(v, point)
        f = Add(d, e)
        s = Shape(v)
        k = ConstantOfShape<value = float[1] {0.3}>(s)
        a = Add(f, k)""",
    "activation": "c = Conv<pads=[1,1,1,1]>(v, w)\n a = Relu(c)",
    "same": 'a = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(v, w, b)',
    "same depthwise": 'a = Conv<auto_pad="SAME_UPPER", strides=[2,2], group=16>(v, deep)',
}
"""Operators between a dequantized image `v` and `a`, which is quantized."""

INTEGERS = {
    "product": "i = QLinearConv<pads=[1,1,1,1]>(x, one, zero, q_w, one, q_z, step, zero)",
    "pool": """c = QLinearConv<pads=[1,1,1,1]>(x, one, zero, q_w, one, q_z, step, zero)
        i = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(c)""",
    "same pool": """c = QLinearConv<pads=[1,1,1,1]>(x, one, zero, q_w, one, q_z, step, zero)
        i = MaxPool<kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER">(c)""",
    "same": """i = QLinearConv<auto_pad="SAME_UPPER", strides=[2,3]>
        (x, one, zero, q_w, one, q_z, step, zero)""",
    "sums": "i = ConvInteger<pads=[1,1,1,1]>(x, q_w, zero)",
}

WEIGHTS = {
    "w": (16, 16, 3, 3),
    "point": (16, 16, 1, 1),
    "deep": (16, 1, 3, 3),
    "parts": (16, 8, 3, 3),
    "wide": (16, 16, 3, 3),
}


def model_of(body: str, kind: str) -> onnx.ModelProto:
    """Return a model of an 8-bit image `x` and an output `i` of a kind."""
    head = f'<ir_version: 8, opset_import: ["" : 17]>\nm (uint8[n,16,h,w] x) => ({kind}[n,16,p,q] i)'
    model = onnx.parser.parse_model(f"{head} {{\n{SCALES}\n{body}\n}}")
    arrays: dict[str, np.ndarray] = {"zero": np.array(90, np.uint8), "q_z": np.array(0, np.int8)}
    for name, shape in WEIGHTS.items():
        number = RANDOM.integers(-40, 40, shape)
        arrays[f"q_{name}"] = (number + 128).astype(np.uint8) if name == "wide" else number.astype(np.int8)
    arrays["q_wide_z"] = np.array(3, np.uint8)
    arrays["q_b"] = RANDOM.integers(-3000, 3000, 16).astype(np.int32)
    used = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in arrays.items() if name in used
    )
    return model


def qdq(text: str) -> onnx.ModelProto:
    """Return a model that quantizes the result of operators on a dequantized image."""
    lines = ["v = DequantizeLinear(x, one, zero)"]
    for name in WEIGHTS:
        zero = "q_wide_z" if name == "wide" else "q_z"
        if f", {name})" in text or f", {name}," in text:
            lines.append(f"{name} = DequantizeLinear(q_{name}, one, {zero})")
    if ", b)" in text:
        lines.append("b_step = Constant<value_float = 0.0004>()\n b = DequantizeLinear(q_b, b_step)")
    return model_of("\n".join([*lines, text, "i = QuantizeLinear(a, step, zero)"]), "uint8")


def unoptimized(model: onnx.ModelProto) -> Any:
    """Return a session of onnxruntime that computes each operator as the model says."""
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options)


def check(model: onnx.ModelProto, shapes: Sequence[tuple[int, int, int]]) -> None:
    """Compare integers for images of some sizes with onnxruntime; ties may round to the other side."""
    session, reference = compile_native(model), unoptimized(model)
    for images, rows, columns in shapes:
        x = RANDOM.integers(0, 256, (images, 16, rows, columns)).astype(np.uint8)
        (found,), (expected,) = session.run(None, {"x": x}), reference.run(None, {"x": x})
        difference = np.abs(np.asarray(found).astype(np.int64) - expected)
        assert np.asarray(found).shape == expected.shape
        assert not difference.size or (difference.max() <= 1 and np.mean(difference > 0) < 0.002)
    assert session.compiled == 1
    assert not session.host_calls()
    kernels = " ".join(line.what for line in session.report())
    assert "int8_" in kernels


SHAPES = [(1, 7, 15), (2, 3, 29), (1, 4, 3), (1, 4, 85)]


@pytest.mark.parametrize("name", QDQ)
def test_quantized(name: str):
    check(qdq(QDQ[name]), SHAPES)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str):
    check(model_of(INTEGERS[name], "int32" if name == "sums" else "uint8"), SHAPES)


def test_run_time_zero_point():
    """The zero points around an image of DynamicQuantizeLinear are found at run time."""
    head = '<ir_version: 8, opset_import: ["" : 17]>\nm (float[n,16,h,w] x) => (int32[n,16,p,q] i)'
    text = "q, s, z = DynamicQuantizeLinear(x)\n i = ConvInteger<pads=[1,1,1,1]>(q, q_w, z)"
    model = onnx.parser.parse_model(f"{head} {{\n{text}\n}}")
    weights = RANDOM.integers(-40, 40, (16, 16, 3, 3)).astype(np.int8)
    model.graph.initializer.append(numpy_helper.from_array(weights, "q_w"))
    session = compile_native(model)
    reference = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    for shape in ((1, 16, 5, 9), (2, 16, 1, 4)):
        x = RANDOM.normal(size=shape).astype(np.float32)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], reference.run(None, {"x": x})[0])
    assert session.compiled == 1


def test_an_export_that_onnxruntime_quantized():
    """torch's dynamic height and width: SiLU, a residual, and an enlarged map that is joined, in integers."""
    model = onnx.load_model_from_string((EXPORTS / "torch_quantized_images.onnx").read_bytes())
    session, reference = compile_native(model), unoptimized(model)
    for images, rows, columns in ((1, 32, 32), (2, 28, 20), (1, 64, 36)):
        feeds = {"image": RANDOM.normal(size=(images, 3, rows, columns)).astype(np.float32)}
        results = zip((0.00485, 0.00107), session.run(None, feeds), reference.run(None, feeds), strict=True)
        for step, found, expected in results:
            # A tie that rounds to the other side moves what windows read of it by a step.
            difference = np.abs(np.asarray(found) - expected)
            assert difference.max() < 1.5 * step
            assert np.mean(difference > 0.5 * step) < 0.15
    assert session.compiled == 1
    kernels = " ".join(line.what for line in session.report())
    assert kernels.count("int8_conv") == 3
    assert kernels.count("int8_depthwise") == 1


def test_no_images():
    check(qdq(QDQ["dense"]), [(0, 4, 5)])


def test_windows_that_do_not_fit():
    session = compile_native(qdq("a = Conv(v, w)"))
    with pytest.raises(XonncError, match="a window of 3 does not fit into axis 2 of 2"):
        session.run(None, {"x": np.zeros((1, 16, 2, 8), np.uint8)})
