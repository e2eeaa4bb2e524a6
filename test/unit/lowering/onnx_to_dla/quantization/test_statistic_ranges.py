"""Statistics of images are quantized with a margin beyond what samples showed."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.ops.math import ReluOp, SigmoidOp
from xonnc.dialects.onnx.ops.nn import ConvOp, GlobalAveragePoolOp
from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.onnx_to_dla.quantization.statistic_ranges import statistics_among, widened

GATED = """
    p = GlobalAveragePool (x)
    c = Conv (p, k)
    s = Sigmoid (c)
    m = Mul (x, s)
    g = GlobalAveragePool (m)
    l = Conv (g, k)
    y = Relu (l)
"""


def test_statistics_reach_an_image(
    build: Callable[..., onnx.ModelProto], simplified: Callable[[onnx.ModelProto], ModuleOp]
):
    module = simplified(build(GATED, (1, 3, 5, 5), {"k": (3, 3, 1, 1)}))
    values = [result for op in module.walk() for result in op.results]
    found = {type(value.owner) for value in statistics_among(values)}
    assert {GlobalAveragePoolOp, ConvOp, SigmoidOp} <= found
    # The classes after the second pooling are no operands of an image.
    assert ReluOp not in found
    assert len([value for value in statistics_among(values) if isinstance(value.owner, ConvOp)]) == 1


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.0, 8.0), (0.0, 9.0)),
        ((-4.0, 4.0), (-5.0, 5.0)),
        ((-8.0, -1.0), (-8.875, -1.0)),
        ((0.0, 0.0), (0, 0)),
    ],
)
def test_a_margin_on_each_side_but_at_zero(
    ends: tuple[float, float],
    expected: tuple[float, float],
    build: Callable[..., onnx.ModelProto],
    simplified: Callable[[onnx.ModelProto], ModuleOp],
):
    module = simplified(build(GATED, (1, 3, 5, 5), {"k": (3, 3, 1, 1)}))
    mean, gate = (
        next(op.results[0] for op in module.walk() if isinstance(op, kind))
        for kind in (GlobalAveragePoolOp, SigmoidOp)
    )
    found = widened(mean, Range(*ends))
    assert (found.least, found.largest) == expected
    assert widened(gate, Range(*ends)) == Range(*ends)
