"""
Models made simpler: the same outputs from fewer nodes.

    simplified = simplify_model("model.onnx")
    simplified.write("simple.onnx")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from xonnc.compiler import ModelSummary, new_context, summary
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.elements.cycles import without_cycle_collection
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape, tensor_type, unranked
from xonnc.errors import XonncError, near
from xonnc.formats.onnx.exporter import export_model, export_proto
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load import LoadedModel, load
from xonnc.formats.onnx.save import ExternalData
from xonnc.formats.onnx.scope import IS_NODE
from xonnc.formats.onnx.tensors import DATA_TYPES, element_count, stored_size
from xonnc.formats.onnx.value_types import read_dim_params, write_dim_params
from xonnc.rewriting.editing import retype
from xonnc.tools.universe import XONNC_UNIVERSE

PASSES = tuple(XONNC_UNIVERSE.all_passes[name]() for name in ("simplify-onnx", "onnx-cse-with-node-name"))
"""What is run in turn, while the second finds something for the first."""

Shapes = Mapping[str, Sequence[int]]
"""Shapes by the name of the input."""


@dataclass(frozen=True)
class SizedSummary(ModelSummary):
    """What a model is made of, and the bytes that its constants take in a file, text left out."""

    bytes: int


@dataclass(frozen=True)
class SimplifiedModel:
    """A model after simplification, and what it was made of before and is now."""

    module: ModuleOp
    before: SizedSummary
    after: SizedSummary
    had_external_data: bool
    """Whether the weights came from files beside the model."""

    def write(self, path: str | Path, external_data: ExternalData | None = None) -> list[Path]:
        """
        Writes the model, each file through a temporary one; gives the files.

        The weights go to a file beside the model if `external_data` says so, or came from one.
        """
        if external_data is None and self.had_external_data and str(path) != "-":
            external_data = ExternalData(f"{Path(path).name}.data")
        return export_model(self.module, path, external_data=external_data)

    def proto(self) -> onnx.ModelProto:
        """The model as one message with all weights in it."""
        return export_proto(self.module)


def simplify_model(
    model: str | Path | onnx.ModelProto, *, input_shapes: Shapes | None = None, inline_functions: bool = False
) -> SimplifiedModel:
    """
    Simplifies the model in a file (`-`: standard input) or in memory, which stays as it is.

    `input_shapes` replaces the shapes of inputs (-1: dynamic); with `inline_functions`, calls of the model's
    own functions are replaced by their bodies. What is dynamic and operators of unknown domains stay. Raises
    `XonncError` for a file that is no model, or a model that contradicts itself.
    """
    with without_cycle_collection():
        return _simplified(model, input_shapes, inline_functions)


def _simplified(
    model: str | Path | onnx.ModelProto, input_shapes: Shapes | None, inline_functions: bool
) -> SimplifiedModel:
    context = new_context()
    loaded = LoadedModel.of(model) if isinstance(model, onnx.ModelProto) else load(model)
    had_external_data = any(
        tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in loaded.proto.graph.initializer
    )
    module = import_loaded(loaded, context, inline_functions)
    before = _summary(module)
    try:
        if input_shapes:
            set_input_shapes(module, input_shapes)
        _simplify(module, context)
    except XonncError as error:
        raise XonncError(f"{loaded.name}: {error}") from error
    return SimplifiedModel(module, before, _summary(module), had_external_data)


def _simplify(module: ModuleOp, context: Context) -> None:
    """Simplifies and merges what is equal, again while merging finds something."""
    simplify, merge = (kind() for kind in PASSES)
    is_merged = True
    while is_merged:
        simplify.apply(context, module)
        size = _size(module)
        merge.apply(context, module)
        is_merged = _size(module) < size
        DisposablePool.of(context).collect([module])
    _make_initializers(module)


def _make_initializers(module: ModuleOp) -> None:
    """Constants that are nodes become initializers, but for those that are outputs themselves."""
    for op in module.walk():
        if isinstance(op, ConstantOp) and op.value is not None and IS_NODE in op.attributes:
            if not any(use.operation.has_trait(IsTerminator) for use in op.output.uses):
                del op.attributes[IS_NODE]


def _size(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


def _summary(module: ModuleOp) -> SizedSummary:
    found = summary(module)
    size = sum(_bytes(op) for op in module.walk() if isinstance(op, ConstantOp))
    return SizedSummary(found.operators, found.parameters, size)


def _bytes(op: ConstantOp) -> int:
    element, shape = element_type(op.output.type), static_shape(op.output.type)
    data_type = None if element is None else DATA_TYPES.get(element)
    if data_type is None or data_type == onnx.TensorProto.STRING or shape is None:
        return 0
    return stored_size(data_type, element_count("a constant", shape))


def set_input_shapes(module: ModuleOp, shapes: Shapes) -> None:
    """
    Gives inputs of the model other shapes (-1: dynamic), by their names.

    A dimension that has a name gets its size wherever the name stands among the inputs. Types inside the
    model that followed from a size that is changed are forgotten.
    """
    function = next((op for op in module.ops if isinstance(op, FuncOp)), None)
    arguments = function.body.block.args if function is not None else ()
    inputs = _inputs(function, arguments)
    sizes: dict[str, int] = {}
    contradicts = False
    for name, shape in shapes.items():
        if name not in inputs:
            raise XonncError(
                f"no input '{name}'{near(name, inputs)}; there are {', '.join(inputs) or 'none'}"
            )
        argument, params = inputs[name]
        for axis, size in enumerate(shape):
            if axis in params and size >= 0 and sizes.setdefault(params[axis], size) != size:
                raise XonncError(
                    f"input '{name}': dimension '{params[axis]}' cannot be {size} here and "
                    f"{sizes[params[axis]]} elsewhere"
                )
        contradicts |= _reshape(name, argument, shape)
    for argument, params in inputs.values():
        if is_ranked(argument.type):
            known = argument.type.get_shape()
            wanted = [
                sizes.get(params.get(axis, ""), size) if size == DYNAMIC_INDEX else size
                for axis, size in enumerate(known)
            ]
            retype(argument, tensor_type(tuple(wanted), argument.type.element_type))
    if function is not None:
        _keep_names(function)
    if contradicts:
        _forget_types(module)


def _inputs(
    function: FuncOp | None, arguments: Sequence[BlockArgument]
) -> dict[str, tuple[BlockArgument, dict[int, str]]]:
    """The arguments with the names of their dimensions, by the inputs' names."""
    if function is None or not isa(function.arg_attrs, ArrayAttr[DictionaryAttr]):
        return {}
    found: dict[str, tuple[BlockArgument, dict[int, str]]] = {}
    for argument, held in zip(arguments, function.arg_attrs, strict=True):
        name, params = held.data.get("onnx.name"), held.data.get("onnx.dim_params")
        if isinstance(name, StringAttr):
            names = read_dim_params(params.data) if isinstance(params, StringAttr) else {}
            found[name.data] = argument, names
    return found


