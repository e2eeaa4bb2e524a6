"""UTF-8 checks of names: protobuf returns invalid strings as `bytes` where `str` is declared."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

from xonnc.errors import XonncError


def check_names(names: Iterable[str]) -> None:
    """Raise `XonncError` if one of `names` is not UTF-8."""
    found = list(names)
    try:
        "".join(found)
    except TypeError as error:
        wrong = ", ".join(repr(name) for name in found if type(name) is not str)
        raise XonncError(f"the name {wrong[:80]} is not UTF-8 text") from error


def check_node(node: onnx.NodeProto) -> None:
    """Check the names in a node."""
    names = [node.name, node.op_type, node.domain, node.overload, *node.input, *node.output]
    for given in node.attribute:
        names += (given.name, given.ref_attr_name)
    check_names(names)


def check_graph(graph: onnx.GraphProto) -> None:
    """Check the names in a graph, except those in its nodes."""
    names = [graph.name, *(tensor.name for tensor in graph.initializer)]
    names += [sparse.values.name for sparse in graph.sparse_initializer]
    for info in (*graph.input, *graph.output, *graph.value_info):
        names.append(info.name)
        names += [dim.dim_param for dim in info.type.tensor_type.shape.dim]
    check_names(names)
