"""Functions that are computed by polynomials, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from xonnc.native import compile_native

Floats = npt.NDArray[np.float32]

SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 1e-40, 3.4e38, 1.07374182e9]


def results(node: str, **inputs: Floats) -> Floats:
    given = ", ".join(
        f"{'float' if x.dtype == np.float32 else 'double'}[n] {name}" for name, x in inputs.items()
    )
    kind = given.partition("[")[0]
    text = f'<ir_version: 10, opset_import: ["": 22]> g ({given}) => ({kind}[n] r) {{ r = {node} }}'
    session = compile_native(parser.parse_model(text), cache=False)
    return np.asarray(session.run(None, inputs)[0], np.float32)


def inputs() -> Floats:
    random = np.random.default_rng(6)
    bits = random.integers(0, 1 << 32, 200_003, np.uint32).view(np.float32)
    return np.concatenate(
        [np.array(SPECIAL, np.float32), bits, np.linspace(-70, 70, 99_991, dtype=np.float32)]
    )


@pytest.mark.parametrize(
    ("operator", "places"),
    [
        *(("Exp", 1.5), ("Log", 0.9), ("Sin", 0.50001), ("Cos", 0.50001), ("Tan", 0.50001)),
        *(("Asin", 0.5001), ("Acos", 0.5001), ("Atan", 0.5001), ("Sinh", 0.50001), ("Cosh", 0.50001)),
    ],
)
def test_floats(operator: str, places: float):
    x = inputs()
    if operator in ("Asin", "Acos"):
        x = np.concatenate(
            [x, np.linspace(-1, 1, 99_991, dtype=np.float32), np.nextafter(np.float32(1), x[:99])]
        )
    with np.errstate(all="ignore"):
        name = operator.lower()
        exact = getattr(np, f"arc{name[1:]}" if name.startswith("a") else name)(x.astype(np.float64))
        found = results(f"{operator}(x)", x=x)
        is_finite = np.isfinite(exact.astype(np.float32))
        np.testing.assert_array_equal(found[~is_finite], exact[~is_finite].astype(np.float32))
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(exact[:2]))
        error = np.abs(found - exact)[is_finite] / np.spacing(np.abs(exact[is_finite]).astype(np.float32))
    assert error.max() < places


@pytest.mark.parametrize(("node", "function"), [("Pow(x, y)", np.power), ("Mod<fmod=1>(x, y)", np.fmod)])
def test_pairs_of_floats(node: str, function: np.ufunc):
    """Rounded once: all pairs of special numbers, any bits, and numbers of similar size."""
    random = np.random.default_rng(6)
    special = np.array([*SPECIAL, 2, -2, 3, -3, 0.5, -0.5, 1.5, 16777217, 89.5, 0.99999994], np.float32)
    pairs = np.stack(np.meshgrid(special, special)).reshape(2, -1)
    bits = random.integers(0, 1 << 32, (2, 50_001), np.uint32).view(np.float32)
    near = (20 * random.normal(size=(2, 50_000))).astype(np.float32)
    near[1, ::2] = np.rint(near[1, ::2])
    x, y = np.concatenate([pairs, bits, near], axis=1)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    found = results(node, x=x, y=y)
    np.testing.assert_array_equal(found, exact)
    is_number = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(exact[is_number]))


@pytest.mark.parametrize("target", ["cpu", "avx2"])
def test_nans_of_any_bits_stay(target: str):
    """Functions that put an exponent together, for NaNs of each of the low bits."""
    nodes = "a = Sigmoid(x) b = Tanh(x) c = Erf(x) d = Softmax(x) e = LogSoftmax(x) f = Softmax<axis=0>(x)"
    outputs = ", ".join(f"float[n, 2] {name}" for name in "abcdef")
    text = f'<ir_version: 10, opset_import: ["": 22]> g (float[n, 2] x) => ({outputs}) {{ {nodes} }}'
    kinds = [0x7F800000, 0x7FC00000, 0xFF800000, 0xFFC00000]
    bits = [kind | number for kind in kinds for number in (1, 2, 3, 256, 511, 512, 0x3FFFFF)]
    x = np.array(bits, np.uint32).view(np.float32).repeat(2).reshape(-1, 2)
    session = compile_native(parser.parse_model(text), target=target, cache=False)
    for result in session.run(None, {"x": x}):
        assert np.isnan(np.asarray(result)).all()
