from __future__ import annotations

from fractions import Fraction

import numpy as np

from xonnc.runtime.nvdla.array_types import F32
from xonnc.runtime.nvdla.floating_point import (
    FP17_MAX,
    HALF_MAX,
    SINGLE_MAX,
    add,
    add_fp17,
    double_to_fp17,
    half_from_order,
    half_order,
    half_to_int16,
    half_to_single,
    int17_to_half,
    multiply,
    quiet_half,
    single_to_fp17,
    single_to_half,
)


def nearest_even(x: float, mantissa: int, smallest: int, largest: float) -> float:
    """Rounds to `mantissa` stored bits with normal exponents from `smallest`, clamped to `largest`."""
    if x == 0:
        return x
    exact = Fraction(abs(x))
    exponent = max((np.frexp(abs(x))[1] - 1), smallest)
    step = Fraction(2) ** (int(exponent) - mantissa)
    rounded = min(round(exact / step) * step, Fraction(largest))
    return float(-rounded if x < 0 else rounded)


def samples(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(4000) * 2.0 ** rng.integers(-45, 36, 4000)


def test_fp17_is_rounded_to_nearest_even():
    x = samples(1)
    expected = [nearest_even(float(v), 10, -30, float(FP17_MAX)) for v in x]
    assert double_to_fp17(x).tolist() == expected


def test_fp17_ties_go_to_the_even_neighbour():
    one = 1.0
    x = np.array([one + 2.0**-11, one + 3 * 2.0**-11, -(one + 2.0**-11), 2.0**-41, 3 * 2.0**-41])
    assert double_to_fp17(x).tolist() == [1.0, 1 + 2.0**-9, -1.0, 0.0, 2.0**-39]


def test_fp17_never_becomes_infinite_and_keeps_the_sign_of_zero():
    x = np.array([1e30, -1e30, -0.0], np.float32)
    result = single_to_fp17(x)
    assert result[:2].tolist() == [float(FP17_MAX), -float(FP17_MAX)]
    assert np.signbit(result[2])


def test_half_is_rounded_to_nearest_even_and_clamped():
    x = samples(2).astype(np.float32)
    expected = [nearest_even(float(v), 10, -14, float(HALF_MAX)) for v in x]
    assert single_to_half(x).view(np.float16).astype(np.float64).tolist() == expected


def test_every_half_but_the_infinities_survives_the_way_to_single_and_back():
    bits = np.arange(65536, dtype=np.uint16)
    finite_or_nan = bits[(bits & 0x7FFF) != 0x7C00]
    assert np.array_equal(single_to_half(half_to_single(finite_or_nan)), finite_or_nan)


def test_infinity_widens_to_the_largest_finite_value():
    bits = np.array([0x7C00, 0xFC00], np.uint16)
    assert half_to_single(bits).tolist() == [float(SINGLE_MAX), -float(SINGLE_MAX)]
    assert half_to_single(bits, np.float32(65536)).tolist() == [65536.0, -65536.0]
    assert single_to_half(half_to_single(bits)).tolist() == [0x7BFF, 0xFBFF]


def test_products_and_sums_clamp_and_pass_nan_payloads():
    big = np.array([3e38, -3e38], np.float32)
    assert multiply(big, np.float32(2) * np.ones(2, np.float32)).tolist() == [
        float(SINGLE_MAX),
        -float(SINGLE_MAX),
    ]
    assert add(big, big).tolist() == [float(SINGLE_MAX), -float(SINGLE_MAX)]
    first = half_to_single(np.array([0x7C05], np.uint16))
    second = half_to_single(np.array([0x7E77], np.uint16))
    assert single_to_half(multiply(first, second)).tolist() == [0x7C05]
    assert single_to_half(add(np.ones(1, np.float32), second)).tolist() == [0x7E77]


def test_half_to_integer_rounds_ties_away_from_zero():
    x = np.array([0.5, -0.5, 1.5, 2.4999, -2.5, 65504, -65504], np.float16).view(np.uint16)
    assert half_to_int16(x).tolist() == [1, -1, 2, 3, -3, 32767, -32768]


def test_integer_to_half_rounds_to_even():
    x = np.array([2049, 2051, -2049, 65535], np.int64)
    assert int17_to_half(x).view(np.float16).tolist() == [2048.0, 2052.0, -2048.0, 65504.0]


def test_half_order_sorts_as_the_values_do():
    values = np.array([-65504, -2, -1e-7, -0.0, 0.0, 1e-7, 1, 65504], np.float16).view(np.uint16)
    order = half_order(values)
    assert (np.diff(order) > 0).all()
    assert np.array_equal(half_from_order(order), values)


def signs(x: F32) -> list[bool]:
    return np.signbit(x).tolist()


def test_a_sum_of_zero_has_the_sign_of_its_first_operand():
    first = np.array([1.5, -1.5, 0.0, -0.0, -0.0], np.float32)
    second = np.array([-1.5, 1.5, -0.0, 0.0, -0.0], np.float32)
    for sums in (add(first, second), add_fp17(first, second)):
        assert (sums == 0).all()
        assert signs(sums) == signs(first)


def test_other_sums_keep_their_sign():
    assert add(np.array([-0.0, 2.0], np.float32), np.array([1.0, -3.0], np.float32)).tolist() == [1.0, -1.0]


def test_quieted_float16_nans():
    bits = np.array([0x7C01, 0xFDFF, 0x7C00, 0xFC00, 0x3C00], np.uint16)
    assert quiet_half(bits).tolist() == [0x7E01, 0xFFFF, 0x7C00, 0xFC00, 0x3C00]
