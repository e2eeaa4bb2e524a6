"""Passes on names and types of inputs and outputs."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence

import onnx

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node
from xonnc.compat.onnxoptimizer.registry import NONE, PassType, graph_pass, node_pass

INPUT_PATTERN = "OPTIMIZER_RENAME_INPUT_PATTERN"
OUTPUT_PATTERN = "OPTIMIZER_RENAME_OUTPUT_PATTERN"


@graph_pass(PassType.OTHER, NONE, differs="A value that has one of the new names already gets another one.")
def rename_input_output(graph: Graph) -> int:
    """
    Number the names of inputs and outputs: `input_0`, `output_0`, or as the environment variables
    `OPTIMIZER_RENAME_INPUT_PATTERN` and `OPTIMIZER_RENAME_OUTPUT_PATTERN` say, with %d for the number.
    """
    inputs = [info.name for info in graph.message.input]
    outputs = [info.name for info in graph.message.output]
    count = _number(graph, inputs, _pattern(INPUT_PATTERN, "input_%d"), graph.initializers)
    return count + _number(graph, outputs, _pattern(OUTPUT_PATTERN, "output_%d"), graph.inputs)


def _pattern(variable: str, default: str) -> str:
    pattern = os.environ.get(variable, "")
    return pattern if "%d" in pattern else default


def _number(graph: Graph, names: Sequence[str], pattern: str, taken: Container[str]) -> int:
    changes = {
        name: new
        for index, name in enumerate(names)
        if name in graph.own and name not in taken and name != (new := pattern.replace("%d", str(index), 1))
    }
    # In two steps, since a new name may be another one's old name.
    free = {name: graph.model.fresh_name(name) for name in changes}
    for name, temporary in free.items():
        graph.rename(name, temporary)
    for name, new in changes.items():
        if graph.owner(new) is not None:
            graph.rename(new, graph.model.fresh_name(new))
        graph.rename(free[name], new)
    return len(changes)


@node_pass(PassType.OTHER, NONE)
def set_unique_name_for_nodes(graph: Graph, node: Node) -> bool:
    """Name nodes that have no name."""
    if node.name:
        return False
    node.name = graph.model.fresh_node_name(node.op_type)
    return True


@graph_pass(PassType.OTHER, NONE)
def rewrite_input_dtype(graph: Graph) -> int:
    """Take int32 for inputs of int64, and cast it."""
    count = 0
    for info in graph.message.input:
        tensor = info.type.tensor_type
        taken = info.name in graph.initializers or info.name in graph.outputs
        if tensor.elem_type != onnx.TensorProto.INT64 or taken or graph.captured_outputs[info.name]:
            continue
        tensor.elem_type = onnx.TensorProto.INT32
        wide = graph.model.fresh_name(f"{info.name}_int64")
        graph.redirect(info.name, wide)
        graph.insert_first(onnx.helper.make_node("Cast", [info.name], [wide], to=onnx.TensorProto.INT64))
        graph.forget_types()
        count += 1
    return count
