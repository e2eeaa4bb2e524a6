"""
How MLIR writes numbers.

The digits follow LLVM's `APFloat::toString`, which drops digits by an integer division before it rounds. The
last digit therefore differs from a correctly rounded one now and then, and that decides whether `0.7` prints
as `7.000000e-01` or `0.699999988` (spec/onnx-rules-fold-and-canonicalize.md §3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat

from xonnc.dialects.onnx.types import ELEMENT_DTYPES

SCIENTIFIC_DIGITS = 6
MAX_PADDING = 3
"""Zeros that may stand between the point and the first digit, or after the last one, in plain notation."""


@dataclass(frozen=True)
class FloatFormat:
    """One binary format: how many bits its significand has, and the numpy type that rounds to it."""

    precision: int
    dtype: np.dtype[np.generic]

    @property
    def bits(self) -> np.dtype[np.unsignedinteger]:
        """The unsigned integer type of the same size."""
        return np.dtype(f"u{self.dtype.itemsize}")

    def round(self, value: float) -> float:
        """The nearest value of the format."""
        with np.errstate(over="ignore"):
            return float(np.array(value, np.float64).astype(self.dtype).astype(np.float64))

    def pattern(self, value: float) -> int:
        """The bits of `value`, a value of this format."""
        return int(np.array(value, np.float64).astype(self.dtype).view(self.bits))

    def from_pattern(self, bits: int) -> float:
        """The value that `bits` stands for; `OverflowError` if there are more of them than the format has."""
        return float(np.array(bits, self.bits).view(self.dtype).astype(np.float64))


@cache
def float_format(type_: AnyFloat) -> FloatFormat | None:
    """The format of a float type; `None` for the ones no ONNX tensor can have (f80, f128, tf32, ...)."""
    dtype = ELEMENT_DTYPES.get(type_)
    if dtype is None:
        return None
    return FloatFormat(int(ml_dtypes.finfo(dtype).nmant) + 1, dtype)


def float_text(value: float, format_: FloatFormat) -> str:
    """`value`, which is a value of the format, as MLIR prints it without its type."""
    if math.isfinite(value):
        if value == 0.0:
            return "-0.000000e+00" if math.copysign(1.0, value) < 0.0 else "0.000000e+00"
        sign = "-" if value < 0.0 else ""
        integer, exponent = _decimal(abs(value), format_.precision)
        digits, last = _digits(integer, exponent, SCIENTIFIC_DIGITS)
        text = sign + _scientific(digits, last)
        if format_.round(float(text)) == value:
            return text
        digits, last = _digits(integer, exponent, 2 + format_.precision * 59 // 196)
        text = sign + _plain(digits, last, 2 + format_.precision * 59 // 196)
        if "." in text:
            return text
    return f"0x{format_.pattern(value):X}"


def float_texts(array: npt.NDArray[np.generic], format_: FloatFormat) -> list[str]:
    """The elements of an array in row-major order as MLIR prints them; equal ones are worked out once."""
    flat = np.ascontiguousarray(array).reshape(-1)
    # Bit patterns, not values: 0.0 and -0.0 differ, and a NaN equals itself.
    patterns, places = np.unique(flat.view(format_.bits), return_inverse=True)
    values = patterns.view(flat.dtype).astype(np.float64).tolist()
    nans = np.isnan(patterns.view(flat.dtype).astype(np.float64)).tolist()
    texts = [
        f"0x{pattern:X}" if nan else float_text(value, format_)
        for pattern, value, nan in zip(patterns.tolist(), values, nans, strict=True)
    ]
    return [texts[place] for place in places.tolist()]


def _decimal(value: float, precision: int) -> tuple[int, int]:
    """Integers `n, e` with `value = n * 10**e`, exactly and with `n` as LLVM takes it."""
    numerator, denominator = value.as_integer_ratio()
    shift = denominator.bit_length() - 1
    if shift == 0:
        return numerator, 0
    return numerator * 5**shift, -shift


def _digits(integer: int, exponent: int, precision: int) -> tuple[str, int]:
    """At most `precision` digits of `integer * 10**exponent`, and the power of ten of the last one."""
    needed = (precision * 196 + 58) // 59
    removable = max(integer.bit_length() - needed, 0) * 59 // 196
    text = str(integer // 10**removable)
    digits = text.rstrip("0")
    exponent += removable + len(text) - len(digits)
    surplus = len(digits) - precision
    if surplus <= 0:
        return digits, exponent
    head = int(digits[:precision]) + (digits[precision] >= "5")
    text = str(head)
    digits = text.rstrip("0")
    return digits, exponent + surplus + len(text) - len(digits)


def _scientific(digits: str, last: int) -> str:
    """`1.500000e+00`: six decimals, at least two digits of exponent."""
    first = last + len(digits) - 1
    sign = "-" if first < 0 else "+"
    return f"{digits[0]}.{digits[1:]:0<{SCIENTIFIC_DIGITS}}e{sign}{abs(first):02d}"


def _plain(digits: str, last: int, precision: int) -> str:
    """`0.699999988` while few zeros are needed, else `9.99999974E-6`."""
    count = len(digits)
    first = last + count - 1
    if last >= 0:
        scientific = last > MAX_PADDING or count + last > precision
    else:
        scientific = first < -MAX_PADDING
    if scientific:
        return f"{digits[0]}.{digits[1:] or '0'}E{'-' if first < 0 else '+'}{abs(first)}"
    if last >= 0:
        return digits + "0" * last
    whole = last + count
    if whole > 0:
        return f"{digits[:whole]}.{digits[whole:]}"
    return f"0.{'0' * -whole}{digits}"
