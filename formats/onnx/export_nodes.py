"""Export of ops as nodes of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import onnx
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_attr, is_array
from xonnc.dialects.onnx.locations import NODE_NAME, describe, node_name
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, DimOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.captures import captures, names_defined_in, rename_captures
from xonnc.formats.onnx.constants import array_of
from xonnc.formats.onnx.node_attributes import Kind, from_attribute, from_raw_attribute
from xonnc.formats.onnx.op_signatures import attribute_kinds, op_signature_of
from xonnc.formats.onnx.op_versions import OpIdentity, identity_of, spelled_type
from xonnc.formats.onnx.schemas import canonical_domain
from xonnc.formats.onnx.value_names import ValueNames

ExportRegion: TypeAlias = Callable[[Block, Mapping[str, Attribute]], onnx.GraphProto]

_UNDEFINED = onnx.AttributeProto.UNDEFINED

_ALWAYS_WRITTEN = {"STFT": frozenset(("onesided",))}
"""Attributes whose default of 1 the shape inference of the onnx package mistakes for 0."""


def export_node(
    op: Operation, names: ValueNames, opsets: Mapping[str, int], export_region: ExportRegion
) -> onnx.NodeProto:
    """Export an op as a node; errors name the op."""
    identity = identity_of(op) if isinstance(op, OnnxOp) else None
    if not isinstance(op, OnnxOp) or identity is None:
        raise XonncError(
            f"{describe(op)}: ONNX has no operator for {op.name}; lower or remove it before exporting"
        )
    try:
        if isinstance(op, ConstantOp) and not op.properties:
            raise XonncError("a constant of a model needs a value; give it one")
        return _export(op, identity, names, opsets, export_region)
    except XonncError as error:
        raise XonncError(f"{describe(op)} ({op.name}): {error}") from error


def _export(
    op: OnnxOp,
    identity: OpIdentity,
    names: ValueNames,
    opsets: Mapping[str, int],
    export_region: ExportRegion,
) -> onnx.NodeProto:
    domain = canonical_domain(identity.domain)
    opset = opsets.get(domain, 1)
    node = onnx.NodeProto(op_type=spelled_type(op, identity, opset))
    if identity.domain:
        node.domain = identity.domain
    if name := node_name(op):
        node.name = name
    domain = canonical_domain(identity.domain)
    captured = captures(op)
    inputs = [_operand(value, names) for value in op.operands]
    read, inner = inputs[: len(inputs) - len(captured)], inputs[len(inputs) - len(captured) :]
    signature = op_signature_of(type(op))
    # ONNX lists absent inputs before a variadic one, even if that is empty (a Loop that carries nothing).
    least = signature.operands if signature.has_variadic_operand else 0
    node.input.extend(_trimmed(read, op, "onnx.empty_inputs", least))
    node.output.extend(_trimmed([_result(value, names) for value in op.results], op, "onnx.empty_outputs"))
    kinds = attribute_kinds(domain, node.op_type, opset)
    for name, value in _written(op, kinds).items():
        node.attribute.append(from_attribute(name, value, kinds.get(name, _UNDEFINED)))
    for name, region in zip(signature.regions, op.regions, strict=True):
        if not region.blocks:
            continue
        details = op.attributes.get(f"onnx.{name}")
        known: Mapping[str, Attribute] = {"name": StringAttr(name)}
        graph = export_region(region.block, details.data if isinstance(details, DictionaryAttr) else known)
        node.attribute.add(name=name, type=onnx.AttributeProto.GRAPH, g=graph)
    as_they_are = op.attributes.get("onnx.attributes")
    if is_array(as_they_are):
        node.attribute.extend(from_raw_attribute(value) for value in as_they_are)
    if captured:
        rename_captures(node, dict(zip(captured, inner, strict=True)))
    message_codec.fill_prefixed(node, op.attributes, array_of)
    return node


def inner_names(op: Operation) -> Iterator[str]:
    """Yield the names that the subgraphs of a custom op define."""
    given = op.attributes.get("onnx.attributes")
    node = onnx.NodeProto()
    if is_array(given):
        node.attribute.extend(from_raw_attribute(value) for value in given.data)
    return names_defined_in(node)


def _written(op: OnnxOp, kinds: Mapping[str, Kind]) -> dict[str, Attribute]:
    """Return the attributes of the node: those that differ from their defaults, and undeclared ones."""
    if isinstance(op, DimOp):
        if not {"start", "end"} <= kinds.keys():
            return {}
        axis = op.axis.value.data
        return {"start": int_attr(axis), "end": int_attr(axis + 1)}
    is_custom = isinstance(op, CustomOp)
    signature = op_signature_of(type(op))
    always = _ALWAYS_WRITTEN.get(op.OP_TYPE, frozenset[str]())
    found: dict[str, Attribute] = {}
    for name, value in op.properties.items():
        if not is_custom and (signature.defaults.get(name) != value or name in always):
            found[name] = value
    for name, value in op.attributes.items():
        is_own = name.startswith(("onnx.", "krnl.", "dla.")) or name == NODE_NAME
        if not is_own and not (is_custom and name == "domain_name"):
            found[name] = value
    auto_pad = found.get("auto_pad")
    if not is_custom and isinstance(auto_pad, StringAttr) and auto_pad.data not in ("", "NOTSET"):
        # ONNX takes one of the two; onnx-mlir's form of a decomposed ConvTranspose has both.
        found.pop("pads", None)
    unknown = [name for name in found if kinds and name not in kinds and name in signature.properties]
    if unknown:
        raise XonncError(f"the model's opset has no attribute '{unknown[0]}' for it; import a newer opset")
    return found


def _operand(value: SSAValue, names: ValueNames) -> str:
    if value in names:
        return names[value]
    if value.type == NONE:
        return ""
    raise XonncError("an operand is defined outside the model")


def _result(value: SSAValue, names: ValueNames) -> str:
    return names[value] if value in names else ""


def _trimmed(names: list[str], op: Operation, key: str, least: int = 0) -> list[str]:
    """Drop absent names at the end of a list, except the first `least` and those of the imported model."""
    while names and not names[-1]:
        names.pop()
    empty = op.attributes.get(key)
    had = empty.value.data if isinstance(empty, IntegerAttr) else 0
    return [*names, *("",) * max(had, least - len(names))]
