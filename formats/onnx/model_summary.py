"""Counts of nodes and parameters of a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from onnx import TensorProto
from xdsl.dialects.builtin import ModuleOp

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.formats.html_tables import html_table
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.formats.onnx.tensors import DATA_TYPES, stored_size


@dataclass(frozen=True)
class ModelSummary:
    """Nodes by operator without constants, and the size of the constants."""

    operators: dict[str, int]
    parameters: int
    """Elements of all constants."""
    bytes: int
    """Bytes of the constants in a file, strings excluded."""

    @property
    def nodes(self) -> int:
        """Nodes of the graph."""
        return sum(self.operators.values())


def comparison_table(before: ModelSummary, after: ModelSummary) -> str:
    """Return the nodes by operator of a model before and after a change as HTML, for notebooks."""
    names = sorted({*before.operators, *after.operators})
    rows: list[tuple[object, ...]] = [
        (name, before.operators.get(name, 0), after.operators.get(name, 0)) for name in names
    ]
    rows += [("nodes", before.nodes, after.nodes), ("parameters", before.parameters, after.parameters)]
    return html_table("Nodes", ["operator", "before", "after"], rows)


def summarize(module: ModuleOp) -> ModelSummary:
    """Count the nodes and parameters of a module."""
    operators: Counter[str] = Counter()
    parameters = size = 0
    for op in module.walk():
        if type(op) is ConstantOp:
            count = prod(static_shape(op.output.type) or ())
            parameters += count
            size += _bytes(op, count)
        elif isinstance(op, OnnxOp) and (identity := identity_of(op)):
            operators[identity.op_type] += 1
    return ModelSummary(dict(operators.most_common()), parameters, size)


def _bytes(op: ConstantOp, count: int) -> int:
    element = element_type(op.output.type)
    data_type = None if element is None else DATA_TYPES.get(element)
    if data_type is None or data_type == TensorProto.STRING or static_shape(op.output.type) is None:
        return 0
    return stored_size(data_type, count)
