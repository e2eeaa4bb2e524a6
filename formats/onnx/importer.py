"""
Import of ONNX models into the `onnx` dialect.

A model becomes this module:

```mlir
builtin.module attributes {
  onnx.graph = {name = "g"}, onnx.ir_version = 8 : i64, onnx.opset_imports = {"" = 17 : i64}
} {
  func.func @main_graph(%0: tensor<?x4xf32> {onnx.name = "x", onnx.dim_params = "0:batch"})
      -> (tensor<?x4xf32> {onnx.name = "y"}) {
    %1 = onnx.Constant dense<…> : tensor<4xf32>             // an initializer
    %2 = "onnx.Add"(%0, %1) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
    onnx.Return %2 : tensor<?x4xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
```

The names of nodes and values are MLIR locations. A `Constant` *node* has the attribute `onnx.node`; a
constant without it is an initializer. Fields of the model that no op can hold (`docs/onnx-round-trip.md`
lists them) are attributes that begin with `onnx.`, encoded field by field (`message_codec`).
"""

from __future__ import annotations

from pathlib import Path

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, ReturnOp
from xonnc.errors import XonncError
from xonnc.formats.onnx import message_codec
from xonnc.formats.onnx.constants import ConstantReader
from xonnc.formats.onnx.import_diagnostics import ImportDiagnostics
from xonnc.formats.onnx.import_graphs import import_graph
from xonnc.formats.onnx.import_scope import ImportContext, ImportedGraph
from xonnc.formats.onnx.load_model import LoadedModel, ModelFormat, load
from xonnc.formats.onnx.local_functions import call_types, check_functions, inline_calls
from xonnc.formats.onnx.schemas import newest_opset, opsets_of
from xonnc.formats.onnx.utf8_checks import check_names
from xonnc.formats.onnx.value_types import dim_params_of, read_dim_params, value_info, write_dim_params
from xonnc.garbage_collection import without_cycle_collection

_LARGEST_OPSET = (1 << 31) - 1

OVERRIDABLE_SINCE = 4
"""The IR version since which initializers need not be inputs: those that are may be given (ONNX IR.md)."""

MAIN = "main_graph"
"""The symbol of the function that a model becomes."""


def import_model(
    path: str | Path, ctx: Context, model_format: ModelFormat | None = None, inline_functions: bool = False
) -> ModuleOp:
    """
    The model at `path` (`-`: standard input) as a module; its weights are views of the mapped file.

    `model_format` overrides the format that follows from the file name. With `inline_functions`, calls of the
    model's local functions are replaced by their bodies. Raises `XonncError` for an unreadable file and
    `InvalidModelError` for an invalid model.
    """
    return import_loaded(load(path, model_format), ctx, inline_functions)


def import_loaded(
    loaded: LoadedModel, ctx: Context, inline_functions: bool = False, keep_defaults: bool = False
) -> ModuleOp:
    """
    A loaded model as a module.

    With `keep_defaults`, inputs that have an initializer stay inputs, from IR version 4 on; before it, every
    initializer is an input too, and none means to be one. Else they are constants. Raises `InvalidModelError`
    with everything that cannot be read.
    """
    diagnostics = ImportDiagnostics()
    module = read_loaded(loaded, ctx, diagnostics, inline_functions, keep_defaults)
    diagnostics.refuse(loaded.name)
    assert module is not None
    return module


def read_loaded(
    loaded: LoadedModel,
    ctx: Context,
    diagnostics: ImportDiagnostics,
    inline_functions: bool = False,
    keep_defaults: bool = False,
    allow_untyped: bool = False,
) -> ModuleOp | None:
    """
    What can be read of a loaded model, with placeholders for what cannot, which goes to `diagnostics`.

    `None` if nothing can be read. With `allow_untyped` inputs may have no type, as those of functions.
    """
    with without_cycle_collection(), diagnostics.collecting():
        return _import(
            loaded, DisposablePool.of(ctx), diagnostics, inline_functions, keep_defaults, allow_untyped
        )
    return None


