"""Simplification of model-local functions, specialised to the types of their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.ir import Attribute

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.types import NONE, element_type, unranked
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.constants import ConstantReader, array_of
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.tensors import TensorReader
from xonnc.formats.onnx.value_types import value_info

FUNCTIONS = "onnx.functions"
"""Module attribute with the model-local functions, as in the file."""

Types = Sequence[Attribute]


def simplify_functions(module: ModuleOp, simplify: Callable[[ModuleOp, Context], None], ctx: Context) -> None:
    """
    Simplify function bodies for the operand types common to all calls.

    A function is kept unchanged if it takes attributes, if another function calls it, or if a call omits an
    input.
    """
    attribute = module.attributes.get(FUNCTIONS)
    if not are_dictionaries(attribute):
        return
    functions = [_function(each) for each in attribute]
    nested = {(node.domain, node.op_type) for each in functions for node in _nodes(each.node)}
    named = Counter(_identity(each) for each in functions)
    constants = ConstantReader(TensorReader(), DisposablePool.of(ctx))
    for function in functions:
        types = _called_with(module, function)
        if types is None or _takes_attributes(function):
            continue
        if _identity(function) in nested or named[_identity(function)] > 1:
            continue
        model = _as_model(_ir_version(module), function, functions, types)
        body = import_loaded(LoadedModel.of(model, f"function {function.name}"), ctx)
        simplify(body, ctx)
        try:
            made = export_proto(body)
        except XonncError:
            # The simplified body is not expressible in the function's opset: keep the original.
            continue
        if made.opset_import == model.opset_import:
            _replace_body(function, made.graph)
    module.attributes[FUNCTIONS] = ArrayAttr(
        [message_codec.to_attribute(function, constants.dense) for function in functions]
    )


def function_models(loaded: LoadedModel, module: ModuleOp | None) -> Iterator[tuple[LoadedModel, bool]]:
    """
    Yield each model-local function as a model, with the operand types common to its calls in `module`.

    The flag says whether the function takes attributes, whose values the model lacks.
    """
    proto = loaded.proto
    for function in proto.functions:
        types = None if module is None else _called_with(module, function)
        types = [NONE] * len(function.input) if types is None else types
        model = _as_model(proto.ir_version, function, proto.functions, types)
        yield replace(loaded, name=f"function {function.name}", proto=model), _takes_attributes(function)


def _function(functions: DictionaryAttr) -> onnx.FunctionProto:
    made = onnx.FunctionProto()
    message_codec.fill(made, functions.data, array_of)
    return made


def _identity(function: onnx.FunctionProto) -> tuple[str, str]:
    return function.domain, function.name


def _takes_attributes(function: onnx.FunctionProto) -> bool:
    return bool(function.attribute or function.attribute_proto)


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield the nodes, and those of nested graphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph.node)


def _called_with(module: ModuleOp, function: onnx.FunctionProto) -> Types | None:
    """Return the common operand types of all calls, unranked where shapes differ, or `None`."""
    calls = [op for op in module.walk() if isinstance(op, CustomOp) and _is_call(op, function)]
    if not calls or any(len(call.operands) != len(function.input) for call in calls):
        return None
    found: list[Attribute] = []
    for types in zip(*(call.operand_types for call in calls), strict=True):
        elements = [element_type(type_) for type_ in types]
        if elements[0] is None or any(element != elements[0] for element in elements):
            return None
        found.append(types[0] if len(set(types)) == 1 else unranked(elements[0]))
    return found


def _is_call(op: CustomOp, function: onnx.FunctionProto) -> bool:
    return (op.domain, op.function_name.data) == (function.domain, function.name)


def _ir_version(module: ModuleOp) -> int:
    version = module.attributes.get("onnx.ir_version")
    return version.value.data if isinstance(version, IntegerAttr) else 0


def _as_model(
    ir_version: int, function: onnx.FunctionProto, functions: Iterable[onnx.FunctionProto], types: Types
) -> onnx.ModelProto:
    """Return a model whose graph is the function body."""
    made = onnx.ModelProto(ir_version=ir_version)
    made.opset_import.extend(function.opset_import)
    # The importer tells calls from unknown operators, and the types of their results by the bodies.
    made.functions.extend(_callees(function, functions))
    made.graph.name = function.name
    made.graph.node.extend(function.node)
    made.graph.input.extend(
        value_info(name, type_) for name, type_ in zip(function.input, types, strict=True)
    )
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in function.output)
    return made


def _callees(
    function: onnx.FunctionProto, functions: Iterable[onnx.FunctionProto]
) -> Sequence[onnx.FunctionProto]:
    """Return the functions that a function calls, directly or through others."""
    known = {_identity(each): each for each in functions}
    found: dict[tuple[str, str], onnx.FunctionProto] = {}
    waiting = [function]
    while waiting:
        for node in _nodes(waiting.pop().node):
            identity = node.domain, node.op_type
            if identity in known and identity not in found:
                found[identity] = known[identity]
                waiting.append(known[identity])
    return list(found.values())


def _replace_body(function: onnx.FunctionProto, graph: onnx.GraphProto) -> None:
    """Replace the function body by a graph; initializers become Constant nodes, since functions have none."""
    del function.node[:], function.value_info[:]
    for tensor in graph.initializer:
        function.node.add(op_type="Constant", output=[tensor.name]).attribute.add(
            name="value", type=onnx.AttributeProto.TENSOR, t=tensor
        )
    function.node.extend(graph.node)
