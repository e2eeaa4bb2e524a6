"""Operands that the SDP does not broadcast: expanded first, bit for bit as the exact reference has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from quantized_models import quantized_model, simulated

from xonnc.runtime.reference import ReferenceModel as Onnxruntime

STEP = 0.017
"""The scale of results."""

MEAN = helper.make_node("ReduceMean", ["d"], ["m"], "mean", axes=[1])
ROW = helper.make_node("AveragePool", ["d"], ["m"], "row", kernel_shape=[5, 1], strides=[5, 1])
PAIR = (
    helper.make_node("QuantizeLinear", ["m", "s", "z"], ["mq"], "round_mean"),
    helper.make_node("DequantizeLinear", ["mq", "s", "z"], ["n"], "read_mean"),
)


CASES = [
    (target, op, zero)
    for target in ("nv_small", "nv_large")
    for op in ("Add", "Mul", "Max", "Sub")
    for zero in (0, -21)
    # The SDP of nv_small multiplies by integers without a zero point only.
    if not (op == "Mul" and zero and target == "nv_small")
]


@pytest.mark.covering(2)
@pytest.mark.parametrize("operands", [["d", "n"], ["n", "d"]])
@pytest.mark.parametrize(("target", "op", "zero"), CASES)
@pytest.mark.parametrize("part", [MEAN, ROW], ids=["one channel", "one row"])
def test_the_integers_of_the_model(
    part: object, target: str, op: str, operands: list[str], zero: int, tmp_path: Path
):
    assert isinstance(part, type(MEAN))
    model = quantized_model([part, *PAIR, helper.make_node(op, operands, ["c"], "both")], (1, 19, 5, 7), zero)
    found, expected, numbers = simulated(model, target, tmp_path)
    assert np.array_equal(found, expected)
    (by_floats,) = Onnxruntime(tmp_path / "model.onnx").run({"x": numbers})
    # The mean itself is rounded: half a step, of up to four times the result's, by the largest factor.
    reach = 0.03 * (np.abs(numbers).max() if op == "Mul" else 1)
    assert np.abs((expected - zero) * STEP - by_floats).max() <= STEP + reach


def test_two_that_are_both_broadcast(tmp_path: Path):
    row, column = (
        helper.make_node("GlobalAveragePool", ["d"], ["m"], "mean"),
        helper.make_node("ReduceMean", ["d"], ["k"], "channels", axes=[1]),
    )
    nodes = [row, *PAIR, column]
    nodes += [
        helper.make_node("QuantizeLinear", ["k", "s", "z"], ["kq"], "round_other"),
        helper.make_node("DequantizeLinear", ["kq", "s", "z"], ["l"], "read_other"),
        helper.make_node("Add", ["n", "l"], ["c"], "both"),
    ]
    found, expected, _ = simulated(quantized_model(nodes, (1, 19, 5, 7), 0), "nv_small", tmp_path)
    assert found.shape == (1, 19, 5, 7)
    assert np.array_equal(found, expected)
