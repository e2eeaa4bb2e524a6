"""Export of blocks of ops as graphs of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import onnx
from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.builtin_attributes import SparseElementsAttr
from xonnc.dialects.onnx.ops.builtin import DimOp, NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import is_ranked, is_tensor, tensor_type
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.captures import CAPTURES
from xonnc.formats.onnx.constants import array_of, sparse_proto
from xonnc.formats.onnx.export_nodes import export_node, inner_names
from xonnc.formats.onnx.import_graphs import UNREFERENCED_INITIALIZERS
from xonnc.formats.onnx.import_scope import IS_NODE
from xonnc.formats.onnx.op_versions import is_initializer
from xonnc.formats.onnx.save_model import Initializer
from xonnc.formats.onnx.tensors import ELEMENT_TYPES, header
from xonnc.formats.onnx.value_names import ValueNames, node_names
from xonnc.formats.onnx.value_types import read_dim_params, to_type, value_info

DimNames: TypeAlias = Callable[[SSAValue], Mapping[int, str]]
"""A function that returns names of the dynamic dimensions of a value by axis, beside those of the module."""


def no_dim_names(value: SSAValue) -> Mapping[int, str]:
    """Return no names."""
    return {}


_NOT_FIELDS = ("all_inputs", "input", "output", "value_info", UNREFERENCED_INITIALIZERS)
"""The entries of a graph's details that describe values; the others are plain fields."""


@dataclass(frozen=True)
class GraphSignature:
    """The properties of a graph that its block does not have; see `importer` for the attributes."""

    details: Mapping[str, Attribute]
    inputs: Sequence[Mapping[str, Attribute]]
    """Attributes of each argument: `onnx.name` and so on."""
    outputs: Sequence[Mapping[str, Attribute]]
    lists_initializers: bool = False
    """Whether every initializer is an input too, as ONNX requires before IR version 4."""
    dim_names: DimNames = no_dim_names
    types: Sequence[Attribute] = ()
    """Types of the outputs, for those of unknown rank: the checker of ONNX requires a shape of each."""


def export_graph(
    block: Block, interface: GraphSignature, opsets: Mapping[str, int], outer: ValueNames | None = None
) -> tuple[onnx.GraphProto, list[Initializer]]:
    """Export a block as a graph, and its initializers, whose payloads are not in the graph."""
    return _GraphExporter(block, interface, opsets, outer).run()


