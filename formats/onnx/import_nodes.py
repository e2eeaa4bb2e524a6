"""Import of nodes as ops."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import onnx
import onnx.defs
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.constraints import type_of
from xonnc.dialects.onnx.locations import node_location
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, NoValueOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import (
    BatchNormalizationOp,
    BatchNormalizationV7Op,
    BatchNormalizationV9Op,
    MaxPoolOp,
)
from xonnc.dialects.onnx.registry import op_class, versions_of
from xonnc.dialects.onnx.types import NONE, SeqType, element_type, scalar_as, unranked
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.captures import CAPTURES, captured_names
from xonnc.formats.onnx.import_diagnostics import placeholder
from xonnc.formats.onnx.import_scope import IS_NODE, ImportContext, ImportedGraph, ImportScope
from xonnc.formats.onnx.local_functions import operator_version
from xonnc.formats.onnx.node_attributes import Kind, element_type_attribute, kind_of, preserved, to_attribute
from xonnc.formats.onnx.op_signatures import OpSignature, attribute_kinds, op_signature_of
from xonnc.formats.onnx.op_versions import OP_TYPE, contributed, operand_like_result
from xonnc.formats.onnx.result_types import NodeDescription, result_type
from xonnc.formats.onnx.schemas import newest_opset, schema_of
from xonnc.formats.onnx.topological_order import describe
from xonnc.formats.onnx.value_types import to_type

PRESERVED_NODE_FIELDS = ("doc_string", "metadata_props", "overload", "device_configurations")
"""Fields of `NodeProto` that are kept as attributes `onnx.<name>`."""

ImportGraph = Callable[..., ImportedGraph]

ReadT = TypeVar("ReadT")

_A = onnx.AttributeProto

_NUMBERED = (_A.INT, _A.STRING)
"""The spellings of element types in models."""

ABSENT_IF_EMPTY = frozenset(
    [("GRU", "activations"), ("LSTM", "activations"), ("RNN", "activations"), ("Resize", "axes")]
    + [
        ("LabelEncoder", f"{side}_{kind}s")
        for side in ("keys", "values")
        for kind in ("int64", "float", "string")
    ]
)
"""Attributes that some exporters write as empty lists for their default; onnxruntime accepts that."""

_SINGLE_OUTPUT: dict[type[OnnxOp], type[OnnxOp]] = {
    BatchNormalizationOp: BatchNormalizationInferenceModeOp,
    BatchNormalizationV7Op: BatchNormalizationInferenceModeOp,
    BatchNormalizationV9Op: BatchNormalizationInferenceModeOp,
    MaxPoolOp: MaxPoolSingleOutOp,
}


@dataclass
class NodeImporter:
    """Imports the nodes of one graph as ops, in order."""

    model: ImportContext
    scope: ImportScope
    operations: list[Operation]
    declared: Mapping[str, onnx.TypeProto]
    import_graph: ImportGraph
    late: AbstractSet[str] = frozenset()
    """Values of cycles, which may be used before they are defined; the cycle is already reported."""
    _absent: SSAValue | None = field(default=None)
    _reasons: list[str] = field(default_factory=list[str])
    """Problems of the node that is being imported."""

    def add(self, node: onnx.NodeProto) -> None:
        """
        Append the op for `node` and bind its results.

        An invalid node becomes a placeholder, so that import goes on; every diagnostic names the node.
        """
        self._reasons.clear()
        op = self._attempt(partial(self._import, node))
        if op is None or self._reasons:
            op = self._placeholder(node)
        self.operations.append(op)
        for name, result in zip(node.output, op.results, strict=False):
            self._attempt(partial(self.scope.bind, name, result))
        for reason in self._reasons:
            self.model.diagnostics.add(f"{describe(node)} ({self._title(node)}): {reason}", op)

    def _title(self, node: onnx.NodeProto) -> str:
        """Return the operator of a node, with the plug-in that declares it."""
        domain, opset = operator_version(node, self.model.opsets)
        kind = op_class(domain, node.op_type, opset)
        plugin = "" if kind is None else kind.PLUGIN
        return f"{node.op_type} of plug-in {plugin}" if plugin else node.op_type

    def _attempt(self, read: Callable[[], ReadT]) -> ReadT | None:
        """Call `read`; on `XonncError` record a problem of the node and return None."""
        try:
            return read()
        except XonncError as error:
            self._reasons.append(str(error))
            return None

    def _placeholder(self, node: onnx.NodeProto) -> Operation:
        """Return a placeholder for an unreadable node, with results of the declared or inferred types."""
        domain, opset = operator_version(node, self.model.opsets)
        values = [self.scope.find(name) for name in node.input]
        described = NodeDescription(
            domain,
            node.op_type,
            opset,
            {given.name: given for given in node.attribute},
            [NONE if value is None else value.type for value in values],
            (),
        )
        return placeholder(
            node.op_type,
            [self._probable_type(described, index, name) for index, name in enumerate(node.output)],
            node.name,
            node.output,
        )

    def _probable_type(self, node: NodeDescription, index: int, name: str) -> Attribute:
        declared = self.declared.get(name)
        try:
            return result_type(node, index) if declared is None else to_type(declared, name)
        except XonncError:
            return NONE

    def _import(self, node: onnx.NodeProto) -> Operation:
        domain, its_opset = operator_version(node, self.model.opsets)
        op_type, opset = node.op_type, its_opset
        found = None if (node.domain, op_type) in self.model.functions else op_class(domain, op_type, opset)
        if found is None:
            is_function = (node.domain, op_type) in self.model.functions
            standard = None if is_function else contributed(domain, op_type, sum(map(bool, node.output)))
            if standard is not None:
                op_type, opset = standard.op_type, standard.since
                found = op_class(domain, op_type, opset)
            elif not is_function:
                _refuse_newer(domain, op_type, opset)
            found = found or CustomOp
        else:
            found = _single_output_class(found, node)
        signature = op_signature_of(found)
        operands = self._operands(node, signature)
        captured: list[SSAValue] = []
        attributes = {given.name: given for given in node.attribute}
        if found is not CustomOp:
            schema = schema_of(domain, op_type, opset)
            self._check_required(schema, attributes.keys())
            self._check_count(schema, node)
        properties, extras = self._attributes(
            node, signature, attribute_kinds(domain, op_type, opset), found is CustomOp
        )
        if opset != its_opset:
            extras[OP_TYPE] = StringAttr(node.op_type)
        if found is CustomOp:
            properties["function_name"] = StringAttr(op_type)
            extras["domain_name"] = StringAttr(node.domain)
            captured = self._captured(node, extras)
        operand_types = [operand.type for operand in operands]
        regions = [
            self._region(attributes.get(name), name, operand_types, node, extras)
            for name in signature.regions
        ]
        described = NodeDescription(domain, op_type, opset, attributes, operand_types, regions)
        result_types = self._result_types(node, signature, described)
        if found is ConstantOp:
            extras[IS_NODE] = UnitAttr()
            result_types = _constant_type(properties) or result_types
        elif operand_types and (found is CustomOp or not found.name.startswith("onnx.")):
            like = operand_types[operand_like_result(domain, op_type, operand_types)]
            # A node may leave out its last results.
            names = [*node.output, *[""] * (len(result_types) - len(node.output))]
            result_types = [
                _element_of(like) if type_ == NONE and name else type_
                for name, type_ in zip(names, result_types, strict=True)
            ]
        return found.create(
            operands=[*operands, *captured],
            result_types=result_types,
            properties=properties,
            attributes=extras,
            regions=regions,
            location=node_location(node.name, tuple(node.output)),
        )

    def _operands(self, node: onnx.NodeProto, signature: OpSignature) -> list[SSAValue]:
        names = node.input
        if len(names) > signature.operands and not signature.has_variadic_operand:
            extra = [name for name in names[signature.operands :] if name]
            if extra:
                self._reasons.append(
                    f"{len(names)} inputs where the operator takes at most {signature.operands}"
                )
            names = names[: signature.operands]
        operands = [self._value(name) for name in names]
        operands += (
            [self._missing()] * (signature.operands - len(operands))
            if len(operands) < signature.operands
            else []
        )
        return operands

    def _captured(self, node: onnx.NodeProto, extras: dict[str, Attribute]) -> list[SSAValue]:
        """Return the values that subgraphs capture; `extras` gets their names."""
        names = list(dict.fromkeys(captured_names(node)))
        if names:
            extras[CAPTURES] = ArrayAttr([StringAttr(name) for name in names])
        return [self._value(name) for name in names]

    def _value(self, name: str) -> SSAValue:
        if not name:
            return self._missing()
        value = self.scope.find(name)
        if value is None:
            if name not in self.late:
                self._reasons.append(f"input '{name}' is made by no node, input or initializer")
            value = self.unknown(name)
        return value

    def unknown(self, name: str) -> SSAValue:
        """Return a placeholder for an undefined value; its other uses raise no further diagnostic."""
        op = placeholder("", [NONE], outputs=(name,))
        self.operations.append(op)
        if name not in self.late:
            self.scope.bind(name, op.results[0])
        return op.results[0]

    def _missing(self) -> SSAValue:
        """Return the `none` value of absent operands, created at its first use in the graph."""
        if self._absent is None:
            op = NoValueOp()
            self.operations.append(op)
            self._absent = op.results[0]
        return self._absent

    def _attributes(
        self, node: onnx.NodeProto, signature: OpSignature, kinds: Mapping[str, Kind], is_custom: bool
    ) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """Return the op's properties, and its further attributes."""
        constants = self.model.constants
        properties: dict[str, Attribute] = {}
        extras: dict[str, Attribute] = {}
        as_they_are: list[Attribute] = []
        reserved = {*signature.properties, "domain_name"} if is_custom else ()
        for given in node.attribute:
            name = given.name
            if name in signature.regions and kind_of(given) == _A.GRAPH:
                continue
            if not self._is_of_kind(given, kinds.get(name)):
                continue
            if name in signature.type_properties and kind_of(given) in _NUMBERED and not given.ref_attr_name:
                value = element_type_attribute(given)
            else:
                value = to_attribute(given, constants)
            is_absent = (node.op_type, name) in ABSENT_IF_EMPTY and value is not None and _is_empty(value)
            if name in signature.properties and value is not None and not is_custom and not is_absent:
                properties[name] = value
                continue
            if not is_custom and name not in signature.properties:
                self._check_opset(node, name, value)
            if value is None or name.startswith("onnx.") or name in reserved or _is_empty(value):
                as_they_are.append(preserved(given, constants))
            else:
                extras[name] = value
        if as_they_are:
            extras["onnx.attributes"] = ArrayAttr(as_they_are)
        if node.metadata_props or node.doc_string or node.overload or node.device_configurations:
            extras.update(message_codec.prefixed(node, constants.dense, PRESERVED_NODE_FIELDS))
        for key, names in (("onnx.empty_inputs", node.input), ("onnx.empty_outputs", node.output)):
            if names and not names[-1]:
                extras[key] = IntegerAttr(_trailing_empty(names), i64)
        return properties, extras

    def _check_required(self, schema: onnx.defs.OpSchema | None, given: Container[str]) -> None:
        for name, attribute in schema.attributes.items() if schema is not None else ():
            # A body is asked for where it is read.
            if (
                attribute.required
                and name not in given
                and attribute.type != onnx.defs.OpSchema.AttrType.GRAPH
            ):
                self._reasons.append(f"attribute '{name}' is missing; the operator requires it")

    def _check_count(self, schema: onnx.defs.OpSchema | None, node: onnx.NodeProto) -> None:
        """Check for inputs that only newer versions of the operator, by which its class goes, leave out."""
        count = len(node.input)
        if schema is None or count >= schema.min_input:
            return
        newest = newest_opset(schema.domain)
        later = None if newest is None else schema_of(schema.domain, schema.name, newest)
        if later is not None and count >= later.min_input:
            have = "is 1 input" if count == 1 else f"are {count} inputs"
            self._reasons.append(f"there {have}; the operator needs at least {schema.min_input}")

    def _check_opset(self, node: onnx.NodeProto, name: str, value: Attribute | None) -> None:
        """
        Record a problem if other opsets have an attribute and that of the model does not.

        onnxruntime's quantizers raise the opset of a model and leave nodes as they were: a ReduceMean whose
        `axes` became an input would reduce all axes. The default of other opsets is what absence means.
        """
        domain, opset = operator_version(node, self.model.opsets)
        versions = [
            kind for kind in versions_of(domain, node.op_type) if name in op_signature_of(kind).properties
        ]
        if not versions or any(op_signature_of(kind).defaults.get(name) == value for kind in versions):
            return
        last = max((kind.UNTIL - 1 for kind in versions if kind.UNTIL and kind.UNTIL <= opset), default=None)
        first = min(kind.SINCE for kind in versions)
        when = f"up to opset {last}" if last is not None else f"from opset {first} on"
        self._reasons.append(f"the operator has attribute '{name}' {when}; the model's opset is {opset}")

    def _is_of_kind(self, given: onnx.AttributeProto, expected: Kind | None) -> bool:
        """Return whether an attribute has the kind of the schema; record a problem if not."""
        kind = kind_of(given)
        if expected is None or kind == expected:
            return True
        found, needed = (_A.AttributeType.Name(one) for one in (kind, expected))
        self._reasons.append(f"attribute '{given.name}' is of kind {found}; the operator takes {needed}")
        return False

    def _region(
        self,
        given: onnx.AttributeProto | None,
        name: str,
        operands: Sequence[Attribute],
        node: onnx.NodeProto,
        extras: dict[str, Attribute],
    ) -> Region:
        if given is None and not self._needs(node, name):
            return Region()
        if given is None or not given.HasField("g"):
            raise XonncError(f"attribute '{name}' is missing; it must be a graph")
        untyped = _argument_types(node, operands)
        location = f"{describe(node)} ({node.op_type}): {name}: "
        graph = self.import_graph(self.model, given.g, self.scope, YieldOp, untyped, location)
        extras[f"onnx.{name}"] = DictionaryAttr(graph.details)
        return Region(graph.block)

    def _needs(self, node: onnx.NodeProto, name: str) -> bool:
        domain, opset = operator_version(node, self.model.opsets)
        schema = schema_of(domain, node.op_type, opset)
        return schema is None or name not in schema.attributes or schema.attributes[name].required

    def _result_types(
        self, node: onnx.NodeProto, signature: OpSignature, described: NodeDescription
    ) -> list[Attribute]:
        names = node.output
        if (
            len(names) > signature.results
            and not signature.has_variadic_result
            and any(names[signature.results :])
        ):
            raise XonncError(f"{len(names)} outputs where the operator has at most {signature.results}")
        count = max(signature.results, len(names)) if signature.has_variadic_result else signature.results
        types: list[Attribute] = []
        for index in range(count):
            name = names[index] if index < len(names) else ""
            declared = self.declared.get(name, self.model.call_types.get(name)) if name else None
            if not name and index not in signature.required_results:
                types.append(NONE)
            elif declared is not None:
                types.append(to_type(declared, f"output '{name}'"))
            else:
                types.append(result_type(described, index))
        return types


