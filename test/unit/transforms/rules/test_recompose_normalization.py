"""Decompositions of layer and RMS normalizations, and formulas that differ from one in a single term."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

SimplifiedOperators = Callable[[onnx.ModelProto, Mapping[str, npt.NDArray[np.float32]]], list[str]]
Recompositions = Callable[[onnx.ModelProto], Mapping[str, int]]

SHAPES = {"x": (2, 3, 4), "z": (2, 3, 4), "scale": (4,), "wide": (3, 4), "row": (1, 1, 1, 4)}

NUMBERS = """
    one = Constant <value = float {1.0}> ()
    two = Constant <value = float {2.0}> ()
    three = Constant <value = float {3.0}> ()
    half = Constant <value = float {0.5}> ()
    minus_half = Constant <value = float {-0.5}> ()
    epsilon = Constant <value = float {0.01}> ()
    epsilons = Constant <value = float[1, 1, 1, 1] {0.01}> ()
    last = Constant <value = int64[1] {-1}> ()
    last_two = Constant <value = int64[2] {2, 1}> ()
    first = Constant <value = int64[1] {1}> ()
"""

MEAN = "m = ReduceMean <keepdims = 1> (s, last)"
BELOW = f"{MEAN} v = Add (m, epsilon)"
SQUARE = f"s = Mul (x, x) {BELOW}"
ROOT = f"{SQUARE} r = Sqrt (v)"
RMS_END = "n = Div (x, r) y = Mul (n, scale)"
CENTER = "a = ReduceMean <keepdims = 1> (x, last) d = Sub (x, a)"
LAYER = f"{CENTER} s = Mul (d, d) {BELOW} r = Sqrt (v)"
LAYER_END = "n = Div (d, r) y = Mul (scale, n)"

RMS = {
    "x / √v": f"{ROOT} {RMS_END}",
    "x (1 / √v)": f"{ROOT} i = Div (one, r) n = Mul (i, x) y = Mul (n, scale)",
    "x reciprocal of √v": f"{ROOT} i = Reciprocal (r) n = Mul (x, i) y = Mul (n, scale)",
    "x v ^ -½": f"{SQUARE} i = Pow (v, minus_half) n = Mul (x, i) y = Mul (n, scale)",
    "x / v ^ ½": f"{SQUARE} i = Pow (v, half) n = Div (x, i) y = Mul (scale, n)",
    "x ^ 2": f"s = Pow (x, two) {BELOW} r = Sqrt (v) {RMS_END}",
    "epsilon first": f"s = Mul (x, x) {MEAN} v = Add (epsilon, m) r = Sqrt (v) {RMS_END}",
    "over two axes": "s = Mul (x, x) m = ReduceMean <keepdims = 1> (s, last_two) v = Add (m, epsilon)"
    " r = Sqrt (v) n = Div (x, r) y = Mul (n, wide)",
}

LAYERS = {
    "d / √v": f"{LAYER} {LAYER_END}",
    "d ^ 2": f"{CENTER} s = Pow (d, two) {BELOW} r = Sqrt (v) {LAYER_END}",
    "d (1 / √v)": f"{LAYER} i = Reciprocal (r) n = Mul (i, d) y = Mul (scale, n)",
}

OTHERS = {
    "another dividend": f"{ROOT} n = Div (z, r) y = Mul (n, scale)",
    "root over x": f"{ROOT} n = Div (r, x) y = Mul (n, scale)",
    "x √v": f"{ROOT} n = Mul (x, r) y = Mul (n, scale)",
    "no root": f"{SQUARE} n = Div (x, v) y = Mul (n, scale)",
    "x (2 / √v)": f"{ROOT} i = Div (two, r) n = Mul (i, x) y = Mul (n, scale)",
    "x reciprocal of v": f"{SQUARE} i = Reciprocal (v) n = Mul (x, i) y = Mul (n, scale)",
    "x v ^ ½": f"{SQUARE} i = Pow (v, half) n = Mul (x, i) y = Mul (n, scale)",
    "x / v ^ -½": f"{SQUARE} i = Pow (v, minus_half) n = Div (x, i) y = Mul (n, scale)",
    "x z": f"s = Mul (x, z) {BELOW} r = Sqrt (v) {RMS_END}",
    "x ^ 3": f"s = Pow (x, three) {BELOW} r = Sqrt (v) {RMS_END}",
    "no square": f"s = Abs (x) {BELOW} r = Sqrt (v) {RMS_END}",
    "square of another": f"s = Mul (z, z) {BELOW} r = Sqrt (v) {RMS_END}",
    "no epsilon": f"s = Mul (x, x) {MEAN} r = Sqrt (m) {RMS_END}",
    "epsilon is no constant": f"s = Mul (x, x) {MEAN} v = Add (m, scale) r = Sqrt (v) {RMS_END}",
    "mean of an inner axis": "s = Mul (x, x) m = ReduceMean <keepdims = 1> (s, first) v = Add (m, epsilon)"
    f" r = Sqrt (v) {RMS_END}",
    "sum of squares": "s = Mul (x, x) m = ReduceSum <keepdims = 1> (s, last) v = Add (m, epsilon)"
    f" r = Sqrt (v) {RMS_END}",
    "one scale for two axes": "s = Mul (x, x) m = ReduceMean <keepdims = 1> (s, last_two)"
    f" v = Add (m, epsilon) r = Sqrt (v) {RMS_END}",
}

UNCENTERED = {
    "mean over other axes": "a = ReduceMean <keepdims = 1> (x, last_two) d = Sub (x, a) s = Mul (d, d)"
    f" {BELOW} r = Sqrt (v) {LAYER_END}",
    "mean of another": "a = ReduceMean <keepdims = 1> (z, last) d = Sub (x, a) s = Mul (d, d)"
    f" {BELOW} r = Sqrt (v) {LAYER_END}",
    "no mean": f"a = Neg (z) d = Sub (x, a) s = Mul (d, d) {BELOW} r = Sqrt (v) {LAYER_END}",
    "mean minus x": f"a = ReduceMean <keepdims = 1> (x, last) d = Sub (a, x) s = Mul (d, d) {BELOW}"
    f" r = Sqrt (v) {LAYER_END}",
}


def model(body: str, result: str = "2, 3, 4") -> onnx.ModelProto:
    inputs = ", ".join(f"float[{', '.join(map(str, shape))}] {name}" for name, shape in SHAPES.items())
    nodes = body.replace(") ", ")\n")
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 23]>\n'
        f"g ({inputs}) => (float[{result}] y) {{\n{NUMBERS}{nodes}\n}}"
    )


def feeds() -> dict[str, npt.NDArray[np.float32]]:
    generator = np.random.default_rng(2)
    return {name: generator.uniform(0.5, 1.5, shape).astype(np.float32) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("form", RMS)
def test_decompositions_become_one_rms_normalization(form: str, simplified_operators: SimplifiedOperators):
    assert simplified_operators(model(RMS[form]), feeds()) == ["RMSNormalization"]


@pytest.mark.parametrize("form", LAYERS)
def test_decompositions_become_one_layer_normalization(form: str, simplified_operators: SimplifiedOperators):
    assert simplified_operators(model(LAYERS[form]), feeds()) == ["LayerNormalization"]


@pytest.mark.parametrize("form", OTHERS)
def test_other_formulas_stay(form: str, simplified_operators: SimplifiedOperators):
    found = simplified_operators(model(OTHERS[form]), feeds())
    assert not {"LayerNormalization", "RMSNormalization"} & {*found}


@pytest.mark.parametrize("form", UNCENTERED)
def test_differences_that_are_not_from_the_mean_are_normalized_alone(
    form: str, simplified_operators: SimplifiedOperators
):
    found = simplified_operators(model(UNCENTERED[form]), feeds())
    assert found[-1] == "RMSNormalization"
    assert "LayerNormalization" not in found


def test_an_epsilon_that_adds_an_axis_stays(simplified_operators: SimplifiedOperators):
    body = f"s = Mul (x, x) {MEAN} v = Add (m, epsilons) r = Sqrt (v) {RMS_END}"
    assert "RMSNormalization" not in simplified_operators(model(body, "1, 2, 3, 4"), feeds())


def test_a_scale_that_adds_an_axis_stays(simplified_operators: SimplifiedOperators):
    body = f"{ROOT} n = Div (x, r) y = Mul (n, row)"
    assert "RMSNormalization" not in simplified_operators(model(body, "1, 2, 3, 4"), feeds())


@pytest.mark.parametrize("read", ["s", "m", "v", "r", "n"])
def test_values_with_other_readers_stay(read: str, simplified_operators: SimplifiedOperators):
    """A normalization besides would compute them twice."""
    given = model(f"{ROOT} {RMS_END} w = Exp ({read})")
    given.graph.output.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, None))
    assert "RMSNormalization" not in simplified_operators(given, feeds())


@pytest.mark.parametrize(
    ("body", "fired"),
    [(RMS[form], {"RecomposeRMSNormalization": 1}) for form in RMS]
    + [(LAYERS[form], {"RecomposeLayerNormalization": 1}) for form in LAYERS]
    + [(body, {}) for body in OTHERS.values()],
)
def test_rules_alone(body: str, fired: Mapping[str, int], recompositions: Recompositions):
    """Without the rules that fold and reorder first."""
    assert recompositions(model(body)) == fired
