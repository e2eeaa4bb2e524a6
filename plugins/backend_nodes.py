"""ONNX nodes as the functions of a backend see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.onnx.op_versions import identity_of
from xonnc.plugins.op_class import python_value
from xonnc.plugins.operators import Array
from xonnc.plugins.tensor_types import tensor_type_of
from xonnc.plugins.types import TensorType
from xonnc.transforms.constant_evaluation import constant_value
from xonnc.transforms.dims.expressions import DimSymbols


class NodeRefused(Exception):
    """A backend cannot run a node; the message is the reason."""


class BackendNode:
    """An ONNX node: its operands and result types in IR, the same as NumPy types, attributes, constants."""

    def __init__(self, op: OnnxOp) -> None:
        self.op: Operation = op
        self.name: str = describe(op)
        """The name in messages."""
        self.operator: str = operator_of(op)
        """The ONNX name, with the domain for those of other domains: `Relu`, `com.acme.AddN`."""
        self._symbols = DimSymbols()

    @property
    def operands(self) -> tuple[SSAValue, ...]:
        """The operands that are present."""
        return tuple(each for each in self.op.operands if each.type != NONE)

    @property
    def result_types(self) -> tuple[Attribute, ...]:
        """The types of the results in IR."""
        return tuple(result.type for result in self.op.results)

    @property
    def inputs(self) -> Sequence[TensorType | None]:
        """The types of all operands; `None` for absent ones."""
        return [tensor_type_of(each, self._symbols) for each in self.op.operands]

    @property
    def outputs(self) -> Sequence[TensorType | None]:
        """The types of the results."""
        return [tensor_type_of(each, self._symbols) for each in self.op.results]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute by its ONNX name as a Python value."""
        found = python_value(self.op.properties.get(name))
        return default if found is None else found

    def constant(self, index: int) -> Array | None:
        """Return the value of an operand; `None` if it is not constant."""
        return constant_of(self.op.operands[index])

    def refuse(self, reason: str) -> NodeRefused:
        """Return the exception for a node that the target cannot run: `raise node.refuse("…")`."""
        return NodeRefused(reason)


def constant_of(value: SSAValue) -> Array | None:
    """Return the array of a constant; `None` for other values."""
    found = constant_value(value)
    return None if found is None or len(found.arrays) != 1 else found.arrays[0]


def operator_of(op: Operation) -> str:
    """Return the ONNX name of an operator, with the domain for those of other domains."""
    identity = identity_of(op) if isinstance(op, OnnxOp) else None
    if identity is None:
        return op.name
    is_standard = identity.domain in ("", "ai.onnx")
    return identity.op_type if is_standard else f"{identity.domain}.{identity.op_type}"
