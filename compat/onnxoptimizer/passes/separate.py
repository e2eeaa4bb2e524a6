"""Passes that split a model, or show what its subgraphs read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import onnx

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import UNKNOWN, Node, is_op, set_attribute
from xonnc.compat.onnxoptimizer.purity import is_pure
from xonnc.compat.onnxoptimizer.registry import MEMORY, PassType, graph_pass
from xonnc.formats.onnx.captures import captured_names

_CUT = "Heeds what subgraphs read. Nodes that depend on nothing but constants keep the order of the model."


def reads(node: Node) -> Iterator[str]:
    """Yield the names that a node reads, in its subgraphs too."""
    yield from (name for name in node.input if name)
    yield from captured_names(node)


def _of_run(graph: Graph) -> set[str]:
    """Return the values that depend on inputs without initializers, or on impure operators."""
    found = {info.name for info in graph.message.input} - graph.initializers.keys()
    for node in graph.nodes():
        if _runs(node, found):
            found.update(node.output)
    return found - {""}


def _runs(node: Node, of_run: set[str]) -> bool:
    return not is_pure(node) or any(name in of_run for name in reads(node))


def _boundary(graph: Graph, of_run: set[str]) -> list[str]:
    """Return the values that nodes of the run, or the model's outputs, take from what is computed before."""
    read = [name for node in graph.nodes() if _runs(node, of_run) for name in reads(node)]
    read += [info.name for info in graph.message.output]
    return [name for name in dict.fromkeys(read) if name not in of_run]


def _infos(graph: Graph, names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    declared = {info.name: info for info in (*graph.message.value_info, *graph.message.output)}
    return [declared.get(name) or _info(graph, name) for name in names]


def _info(graph: Graph, name: str) -> onnx.ValueInfoProto:
    type_ = graph.type(name)
    if type_ == UNKNOWN:
        return onnx.ValueInfoProto(name=name)
    dims = None if type_.dims is None else list(type_.dims)
    return onnx.helper.make_tensor_value_info(name, type_.element, dims)


@graph_pass(PassType.SEPARATE, MEMORY, differs=_CUT)
def split_init(graph: Graph) -> int:
    """Keep what depends on constants alone; the values that the rest needs become outputs."""
    of_run = _of_run(graph)
    outputs = [info.name for info in graph.message.output if info.name not in of_run]
    boundary = [name for name in _boundary(graph, of_run) if name not in outputs]
    infos = _infos(graph, (*outputs, *boundary))
    retained = [node for node in graph.nodes() if not _runs(node, of_run)]
    inputs = [info for info in graph.message.input if info.name not in of_run]
    graph.model.rebuild(retained, inputs, infos)
    return 1


@graph_pass(PassType.SEPARATE, MEMORY, differs=_CUT)
def split_predict(graph: Graph) -> int:
    """Keep what depends on inputs; values that depend on constants alone become inputs."""
    of_run = _of_run(graph)
    boundary = _boundary(graph, of_run)
    retained = [node for node in graph.nodes() if _runs(node, of_run)]
    read = {name for node in retained for name in reads(node)} | set(graph.outputs)
    old = [info for info in graph.message.input if info.name in read]
    names = {info.name for info in old}
    new = _infos(graph, (name for name in boundary if name not in names))
    graph.model.rebuild(retained, [*old, *new], list(graph.message.output), keeps_initializers=False)
    return 1


@graph_pass(
    PassType.SEPARATE,
    MEMORY,
    differs="Lists initializers, and what only deeper subgraphs read. Scan too.",
)
def lift_lexical_references(graph: Graph) -> int:
    """List the values that the body of an If, Loop or Scan captures in its attribute `__control_inputs`."""
    return sum(_lift(node) for node in _control_flow(graph))


def _control_flow(graph: Graph) -> Sequence[Node]:
    found: list[Node] = []
    for node in graph.nodes():
        for child in graph.subgraphs(node):
            found += _control_flow(child)
        if is_op(node, "If", "Loop", "Scan"):
            found.append(node)
    return found


def _lift(node: Node) -> bool:
    names = sorted(set(captured_names(node)))
    if names:
        set_attribute(node, "__control_inputs", names)
    return bool(names)
