"""Nodes of ONNX models: their operators, attributes and the types of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import onnx

Node: TypeAlias = onnx.NodeProto
Dims: TypeAlias = tuple["int | str | None", ...]
"""Dimensions: sizes, names of dynamic dimensions, or `None`."""


@dataclass(frozen=True)
class ValueType:
    """Element type and dimensions of a tensor; 0 and `None` if unknown."""

    element: int = 0
    dims: Dims | None = None


UNKNOWN = ValueType()


def value_type(type_: onnx.TypeProto) -> ValueType:
    """Return the type of a tensor; `UNKNOWN` for anything else."""
    if not type_.HasField("tensor_type"):
        return UNKNOWN
    tensor = type_.tensor_type
    if not tensor.HasField("shape"):
        return ValueType(tensor.elem_type)
    dims = (
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or None
        for dim in tensor.shape.dim
    )
    return ValueType(tensor.elem_type, tuple(dims))


def is_op(node: Node | None, *op_types: str) -> bool:
    """Whether a node is one of these operators of ONNX's default domain."""
    return node is not None and node.op_type in op_types and node.domain in ("", "ai.onnx")


def attribute(node: Node, name: str, default: Any = None) -> Any:
    """Return the value of an attribute, strings decoded, or a default."""
    for each in node.attribute:
        if each.name == name:
            value = onnx.helper.get_attribute_value(each)
            return value.decode() if isinstance(value, bytes) else value
    return default


def set_attribute(node: Node, name: str, value: Any) -> None:
    """Set or replace an attribute."""
    new = onnx.helper.make_attribute(name, value)
    for each in node.attribute:
        if each.name == name:
            each.CopyFrom(new)
            return
    node.attribute.append(new)


def drop_attribute(node: Node, name: str) -> None:
    """Remove an attribute if the node has it."""
    for index, each in enumerate(node.attribute):
        if each.name == name:
            del node.attribute[index]
            return
