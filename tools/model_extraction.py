"""Extraction of the part of a model between given values, and joining of two models."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx.compose

from xonnc.compat.onnxoptimizer.model import Model
from xonnc.compat.onnxoptimizer.nodes import UNKNOWN, value_type
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.captures import captured_names, graphs_of
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.formats.onnx.save_model import ExportedModel, Initializer
from xonnc.formats.onnx.schemas import opsets_of
from xonnc.tools.model_statistics import spelled


def extract(loaded: LoadedModel, inputs: Sequence[str] | None, outputs: Sequence[str]) -> None:
    """
    Reduce a model in place to the nodes that compute `outputs` from `inputs`.

    Without `inputs`, they are those of the model that are needed. Types of new inputs and outputs are the
    declared or inferred ones. Raises `XonncError` for an unknown value, and for an input of the model that
    the outputs need and that is not among `inputs`.
    """
    model = Model(loaded)
    graph = model.graph
    for name in (*(inputs or ()), *outputs):
        if name not in graph.own:
            raise XonncError(f"{loaded.name}: there is no value '{name}'{suggest(name, graph.own)}")
    own = [info.name for info in loaded.proto.graph.input if info.name not in graph.initializers]
    given = set(own if inputs is None else inputs)
    retained: list[onnx.NodeProto] = []
    needed = set(outputs)
    for node in reversed(list(graph.nodes())):
        if any(name in needed and name not in given for name in node.output):
            retained.append(node)
            needed.update(name for name in (*node.input, *captured_names(node)) if name)
    missing = [name for name in own if name in needed and name not in given]
    if missing:
        raise XonncError(f"{loaded.name}: the outputs need the input '{missing[0]}' too; add it to --inputs")
    names = [name for name in (inputs or own) if name in needed]
    defaults = [info.name for info in loaded.proto.graph.input if info.name in graph.initializers]
    names += [name for name in defaults if name in needed]
    model.rebuild(
        list(reversed(retained)),
        [_info(model, name) for name in names],
        [_info(model, name) for name in outputs],
    )
    _drop_initializers(loaded.proto.graph, set(inputs or ()))
    model.flush()


def _info(model: Model, name: str) -> onnx.ValueInfoProto:
    graph = model.message.graph
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.name == name:
            return info
    type_ = model.graph.type(name)
    if type_ == UNKNOWN:
        raise XonncError(f"the type of '{name}' is not known; 'xonnc infer' may find it")
    dims = None if type_.dims is None else list(type_.dims)
    return onnx.helper.make_tensor_value_info(name, type_.element, dims)


def _drop_initializers(graph: onnx.GraphProto, names: set[str]) -> None:
    """Drop the initializers that became inputs to be fed."""
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name in names:
            del graph.initializer[index]


def merge(
    first: ExportedModel, second: ExportedModel, pairs: Sequence[tuple[str, str]], prefix: str = ""
) -> ExportedModel:
    """
    Join two models: outputs of the first are fed to inputs of the second.

    Without `pairs` of output and input, values of one name are joined, else all in order. Names of the second
    that the first has too are prefixed. The weights are not read. Raises `XonncError` if nothing fits.
    """
    one, other = _with_names(first), _with_names(second)
    merged, names = _merge_protos(one, other, pairs, prefix)
    weights = {each.tensor.name: each for each in first.initializers}
    weights |= dict(zip(names, second.initializers, strict=True))
    initializers = [_renamed(weights[tensor.name], tensor.name) for tensor in merged.graph.initializer]
    del merged.graph.initializer[:]
    return ExportedModel(merged, initializers)


def _with_names(model: ExportedModel) -> onnx.ModelProto:
    """Return the message of a model with an empty tensor in place of each initializer."""
    message = onnx.ModelProto()
    message.CopyFrom(model.proto)
    for initializer in model.initializers:
        kind = initializer.tensor.data_type
        # Joined models are checked, for which tensors must have elements unless they are empty.
        message.graph.initializer.add(name=initializer.tensor.name, data_type=kind, dims=[0])
    return message


def _renamed(initializer: Initializer, name: str) -> Initializer:
    tensor = onnx.TensorProto()
    tensor.CopyFrom(initializer.tensor)
    tensor.name = name
    return Initializer(tensor, initializer.elements)


def _merge_protos(
    first: onnx.ModelProto, second: onnx.ModelProto, pairs: Sequence[tuple[str, str]], prefix: str
) -> tuple[onnx.ModelProto, list[str]]:
    """Return the joined model and the new names of the second's initializers."""
    outputs = [info.name for info in first.graph.output]
    inputs = [info.name for info in second.graph.input]
    for (name, known), what in zip(
        [(name, outputs) for name, _ in pairs] + [(name, inputs) for _, name in pairs],
        ["output of the first"] * len(pairs) + ["input of the second"] * len(pairs),
        strict=True,
    ):
        if name not in known:
            raise XonncError(f"there is no {what} model '{name}'{suggest(name, known)}")
    if not pairs:
        pairs = [(name, name) for name in outputs if name in inputs]
    if not pairs:
        if len(outputs) != len(inputs):
            raise XonncError(
                f"{len(outputs)} outputs and {len(inputs)} inputs of other names; join them by --map OUT:IN"
            )
        pairs = list(zip(outputs, inputs, strict=True))
    _require_fit(first.graph, second.graph, pairs)
    one, other = opsets_of(first).get(""), opsets_of(second).get("")
    if one != other:
        raise XonncError(f"opsets {one} and {other}; 'xonnc convert-opset' makes them equal")
    second.ir_version = first.ir_version = max(first.ir_version, second.ir_version)
    # Values that are joined may have one name.
    joined = {name for output, name in pairs if output == name}
    prefix = prefix or ("second_" if _names(first.graph) & _names(second.graph) - joined else "")
    if prefix:
        pairs = [(output, prefix + name) for output, name in pairs]
        second = onnx.compose.add_prefix(second, prefix)
    names = [tensor.name for tensor in second.graph.initializer]
    try:
        return onnx.compose.merge_models(first, second, io_map=list(pairs)), names
    except (onnx.checker.ValidationError, ValueError) as error:
        raise XonncError(f"the models do not fit: {' '.join(str(error).split())}") from None


def _require_fit(first: onnx.GraphProto, second: onnx.GraphProto, pairs: Sequence[tuple[str, str]]) -> None:
    """Raise `XonncError` if an output and the input that it is fed to have different types."""
    outputs = {info.name: info.type for info in first.output}
    inputs = {info.name: info.type for info in second.input}
    for output, name in pairs:
        one, other = value_type(outputs[output]), value_type(inputs[name])
        differ = one.element != other.element
        if one.dims is not None and other.dims is not None:
            sizes = zip(one.dims, other.dims, strict=False)
            differ |= len(one.dims) != len(other.dims)
            differ |= any(a != b for a, b in sizes if isinstance(a, int) and isinstance(b, int))
        if differ:
            types = f"{spelled(outputs[output])}, input '{name}' {spelled(inputs[name])}"
            raise XonncError(f"the models do not fit: output '{output}' is {types}")


def _names(graph: onnx.GraphProto) -> set[str]:
    """Return the names of values and nodes of a graph and its subgraphs."""
    names = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        names |= {*node.output, node.name}
        for inner in graphs_of(node):
            names |= _names(inner)
    return names - {""}
