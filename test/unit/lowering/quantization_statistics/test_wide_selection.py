"""Layers that are wide: those that reduce the error most for what they cost, within a budget."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.lowering.quantization_statistics.quantization_error import without_pairs
from xonnc.lowering.quantization_statistics.wide_selection import (
    NoiseOfOutputs,
    WideSelection,
    select_wide_layers,
)
from xonnc.runtime.calibration import RunModel
from xonnc.runtime.reference import open_session

SHARES = (4.0, 0.0, 3.0, 2.0)
COSTS = (10.0, 1.0, 2.0, 4.0)


@pytest.mark.parametrize(
    ("budget", "layers"),
    [(1.0, ()), (1.1, ()), (1.2, (2,)), (1.59, (2,)), (1.6, (2, 3)), (2.5, (2, 3)), (2.6, (0, 2, 3))],
)
def test_layers_within_a_budget(budget: float, layers: tuple[int, ...]):
    def error(chosen: Collection[int]) -> float:
        return 10 - sum(SHARES[index] for index in chosen)

    def cost(chosen: Collection[int]) -> float:
        return 10 + sum(COSTS[index] for index in chosen)

    found = select_wide_layers(SHARES, COSTS, error, cost, budget)
    assert found == WideSelection(layers, error(layers), 10, cost(layers) / 10)


@pytest.mark.parametrize(("alone", "layers"), [(2.0, (0,)), (3.5, ())])
def test_what_is_less_alone_may_not_be_less_together(alone: float, layers: tuple[int, ...]):
    errors: dict[tuple[int, ...], float] = {(): 3.0, (0,): alone, (0, 1): 3.25}

    def error(chosen: Collection[int]) -> float:
        return errors[tuple(chosen)]

    assert select_wide_layers((2, 1), (1, 1), error, lambda chosen: 1 + len(chosen), 9).layers == layers


NETWORK = """
    <ir_version: 10, opset_import: ["" : 21]>
    network (float[2] x) => (float[4] y) { b = Neg (x) s = Abs (x) y = Concat <axis = 0> (b, s) }
"""
ROUNDED = """
    <ir_version: 10, opset_import: ["" : 21]>
    network (float[2] x) => (float[4] y) <float t = {1.0}, int8 z = {0}> {
      b = Neg (x) s = Abs (x) q = QuantizeLinear (s, t, z) r = DequantizeLinear (q, t, z)
      y = Concat <axis = 0> (b, r)
    }
"""


def opened(model: onnx.ModelProto) -> RunModel:
    session, _ = open_session(model.SerializeToString(), "network")
    return lambda feeds: session.run(None, feeds)


def test_branches_count_as_outputs_do():
    samples = [{"x": np.array(each, np.float32)} for each in ([2, 0.25], [0, 0], [1, 0.5])]
    noise = NoiseOfOutputs(parser.parse_model(NETWORK), ["s"], samples, opened)
    assert noise(parser.parse_model(NETWORK)) == 0
    rounded = parser.parse_model(ROUNDED)
    # Of the scores, and half of that in the joined output, whose square is twice theirs.
    assert noise(rounded) == pytest.approx(0.3125 / 5.3125 * 1.5)
    assert noise(without_pairs(rounded)) == 0
    assert noise(without_pairs(rounded, ["s"])) == noise(rounded)
