"""QuantizeLinear and DequantizeLinear: types, axes, blocks, ties and the ends of the range."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Node, check
from onnx import numpy_helper

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(11)
INTEGERS = [np.dtype(each) for each in ("int8", "uint8", "int16", "uint16")]
SUB_BYTE_WIDTHS = [np.dtype(each) for each in (ml_dtypes.int4, ml_dtypes.uint4)]


def numbers(*shape: int) -> npt.NDArray[np.float32]:
    """Of both signs, with zeros and ties."""
    found = RANDOM.normal(size=shape).astype(np.float32) * 40
    found.reshape(-1)[:4] = [0, -0.0, 2.5, -3.5]
    return found


@pytest.mark.parametrize("dtype", [*INTEGERS, *SUB_BYTE_WIDTHS], ids=str)
@pytest.mark.parametrize("real", [np.float32, np.float16])
def test_real_numbers_become_integers(dtype: np.dtype[np.generic], real: type[np.generic]):
    x = np.concatenate([numbers(37), np.array([2e4, -2e4], np.float32)]).astype(real)
    check(Node("QuantizeLinear", [x, np.array(0.5, real), np.array(3).astype(dtype)]))


def test_nan_becomes_the_least_and_out_of_range_saturates():
    x = np.array([np.nan, 1.0, np.inf, -np.inf, 1e30], np.float32)
    for zero, low, high in ((np.int8(7), -128, 127), (np.uint16(40007), 0, 65535)):
        expected = np.array([low, int(zero) + 2, high, low, high], zero.dtype)
        check(Node("QuantizeLinear", [x, np.array(0.5, np.float32), np.array(zero)], expected=[expected]))


@pytest.mark.parametrize("dtype", [*INTEGERS, *SUB_BYTE_WIDTHS, np.dtype(np.int32)], ids=str)
def test_integers_become_real_numbers(dtype: np.dtype[np.generic]):
    x = RANDOM.integers(0, 8, (3, 5)).astype(dtype)
    check(Node("DequantizeLinear", [x, np.array(0.3, np.float32), np.array(2).astype(dtype)]))


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_scales_of_an_axis(axis: int):
    x = numbers(3, 4, 5)
    size = int(x.shape[axis])
    scales = RANDOM.uniform(0.1, 2, size).astype(np.float32)
    zeros = RANDOM.integers(-9, 9, size).astype(np.int8)
    check(Node("QuantizeLinear", [x, scales, zeros], {"axis": axis}))
    check(Node("DequantizeLinear", [x.astype(np.int8), scales, zeros], {"axis": axis}))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scales_of_blocks(axis: int):
    x = numbers(4, 6, 8)
    shape = list(x.shape)
    shape[axis] //= 2
    scales = RANDOM.uniform(0.1, 2, shape).astype(np.float32)
    zeros = RANDOM.integers(0, 9, shape).astype(np.uint8)
    attributes = {"axis": axis, "block_size": 2}
    check(Node("QuantizeLinear", [x, scales, zeros], attributes))
    check(Node("DequantizeLinear", [x.astype(np.int8).view(np.uint8), scales, zeros], attributes))


def test_blocks_that_do_not_divide_the_axis_are_left_to_the_host():
    node = Node(
        "DequantizeLinear",
        [np.ones((5,), np.int8), np.ones((3,), np.float32)],
        {"axis": 0, "block_size": 2},
        expected=[np.ones((5,), np.float32)],
    )
    session = compile_native(node.model())
    assert session.host_calls() == ["DequantizeLinear"]
    assert session.report()[0].reason.startswith("blocks that do not divide the axis")


@pytest.mark.parametrize("small", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("saturate", [0, 1])
def test_small_floats(small: type[np.generic], saturate: int):
    x = np.array([0, 1.5, -2.75, 1e4, -1e6, 0.001], np.float32)
    inputs = [x, np.array(2, np.float32), np.zeros((), small)]
    check(Node("QuantizeLinear", inputs, {"saturate": saturate}))
    check(Node("DequantizeLinear", [x.astype(small), np.array(2, np.float32)]))


def test_integers_are_divided_too():
    x = np.array([7, -9, 100000, 2**31 - 1], np.int32)
    check(Node("QuantizeLinear", [x, np.array(2, np.float32), np.array(1, np.int16)]))


def test_the_scale_is_fit_to_the_range():
    check(Node("DynamicQuantizeLinear", [numbers(5, 7)], outputs=3))


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_dynamic_dimensions_are_quantized_by_one_program(axis: int | None):
    x = np.random.default_rng(4).normal(size=(4, 3, 5)).astype(np.float32)
    count = 1 if axis is None else x.shape[axis]
    scale = np.linspace(0.01, 0.03, count, dtype=np.float32)
    zero = np.arange(100, 100 + count).astype(np.uint8)
    if axis is None:
        scale, zero = scale[0], zero[0]
    said = f"<axis={axis or 0}>"
    text = '<ir_version: 8, opset_import: ["": 19]> g (float[N, 3, M] x) => (float[N, 3, M] y) {'
    text += f" q = QuantizeLinear{said}(x, s, z) t = Identity(q) y = DequantizeLinear{said}(t, s, z) }}"
    model = onnx.parser.parse_model(text)
    for name, array in (("s", scale), ("z", zero)):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    session = compile_native(model, cache=False)
    for part in (x, x[:, :, :0]) if axis is None else (x,):
        shape = [1] * 3
        if axis is not None:
            shape[axis] = -1
        step, offset = np.reshape(scale, shape), np.reshape(zero, shape).astype(np.float32)
        expected = (np.clip(np.rint(part / step) + offset, 0, 255) - offset) * step
        given = np.asarray(session.run(None, {"x": part})[0])
        np.testing.assert_allclose(given, expected.astype(np.float32), rtol=1e-6)
    assert session.host_calls() == []


def test_pair_has_the_results_of_integers():
    """
    Integers have no -0: the reciprocal of what is quantized to zero and dequantized is +inf.

    NaN becomes the least integer, here 0.
    """
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
        pair (float[6] x) => (float[6] y, float[6] z) <float scale = {0.5}, uint8 zero = {1}> {
            q = QuantizeLinear (x, scale, zero)
            y = DequantizeLinear (q, scale, zero)
            z = Reciprocal (y)
        }""")
    x = np.array([-0.1, -0.0, 0.0, 1e9, -np.inf, np.nan], np.float32)
    y, z = compile_native(model, cache=False).run(None, {"x": x})
    expected = np.array([0, 0, 0, 127, -0.5, -0.5], np.float32)
    np.testing.assert_array_equal(y, expected)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.asarray(z), 1 / expected, rtol=1e-6)