def _single_output_class(found: type[OnnxOp], node: onnx.NodeProto) -> type[OnnxOp]:
    """Return the inference-only class for a batch normalisation or max pooling with a single output."""
    single = _SINGLE_OUTPUT.get(found)
    if single is None or any(node.output[1:]):
        return found
    known = op_signature_of(single).properties
    is_plain = all(given.name in known or _says_nothing(given) for given in node.attribute)
    return single if is_plain else found


def _constant_type(properties: Mapping[str, Attribute]) -> list[Attribute] | None:
    """Return the type of a constant's value, which overrides the declared type."""
    value = properties.get("value") or properties.get("sparse_value")
    type_ = type_of(value) if value is not None else None
    return None if type_ is None else [type_]


def _says_nothing(given: onnx.AttributeProto) -> bool:
    """Return whether an attribute has the default value of an attribute of the general operator alone."""
    return (given.name, given.i) in (("training_mode", 0), ("spatial", 1)) and not given.ref_attr_name


def _is_empty(value: Attribute) -> bool:
    """Return whether a list is empty, so that its element type is unknown."""
    return is_array(value) and not value.data


def _trailing_empty(names: Sequence[str]) -> int:
    return next((count for count, name in enumerate(reversed(names)) if name), len(names))


def _argument_types(node: onnx.NodeProto, operands: Sequence[Attribute]) -> list[Attribute]:
    """Return the types of a subgraph's inputs by the operator's specification."""
    match node.op_type:
        case "Loop":
            return [scalar_as(None, i64), scalar_as(operands[1], i1), *operands[2:]]
        case "Scan":
            return [_element_of(type_) for type_ in operands]
        case "SequenceMap":
            return [type_.element_type if isinstance(type_, SeqType) else type_ for type_ in operands]
        case _:
            return []


def _element_of(type_: Attribute) -> Attribute:
    element = element_type(type_)
    return type_ if element is None else unranked(element)


def _refuse_newer(domain: str, op_type: str, opset: int) -> None:
    """Raise `XonncError` for an operator newer than the model's opset."""
    newest = newest_opset(domain)
    if newest is None or schema_of(domain, op_type, opset) is not None:
        return
    later = schema_of(domain, op_type, newest)
    if later is not None:
        first = min((kind.SINCE for kind in versions_of(domain, op_type)), default=later.since_version)
        raise XonncError(f"the model's opset is {opset}, and this operator came with opset {first}")
