"""Import of graphs, main and nested, as blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import onnx
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import node_location
from xonnc.dialects.onnx.ops.builtin import ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.import_diagnostics import placeholder
from xonnc.formats.onnx.import_nodes import NodeImporter
from xonnc.formats.onnx.import_scope import ImportContext, ImportedGraph, ImportScope
from xonnc.formats.onnx.topological_order import topological_order
from xonnc.formats.onnx.utf8_checks import check_graph, check_node
from xonnc.formats.onnx.value_types import is_declared, to_type, value_info

_TRANSLATED_FIELDS = frozenset(("node", "initializer", "sparse_initializer", "input", "output", "value_info"))
"""The fields of `GraphProto` that are ops, arguments and types."""

UNREFERENCED_INITIALIZERS = "held_tensors"
"""The keys of a graph's details for initializers without an op: defaults of inputs, annotations."""

PRESERVED_INITIALIZER_FIELDS = ("doc_string", "metadata_props")


def import_graph(
    model: ImportContext,
    graph: onnx.GraphProto,
    outer: ImportScope | None = None,
    terminator: type[ReturnOp | YieldOp] = YieldOp,
    untyped: Sequence[Attribute] = (),
    location: str = "",
) -> ImportedGraph:
    """
    Import a graph as one block that ends in `terminator`; unknown names are looked up in the scope `outer`.

    `untyped` are types for the first inputs, used where the graph declares none. Problems go to the
    diagnostics of the model, with `location` before them if they concern no node.
    """
    check_graph(graph)
    for node in graph.node:
        check_node(node)
    diagnostics = model.diagnostics
    scope = ImportScope(outer)
    constants = list(_initializers(model, graph, location))
    initialized = {name for name, _ in constants}
    defaults = _defaults(model, graph) if outer is None else set[str]()
    constants = [(name, constant) for name, constant in constants if name not in defaults]
    initialized -= defaults
    inputs = [info for info in graph.input if info.name not in initialized]
    types = [_argument_type(model, info, location) for info in inputs]
    types = [
        untyped[index] if type_ == NONE and index < len(untyped) else type_
        for index, type_ in enumerate(types)
    ]
    for info in inputs if outer is None and not model.allows_untyped else ():
        with diagnostics.collecting(location):
            _require_type(info)
    block = Block(arg_types=types)
    for info, argument in zip(inputs, block.args, strict=True):
        with diagnostics.collecting(location):
            scope.bind(info.name, argument)
    operations: list[Operation] = []
    for name, constant in constants:
        operations.append(constant)
        with diagnostics.collecting(location):
            scope.bind(name, constant.results[0])
    order = topological_order(graph, outer or ())
    for cycle in order.cycles:
        diagnostics.add(f"{location}{cycle}")
    late = {name for node in graph.node for name in node.output} if order.cycles else frozenset[str]()
    nodes = NodeImporter(model, scope, operations, _declared_types(graph), import_graph, late)
    for node in order.nodes:
        nodes.add(node)
    results = [_output(nodes, info, location) for info in graph.output]
    operations.append(terminator.create(operands=results))
    block.add_ops(operations)
    details: dict[str, Attribute] = {}
    with diagnostics.collecting(location):
        details = _details(model, graph, scope, initialized)
        defaulted = defaults | _annotating(graph)
        if tensors := {tensor.name: tensor for tensor in graph.initializer if tensor.name in defaulted}:
            initializers = {name: model.constants.dense(each) for name, each in tensors.items()}
            details[UNREFERENCED_INITIALIZERS] = DictionaryAttr(initializers)
    return ImportedGraph(block, inputs, graph.output, details)


def _require_type(info: onnx.ValueInfoProto) -> None:
    """Raise `XonncError` for an input of the main graph without a type; only subgraphs may omit it."""
    if not is_declared(info.type):
        raise XonncError(f"input '{info.name}' has no type; an input of a model needs an element type")


