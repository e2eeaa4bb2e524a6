"""What ONNX says that functions of one number are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from xonnc.fuzzing.dla_rounding import Array


def _sigmoid(numbers: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(numbers, -700, 700)))


def finite(numbers: Array) -> Array:
    """With 0 for what is no number, and large numbers for infinities."""
    return np.nan_to_num(numbers, posinf=1e30, neginf=-1e30)


FUNCTIONS: Mapping[str, Callable[[Array, Mapping[str, Any]], Array]] = {
    "Abs": lambda x, _: np.abs(x),
    "Acos": lambda x, _: finite(np.arccos(x)),
    "Acosh": lambda x, _: finite(np.arccosh(x)),
    "Asin": lambda x, _: finite(np.arcsin(x)),
    "Asinh": lambda x, _: np.arcsinh(x),
    "Atan": lambda x, _: np.arctan(x),
    "Atanh": lambda x, _: finite(np.arctanh(x)),
    "Ceil": lambda x, _: np.ceil(x),
    "Cos": lambda x, _: np.cos(x),
    "Cosh": lambda x, _: finite(np.cosh(x)),
    "Exp": lambda x, _: np.exp(x),
    "Floor": lambda x, _: np.floor(x),
    "HardSigmoid": lambda x, of: np.clip(of.get("alpha", 0.2) * x + of.get("beta", 0.5), 0.0, 1.0),
    "HardSwish": lambda x, _: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
    "LeakyRelu": lambda x, of: np.where(x > 0, x, of.get("alpha", 0.01) * x),
    "Neg": lambda x, _: -x,
    "Round": lambda x, _: np.rint(x),
    "Sigmoid": lambda x, _: _sigmoid(x),
    "Sign": lambda x, _: np.sign(x),
    "Sin": lambda x, _: np.sin(x),
    "Sinh": lambda x, _: finite(np.sinh(x)),
    "Tan": lambda x, _: np.tan(x),
    "Tanh": lambda x, _: np.tanh(x),
}
"""Functions of one number, by ONNX's name."""


def raised(numbers: Array, exponent: float) -> Array:
    """`x^exponent`, 0 where there is no such real number."""
    with np.errstate(all="ignore"):
        return finite(numbers**exponent)