class _GraphExporter:
    def __init__(
        self, block: Block, interface: GraphSignature, opsets: Mapping[str, int], outer: ValueNames | None
    ) -> None:
        self.block = block
        self.interface = interface
        self.opsets = opsets
        self.names = ValueNames(outer)
        self.graph = onnx.GraphProto()
        self.initializers: list[Initializer] = []
        self.renamed: dict[Operation, str] = {}
        last = block.last_op
        if last is None or not last.has_trait(IsTerminator):
            raise XonncError("the block has no terminator; a graph ends in onnx.Return or onnx.Yield")
        self.end = last

    def run(self) -> tuple[onnx.GraphProto, list[Initializer]]:
        """Assign names, then export nodes, then value types."""
        details = self.interface.details
        fields = {name: value for name, value in details.items() if name not in _NOT_FIELDS}
        message_codec.fill(self.graph, fields, array_of)
        self._reserve_inner_names()
        for argument, entry in zip(self.block.args, self.interface.inputs, strict=True):
            self.names.give(argument, _name(entry) or f"input_{argument.index}")
        outputs = self._name_outputs()
        self.names.name_results(self.block)
        self.renamed = node_names([op for op in self.block.ops if self._is_node(op)])
        for op in self.block.ops:
            self._export(op)
        self._write_outputs(outputs)
        self._write_inputs()
        self._write_held()
        self._write_value_info()
        return self.graph, self.initializers

    def _reserve_inner_names(self) -> None:
        """Reserve the names defined in subgraphs of custom ops, which are exported unchanged."""
        for op in self.block.walk():
            if CAPTURES in op.attributes:
                for name in inner_names(op):
                    self.names.reserve(name)

    def _name_outputs(self) -> list[str]:
        """
        Return the name of each output, or an empty string for a value that is named later.

        A value that the graph defines takes the output's name if that is free. Arguments, values returned
        twice and captured values are copied by an Identity node, since a graph output must be defined in the
        graph.
        """
        found: list[str] = []
        for value, entry in zip(self.end.operands, self.interface.outputs, strict=True):
            name, owner = _name(entry), value.owner
            if self.names.is_own(value):
                is_copy = name not in ("", self.names[value])
            else:
                is_copy = not isinstance(owner, Operation) or owner.parent is not self.block
                if name and not is_copy:
                    name = self.names.give(value, name)
            if is_copy:
                name = name if name and self.names.is_free(name) else self.names.fresh(name or "output")
                self.names.reserve(name)
            found.append(name)
        return found

    def _is_node(self, op: Operation) -> bool:
        return not (op is self.end or isinstance(op, NoValueOp) or is_initializer(op))

    def _export(self, op: Operation) -> None:
        if op is self.end or isinstance(op, NoValueOp):
            return
        if isinstance(op, ConstantOp) and IS_NODE not in op.attributes and self._export_constant(op):
            return
        node = export_node(op, self.names, self.opsets, self._export_region)
        if op in self.renamed:
            node.name = self.renamed[op]
        # Before opset 15 a Shape gives all sizes.
        pick = self._pick(node, op.axis.value.data) if isinstance(op, DimOp) and not node.attribute else ()
        self.graph.node.extend((node, *pick))

    def _pick(self, shape: onnx.NodeProto, axis: int) -> Sequence[onnx.NodeProto]:
        """
        Return the Gather node that selects one dimension of a Shape node, which before opset 15 has no
        `start`.
        """
        result, index = shape.output[0], self.names.fresh(f"{shape.output[0]}_axis")
        self.names.reserve(index)
        shape.output[0] = self.names.fresh(f"{result}_shape")
        self.names.reserve(shape.output[0])
        array = np.array([axis], np.int64)
        self.initializers.append(Initializer(header(array, index), array))
        return [onnx.NodeProto(op_type="Gather", input=[shape.output[0], index], output=[result])]

    def _export_constant(self, op: ConstantOp) -> bool:
        """Export a tensor constant as an initializer; return False for other constants."""
        name = self.names[op.output]
        if isinstance(op.sparse_value, SparseElementsAttr):
            self.graph.sparse_initializer.append(sparse_proto(op.sparse_value, name))
            return True
        if op.value is None:
            return False
        array = array_of(op.value)
        tensor = header(array, name)
        message_codec.fill_prefixed(tensor, op.attributes, array_of)
        self.initializers.append(Initializer(tensor, None if array.dtype == np.object_ else array))
        return True

    def _export_region(self, block: Block, details: Mapping[str, Attribute]) -> onnx.GraphProto:
        """Export a region as a subgraph, payloads included."""
        last = block.last_op
        interface = GraphSignature(
            details,
            inputs=_held(details.get("input"), len(block.args)),
            outputs=_held(details.get("output"), len(last.operands) if last is not None else 0),
            dim_names=self.interface.dim_names,
        )
        graph, initializers = export_graph(block, interface, self.opsets, self.names)
        for initializer in initializers:
            initializer.write_to(graph.initializer.add())
        return graph

    def _write_outputs(self, outputs: Sequence[str]) -> None:
        returned = [value.type for value in self.end.operands]
        types = [
            type_ if is_ranked(type_) or not is_tensor(type_) else other
            for type_, other in zip(returned, self.interface.types or returned, strict=True)
        ]
        for value, name, entry, type_ in zip(
            self.end.operands, outputs, self.interface.outputs, types, strict=True
        ):
            made = self.names[value]
            if name and name != made:
                self.graph.node.add(op_type="Identity", input=[made], output=[name])
            self.graph.output.append(_info(name or made, type_, entry))

    def _write_inputs(self) -> None:
        """Write the inputs: arguments, and initializers that are listed as inputs."""
        arguments = {
            self.names[argument]: _info(self.names[argument], argument.type, entry)
            for argument, entry in zip(self.block.args, self.interface.inputs, strict=True)
        }
        constants = {initializer.tensor.name: initializer.tensor for initializer in self.initializers}
        for entry in _held(self.interface.details.get("all_inputs"), 0):
            name = _name(entry)
            if name in arguments:
                self.graph.input.append(arguments.pop(name))
            elif name in constants:
                self._list_initializer(constants.pop(name), entry)
        self.graph.input.extend(arguments.values())
        if self.interface.lists_initializers:
            for tensor in constants.values():
                self._list_initializer(tensor, {})

    def _write_held(self) -> None:
        """
        Write initializers without an op: default values of inputs, and tensors of quantization annotations.
        """
        entry = self.interface.details.get(UNREFERENCED_INITIALIZERS)
        inputs = {info.name for info in self.graph.input}
        made = {initializer.tensor.name for initializer in self.initializers}
        for name, value in entry.data.items() if isinstance(entry, DictionaryAttr) else ():
            if name not in made and (name in inputs or self.names.is_free(name)):
                array = array_of(value)
                tensor = header(array, name)
                self.initializers.append(Initializer(tensor, None if array.dtype == np.object_ else array))

    def _list_initializer(self, tensor: onnx.TensorProto, entry: Mapping[str, Attribute]) -> None:
        if elements := ELEMENT_TYPES.get(tensor.data_type):
            type_ = tensor_type(tuple(tensor.dims), elements)
            self.graph.input.append(_info(tensor.name, type_, entry))

    def _write_value_info(self) -> None:
        """Write the types of inner values: those in the imported model, and those inferred since."""
        values = self.names.own()
        listed = {info.name for info in (*self.graph.input, *self.graph.output)}
        for entry in _held(self.interface.details.get("value_info"), 0):
            name = _name(entry)
            if name in values:
                value = values[name]
                self.graph.value_info.append(_info(name, value.type, entry, self.interface.dim_names(value)))
                listed.add(name)
        for name, value in values.items():
            if (
                name not in listed
                and is_ranked(value.type)
                and not isinstance(value.owner, ConstantOp | Block)
            ):
                names = self.interface.dim_names(value)
                self.graph.value_info.append(value_info(name, value.type, names))


