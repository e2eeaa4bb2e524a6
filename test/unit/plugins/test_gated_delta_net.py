"""GatedDeltaNet of com.microsoft: operands that do not fit its attributes or each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import xonnc
from xonnc.errors import XonncError

NAMES = ("query", "key", "value", "cu_seqlens", "decay", "beta", "initial_state", "a_log", "dt_bias")
ROWS: Mapping[str, Sequence[Any]] = {"query": (1, 3, 2, 4), "key": (1, 3, 2, 4), "value": (1, 3, 2, 5)}
GATES: Mapping[str, Sequence[Any]] = {"decay": (1, 3, 2), "beta": (1, 3, 2)}


def model(shapes: Mapping[str, Sequence[Any]], **attributes: Any) -> onnx.ModelProto:
    """A model of one node, whose operands are inputs of the model."""
    names = [name if name in shapes else "" for name in NAMES]
    node = helper.make_node("GatedDeltaNet", names, ["y"], "net", domain="com.microsoft", **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name, TensorProto.INT32 if name == "cu_seqlens" else TensorProto.FLOAT, shape
        )
        for name, shape in shapes.items()
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", inputs, [result])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (model({**ROWS, **GATES, "cu_seqlens": (2,)}), "sequences of different lengths (cu_seqlens)"),
        (model({**ROWS, "decay": (1, 3, 2)}), "the update rule gated_delta needs beta"),
        (model({**ROWS, "decay": (1, 3, 2)}, update_rule="linear"), "the update rule linear takes no decay"),
        (
            model({**ROWS, **GATES, "a_log": (2,)}, gate_activation="qwen"),
            "the gate activation qwen needs a_log and dt_bias",
        ),
        (model({**ROWS, "value": (3, 2, 5)}, update_rule="linear"), "query and value have 4 and 3 axes"),
        (
            model({name: shape[1:] for name, shape in ROWS.items()}, update_rule="linear"),
            "tokens of a batch on one axis need initial_state",
        ),
        (
            model({**ROWS, "value": (1, 3, 3, 5)}, update_rule="linear"),
            "3 heads of values cannot share 2 heads of keys",
        ),
        (
            model({**ROWS, "key": (1, 3, "heads", 4)}, update_rule="linear"),
            "the numbers and sizes of heads are not known",
        ),
    ],
)
def test_operands_that_do_not_fit(made: onnx.ModelProto, message: str):
    with pytest.raises(XonncError, match=re.escape(message)):
        xonnc.compile(made, "cpu")
