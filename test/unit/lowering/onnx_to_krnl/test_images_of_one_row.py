"""Tensors with one spatial axis, which are channel-blocked as images of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from native_nodes import Reference, is_here
from onnx import numpy_helper

from xonnc.native import compile_native

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(1)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: str, shape: Sequence[int | str], rank: int, constants: Mapping[str, Array], opset: int = 19
) -> onnx.ModelProto:
    sizes, result = ",".join(map(str, shape)), ",".join(f"d{axis}" for axis in range(rank))
    ends = f"(float[{sizes}] x) => (float[{result}] y)"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {ends} {{ {nodes} }}')
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model


def check(model: onnx.ModelProto, x: Array, threads: int = 1) -> Sequence[str]:
    """Compare with the reference evaluator; return the names of the kernels."""
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model, cache=False, threads=threads)
    np.testing.assert_allclose(
        np.asarray(session.run(None, {"x": x})[0], np.float32),
        np.asarray(reference.run(None, {"x": x})[0], np.float32),
        rtol=1e-4,
        atol=1e-4,
    )
    return [name for line in session.report() for name in line.what.split()]


CHAINS = {
    "two convolutions": (
        "a = Conv<pads=[4,4]>(x, w) r = Relu(a) y = Conv<pads=[4,4]>(r, v)",
        (1, 32, 100),
        9,
        9,
    ),
    "odd sizes, a bias, stride": (
        "a = Conv<pads=[1,2]>(x, w, c) s = Sigmoid(a) m = Mul(a, s) y = Conv<strides=[2]>(m, v)",
        (3, 24, 37),
        3,
        2,
    ),
    "a dilation": ("a = Conv<dilations=[4],pads=[4,4]>(x, w) y = Conv(a, v)", (1, 32, 30), 3, 1),
    "equal padding": ('a = Conv<auto_pad="SAME_LOWER",strides=[3]>(x, w) y = Conv(a, v)', (2, 17, 40), 4, 1),
    "one channel": ("a = Conv<pads=[1,1]>(x, w) y = Conv(a, v)", (1, 1, 64), 5, 3),
    "one column": ("a = Conv(x, w) y = Conv(a, v)", (2, 32, 1), 1, 1),
    "a residual": (
        "a = Conv<pads=[1,1]>(x, w) b = Conv<pads=[1,1]>(a, v) s = Add(a, b) y = Relu(s)",
        (1, 32, 50),
        3,
        3,
    ),
    "pools": (
        "a = Conv(x, w) b = MaxPool<kernel_shape=[3],strides=[2],pads=[1,1]>(a) "
        "c = AveragePool<kernel_shape=[2],pads=[1,0]>(b) y = Conv(c, v)",
        (1, 20, 41),
        3,
        1,
    ),
    "a mean of pools": ("a = Conv(x, w) b = Conv(a, v) y = GlobalAveragePool(b)", (2, 32, 33), 3, 1),
    "a part": (
        "a = Conv(x, w) b = Conv(x, w) c = Concat<axis=-2>(a, b) y = MaxPool<kernel_shape=[2]>(c)",
        (1, 32, 20),
        1,
        1,
    ),
    "a factor per channel": ("a = Conv(x, w) m = Mul(a, k) y = Conv(m, v)", (1, 32, 20), 3, 1),
    "a factor per image": ("a = Conv(x, w) m = Mul(a, k3) y = Conv(m, v)", (32, 32, 20), 3, 1),
    "a transposed convolution": (
        "a = Conv(x, w) y = ConvTranspose<strides=[2],pads=[1,1],output_padding=[1]>(a, v)",
        (1, 32, 25),
        3,
        4,
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str, threads: int):
    nodes, shape, first, second = CHAINS[name]
    constants = {
        "w": 0.1 * floats(32, shape[1], first),
        "v": 0.1 * floats(32, 32, second),
        "c": floats(32),
        "k": floats(32, 1),
        "k3": floats(32, 1, 1),
    }
    used = {key: array for key, array in constants.items() if f" {key})" in nodes or f" {key}," in nodes}
    kernels = check(model_of(nodes, shape, 3, used), floats(*shape), threads)
    assert any(each.startswith("conv") for each in kernels)
    assert not any(each.startswith("im2col") for each in kernels)


def test_a_factor_per_image_is_not_one_per_channel():
    """32 images and 32 channels: [32, 1, 1] broadcasts along the images."""
    constants = {"w": floats(32, 32, 1), "k": floats(32, 1, 1)}
    check(model_of("a = Conv(x, w) y = Mul(a, k)", (32, 32, 5), 3, constants), floats(32, 32, 5))


def test_depthwise_convolutions():
    constants = {"w": floats(32, 1, 3), "v": floats(32, 32, 1)}
    kernels = check(
        model_of("a = Conv<group=32,pads=[1,1]>(x, w) y = Conv(a, v)", (1, 32, 21), 3, constants),
        floats(1, 32, 21),
    )
    assert any(each.startswith("depthwise") for each in kernels)


@pytest.mark.parametrize("images", [1, 3])
def test_a_dynamic_number_of_images(images: int):
    constants = {"w": floats(32, 32, 3), "v": floats(8, 32, 3)}
    nodes = "a = Conv<pads=[1,1]>(x, w) r = Relu(a) y = Conv(r, v)"
    check(model_of(nodes, ("n", 32, 19), 3, constants), floats(images, 32, 19))


@pytest.mark.parametrize("length", [7, 30])
def test_a_dynamic_length(length: int):
    constants = {"w": floats(32, 32, 3), "v": floats(8, 32, 3)}
    nodes = "a = Conv<pads=[1,1]>(x, w) r = Relu(a) y = Conv(r, v)"
    check(model_of(nodes, (1, 32, "n"), 3, constants), floats(1, 32, length))


def test_an_empty_tensor():
    session = compile_native(model_of("y = Conv(x, w)", (0, 32, 9), 3, {"w": floats(32, 32, 3)}), cache=False)
    assert np.asarray(session.run(None, {"x": floats(0, 32, 9)})[0]).shape == (0, 32, 7)


def test_means_and_quantization_behind_a_convolution():
    constants = {
        "w": 0.1 * floats(32, 16, 3),
        "s": np.array(0.1, np.float32),
        "z": np.array(3, np.uint8),
    }
    nodes = (
        "a = Conv(x, w) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) "
        "i = Constant<value_ints=[2]>() y = ReduceMean(d, i)"
    )
    # A sum on the edge of two integers may be rounded to either: a step of one of 18 numbers.
    model, x = model_of(nodes, (2, 16, 20), 3, constants), floats(2, 16, 20)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    expected = np.asarray(reference.run(None, {"x": x})[0], np.float32)
    found = np.asarray(compile_native(model, cache=False).run(None, {"x": x})[0], np.float32)
    np.testing.assert_allclose(found, expected, atol=0.1 / 18 + 1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_reach_their_window(number: float):
    x, weights = floats(1, 32, 20), floats(32, 32, 3)
    x[0, 5, 9] = number
    session = compile_native(model_of("y = Conv<pads=[1,1]>(x, w)", x.shape, 3, {"w": weights}), cache=False)
    found = np.asarray(session.run(None, {"x": x})[0], np.float32)
    assert not np.isfinite(found[:, :, 8:11]).any()
    assert np.isfinite(np.delete(found, [8, 9, 10], axis=2)).all()


@pytest.mark.skipif(not is_here("avx512bf16"), reason="no products of bfloat16 here")
def test_products_of_bfloat16():
    constants = {"w": floats(32, 32, 3), "v": floats(32, 32, 3)}
    model = model_of("a = Conv<pads=[1,1]>(x, w) y = Conv(a, v)", (1, 32, 40), 3, constants)
    x = floats(1, 32, 40)
    exact = np.asarray(compile_native(model, cache=False).run(None, {"x": x})[0], np.float32)
    session = compile_native(model, "avx512bf16", cache=False, enable_pass=["select-bf16-onnx"])
    found = np.asarray(session.run(None, {"x": x})[0], np.float32)
    error = np.abs(found - exact).max() / np.abs(exact).max()
    assert 0 < error < 0.01
