"""
Bit-exact reference of a quantized model on NVDLA: the model's graph in exact integers.

It shares no arithmetic with the compiler or the simulator: operators follow ONNX, and QuantizeLinear rounds
as the hardware does (docs/internals/nvdla-hardware.md §4). Only the grouping of convolutions into layers is
asked from the planner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import onnx
from onnx import helper, numpy_helper

from oracles.nvdla import (
    data_movement,
    elementwise_operators,
    linear_operators,
    pooling_operators,
    qdq_operators,
)
from oracles.nvdla.data_movement import move_elements
from oracles.nvdla.evaluation import (
    Constant,
    Evaluation,
    Operator,
    Quantized,
    UnsupportedOperator,
)
from oracles.nvdla.fixed_point import Array, Integers
from oracles.nvdla.onnx_evaluator import MOVE_OPERATORS, evaluate_move
from oracles.nvdla.requantization import (
    Affine,
    StoredIntegers,
)

OPERATORS: Mapping[str, Operator] = {
    **elementwise_operators.OPERATORS,
    **data_movement.OPERATORS,
    **pooling_operators.OPERATORS,
    **linear_operators.OPERATORS,
    **qdq_operators.OPERATORS,
}
"""The operators that the reference supports."""


@dataclass
class QuantizedReference(Evaluation):
    """A quantized model, ready to run."""

    def run(self, feeds: Mapping[str, Array]) -> list[Integers]:
        """Return the stored integers of every output."""
        graph = self.model.graph
        self._inputs = dict(feeds)
        self._values = {one.name: Constant(numpy_helper.to_array(one)) for one in graph.initializer}
        for node in graph.node:
            if node.op_type in MOVE_OPERATORS:
                self._move(node)
                continue
            operator = OPERATORS.get(node.op_type)
            if operator is None:
                raise UnsupportedOperator(f"{node.name} ({node.op_type}): the reference has no such operator")
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            self._node = node
            self._values[node.output[0]] = operator(self, node.input, attributes)
        return [self._stored_output(output.name) for output in graph.output]

    def _move(self, node: onnx.NodeProto) -> None:
        opset = next(one.version for one in self.model.opset_import if not one.domain)
        constants = {name: self.number(name) for name in node.input[1:] if name}

        def result(index: int, images: Integers) -> Integers:
            return evaluate_move(node, opset, images, constants)[index]

        for index, name in enumerate(node.output):
            self._values[name] = move_elements(self, node.input, partial(result, index))

    def _stored_output(self, name: str) -> Integers:
        match self._values[name]:
            case Quantized(integers=integers):
                return integers
            case Affine(stored=StoredIntegers(integers=integers)):
                return integers
            case _:
                raise UnsupportedOperator(f"{name}: no QuantizeLinear rounds this output")
