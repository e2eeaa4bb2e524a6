"""Decompositions of Gelu that models contain, and formulas that differ from one in a single term."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

SimplifiedOperators = Callable[[onnx.ModelProto, Mapping[str, npt.NDArray[np.float32]]], list[str]]
Recompositions = Callable[[onnx.ModelProto], Mapping[str, int]]

NUMBERS = {
    "half": 0.5,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "root2": 2**0.5,
    "inverse": 0.5**0.5,
    "k": (2 / np.pi) ** 0.5,
    "c": 0.044715,
    "kc": 0.044715 * (2 / np.pi) ** 0.5,
    "other": 0.75,
}

EXACT = "q = Div (x, root2) e = Erf (q) f = Add (e, one)"
CUBE = "p = Pow (x, three)"
TANH = "s = Mul (p, c) t = Add (x, s) u = Mul (t, k) e = Tanh (u) f = Add (one, e)"
BRACKET = "p = Pow (x, two) s = Mul (c, p) b = Add (s, one)"
RISE = "e = Tanh (u) f = Add (one, e)"
END = "h = Mul (half, x) y = Mul (h, f)"

GELUS = {
    "x / √2": f"{EXACT} {END}",
    "x 1/√2": f"q = Mul (inverse, x) e = Erf (q) f = Add (one, e) {END}",
    "x ^ 3": f"{CUBE} {TANH} {END}",
    "x (x x)": f"m = Mul (x, x) p = Mul (x, m) {TANH} {END}",
    "(x ^ 2) x": f"m = Pow (x, two) p = Mul (m, x) {TANH} {END}",
    "(k x) bracket": f"{BRACKET} a = Mul (k, x) u = Mul (a, b) {RISE} {END}",
    "(x bracket) k": f"{BRACKET} a = Mul (b, x) u = Mul (a, k) {RISE} {END}",
    "x (k bracket)": f"{BRACKET} a = Mul (k, b) u = Mul (x, a) {RISE} {END}",
    "x (k + k c x²)": f"p = Pow (x, two) s = Mul (p, kc) a = Add (s, k) u = Mul (x, a) {RISE} {END}",
    "half last": f"{EXACT} h = Mul (f, x) y = Mul (h, half)",
    "half with the curve": f"{EXACT} h = Mul (f, half) y = Mul (x, h)",
}

NO_GELUS = {
    "another numerator": f"q = Div (z, root2) e = Erf (q) f = Add (e, one) {END}",
    "another divisor": f"q = Div (x, other) e = Erf (q) f = Add (e, one) {END}",
    "reciprocal": f"q = Div (root2, x) e = Erf (q) f = Add (e, one) {END}",
    "another factor": f"{EXACT} h = Mul (half, z) y = Mul (h, f)",
    "another half": f"{EXACT} h = Mul (other, x) y = Mul (h, f)",
    "another one": f"q = Div (x, root2) e = Erf (q) f = Add (e, other) {END}",
    "another curve": f"q = Div (x, root2) e = Tanh (q) f = Add (e, one) {END}",
    "erf of the polynomial": f"{CUBE} s = Mul (p, c) t = Add (x, s) u = Mul (t, k)"
    f" e = Erf (u) f = Add (one, e) {END}",
    "another base": f"p = Pow (z, three) {TANH} {END}",
    "another exponent": f"p = Pow (x, two) {TANH} {END}",
    "(x x) z": f"m = Mul (x, x) p = Mul (z, m) {TANH} {END}",
    "x (x z)": f"m = Mul (x, z) p = Mul (x, m) {TANH} {END}",
    "x (z z)": f"m = Mul (z, z) p = Mul (x, m) {TANH} {END}",
    "x (z ^ 2)": f"m = Pow (z, two) p = Mul (x, m) {TANH} {END}",
    "x (x ^ 3)": f"m = Pow (x, three) p = Mul (x, m) {TANH} {END}",
    "another linear term": f"{CUBE} s = Mul (p, c) t = Add (z, s) u = Mul (t, k) {RISE} {END}",
    "another cubic factor": f"{CUBE} s = Mul (p, other) t = Add (x, s) u = Mul (t, k) {RISE} {END}",
    "another outer factor": f"{CUBE} s = Mul (p, c) t = Add (x, s) u = Mul (t, other) {RISE} {END}",
    "(k z) bracket": f"{BRACKET} a = Mul (k, z) u = Mul (a, b) {RISE} {END}",
    "(other x) bracket": f"{BRACKET} a = Mul (other, x) u = Mul (a, b) {RISE} {END}",
    "(x bracket) other": f"{BRACKET} a = Mul (b, x) u = Mul (a, other) {RISE} {END}",
    "(z bracket) k": f"{BRACKET} a = Mul (b, z) u = Mul (a, k) {RISE} {END}",
    "z (k bracket)": f"{BRACKET} a = Mul (k, b) u = Mul (z, a) {RISE} {END}",
    "x (other bracket)": f"{BRACKET} a = Mul (other, b) u = Mul (x, a) {RISE} {END}",
    "x (k + other)": f"{BRACKET} a = Add (k, s) u = Mul (x, a) {RISE} {END}",
    "x (k + c x²)": f"p = Pow (x, two) s = Mul (p, c) a = Add (s, k) u = Mul (x, a) {RISE} {END}",
    "x (other + k c x²)": f"p = Pow (x, two) s = Mul (p, kc) a = Add (s, other) u = Mul (x, a) {RISE} {END}",
    "k x": f"u = Mul (k, x) {RISE} {END}",
    "bracket of another square": "p = Pow (z, two) s = Mul (c, p) b = Add (s, one)"
    f" a = Mul (k, x) u = Mul (a, b) {RISE} {END}",
    "bracket with another one": "p = Pow (x, two) s = Mul (c, p) b = Add (s, other)"
    f" a = Mul (k, x) u = Mul (a, b) {RISE} {END}",
}


def model(body: str) -> onnx.ModelProto:
    constants = "".join(
        f"{name} = Constant <value = float {{{number}}}> ()\n" for name, number in NUMBERS.items()
    )
    nodes = body.replace(") ", ")\n")
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 20]>\n'
        f"g (float[3, 5] x, float[3, 5] z) => (float[3, 5] y) {{\n{constants}{nodes}\n}}"
    )


def feeds() -> dict[str, npt.NDArray[np.float32]]:
    generator = np.random.default_rng(2)
    return {name: generator.uniform(0.5, 1.5, (3, 5)).astype(np.float32) for name in "xz"}


@pytest.mark.parametrize("form", GELUS)
def test_decompositions_become_one_gelu(form: str, simplified_operators: SimplifiedOperators):
    assert simplified_operators(model(GELUS[form]), feeds()) == ["Gelu"]


@pytest.mark.parametrize("form", NO_GELUS)
def test_other_formulas_stay(form: str, simplified_operators: SimplifiedOperators):
    """Their numbers are not those of a Gelu."""
    assert "Gelu" not in simplified_operators(model(NO_GELUS[form]), feeds())


@pytest.mark.parametrize(
    ("body", "fired"),
    [(GELUS[form], {"RecomposeGelu": 1}) for form in GELUS] + [(body, {}) for body in NO_GELUS.values()],
)
def test_rules_alone(body: str, fired: Mapping[str, int], recompositions: Recompositions):
    """Without the rules that fold and reorder first."""
    assert recompositions(model(body)) == fired
