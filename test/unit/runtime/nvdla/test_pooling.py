from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from xonnc.runtime.nvdla.floating_point import single_to_fp17
from xonnc.runtime.nvdla.pooling import PoolingGeometry, average_integers, average_singles, reduce_windows

RECIPROCALS = [0x10000, 0x8000, 0x5555, 0x4000, 0x3333, 0x2AAA, 0x2492, 0x2000]


def half_away(x: Fraction) -> int:
    magnitude = (abs(x) + Fraction(1, 2)).__floor__()
    return -magnitude if x < 0 else magnitude


def window(p: PoolingGeometry, size: tuple[int, int], y: int, x: int) -> list[list[tuple[int, int] | None]]:
    """Positions of a window's elements, None for padding."""
    rows: list[list[tuple[int, int] | None]] = []
    for i in range(p.kernel_height):
        row: list[tuple[int, int] | None] = []
        for j in range(p.kernel_width):
            at = y * p.stride_y - p.pad_top + i, x * p.stride_x - p.pad_left + j
            row.append(at if 0 <= at[0] < size[0] and 0 <= at[1] < size[1] else None)
        rows.append(row)
    return rows


POOLINGS = [
    PoolingGeometry(4, 5, 2, 2, 1, 1, 0, 0),
    PoolingGeometry(3, 4, 3, 2, 2, 2, 1, 1),
    PoolingGeometry(2, 3, 4, 5, 2, 2, 3, 2),
    PoolingGeometry(1, 1, 5, 6, 1, 1, 0, 0),
]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_integer_average_with_padding_values(pooling: PoolingGeometry):
    rng = np.random.default_rng(0)
    image = rng.integers(-128, 128, (5, 6, 3))
    padding = [3, 7, -2, 11, 5, 1, 9]
    result = average_integers(image, pooling, padding)
    for y in range(pooling.out_height):
        for x in range(pooling.out_width):
            rows = window(pooling, (5, 6), y, x)
            total = np.zeros(3, np.int64)
            empty = 0
            for row in rows:
                valid = [at for at in row if at is not None]
                empty += not valid
                missing = len(row) - len(valid)
                for at in valid:
                    total += image[at]
                if valid and missing:
                    total += padding[missing - 1]
            total += padding[empty - 1] * pooling.kernel_width if empty else 0
            expected: list[int] = []
            for t in total.tolist():
                across = half_away(Fraction(t * RECIPROCALS[pooling.kernel_width - 1], 65536))
                expected.append(half_away(Fraction(across * RECIPROCALS[pooling.kernel_height - 1], 65536)))
            assert result[y, x].tolist() == expected


def test_integer_maximum_never_takes_the_padding():
    image = np.full((2, 2, 1), -128, np.int64)
    pooling = PoolingGeometry(2, 2, 2, 2, 1, 1, 1, 1)
    result = reduce_windows(pooling.padded(image, -(1 << 20)), pooling, np.maximum)
    assert (result == -128).all()


def test_float_average_adds_along_rows_first_and_rounds_each_sum():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((3, 3, 4)).astype(np.float16).astype(np.float32)
    third = np.float32((1 + 0x155 / 1024) / 4)
    result = average_singles(image, PoolingGeometry(1, 1, 3, 3, 1, 1, 0, 0))
    total = np.zeros(4, np.float32)
    for y in range(3):
        row = image[y, 0]
        for x in (1, 2):
            row = single_to_fp17(row + image[y, x])
        total = row if y == 0 else single_to_fp17(total + row)
    expected = single_to_fp17(single_to_fp17(total * third) * third)
    assert result[0, 0].tolist() == expected.tolist()


def test_float_average_of_negative_zeros_keeps_the_sign():
    image = np.full((1, 1, 1), -0.0, np.float32)
    result = average_singles(image, PoolingGeometry(1, 1, 2, 2, 1, 1, 1, 1))
    assert np.signbit(result).all()


def test_an_average_of_zero_has_the_sign_of_what_came_last():
    for values, is_negative in (([1.0, -1.0], True), ([-1.0, 1.0], False), ([0.0, -0.0], True)):
        across = np.array(values, np.float32).reshape(1, 2, 1)
        for image, kernel in ((across, (1, 2)), (across.reshape(2, 1, 1), (2, 1))):
            result = average_singles(image, PoolingGeometry(1, 1, *kernel, 1, 1, 0, 0))
            assert (result.item(), np.signbit(result).item()) == (0.0, is_negative)


def test_padding_behind_a_number_does_not_change_the_sign_of_zero():
    for value in (0.0, -0.0):
        image = np.full((1, 1, 1), value, np.float32)
        result = average_singles(image, PoolingGeometry(1, 1, 2, 2, 1, 1, 0, 0))
        assert np.signbit(result).item() == np.signbit(value)
