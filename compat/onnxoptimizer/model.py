"""An ONNX model under optimization: its graph, constants, names and inferred types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import onnx
import onnx.shape_inference

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import UNKNOWN, ValueType, value_type
from xonnc.formats.onnx.captures import captured_names, graphs_of
from xonnc.formats.onnx.load_model import LoadedModel

MAX_SHAPE_ELEMENTS = 128
"""Larger initializers are weights, which inference needs only the types of."""


class Model:
    """A model whose message the passes edit; `flush` makes the message whole."""

    def __init__(self, loaded: LoadedModel, assumes: bool = False) -> None:
        self.message = loaded.proto
        self.reader = loaded.tensors
        self.assumes = assumes
        """Whether rewrites may assume what they cannot prove; each one warns."""
        self.names: set[str] = set()
        self._inferred: dict[str, ValueType] | None = None
        self._numbers: dict[str, int] = {}
        self._node_names: set[str] | None = None
        for node in _all_nodes(self.message.graph):
            self.names.update(node.output)
        self.graph = Graph(self.message.graph, self)

    @property
    def opset(self) -> int:
        """The version of the default domain's operators."""
        versions = (each.version for each in self.message.opset_import if each.domain in ("", "ai.onnx"))
        return next(versions, 1)

    def fresh_name(self, hint: str) -> str:
        """Return a name that no value of the model has."""
        number = self._numbers.get(hint, 0)
        while (name := f"{hint}_{number}") in self.names:
            number += 1
        self._numbers[hint] = number + 1
        self.names.add(name)
        return name

    def inferred_type(self, name: str) -> ValueType:
        """Return the type that shape inference finds for a value of the model as it was last flushed."""
        if self._inferred is None:
            self._inferred = _inferred_types(self.message)
        return self._inferred.get(name, UNKNOWN)

    def fresh_node_name(self, op_type: str) -> str:
        """Return a name that no node of the model has."""
        if self._node_names is None:
            self._node_names = {node.name for node in _all_nodes(self.message.graph)}
        number = len(self._node_names)
        while (name := f"{op_type}_{number}") in self._node_names:
            number += 1
        self._node_names.add(name)
        return name

    def rebuild(
        self,
        nodes: Sequence[onnx.NodeProto],
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        keeps_initializers: bool = True,
    ) -> None:
        """Make the main graph anew of some of its nodes; initializers that nothing reads go."""
        self.graph.flush()
        graph = self.message.graph
        new = onnx.GraphProto(name=graph.name, doc_string=graph.doc_string)
        new.node.extend(nodes)
        new.input.extend(inputs)
        new.output.extend(outputs)
        new.value_info.extend(graph.value_info)
        new.quantization_annotation.extend(graph.quantization_annotation)
        new.metadata_props.extend(graph.metadata_props)
        if keeps_initializers:
            read = {name for node in nodes for name in (*node.input, *captured_names(node))}
            read.update(info.name for info in outputs)
            new.initializer.extend(tensor for tensor in graph.initializer if tensor.name in read)
            new.sparse_initializer.extend(
                sparse for sparse in graph.sparse_initializer if sparse.values.name in read
            )
        graph.CopyFrom(new)
        self.graph = Graph(graph, self)
        self._inferred = None

    def flush(self) -> None:
        """Write all edits to the message."""
        self.graph.flush()
        self._inferred = None


def declare_inferred_types(model: onnx.ModelProto) -> None:
    """Declare the inferred types of the main graph's values that have no declared one."""
    graph = model.graph
    known = {info.name for infos in (graph.value_info, graph.input, graph.output) for info in infos}
    inferred = _inferred_types(model)
    for name in dict.fromkeys(name for node in graph.node for name in node.output):
        type_ = inferred.get(name, UNKNOWN)
        if name not in known and type_.element:
            dims = None if type_.dims is None else list(type_.dims)
            graph.value_info.append(onnx.helper.make_tensor_value_info(name, type_.element, dims))


def _all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from _all_nodes(inner)


def _inferred_types(model: onnx.ModelProto) -> dict[str, ValueType]:
    """Infer the types of all values; none where the model is beyond the onnx package."""
    try:
        inferred = onnx.shape_inference.infer_shapes(_without_weights(model), data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return {}
    found: dict[str, ValueType] = {}
    for graph in (inferred.graph, *(g for node in _all_nodes(inferred.graph) for g in graphs_of(node))):
        for info in (*graph.value_info, *graph.output):
            type_ = value_type(info.type)
            # Two subgraphs may use one name for different values.
            found[info.name] = type_ if found.get(info.name, type_) == type_ else UNKNOWN
    return found


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy whose weights are declared but not there."""
    copy = onnx.ModelProto(ir_version=model.ir_version)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    graph = copy.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    for field in ("input", "output", "value_info"):
        getattr(graph, field).extend(getattr(model.graph, field))
    for tensor in model.graph.initializer:
        if prod(tensor.dims) <= MAX_SHAPE_ELEMENTS and tensor.data_location != onnx.TensorProto.EXTERNAL:
            graph.initializer.append(tensor)
        else:
            graph.value_info.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    return copy