def _argument_type(model: ImportContext, info: onnx.ValueInfoProto, location: str) -> Attribute:
    """Return the type of an input, or `none` if it is absent or invalid."""
    with model.diagnostics.collecting(location):
        return to_type(info.type, f"input '{info.name}'")
    return NONE


def _initializers(
    model: ImportContext, graph: onnx.GraphProto, location: str
) -> Iterator[tuple[str, Operation]]:
    """Yield name and constant of every initializer, dense ones first, in file order."""
    for tensor in graph.initializer:
        yield tensor.name, _initializer(model, tensor.name, partial(_dense, model, tensor), location)
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        yield name, _initializer(model, name, partial(_sparse, model, sparse), location)


def _initializer(model: ImportContext, name: str, read: Callable[[], Operation], location: str) -> Operation:
    """Return the constant that `read` makes, or a placeholder if it cannot be read."""
    with model.diagnostics.collecting(location):
        return read()
    return placeholder("", [NONE], outputs=(name,))


def _dense(model: ImportContext, tensor: onnx.TensorProto) -> Operation:
    constants = model.constants
    value = constants.dense(tensor)
    op = ConstantOp.create(
        result_types=(value.type,),
        properties={"value": value},
        location=node_location("", (tensor.name,)),
    )
    if tensor.metadata_props or tensor.HasField("doc_string"):
        op.attributes.update(message_codec.prefixed(tensor, constants.dense, PRESERVED_INITIALIZER_FIELDS))
    return op


def _sparse(model: ImportContext, sparse: onnx.SparseTensorProto) -> Operation:
    value = model.constants.sparse(sparse)
    return ConstantOp.create(
        result_types=(value.type,),
        properties={"sparse_value": value},
        location=node_location("", (sparse.values.name,)),
    )


def _defaults(model: ImportContext, graph: onnx.GraphProto) -> set[str]:
    """Return the inputs that have an initializer, which is their default value."""
    if not model.keeps_defaults:
        return set()
    return {tensor.name for tensor in graph.initializer} & {info.name for info in graph.input}


def _annotating(graph: onnx.GraphProto) -> set[str]:
    """Return the tensors of quantization annotations, which no node need read."""
    entries = graph.quantization_annotation
    return {each.value for entry in entries for each in entry.quant_parameter_tensor_names}


def _declared_types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    """Return the declared types of values; those of outputs take precedence."""
    return {info.name: info.type for info in (*graph.value_info, *graph.output) if is_declared(info.type)}


def _output(nodes: NodeImporter, info: onnx.ValueInfoProto, location: str) -> SSAValue:
    value = nodes.scope.find(info.name)
    if value is None:
        nodes.model.diagnostics.add(
            f"{location}output '{info.name}' is made by no node, input or initializer"
        )
        return nodes.unknown(info.name)
    return value


def _details(
    model: ImportContext, graph: onnx.GraphProto, scope: ImportScope, initialized: set[str]
) -> dict[str, Attribute]:
    details = message_codec.fields(graph, model.constants.dense, _TRANSLATED_FIELDS)
    if graph.value_info:
        details["value_info"] = ArrayAttr([info_entry(model, scope, info) for info in graph.value_info])
    if any(info.name in initialized for info in graph.input):
        details["all_inputs"] = ArrayAttr([info_entry(model, scope, info) for info in graph.input])
    if scope.outer is not None:
        arguments = (info for info in graph.input if info.name not in initialized)
        details["input"] = ArrayAttr([info_entry(model, scope, info) for info in arguments])
        details["output"] = ArrayAttr([info_entry(model, scope, info) for info in graph.output])
    return details


def info_entry(model: ImportContext, scope: ImportScope, info: onnx.ValueInfoProto) -> Attribute:
    """Return what is stored of a ValueInfo: its name if the type implies the rest, else all fields."""
    value = scope.find(info.name)
    if value is not None and value_info(info.name, value.type) == info:
        return StringAttr(info.name)
    return message_codec.to_attribute(info, model.constants.dense)
