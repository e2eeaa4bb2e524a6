"""
What the NVDLA must give for a quantised model, bit for bit: the model's own graph in exact integers.

Nothing of the compiler's arithmetic or the simulator runs here: operators mean what ONNX says, and numbers
are rounded where a QuantizeLinear stands, as docs/internals/nvdla-hardware.md §4 says the hardware rounds.
Which groups of a convolution are one layer is the planner's to choose, and is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import onnx
from onnx import helper, numpy_helper

from oracles.nvdla import elementwise, layouts, pools, products, quantizing
from oracles.nvdla.affine import (
    Affine,
    Stored,
)
from oracles.nvdla.layouts import reordered
from oracles.nvdla.moves import MOVES, moved
from oracles.nvdla.network import (
    Constant,
    Network,
    Operator,
    Quantized,
    Unknown,
)
from oracles.nvdla.rounding import Array, Integers

OPERATORS: Mapping[str, Operator] = {
    **elementwise.OPERATORS,
    **layouts.OPERATORS,
    **pools.OPERATORS,
    **products.OPERATORS,
    **quantizing.OPERATORS,
}
"""What the reference computes, by ONNX's name."""


@dataclass
class Reference(Network):
    """A quantised model, ready to run."""

    def run(self, feeds: Mapping[str, Array]) -> list[Integers]:
        """The stored integers of every output."""
        graph = self.model.graph
        self._inputs = dict(feeds)
        self._values = {one.name: Constant(numpy_helper.to_array(one)) for one in graph.initializer}
        for node in graph.node:
            if node.op_type in MOVES:
                self._move(node)
                continue
            operator = OPERATORS.get(node.op_type)
            if operator is None:
                raise Unknown(f"{node.name} ({node.op_type}): the reference has no such operator")
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            self._node = node
            self._values[node.output[0]] = operator(self, node.input, attributes)
        return [self._stored_output(output.name) for output in graph.output]

    def _move(self, node: onnx.NodeProto) -> None:
        opset = next(one.version for one in self.model.opset_import if not one.domain)
        constants = {name: self.number(name) for name in node.input[1:] if name}

        def result(place: int, images: Integers) -> Integers:
            return moved(node, opset, images, constants)[place]

        for place, name in enumerate(node.output):
            self._values[name] = reordered(self, node.input, partial(result, place))

    def _stored_output(self, name: str) -> Integers:
        match self._values[name]:
            case Quantized(integers=integers):
                return integers
            case Affine(stored=Stored(integers=integers)):
                return integers
            case _:
                raise Unknown(f"{name}: no QuantizeLinear rounds this output")
