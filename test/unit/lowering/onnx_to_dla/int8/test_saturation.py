"""Ranges within which activations vary."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.onnx_to_dla.int8.saturation import POINTS, TOLERANCE, squared_slopes, varying_range

SHAPE = "tensor<1x2x3x3xf32>"

HARD_SWISH = f"""
    %h = "onnx.HardSigmoid"(%x) {{alpha = 0.16666667 : f32, beta = 0.5 : f32}} : ({SHAPE}) -> {SHAPE}
    %y = "onnx.Mul"(%x, %h) : ({SHAPE}, {SHAPE}) -> {SHAPE}
"""

CONVOLUTION = f"""
    %w = onnx.Constant dense<1.0> : tensor<2x2x1x1xf32>
    %n = "onnx.NoValue"() {{value}} : () -> none
    %z = "onnx.Conv"(%x, %w, %n) : ({SHAPE}, tensor<2x2x1x1xf32>, none) -> {SHAPE}
"""


def varying(context: Context, body: str, found: Range, results: str = "%y") -> Range:
    """Return the range in which the readers of a network's input vary."""
    return varying_range(network(context, body, results).body.block.args[0], found)


def network(context: Context, body: str, results: str = "%y") -> FuncOp:
    types = ", ".join([SHAPE] * len(results.split(",")))
    module = Parser(
        context,
        f"func.func @f(%x: {SHAPE}) -> ({types}) {{ {body} onnx.Return {results} : {types} }}",
    ).parse_module()
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    return function


def test_squared_slopes(context: Context):
    """Those of hard swish are (2x + 3)^2 / 36 between -3 and 3. Another reader makes them unknown."""
    points = np.linspace(-5, 5, 401)
    found = squared_slopes(network(context, HARD_SWISH).body.block.args[0], points)
    assert found is not None
    expected = np.where(np.abs(points) < 3, (2 * points + 3) / 6, points > 0) ** 2
    away = np.abs(np.abs(points) - 3) > 0.03
    np.testing.assert_allclose(found[away], expected[away], atol=1e-6)
    read = network(context, HARD_SWISH + CONVOLUTION, "%y, %z").body.block.args[0]
    assert squared_slopes(read, points) is None


def unary(name: str) -> str:
    return f'%y = "onnx.{name}"(%x) : ({SHAPE}) -> {SHAPE}'


def test_hard_swish_is_zero_below_minus_three(context: Context):
    found = varying(context, HARD_SWISH, Range(-20, 5, means=(1.0, 2.0)))
    assert found.least == pytest.approx(-3, abs=2 * 25 / POINTS)
    assert (found.largest, found.means) == (5, (1.0, 2.0))


def test_a_sigmoid_ends_on_both_sides_within_half_a_step(context: Context):
    found = varying(context, unary("Sigmoid"), Range(-30, 40))
    end = -log(TOLERANCE)
    assert found.least == pytest.approx(-end, abs=2 * 70 / POINTS)
    assert found.largest == pytest.approx(end, abs=2 * 70 / POINTS)


def test_of_two_readers_the_wider_counts(context: Context):
    low, high = (
        f"""%{name}0 = onnx.Constant dense<{least}> : tensor<f32>
            %{name}1 = onnx.Constant dense<{largest}> : tensor<f32>
            %{name} = "onnx.Clip"(%x, %{name}0, %{name}1) : ({SHAPE}, tensor<f32>, tensor<f32>) -> {SHAPE}
        """
        for name, least, largest in (("a", -4.0, 1.0), ("b", -1.0, 2.0))
    )
    found = varying(context, low + high, Range(-16, 16), "%a, %b")
    assert (found.least, found.largest) == pytest.approx((-4, 2), abs=2 * 32 / POINTS)


@pytest.mark.parametrize(
    ("body", "results"),
    [
        (unary("Neg"), "%y"),
        (unary("Sigmoid") + CONVOLUTION, "%y, %z"),
        (unary("Sigmoid"), "%x, %y"),
        (CONVOLUTION, "%z"),
        ("", "%x"),
        (unary("Reciprocal"), "%y"),
    ],
    ids=["line", "convolution beside", "output beside", "convolution", "output", "infinite"],
)
def test_other_ranges_stay(body: str, results: str, context: Context):
    # An odd number of points would have a zero in the middle; a range from 0 has one at its end.
    given = Range(0, 40) if "Reciprocal" in body else Range(-30, 40)
    assert varying(context, body, given, results) == given


def test_constant_functions_keep_the_range(context: Context):
    assert varying(context, unary("Sign"), Range(1, 40)) == Range(1, 40)
