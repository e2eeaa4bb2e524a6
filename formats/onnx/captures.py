"""
What the graphs of a node take from around it, by name.

Graphs of operators that ONNX does not have stay as they are; what they capture becomes operands of the op,
behind its inputs, so that it is kept, renamed and topological_order as any other operand is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.attributes import is_array

CAPTURES = "onnx.captures"
"""The names, in the graphs of a custom op, of its last operands."""


def captured_names(node: onnx.NodeProto) -> Iterator[str]:
    """The names that the graphs of a node read and do not make, inner graphs included; some twice."""
    for graph in graphs_of(node):
        own = input_and_initializer_names(graph)
        for inner in graph.node:
            own.update(inner.output)
        yield from (name for inner in graph.node for name in inner.input if name and name not in own)
        yield from (name for inner in graph.node for name in captured_names(inner) if name not in own)
        yield from (info.name for info in graph.output if info.name not in own)


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs among the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def input_and_initializer_names(graph: onnx.GraphProto) -> set[str]:
    """The names of a graph's inputs and initializers."""
    names = {info.name for info in graph.input}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    return names


def names_defined_in(node: onnx.NodeProto) -> Iterator[str]:
    """The names that the graphs of a node make, inner graphs included."""
    for graph in graphs_of(node):
        yield from input_and_initializer_names(graph)
        for inner in graph.node:
            yield from (name for name in inner.output if name)
            yield from names_defined_in(inner)


def rename_captures(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Calls what the graphs of a node capture by other names; what they make themselves keeps its own."""
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
    """The names of the operands of an op that only its graphs read: its last ones, in order."""
    names = op.attributes.get(CAPTURES)
    elements: Iterable[object] = names.data if is_array(names) else ()
    return [name.data for name in elements if isinstance(name, StringAttr)]
