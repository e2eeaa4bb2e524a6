"""
Values that the subgraphs of a node capture from the enclosing graph, by name.

Subgraphs of custom operators are kept as they are; the values they capture become the last operands of the
op, so that rewrites see those uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.attribute_builders import is_array

CAPTURES = "onnx.captures"
"""Attribute with the names, in the subgraphs of a custom op, of its last operands."""


def captured_names(node: onnx.NodeProto) -> Iterator[str]:
    """
    Yield the names that the subgraphs of a node read but do not define, nested ones included, possibly
    repeated.
    """
    for graph in graphs_of(node):
        own = input_and_initializer_names(graph)
        for inner in graph.node:
            own.update(inner.output)
        yield from (name for inner in graph.node for name in inner.input if name and name not in own)
        yield from (name for inner in graph.node for name in captured_names(inner) if name not in own)
        yield from (info.name for info in graph.output if info.name not in own)


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graph attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def input_and_initializer_names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of a graph's inputs and initializers."""
    names = {info.name for info in graph.input}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names


def names_defined_in(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that the subgraphs of a node define, nested ones included."""
    for graph in graphs_of(node):
        yield from input_and_initializer_names(graph)
        for inner in graph.node:
            yield from (name for name in inner.output if name)
            yield from names_defined_in(inner)


def rename_captures(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """
    Rename the values that the subgraphs of a node capture; names that a subgraph defines itself are kept.
    """
    for graph in graphs_of(node):
        own = input_and_initializer_names(graph)
        for inner in graph.node:
            own.update(inner.output)
        free = {name: new for name, new in names.items() if name not in own}
        for inner in graph.node:
            inner.input[:] = [free.get(name, name) for name in inner.input]
            rename_captures(inner, free)
        for info in graph.output:
            info.name = free.get(info.name, info.name)


def captures(op: Operation) -> Sequence[str]:
    """Return the names of the captured operands of an op, its last ones, in order."""
    names = op.attributes.get(CAPTURES)
    elements: Iterable[object] = names.data if is_array(names) else ()
    return [name.data for name in elements if isinstance(name, StringAttr)]
