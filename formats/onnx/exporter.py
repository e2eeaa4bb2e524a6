"""Export of the `onnx` dialect to ONNX models, the inverse of `importer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.constants import array_of
from xonnc.formats.onnx.export_graphs import DimNames, GraphSignature, export_graph, no_dim_names
from xonnc.formats.onnx.importer import MAIN
from xonnc.formats.onnx.load_model import ModelFormat
from xonnc.formats.onnx.op_versions import choose_opsets
from xonnc.formats.onnx.save_model import ExportedModel, ExternalData, save
from xonnc.formats.onnx.schemas import canonical_domain

PRODUCER = "xonnc"
"""The `producer_name` of models that were not imported."""


def export_model(
    module: ModuleOp,
    path: str | Path,
    model_format: ModelFormat | None = None,
    external_data: ExternalData | None = None,
    dim_names: DimNames = no_dim_names,
) -> list[Path]:
    """
    Write `module` as an ONNX model to `path` (`-`: standard output); return the files written.

    `model_format` follows from the file name unless given; `external_data` sends the weights to a second
    file; `dim_names` gives names to further dynamic dimensions of values within the graph.
    Raises `XonncError`, and writes nothing, for a module that ONNX has no form for.
    """
    return save(export_module(module, dim_names), path, model_format, external_data)


def export_module(module: ModuleOp, dim_names: DimNames = no_dim_names) -> ExportedModel:
    """Export a module to a model in memory; payloads of weights remain views of the module's constants."""
    function = _main(module)
    model = onnx.ModelProto()
    retained = {
        name.removeprefix("onnx."): value
        for name, value in module.attributes.items()
        if name.startswith("onnx.") and name not in ("onnx.graph", "onnx.opset_imports")
    }
    message_codec.fill(model, retained, array_of)
    opsets = choose_opsets(function, _opset_imports(module))
    for domain, version in opsets.items():
        model.opset_import.add(domain=domain, version=version)
    if not model.ir_version:
        model.ir_version = _ir_version(opsets)
    if not retained:
        model.producer_name = PRODUCER
    interface = replace(_interface(module, function, model.ir_version), dim_names=dim_names)
    known = {canonical_domain(domain): version for domain, version in opsets.items()}
    graph, initializers = export_graph(function.body.block, interface, known)
    model.graph.CopyFrom(graph)
    return ExportedModel(model, initializers)


def export_proto(module: ModuleOp, dim_names: DimNames = no_dim_names) -> onnx.ModelProto:
    """Export a module to one `ModelProto`, weights included."""
    return export_module(module, dim_names).to_proto()


def _main(module: ModuleOp) -> FuncOp:
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    main = [function for function in functions if function.sym_name.data == MAIN] or functions
    if len(main) != 1 or len(functions) != 1:
        found = ", ".join(f"@{function.sym_name.data}" for function in functions) or "none"
        raise XonncError(f"a model is one function with a body; the module has {found}")
    if len(main[0].body.blocks) != 1:
        raise XonncError(
            f"@{main[0].sym_name.data}: a model has no branches; the function has several blocks"
        )
    return main[0]


def _opset_imports(module: ModuleOp) -> dict[str, int]:
    imports = module.attributes.get("onnx.opset_imports", DictionaryAttr({}))
    if not isinstance(imports, DictionaryAttr):
        raise XonncError(
            f'onnx.opset_imports: {imports} where a dictionary such as {{"" = 17 : i64}} is needed'
        )
    found: dict[str, int] = {}
    for domain, version in imports.data.items():
        if not isinstance(version, IntegerAttr):
            raise XonncError(f"onnx.opset_imports: {version} where a version such as 17 : i64 is needed")
        found[domain] = version.value.data
    return found


def _ir_version(opsets: Mapping[str, int]) -> int:
    """Return the oldest IR version that supports these opsets."""
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return onnx.helper.find_min_ir_version_for(imports, ignore_unknown=True)


def _interface(module: ModuleOp, function: FuncOp, ir_version: int) -> GraphSignature:
    count = len(function.body.block.args)
    graph = module.attributes.get("onnx.graph", DictionaryAttr({}))
    if not isinstance(graph, DictionaryAttr):
        raise XonncError(f"onnx.graph: {graph} where a dictionary is needed")
    return GraphSignature(
        details={"name": StringAttr(function.sym_name.data), **graph.data},
        inputs=_attributes(function.arg_attrs, count),
        outputs=_attributes(function.res_attrs, len(function.function_type.outputs)),
        lists_initializers=ir_version < 4,
        types=function.function_type.outputs.data,
    )


def _attributes(attributes: Attribute | None, count: int) -> Sequence[Mapping[str, Attribute]]:
    """The attributes of arguments or results, one dictionary each."""
    if attributes is None:
        return [dict[str, Attribute]()] * count
    if not are_dictionaries(attributes) or len(attributes) != count:
        raise XonncError(f"{attributes}: attributes of {count} arguments or results are needed")
    return [each.data for each in attributes]