def import_proto(model: onnx.ModelProto, ctx: Context) -> ModuleOp:
    """A model in memory as a module; it must not be changed afterwards."""
    return import_loaded(LoadedModel.of(model), ctx)


def _import(
    loaded: LoadedModel,
    pool: DisposablePool,
    diagnostics: ImportDiagnostics,
    inline_functions: bool,
    keep_defaults: bool,
    allow_untyped: bool,
) -> ModuleOp:
    proto = loaded.proto
    check_functions(proto)
    if inline_functions and proto.functions:
        proto = inline_calls(proto)
    check_names(entry.domain for entry in proto.opset_import)
    opsets = opsets_of(proto)
    _check_opsets(opsets)
    constants = ConstantReader(loaded.tensors, pool)
    model = ImportContext(
        opsets=opsets,
        functions=frozenset((function.domain, function.name) for function in proto.functions),
        constants=constants,
        call_types=call_types(proto),
        diagnostics=diagnostics,
        keeps_defaults=keep_defaults and proto.ir_version >= OVERRIDABLE_SINCE,
        allows_untyped=allow_untyped,
    )
    graph = import_graph(model, proto.graph, terminator=ReturnOp)
    module = ModuleOp(
        [_function(graph, constants), EntryPointOp.create(properties={"func": SymbolRefAttr(MAIN)})]
    )
    module.attributes["onnx.opset_imports"] = DictionaryAttr(
        {entry.domain: IntegerAttr(entry.version, i64) for entry in proto.opset_import}
    )
    module.attributes["onnx.graph"] = DictionaryAttr(graph.details)
    fields = message_codec.fields(proto, constants.dense, skip=("graph", "opset_import"))
    module.attributes.update({f"onnx.{name}": value for name, value in fields.items()})
    return module


def overridable_inputs(model: onnx.ModelProto) -> tuple[str, ...]:
    """The inputs of a model that have an initializer, which is their default."""
    if model.ir_version < OVERRIDABLE_SINCE:
        return ()
    named = {tensor.name for tensor in model.graph.initializer}
    return tuple(info.name for info in model.graph.input if info.name in named)


def _function(graph: ImportedGraph, constants: ConstantReader) -> FuncOp:
    arguments = graph.block.args
    function = FuncOp(
        MAIN,
        FunctionType.from_lists([argument.type for argument in arguments], graph.output_types),
        Region(graph.block),
        arg_attrs=ArrayAttr(
            [_interface(info, arg.type, constants) for info, arg in zip(graph.inputs, arguments, strict=True)]
        ),
        res_attrs=ArrayAttr(
            [
                _interface(info, type_, constants)
                for info, type_ in zip(graph.outputs, graph.output_types, strict=True)
            ]
        ),
    )
    return function


def _interface(info: onnx.ValueInfoProto, type_: Attribute, constants: ConstantReader) -> DictionaryAttr:
    """The attributes of an argument or result: its name, its dimensions' names, and other details."""
    names = dim_params_of(info.type)
    entry: dict[str, Attribute] = {"onnx.name": StringAttr(info.name)}
    if names:
        entry["onnx.dim_params"] = StringAttr(write_dim_params(names))
    if value_info(info.name, type_, names) != info or read_dim_params(write_dim_params(names)) != names:
        entry["onnx.value_info"] = message_codec.to_attribute(info, constants.dense)
    return DictionaryAttr(entry)


def _check_opsets(opsets: dict[str, int]) -> None:
    for domain, version in opsets.items():
        if not 0 < version <= _LARGEST_OPSET:
            raise XonncError(f"opset {version} of domain '{domain or 'ai.onnx'}': versions count from 1")
        newest = newest_opset(domain)
        if newest is not None and version > newest:
            raise XonncError(
                f"opset {version} of domain '{domain or 'ai.onnx'}': this release knows 1 to {newest}; "
                "convert the model with onnx.version_converter or use a newer onnx package"
            )
