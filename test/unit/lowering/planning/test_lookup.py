"""Lookup tables: how near the interpolated function is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.lowering.planning.lookup import normalization_lut


def entries(table: tuple[int, ...]) -> npt.NDArray[np.float64]:
    return np.array(table, np.int16).view(np.float16).astype(np.float64)


@pytest.mark.parametrize(
    ("scale", "bias", "beta"), [(2e-5, 1.0, 0.75), (2e-5, 2.0, 0.75), (0.2, 1.0, 0.5), (30.0, 0.5, 1.0)]
)
def test_the_error_of_a_normalization(scale: float, bias: float, beta: float):
    lut = normalization_lut(scale, bias, beta)
    fine, coarse = 2.0**lut.linear_only_offset, 2.0**lut.linear_exp_offset
    assert 3 * bias <= scale * 256 * fine < 6 * bias
    near = np.linspace(0, 256 * fine, 5000)
    far = np.linspace(256 * fine, 64 * coarse, 5000)
    for points, step, table, bound in (
        (near, fine, lut.linear_only_table, 6e-4),
        (far, coarse, lut.linear_exp_table, 1e-2),
    ):
        values = entries(table)
        read = np.interp(points, np.arange(len(values)) * step, values)
        exact = (bias + scale * points) ** -beta
        assert np.max(np.abs(read - exact) / exact) < bound
    assert (lut.lo_end, lut.le_end) == (256 * fine, 64 * coarse)
