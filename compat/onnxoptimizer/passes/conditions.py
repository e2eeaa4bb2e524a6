"""The pass that inlines the taken branch of an If."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, is_op
from xonnc.compat.onnxoptimizer.registry import PassType, node_pass
from xonnc.formats.onnx.captures import rename_captures


@node_pass(
    PassType.NOP, differs="A branch whose output is an initializer or a captured value is inlined too."
)
def eliminate_if_with_const_cond(graph: Graph, node: Node) -> bool:
    """Replace an If of constant condition by the nodes of the branch that it takes."""
    condition = graph.constant(node.input[0]) if is_op(node, "If") else None
    if condition is None or condition.size != 1:
        return False
    taken = "then_branch" if condition.item() else "else_branch"
    branch = next(child for child in graph.subgraphs(node) if child.message in _graphs(node, taken))
    branch.flush()
    message, names = branch.message, _names_outside(graph, branch)
    graph.erase(node)
    for name in branch.own:
        if name in names or graph.owner(name) is not None:
            names[name] = graph.model.fresh_name(name)
    renamed = {name: names.get(name) or name for name in branch.own}
    results = [info.name for info in message.output]
    aliases: list[Node] = []
    for result, output in zip(results, node.output, strict=False):
        made = any(result in each.output for each in message.node)
        if made and renamed[result] not in node.output:
            renamed[result] = output
        elif output:
            aliases.append(onnx.helper.make_node("Identity", [result], [output]))
    nodes = [onnx.NodeProto.FromString(each.SerializeToString()) for each in message.node]
    for each in (*nodes, *aliases):
        each.input[:] = [renamed.get(name, name) for name in each.input]
        rename_captures(each, renamed)
    for each in nodes:
        each.output[:] = [renamed.get(name, name) for name in each.output]
    graph.take_tensors(branch, renamed)
    graph.insert(node, *nodes, *aliases)
    return True


def _graphs(node: Node, name: str) -> list[onnx.GraphProto]:
    return [each.g for each in node.attribute if each.name == name]


def _names_outside(graph: Graph, branch: Graph) -> dict[str, str]:
    """Return the names that other graphs than a branch define, as keys."""
    root = graph
    while root.outer is not None:
        root = root.outer
    return {name: "" for each in _within(root) if each is not branch for name in each.own}


def _within(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes():
        for child in graph.subgraphs(node):
            yield from _within(child)
