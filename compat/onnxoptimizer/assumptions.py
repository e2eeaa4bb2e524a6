"""
Facts that passes prove about values, and assumptions that they make, with a warning, if a caller asks for it.
"""

from __future__ import annotations

import warnings

import numpy as np

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, attribute, is_op
from xonnc.formats.onnx.topological_order import describe

_NON_NEGATIVE = ("Abs", "Exp", "HardSigmoid", "Relu", "Sigmoid", "Softmax", "Softplus")
_KEEPING_SIGN = (
    *("AveragePool", "Flatten", "GlobalAveragePool", "GlobalMaxPool", "Identity", "MaxPool"),
    *("Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"),
)
_UNSIGNED = (2, 4, 9, 12, 13)


def is_non_negative(graph: Graph, name: str) -> bool:
    """Whether a value is proven to have no negative element."""
    while True:
        if graph.type(name).element in _UNSIGNED:
            return True
        if (array := graph.constant(name)) is not None:
            return array.dtype != np.object_ and bool(np.all(array >= 0))
        node = graph.maker(name)
        if node is None or node.op_type not in (*_NON_NEGATIVE, *_KEEPING_SIGN, "Clip"):
            return False
        if is_op(node, *_NON_NEGATIVE):
            return True
        if is_op(node, "Clip"):
            lower = graph.constant(node.input[1]) if len(node.input) > 1 else attribute(node, "min")
            return lower is not None and bool(np.all(np.asarray(lower) >= 0))
        if not is_op(node, *_KEEPING_SIGN):
            return False
        name = node.input[0]


def assume(graph: Graph, node: Node, what: str) -> bool:
    """Whether a rewrite may assume something about its input; it is warned of."""
    if graph.model.assumes:
        warnings.warn(f"{describe(node)}: {node.op_type}: rewritten as if {what}", stacklevel=2)
    return graph.model.assumes
