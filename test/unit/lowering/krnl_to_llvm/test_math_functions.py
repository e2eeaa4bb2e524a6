"""Functions that are computed by polynomials, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from onnx import parser

from xonnc.native import compile_native

Floats = npt.NDArray[np.float32]

SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 1e-40, 3.4e38, 1.07374182e9]


def results(operator: str, x: Floats) -> Floats:
    kind = "float" if x.dtype == np.float32 else "double"
    text = (
        f'<ir_version: 10, opset_import: ["": 22]> g ({kind}[n] x) => ({kind}[n] y) {{ y = {operator}(x) }}'
    )
    session = compile_native(parser.parse_model(text), cache=False)
    return np.asarray(session.run(None, {"x": x})[0], np.float32)


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
        *(("Asin", 0.5001), ("Acos", 0.5001), ("Atan", 0.5001)),
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
        found = results(operator, x)
        is_finite = np.isfinite(exact.astype(np.float32))
        np.testing.assert_array_equal(found[~is_finite], exact[~is_finite].astype(np.float32))
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(exact[:2]))
        error = np.abs(found - exact)[is_finite] / np.spacing(np.abs(exact[is_finite]).astype(np.float32))
    assert error.max() < places