def _name(entry: Mapping[str, Attribute]) -> str:
    name = entry.get("onnx.name")
    return name.data if isinstance(name, StringAttr) else ""


def _held(entries: Attribute | None, count: int) -> list[Mapping[str, Attribute]]:
    """A list of values as `importer` keeps it in details, in the form of argument attributes."""
    found: list[Mapping[str, Attribute]] = []
    if is_array(entries):
        for entry in entries:
            if isinstance(entry, DictionaryAttr) and isinstance(name := entry.data.get("name"), StringAttr):
                found.append({"onnx.name": name, "onnx.value_info": entry})
            else:
                found.append({"onnx.name": entry})
    found = found[:count] if count else found
    return [*found, *({},) * (count - len(found))]


def _info(
    name: str, type_: Attribute, entry: Mapping[str, Attribute], known: Mapping[int, str] = {}
) -> onnx.ValueInfoProto:
    """
    Return the ValueInfo of a value: as imported if its type is unchanged, else from its type.

    `known` names further dynamic dimensions.
    """
    names = entry.get("onnx.dim_params")
    given = read_dim_params(names.data) if isinstance(names, StringAttr) else {}
    derived = value_info(name, type_, {**known, **given})
    stored = entry.get("onnx.value_info")
    if not isinstance(stored, DictionaryAttr):
        return derived
    listed = onnx.ValueInfoProto()
    message_codec.fill(listed, stored.data, array_of)
    listed.name = name
    if listed.HasField("type") and to_type(listed.type, name) != type_:
        listed.type.CopyFrom(derived.type)
    return listed
