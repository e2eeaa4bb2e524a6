"""
Local functions of a model: validation and inlining.

A function that calls another twice, which calls a third twice, and so on, doubles the number of nodes with
each line of the model (an exponential expansion). So the expansion is counted before it is inlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.schemas import canonical_domain, opsets_of, schema_of

MAX_NODES = 250_000
"""The most nodes of a model after inlining."""

MAX_BYTES = 1 << 30
"""The most bytes of the inlined model, without payloads."""

MAX_DEPTH = 30
"""The deepest nesting of graphs: protobuf parses 100 nested messages, and each graph takes three."""

COUNT_LIMIT = 10**15
"""Counts saturate here, so that integers stay small."""

VERSIONED = "xonnc.opset."
"""Prefix of domains of inlined nodes that are of another opset than the model: version and domain follow."""

FunctionKey: TypeAlias = tuple[str, str, str]
"""Domain, name and overload."""


@dataclass
class _Expansion:
    """The size of a list of nodes after inlining."""

    nodes: int = 0
    size: int = 0
    depth: int = 0
    calls: list[tuple[FunctionKey, int]] = field(default_factory=list[tuple[FunctionKey, int]])
    """The functions called, with the nesting depth of each call."""

    def complete(self, known: Mapping[FunctionKey, _Expansion]) -> _Expansion:
        """Add the expansions of the called functions."""
        for callee, depth in self.calls:
            self.nodes = min(self.nodes + known[callee].nodes, COUNT_LIMIT)
            self.size = min(self.size + known[callee].size, COUNT_LIMIT)
            self.depth = min(max(self.depth, depth + known[callee].depth), COUNT_LIMIT)
        return self


def check_functions(model: onnx.ModelProto) -> None:
    """Raise `XonncError` for recursive functions."""
    if model.functions:
        _order(_expansions(model))


def operator_version(node: onnx.NodeProto, opsets: Mapping[str, int]) -> tuple[str, int]:
    """Return the domain of a node and its opset: the model's, or for inlined nodes that of their function."""
    domain = canonical_domain(node.domain)
    if not domain.startswith(VERSIONED):
        return domain, opsets.get(domain, 1)
    version, _, domain = domain.removeprefix(VERSIONED).partition(".")
    return domain, int(version)


def call_types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto]:
    """
    Return the types, without shapes, of results of function calls in the main graph that declare none.

    The onnx package infers them from the bodies; nothing else tells that an embedding of integers is float.
    """
    functions = {_function_key(each.domain, each.name, each.overload) for each in model.functions}
    declared = {info.name for info in (*model.graph.value_info, *model.graph.output)}
    results = {
        name
        for node in model.graph.node
        if _function_key(node.domain, node.op_type, node.overload) in functions
        for name in node.output
        if name not in declared
    }
    if not results:
        return {}
    from google.protobuf.message import EncodeError
    from onnx.shape_inference import InferenceError, infer_shapes

    try:
        # Inference expands the bodies of all calls, as inlining does.
        _check_expansion(model)
        inferred = infer_shapes(model)
    except (XonncError, EncodeError, InferenceError, RuntimeError, ValueError):
        # Without types the model is valid as well.
        return {}
    found = {info.name: info.type for info in inferred.graph.value_info if info.name in results}
    for type_ in found.values():
        type_.tensor_type.ClearField("shape")
    return found


def inline_calls(model: onnx.ModelProto) -> onnx.ModelProto:
    """
    Return the model with calls of local functions replaced by their bodies.

    Raises `XonncError` for recursive functions and for expansions beyond the limits.
    """
    from google.protobuf.message import EncodeError
    from onnx.checker import ValidationError
    from onnx.inliner import inline_local_functions

    try:
        _check_expansion(model)
        return inline_local_functions(_with_opsets_of_model(model))
    except EncodeError as error:
        raise XonncError(
            "a model in memory of more than 2 GB cannot have functions; write it with external data"
        ) from error
    except (RuntimeError, ValueError, ValidationError) as error:
        raise XonncError(f"its functions cannot be inlined: {' '.join(str(error).split())}") from error


