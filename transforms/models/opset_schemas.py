"""Nodes against the schemas of an opset: what it does not allow, and spellings that it does not have."""

from __future__ import annotations

import onnx
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation

from xonnc.dialects.onnx.attribute_builders import (
    int_array_attr,
    int_attr,
    is_array,
    numeric_values,
)
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, DimOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, NONE, element_type, is_ranked
from xonnc.formats.onnx.import_scope import IS_NODE
from xonnc.formats.onnx.op_signatures import op_signature_of
from xonnc.formats.onnx.op_versions import OP_TYPE, OpIdentity
from xonnc.formats.onnx.schemas import schema_of

NEGATIVE_AXES_SINCE = 11
"""The first opset in which axes may be counted from the end."""

BROADCASTS_SINCE = 8
"""The first opset in which operators of any number of operands broadcast them."""

VARIADIC = ("Max", "Mean", "Min", "Sum")

TYPE_NAMES: dict[Attribute, str] = {
    element: f"tensor({onnx.TensorProto.DataType.Name(code).lower()})"
    for code, element in ELEMENT_TYPES_BY_CODE.items()
}
"""Element types as schemas write them."""

NUMBERS = ("value_float", "value_floats", "value_int", "value_ints")
"""Attributes of Constant since opset 12."""


def rule_broken(op: OnnxOp, identity: OpIdentity, opset: int) -> str | None:
    """Return what the schema of an operator in `opset` does not allow about a node, `None` if all fits."""
    if isinstance(op, CustomOp | DimOp) or OP_TYPE in op.attributes:
        return None
    schema = schema_of("", identity.op_type, opset)
    if schema is None:
        return f"opset {opset} has no {identity.op_type}"
    signature = op_signature_of(type(op))
    for name, given in op.properties.items():
        if name in signature.properties and signature.defaults.get(name) != given:
            if name not in schema.attributes:
                return f"{identity.op_type} has no attribute '{name}' in opset {opset}"
    if sum(value.type != NONE for value in op.operands) > schema.max_input:
        return f"{identity.op_type} has at most {schema.max_input} inputs in opset {opset}"
    for values, ports in ((op.operands, schema.inputs), (op.results, schema.outputs)):
        for index, value in enumerate(values):
            element = element_type(value.type)
            name = None if element is None else TYPE_NAMES.get(element)
            if name and ports and name not in ports[min(index, len(ports) - 1)].types:
                return f"{identity.op_type} takes no {name} in opset {opset}"
    types = {value.type for value in op.operands}
    if opset < BROADCASTS_SINCE and identity.op_type in VARIADIC and len(types) > 1:
        return f"{identity.op_type} broadcasts from opset {BROADCASTS_SINCE} on"
    axes = [value for name in ("axis", "axes") for value in _numbers(op.properties.get(name))]
    if opset < NEGATIVE_AXES_SINCE and min(axes, default=0) < 0:
        return (
            f"its axis counts from the end, which opset {NEGATIVE_AXES_SINCE} introduced; its rank is unknown"
        )
    return None


def respell(op: OnnxOp, opset: int, pool: DisposablePool) -> None:
    """Write a node in place as an older opset does, where the meaning is the same."""
    if isinstance(op, ConstantOp):
        _respell_constant(op, opset, pool)
        return
    if (dilations := op.properties.get("dilations")) is not None and set(_numbers(dilations)) == {1}:
        schema = schema_of("", op.OP_TYPE, opset)
        if schema is not None and "dilations" not in schema.attributes:
            del op.properties["dilations"]
    if opset < NEGATIVE_AXES_SINCE and op.operands and is_ranked(op.operands[0].type):
        _count_from_the_start(op, len(op.operands[0].type.get_shape()))


def _count_from_the_start(op: Operation, rank: int) -> None:
    """Replace axes that are counted from the end."""
    axis, axes = op.properties.get("axis"), op.properties.get("axes")
    if isinstance(axis, IntegerAttr) and axis.value.data < 0:
        op.properties["axis"] = int_attr(axis.value.data + rank)
    if min(given := _numbers(axes), default=0) < 0:
        op.properties["axes"] = int_array_attr(*(each + rank if each < 0 else each for each in given))


def _respell_constant(op: ConstantOp, opset: int, pool: DisposablePool) -> None:
    """Write numbers as a tensor, and a type that Constant does not take as an initializer."""
    schema = schema_of("", "Constant", opset)
    element = element_type(op.output.type)
    if schema is None or element is None:
        return
    for name in NUMBERS:
        given = numeric_values(op.properties.get(name))
        if given is not None and name not in schema.attributes:
            del op.properties[name]
            op.properties["value"] = pool.create(given)
    if op.value is not None and TYPE_NAMES.get(element) not in schema.outputs[0].types:
        op.attributes.pop(IS_NODE, None)


def _numbers(attribute: Attribute | None) -> list[int]:
    """Return the elements of an integer attribute, of one or several."""
    parts = list(attribute.data) if is_array(attribute) else [attribute]
    return [each.value.data for each in parts if isinstance(each, IntegerAttr)]
