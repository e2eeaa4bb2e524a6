"""Products of two computed matrices: integers of the simulator against those of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

from xonnc.compiler import compile_model
from xonnc.dla_model import compile_for_dla
from xonnc.errors import RefusalError
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target

Array = npt.NDArray[Any]

PAIRS = "x = DequantizeLinear (a, one, zero)  y = DequantizeLinear (b, one, zero)"


def network(a: tuple[int, ...], b: tuple[int, ...], nodes: str, zero: int = 0) -> onnx.ModelProto:
    """Integers `a` and `b` of scale 1 and nodes from `x` and `y` to `p`, quantized with scale 1."""
    sizes = [", ".join(map(str, shape)) for shape in (a, b)]
    return parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        network (int8[{sizes[0]}] a, int8[{sizes[1]}] b) => (int8[{", ".join("NMKL"[: len(a)])}] z)
        <float one = {{1.0}}, int8 zero = {{{zero}}}, int8 none = {{0}}> {{
          {PAIRS} {nodes} z = QuantizeLinear (p, one, none)
        }}
    """)


def integers(shape: tuple[int, ...], seed: int) -> Array:
    """Integers of both signs, a few of them as large as they get."""
    generator = np.random.default_rng(seed)
    found = generator.integers(-3, 4, shape).astype(np.int8)
    found.reshape(-1)[:: max(found.size // 5, 1)] = (-128, 127, -127, 0, 100, -99)[seed % 6]
    return found


def turned(array: Array) -> Array:
    return array.transpose(0, 2, 1)


FORMS: Mapping[str, Callable[[Array, Array], Array]] = {
    "p = MatMul (x, y)": lambda a, b: a @ b,
    "t = Transpose <perm = [0, 2, 1]> (x)  p = MatMul (t, y)": lambda a, b: turned(a) @ b,
    "t = Transpose <perm = [0, 2, 1]> (y)  p = MatMul (x, t)": lambda a, b: a @ turned(b),
    """t = Transpose <perm = [0, 2, 1]> (x)  q = QuantizeLinear (t, one, none)
       d = DequantizeLinear (q, one, none)  p = MatMul (d, y)""": lambda a, b: turned(a) @ b,
    # A transpose that is quantized anew, half away from zero, is no longer that of the integers.
    """t = Transpose <perm = [0, 2, 1]> (x)  two = Add (one, one)  q = QuantizeLinear (t, two, none)
       d = DequantizeLinear (q, two, none)  p = MatMul (d, y)""": lambda a, b: (
        2 * np.trunc(turned(a) / 2 + np.copysign(0.5, turned(a))) @ b
    ),
    # The same tensor is data and weights.
    "t = Transpose <perm = [0, 2, 1]> (y)  p = MatMul (t, y)": lambda a, b: turned(b) @ b,
}
SIZES: tuple[tuple[int, int, int], ...] = ((16, 24, 5), (8, 8, 1), (13, 9, 11), (1, 16, 3), (400, 16, 1000))


@pytest.mark.parametrize(
    ("form", "sizes"),
    [(form, sizes) for form in FORMS for sizes in ((16, 24, 40), (5, 12, 9))]
    + [(next(iter(FORMS)), each) for each in SIZES],
)
def test_products_are_exact(form: str, sizes: tuple[int, int, int]):
    rows, depth, columns = sizes
    a, b = (1, rows, depth), (1, depth, columns)
    is_turned = ["(x)" in form, "(y)  p = MatMul (x" in form]
    shapes = [(1, *shape[:0:-1]) if turn else shape for shape, turn in zip((a, b), is_turned, strict=True)]
    feeds = [integers(shape, seed) for seed, shape in enumerate(shapes)]
    target = load_target("nv_small")
    compiled = compile_model(network(shapes[0], shapes[1], form), "nv_small")
    simulator = Simulator(compiled.loadable, target)
    order = [feeds["ab".index(port.name)] for port in simulator.inputs]
    (found,) = simulator.run([each.reshape(p.shape) for each, p in zip(order, simulator.inputs, strict=True)])
    expected = np.clip(FORMS[form](*(each.astype(np.int64) for each in feeds)), -128, 127)
    assert np.array_equal(found.numbers.reshape(expected.shape), expected)


def test_images_of_a_batch_have_weights_of_their_own():
    target, shapes = load_target("nv_small"), ((1, 8, 16), (1, 16, 24))
    compiled = compile_model(network(*shapes, "p = MatMul (x, y)"), "nv_small", batch=2)
    simulator = Simulator(compiled.loadable, target)
    feeds = [
        np.concatenate([integers(shape, seed + 2 * image) for image in range(2)])
        for seed, shape in enumerate(shapes)
    ]
    given = [each.reshape(port.shape) for each, port in zip(feeds, simulator.inputs, strict=True)]
    (found,) = simulator.run(given)
    expected = np.clip(feeds[0].astype(np.int64) @ feeds[1], -128, 127)
    assert np.array_equal(found.numbers.reshape(expected.shape), expected)


@pytest.mark.parametrize(
    ("a", "b", "zero", "target", "message"),
    [
        (
            (1, 16, 24),
            (1, 24, 8),
            0,
            "nv_large",
            r"nv_large reads weights by 64 channels, and engines write 32",
        ),
        (
            (1, 1, 16, 8),
            (1, 1, 8, 8),
            0,
            "nv_small",
            r"A of shape \[1, 1, 16, 8\] is computed \(the core takes",
        ),
        ((1, 16, 8), (1, 8, 8), 5, "nv_small", r"A is computed and has zero point 5; use a symmetric one"),
        (
            (1, 8, 16384),
            (1, 16384, 8),
            0,
            "nv_small",
            r"16384 \(the core takes up to 8192\)",
        ),
    ],
)
def test_refused_products(a: tuple[int, ...], b: tuple[int, ...], zero: int, target: str, message: str):
    with pytest.raises(RefusalError, match=message):
        compile_model(network(a, b, "p = MatMul (x, y)", zero), target)


ATTENTION = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 16, 24] x) => (float[1, 16, 24] y) {
      r = Relu (x)
      t = Transpose <perm = [0, 2, 1]> (r)
      [scores] s = MatMul (t, r)
      [weights] w = Softmax <axis = 2> (s)
      [turn] u = Transpose <perm = [0, 2, 1]> (w)
      [values] y = MatMul (r, u)
    }
"""


def test_attention_but_for_its_softmax():
    """Ranges of one sign have no zero point where products read them."""
    model = parser.parse_model(ATTENTION)
    samples = [
        {"x": np.random.default_rng(seed).standard_normal((1, 16, 24)).astype(np.float32)}
        for seed in range(2)
    ]
    compiled = compile_for_dla(model, "nv_small", calibrate=samples)
    assert [node.name for node in compiled.report().cpu_nodes] == ["weights"]
    scores = np.maximum(samples[0]["x"], 0)
    products = turned(scores) @ scores
    shares = np.exp(products - products.max(axis=2, keepdims=True))
    expected = scores @ turned(shares / shares.sum(axis=2, keepdims=True))
    (found,) = (np.asarray(each) for each in compiled.run(None, samples[0]))
    assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()