def _reshape(name: str, argument: BlockArgument, shape: Sequence[int]) -> bool:
    """Gives an argument its shape; whether that contradicts what was known of it."""
    element = element_type(argument.type)
    if element is None:
        raise XonncError(f"input '{name}': a {argument.type} has no shape; only tensors have")
    wanted = tuple(DYNAMIC_INDEX if size == -1 else size for size in shape)
    known = argument.type.get_shape() if is_ranked(argument.type) else None
    if known is not None and len(known) != len(wanted):
        raise XonncError(f"input '{name}': {len(wanted)} sizes, but its rank is {len(known)}")
    retype(argument, tensor_type(wanted, element))
    return known is not None and any(
        old not in (DYNAMIC_INDEX, new) for old, new in zip(known, wanted, strict=True)
    )


def _keep_names(function: FuncOp) -> None:
    """Drops the names of dimensions that are not dynamic any more."""
    if not isa(function.arg_attrs, ArrayAttr[DictionaryAttr]):
        return
    kept: list[DictionaryAttr] = []
    for argument, held in zip(function.body.block.args, function.arg_attrs, strict=True):
        data: dict[str, Attribute] = dict(held.data)
        params = data.pop("onnx.dim_params", None)
        if isinstance(params, StringAttr) and is_ranked(argument.type):
            shape = argument.type.get_shape()
            names = {
                axis: name
                for axis, name in read_dim_params(params.data).items()
                if shape[axis] == DYNAMIC_INDEX
            }
            if names:
                data["onnx.dim_params"] = StringAttr(write_dim_params(names))
        kept.append(DictionaryAttr(data))
    function.arg_attrs = ArrayAttr(kept)


def _forget_types(module: ModuleOp) -> None:
    """Leaves of every node's results the element types alone: the rest is inferred anew."""
    for op in module.walk():
        if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp):
            for result in op.results:
                element = element_type(result.type)
                if element is not None:
                    retype(result, unranked(element))