def test_conversions_beside_elementwise_operators_are_of_their_kernel():
    text = """<ir_version: 8, opset_import: ["" : 19]>
        sums (uint8[N] a, int8[N] b, float[N] c) => (uint8[N] y, int8[N] z)
        <float s = {0.5}, float t = {0.25}, uint8 ua = {120}, int8 ib = {-3}, float e = {0.03}> {
            da = DequantizeLinear (a, s, ua) db = DequantizeLinear (b, t)
            sum = Add (da, db) y = QuantizeLinear (sum, s, ua)
            twice = Mul (c, c) root = Sub (twice, e) z = QuantizeLinear (root, t, ib)
        }"""
    session = compile_native(onnx.parser.parse_model(text), cache=False)
    a, b = np.arange(256).astype(np.uint8), np.arange(-128, 128)[::-1].astype(np.int8)
    c = np.linspace(-6, 6, 256, dtype=np.float32)
    c[:4] = np.nan, np.inf, 1e-30, 0
    y, z = session.run(None, {"a": a, "b": b, "c": c})
    sums = (a.astype(np.float32) - 120) * 0.5 + b.astype(np.float32) * 0.25
    np.testing.assert_array_equal(y, np.clip(np.rint(sums / 0.5) + 120, 0, 255).astype(np.uint8))
    expected = np.clip(np.rint((c * c - np.float32(0.03)) / 0.25) - 3, -128, 127)
    # NaN becomes the least integer.
    expected[0] = -128
    np.testing.assert_array_equal(z, expected.astype(np.int8))
    assert session.host_calls() == []
    assert sum(len(line.what.split()) for line in session.report()) == 2


def test_constants_beyond_float32_are_infinite_without_a_warning():
    """Quantized, the least number of float32 has a scale of which -128 times is -inf, and -127 times not."""
    text = """
        <ir_version: 10, opset_import: ["": 21]> g (float[2, 4] x) => (float[2, 4] y, float[2, 3] z)
        <float large = {2.6689e36}, float step = {0.5}, int8 zero = {0}, int8[1, 4] mask = {-128, 0, 0, -127},
         int8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int32[3] bias = {-200, 0, 1}> {
            hidden = DequantizeLinear(mask, large) sum = Add(x, hidden) y = Softmax(sum)
            integers = QuantizeLinear(x, step, zero) rounded = DequantizeLinear(integers, step, zero)
            weights = DequantizeLinear(w, large, zero) added = DequantizeLinear(bias, large)
            z = Gemm(rounded, weights, added)
        }
    """
    x = np.array([[1, -2, 0.5, 3], [0, 300, -1, 200]], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, z = compile_native(onnx.parser.parse_model(text), cache=False).run(None, {"x": x})
    hidden = np.array([-np.inf, 0, 0, np.float32(-127) * np.float32(2.6689e36)], np.float32)
    shifted = np.exp(x + hidden - (x + hidden).max(-1, keepdims=True))
    np.testing.assert_allclose(np.asarray(y), shifted / shifted.sum(-1, keepdims=True), rtol=1e-6)
    rounded = np.clip(np.rint(x / np.float32(0.5)), -128, 127) * np.float32(0.5)
    sums = rounded.astype(np.float64) @ np.arange(1, 13).reshape(4, 3) * float(np.float32(2.6689e36))
    sums += np.array([-np.inf, 0, np.float32(2.6689e36)])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(np.asarray(z), sums.astype(np.float32), rtol=1e-6)
