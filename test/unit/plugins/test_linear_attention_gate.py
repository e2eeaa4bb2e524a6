"""LinearAttentionGate of com.microsoft: without its second projection, and operands that do not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import xonnc
from xonnc.errors import XonncError


def model(
    heads: Sequence[int], scale: Sequence[int], b: Sequence[int] | None, outputs: Sequence[str] = ("d", "e")
) -> onnx.ModelProto:
    """A model of one gate of `a`, f32[1, 2, 3]."""
    shapes = {"a": (1, 2, 3), "bias": heads, "scale": scale} | ({} if b is None else {"b": b})
    node = helper.make_node("LinearAttentionGate", [*shapes], outputs, "gate", domain="com.microsoft")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in shapes.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", ports, results)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_only_the_decay():
    a = np.asarray([[[100, -100, np.inf], [np.nan, 30, -2]]], np.float32)
    bias, scale = np.asarray([[1, 0, 2]], np.float32), np.asarray([-1, -2, -0.5], np.float32)
    session = xonnc.compile(model((1, 3), (3,), None, ["d"]), "cpu")
    given = np.asarray(session.run(None, {"a": a, "bias": bias, "scale": scale})[0], np.float32)
    np.testing.assert_allclose(
        given, [[[-101, 0, -np.inf], [np.nan, -60, -0.3465736]]], rtol=1e-6, atol=1e-30
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (model((2,), (3,), (1, 2, 3)), "dt_bias has 2 elements where there are 3 heads"),
        (model((3,), (1,), (1, 2, 3)), "decay_scale has 1 elements where there are 3 heads"),
        (
            model((3,), (3,), (2, 1, 3)),
            "b is float32[2, 1, 3], but a is float32[1, 2, 3]: they need one shape",
        ),
        (model((3,), (3,), None), "beta is read, but it has no operand (b)"),
    ],
)
def test_operands_that_do_not_fit(made: onnx.ModelProto, message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(made, "cpu")
