"""Lookup tables: how near the interpolated function is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.dialects.dla.attributes import Lut
from xonnc.lowering.dla_planning.lookup_tables import (
    Function,
    function_lut,
    integer_function_lut,
    integer_normalization_lut,
    normalization_lut,
)
from xonnc.lowering.onnx_to_dla.builders.unary_functions import (
    ERF,
    exponential,
    gelu,
    hard_swish,
    sigmoid,
    softplus,
)
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import MAX_ERROR


def assert_ends_fit_the_steps(lut: Lut) -> None:
    """Each table ends where its last step ends, and the fine one lies within the other."""
    assert lut.le_end == lut.le_start + 64 * 2.0**lut.linear_exp_offset
    assert lut.lo_end == lut.lo_start + 256 * 2.0**lut.linear_only_offset
    assert lut.le_start <= lut.lo_start < lut.lo_end <= lut.le_end


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


@pytest.mark.parametrize("function", [ERF, exponential, gelu, hard_swish, sigmoid, softplus, np.tanh])
def test_the_error_of_a_function(function: Function):
    lut, error = function_lut(function)
    assert error < MAX_ERROR / 2
    assert_ends_fit_the_steps(lut)
    points = np.linspace(lut.lo_start, lut.lo_end, 3001)
    values = entries(lut.linear_only_table)
    read = np.interp(points, lut.lo_start + np.arange(257) * 2.0**lut.linear_only_offset, values)
    exact = function(points)
    kept = np.abs(exact) < 60000
    assert np.max(np.abs(read - exact)[kept] / np.maximum(np.abs(exact[kept]), 1.0)) <= error * 1.01


def test_functions_without_lines_at_the_ends_are_far_off():
    assert function_lut(np.square)[1] > 0.1


@pytest.mark.parametrize(("scale", "factor"), [(1e-8, 1.3), (2e-5, 0.02), (3e-3, 9.0)])
def test_the_error_of_a_normalization_of_integers(scale: float, factor: float):
    found = integer_normalization_lut(scale, 1.0, 0.75, factor, 5 * 255**2)
    lut = found.lut
    assert_ends_fit_the_steps(lut)
    sums = np.unique(np.geomspace(1, 5 * 255**2, 3000).astype(np.int64))
    near = np.interp(sums, np.arange(257) * 2.0**lut.linear_only_offset, lut.linear_only_table)
    far = np.interp(sums, np.arange(65) * 2.0**lut.linear_exp_offset, lut.linear_exp_table)
    read = np.where(sums < lut.lo_end, near, far) * 2.0**-found.shift
    exact = factor * (1 + scale * sums) ** -0.75
    assert max(max(map(abs, table)) for table in (lut.linear_exp_table, lut.linear_only_table)) < 2**15
    assert np.max(np.abs(read - exact) * np.minimum(np.sqrt(sums), 255)) < 0.02 * max(factor * 10, 1)


def test_each_integer_has_its_entry():
    results = np.random.default_rng(1).integers(-128, 128, 256).astype(np.int8)
    lut = integer_function_lut(results)
    assert lut.linear_only_table[:256] == tuple(results)
    assert (lut.lo_start, lut.linear_only_offset) == (-128, 0)
