"""
Print numbers as MLIR.

The digits follow LLVM's `APFloat::toString`, which drops digits by an integer division before it rounds. The
last digit therefore differs from a correctly rounded one now and then, and that decides whether `0.7` prints
as `7.000000e-01` or `0.699999988` (docs/internals/onnx-rules.md §4.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat

from xonnc.dialects.onnx.types import ELEMENT_DTYPES

SCIENTIFIC_DIGITS = 6
MAX_PADDING = 3
"""Zeros that may stand between the point and the first digit, or after the last one, in plain notation."""


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format: the bits of its significand, and the NumPy type that rounds to it."""

    precision: int
    dtype: np.dtype[np.generic]

    @property
    def bits(self) -> np.dtype[np.unsignedinteger]:
        """Return the unsigned integer type of the same size."""
        return np.dtype(f"u{self.dtype.itemsize}")

    def round(self, value: float) -> float:
        """Return the nearest value of the format."""
        with np.errstate(over="ignore"):
            return float(np.array(value, np.float64).astype(self.dtype).astype(np.float64))

    def pattern(self, value: float) -> int:
        """Return the bit pattern of `value`, which is a value of this format."""
        return int(np.array(value, np.float64).astype(self.dtype).view(self.bits))

    def from_pattern(self, bits: int) -> float:
        """Return the value of a bit pattern; `OverflowError` if it has too many bits."""
        return float(np.array(bits, self.bits).view(self.dtype).astype(np.float64))


@cache
def float_format(type_: AnyFloat) -> FloatFormat | None:
    """Return the format of a float type; `None` for types that ONNX does not have (f80, f128, tf32, …)."""
    dtype = ELEMENT_DTYPES.get(type_)
    if dtype is None:
        return None
    exact = FloatFormat(0, dtype)
    # Half a unit in the last place of 1 rounds away.
    precision = next(bits for bits in range(1, 64) if exact.round(1.0 + 2.0**-bits) == 1.0)
    return FloatFormat(precision, dtype)


def float_text(value: float, format_: FloatFormat) -> str:
    """Return the text of `value`, a value of the format, without its type."""
    if not math.isfinite(value):
        return f"0x{format_.pattern(value):X}"
    text = _scientific_text(value)
    return text if format_.round(float(text)) == value else _exact_text(value, format_)


def float_texts(array: npt.NDArray[np.generic], format_: FloatFormat) -> list[str]:
    """Return the texts of an array's elements in row-major order; equal ones are computed once."""
    flat = np.ascontiguousarray(array).reshape(-1)
    # Bit patterns, not values: 0.0 and -0.0 differ, and a NaN equals itself.
    patterns, inverse = np.unique(flat.view(format_.bits), return_inverse=True)
    with np.errstate(invalid="ignore"):
        rounded = patterns.view(flat.dtype).astype(np.float64)
    values = rounded.tolist()
    finite = np.isfinite(rounded).tolist()
    texts = [
        _scientific_text(value) if is_finite else f"0x{pattern:X}"
        for value, is_finite, pattern in zip(values, finite, patterns.tolist(), strict=True)
    ]
    read = [float(text) if is_finite else 0.0 for text, is_finite in zip(texts, finite, strict=True)]
    with np.errstate(over="ignore"):
        same = np.array(read, np.float64).astype(format_.dtype).view(format_.bits) == patterns
    for index in np.flatnonzero(~same & np.isfinite(rounded)).tolist():
        texts[index] = _exact_text(values[index], format_)
    return [texts[index] for index in inverse.tolist()]


def _scientific_text(value: float) -> str:
    """Return six decimals, `1.500000e+00`; the text may denote a neighbour of `value`."""
    if value == 0.0:
        return "-0.000000e+00" if math.copysign(1.0, value) < 0.0 else "0.000000e+00"
    integer, exponent = _decimal(abs(value))
    digits, last = _digits(integer, exponent, SCIENTIFIC_DIGITS)
    return ("-" if value < 0.0 else "") + _scientific(digits, last)


def _exact_text(value: float, format_: FloatFormat) -> str:
    """Return as many digits as the format needs, or the bit pattern if they would have no point."""
    precision = 2 + format_.precision * 59 // 196
    integer, exponent = _decimal(abs(value))
    text = ("-" if value < 0.0 else "") + _plain(*_digits(integer, exponent, precision), precision)
    return text if "." in text else f"0x{format_.pattern(value):X}"


def _decimal(value: float) -> tuple[int, int]:
    """Return integers `n, e` with `value = n * 10**e` exactly, `n` as in LLVM."""
    numerator, denominator = value.as_integer_ratio()
    shift = denominator.bit_length() - 1
    if shift == 0:
        return numerator, 0
    return numerator * 5**shift, -shift


def _digits(integer: int, exponent: int, precision: int) -> tuple[str, int]:
    """Return up to `precision` digits of `integer * 10**exponent`, and the exponent of the last one."""
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
    """Return `1.500000e+00`: six decimals, at least two digits of exponent."""
    first = last + len(digits) - 1
    sign = "-" if first < 0 else "+"
    return f"{digits[0]}.{digits[1:]:0<{SCIENTIFIC_DIGITS}}e{sign}{abs(first):02d}"


def _plain(digits: str, last: int, precision: int) -> str:
    """Return `0.699999988` if few zeros are needed, else `9.99999974E-6`."""
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
    digits_before = last + count
    if digits_before > 0:
        return f"{digits[:digits_before]}.{digits[digits_before:]}"
    return f"0.{'0' * -digits_before}{digits}"