def _with_opsets_of_model(model: onnx.ModelProto) -> onnx.ModelProto:
    """
    Return the model with functions that import the model's own opsets: the inliner leaves all others.

    Nodes whose operator differs in the function's opset get a domain that tells it (`operator_version`).
    Exporters also import other versions without need: jax2onnx gives the domain of a function itself, which
    has no versions, that of the default domain.
    """
    opsets = opsets_of(model)
    imports = [
        (index, *each)
        for index, function in enumerate(model.functions)
        for each in opsets_of(function).items()
    ]
    for _, domain, version in imports:
        opsets.setdefault(domain, version)
    others = [(index, domain, version) for index, domain, version in imports if opsets[domain] != version]
    if not others:
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for index, domain, version in others:
        function = changed.functions[index]
        for entry in function.opset_import:
            if canonical_domain(entry.domain) == domain:
                entry.version = opsets[domain]
        for node, _ in _nodes(function.node):
            if canonical_domain(node.domain) == domain and _differs(
                domain, node.op_type, version, opsets[domain]
            ):
                node.domain = f"{VERSIONED}{version}.{domain}"
    return changed


def _differs(domain: str, op_type: str, opset: int, other: int) -> bool:
    """Whether an operator differs between two opsets; those of local functions and unknown ones do not."""
    one, another = schema_of(domain, op_type, opset), schema_of(domain, op_type, other)
    return (one and one.since_version) != (another and another.since_version)


def _check_expansion(model: onnx.ModelProto) -> None:
    functions = _expansions(model)
    for identity in _order(functions):
        functions[identity].complete(functions)
    graph = _expansion(model.graph.node, model.graph.ByteSize(), functions.keys()).complete(functions)
    for found, most, what in (
        (graph.nodes, MAX_NODES, "nodes"),
        (graph.size, MAX_BYTES, "bytes"),
        (graph.depth, MAX_DEPTH, "graphs within graphs"),
    ):
        if found > most:
            counted = f"over {COUNT_LIMIT}" if found == COUNT_LIMIT else found
            raise XonncError(
                f"its functions expand to {counted} {what}, and at most {most} are made; "
                "check how often they call each other"
            )


def _expansions(model: onnx.ModelProto) -> dict[FunctionKey, _Expansion]:
    bodies = {_function_key(each.domain, each.name, each.overload): each for each in model.functions}
    return {name: _expansion(each.node, each.ByteSize(), bodies.keys()) for name, each in bodies.items()}


def _expansion(nodes: Iterable[onnx.NodeProto], size: int, functions: Iterable[FunctionKey]) -> _Expansion:
    found, known = _Expansion(size=size), frozenset(functions)
    for node, depth in _nodes(nodes):
        found.depth = max(found.depth, depth)
        callee = _function_key(node.domain, node.op_type, node.overload)
        if callee in known:
            found.calls.append((callee, depth))
        else:
            found.nodes += 1
    return found


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Yield the nodes, nested ones included, with their nesting depth."""
    waiting = [(node, 0) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                waiting += [(inner, depth + 1) for inner in graph.node]


def _order(functions: Mapping[FunctionKey, _Expansion]) -> list[FunctionKey]:
    """Return the functions in topological order, callees first."""
    calls = {name: {callee for callee, _ in each.calls} for name, each in functions.items()}
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        cycle: list[FunctionKey] = error.args[1]
        names = " -> ".join(name for _, name, _ in reversed(cycle))
        raise XonncError(
            f"function '{cycle[0][1]}' calls itself: {names}; functions cannot be recursive"
        ) from None


def _function_key(domain: str, name: str, overload: str) -> FunctionKey:
    return canonical_domain(domain), name, overload
