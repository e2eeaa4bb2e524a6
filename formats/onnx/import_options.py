"""Transformations of a model before import, as onnx-mlir's import options request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.load_model import LoadedModel, ModelFormat, format_of, load, parse
from xonnc.formats.onnx.loaded_export import whole_model
from xonnc.formats.onnx.schemas import canonical_domain, newest_opset, opsets_of
from xonnc.formats.onnx.topological_order import topological_order


@dataclass(frozen=True)
class ImportOptions:
    """Import options; with the defaults a model is imported unchanged."""

    sorts: bool = True
    """Whether nodes that are out of order are sorted instead of refused."""
    keeps_types: bool = True
    """Whether declared types of inner values and outputs are used."""
    converts_version: bool = False
    """Whether the model is converted to the newest opset first."""
    decomposed: tuple[str, ...] = ()
    """Operators to replace by their function bodies."""


def load_with_options(
    source: str, model_format: ModelFormat | None, data: bytes | None, options: ImportOptions
) -> LoadedModel:
    """
    Load the model in the file `source`, or in `data` if given, and apply the options.

    Version conversion by the onnx package needs the weights in memory, below 2 GB; the other options leave
    them in the file. Raises `XonncError` if an option cannot be applied.
    """
    model_format = model_format or format_of(source)
    if data is None:
        loaded = load(source, model_format)
    else:
        loaded = parse(memoryview(data), model_format, "<stdin>", DataFolder(None))
    if options.converts_version and _is_old(loaded.proto):
        loaded = LoadedModel.of(_converted(whole_model(loaded), loaded.name), loaded.name)
    if options.decomposed:
        loaded.proto = _decomposed(loaded.proto, options.decomposed, loaded.name)
    if not options.sorts:
        _require_order(loaded.proto.graph, loaded.name)
    if not options.keeps_types:
        _forget_types(loaded.proto.graph)
    return loaded


def _is_old(model: onnx.ModelProto) -> bool:
    version, newest = opsets_of(model).get(""), newest_opset("")
    return version is not None and newest is not None and version < newest


def _converted(model: onnx.ModelProto, location: str) -> onnx.ModelProto:
    from onnx.shape_inference import InferenceError
    from onnx.version_converter import ConvertError, convert_version

    target = newest_opset("") or 1
    try:
        return convert_version(model, target)
    except (ConvertError, InferenceError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise XonncError(
            f"{location}: its operators cannot be converted to opset {target}: {reason}; "
            "import it without --invokeOnnxVersionConverter"
        ) from error


def _decomposed(model: onnx.ModelProto, operators: Sequence[str], location: str) -> onnx.ModelProto:
    from onnx.inliner import inline_selected_functions

    for name in operators:
        if not any(schema.name == name for schema in onnx.defs.get_all_schemas()):
            raise XonncError(f"functions-to-decompose: ONNX has no operator '{name}'")
    domains = {"", *(canonical_domain(entry.domain) for entry in model.opset_import)}
    chosen = [(domain, name) for domain in sorted(domains) for name in operators]
    try:
        return inline_selected_functions(model, chosen, inline_schema_functions=True)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise XonncError(f"{location}: {', '.join(operators)} cannot be decomposed: {reason}") from error


def _require_order(graph: onnx.GraphProto, location: str) -> None:
    nodes = topological_order(graph, ()).nodes
    wrong = next((one for one, sorted_ in zip(graph.node, nodes, strict=True) if one is not sorted_), None)
    if wrong is not None and nodes is not graph.node:
        raise XonncError(
            f"{location}: {wrong.name or wrong.op_type}: the node stands before one that it reads; "
            "--allowSorting=true sorts them"
        )


def _forget_types(graph: onnx.GraphProto) -> None:
    del graph.value_info[:]
    for info in graph.output:
        if info.type.WhichOneof("value") == "tensor_type":
            info.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                _forget_types(inner)
