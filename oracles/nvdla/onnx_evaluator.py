"""Data movement operators on integers, by the reference evaluator of the onnx package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import onnx
from onnx import TensorProto, helper

from oracles.nvdla.fixed_point import Array, Integers

MOVE_OPERATORS = frozenset(
    ("DepthToSpace", "Expand", "Gather", "ReduceMax", "ReduceMin", "Slice", "SpaceToDepth", "Split", "Tile")
)
"""Operators whose results are elements of the first operand, the other operands being constants."""


def evaluate_move(
    node: onnx.NodeProto, opset: int, numbers: Integers, constants: Mapping[str, Array]
) -> list[Integers]:
    """Return the results of `node` for integers as its first operand."""
    inputs = [helper.make_tensor_value_info(node.input[0], TensorProto.INT64, None)]
    inputs += [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in constants.items()
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.INT64, None) for name in node.output]
    graph = helper.make_graph([node], "move", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    # Imported by name, because it is only partly typed.
    evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    return list(evaluator.run(None, {node.input[0]: numbers, **constants}))
