"""Graphs of a model, main and nested, as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import node_location
from xonnc.dialects.onnx.ops.builtin import ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE
from xonnc.errors import XonncError
from xonnc.formats.onnx import mirror
from xonnc.formats.onnx.names_check import check_graph, check_node
from xonnc.formats.onnx.nodes import NodeImporter
from xonnc.formats.onnx.order import ordered
from xonnc.formats.onnx.scope import ImportedGraph, Model, Scope
from xonnc.formats.onnx.value_types import to_type, value_info

_HELD_ELSEWHERE = frozenset(("node", "initializer", "sparse_initializer", "input", "output", "value_info"))
"""The fields of `GraphProto` that are ops, arguments and types."""

HELD = "held_tensors"
"""What the details of a graph call initializers that no op makes: defaults of inputs, annotations."""

KEPT_OF_INITIALIZERS = ("doc_string", "metadata_props")


def import_graph(
    model: Model,
    graph: onnx.GraphProto,
    outer: Scope | None = None,
    terminator: type[ReturnOp | YieldOp] = YieldOp,
    untyped: Sequence[Attribute] = (),
) -> ImportedGraph:
    """
    `graph` as one block that ends in `terminator`; names it does not define are looked up in `outer`.

    `untyped` are the types of the first arguments, for inputs that the graph gives no type.
    """
    check_graph(graph)
    for node in graph.node:
        check_node(node)
    scope = Scope(outer)
    constants = list(_initializers(model, graph))
    initialized = {name for name, _ in constants}
    defaults = _defaults(model, graph) if outer is None else set[str]()
    constants = [(name, constant) for name, constant in constants if name not in defaults]
    initialized -= defaults
    inputs = [info for info in graph.input if info.name not in initialized]
    types = [to_type(info.type, f"input '{info.name}'") for info in inputs]
    types = [
        untyped[index] if type_ == NONE and index < len(untyped) else type_
        for index, type_ in enumerate(types)
    ]
    block = Block(arg_types=types)
    for info, argument in zip(inputs, block.args, strict=True):
        scope.bind(info.name, argument)
    operations: list[Operation] = []
    for name, constant in constants:
        operations.append(constant)
        scope.bind(name, constant.results[0])
    nodes = NodeImporter(model, scope, operations, _declared_types(graph), import_graph)
    for node in ordered(graph, outer or ()):
        nodes.add(node)
    operations.append(terminator.create(operands=[_output(scope, info) for info in graph.output]))
    block.add_ops(operations)
    details = _details(model, graph, scope, initialized)
    held = defaults | _annotating(graph)
    if tensors := {tensor.name: tensor for tensor in graph.initializer if tensor.name in held}:
        details[HELD] = DictionaryAttr({name: model.constants.dense(each) for name, each in tensors.items()})
    return ImportedGraph(block, inputs, graph.output, details)


def _initializers(model: Model, graph: onnx.GraphProto) -> Iterator[tuple[str, Operation]]:
    """Name and constant of every initializer, dense ones first, in file order."""
    constants = model.constants
    for tensor in graph.initializer:
        value = constants.dense(tensor)
        op = ConstantOp.create(
            result_types=(value.type,),
            properties={"value": value},
            location=node_location("", (tensor.name,)),
        )
        if tensor.metadata_props or tensor.HasField("doc_string"):
            op.attributes.update(mirror.prefixed(tensor, constants.dense, KEPT_OF_INITIALIZERS))
        yield tensor.name, op
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        value = constants.sparse(sparse)
        op = ConstantOp.create(
            result_types=(value.type,),
            properties={"sparse_value": value},
            location=node_location("", (name,)),
        )
        yield name, op


def _defaults(model: Model, graph: onnx.GraphProto) -> set[str]:
    """The inputs that have an initializer, which is what they are unless a run says otherwise."""
    if not model.keeps_defaults:
        return set()
    return {tensor.name for tensor in graph.initializer} & {info.name for info in graph.input}


def _annotating(graph: onnx.GraphProto) -> set[str]:
    """The tensors that quantization annotations refer to, which no node needs to read."""
    entries = graph.quantization_annotation
    return {each.value for entry in entries for each in entry.quant_parameter_tensor_names}


def _declared_types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """The types that the graph gives to values; what it says of its outputs comes first."""
    return {
        info.name: info.type
        for info in (*graph.value_info, *graph.output)
        if info.type.WhichOneof("value") is not None
    }


def _output(scope: Scope, info: onnx.ValueInfoProto) -> SSAValue:
    value = scope.find(info.name)
    if value is None:
        raise XonncError(f"output '{info.name}' is made by no node, input or initializer")
    return value


def _details(
    model: Model, graph: onnx.GraphProto, scope: Scope, initialized: set[str]
) -> dict[str, Attribute]:
    details = mirror.fields(graph, model.constants.dense, _HELD_ELSEWHERE)
    if graph.value_info:
        details["value_info"] = ArrayAttr([info_entry(model, scope, info) for info in graph.value_info])
    if any(info.name in initialized for info in graph.input):
        details["all_inputs"] = ArrayAttr([info_entry(model, scope, info) for info in graph.input])
    if scope.outer is not None:
        arguments = (info for info in graph.input if info.name not in initialized)
        details["input"] = ArrayAttr([info_entry(model, scope, info) for info in arguments])
        details["output"] = ArrayAttr([info_entry(model, scope, info) for info in graph.output])
    return details


def info_entry(model: Model, scope: Scope, info: onnx.ValueInfoProto) -> Attribute:
    """What a list keeps of a value: its name if its type says the rest, else everything."""
    value = scope.find(info.name)
    if value is not None and value_info(info.name, value.type) == info:
        return StringAttr(info.name)
    return mirror.to_attribute(info, model.constants.dense)
