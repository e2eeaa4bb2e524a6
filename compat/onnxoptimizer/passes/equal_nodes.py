"""Common subexpression elimination."""

from __future__ import annotations

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node
from xonnc.compat.onnxoptimizer.passes.constants import graphs
from xonnc.compat.onnxoptimizer.purity import is_pure
from xonnc.compat.onnxoptimizer.registry import PassType, graph_pass


@graph_pass(
    PassType.NOP,
    differs="Never merges random operators, nor operators of other domains. Subgraphs too.",
)
def eliminate_common_subexpression(graph: Graph) -> int:
    """Compute nodes of the same operator, inputs and attributes once."""
    return sum(map(_merge, graphs(graph)))


def _merge(graph: Graph) -> int:
    seen: dict[tuple[object, ...], Node] = {}
    count = 0
    for node in graph.nodes():
        if graph.subgraphs(node) or not is_pure(node):
            continue
        key = (
            node.op_type,
            tuple(node.input),
            tuple(bool(name) for name in node.output),
            tuple(sorted(each.SerializeToString(deterministic=True) for each in node.attribute)),
        )
        first = seen.setdefault(key, node)
        if first is not node:
            count += graph.bypass(node, *first.output)
    return count
