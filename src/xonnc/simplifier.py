"""
Models made simpler: the same outputs from fewer nodes.

    simplified = simplify("model.onnx")
    simplified.write("simple.onnx")
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.elements.cycles import without_cycle_collection
from xonnc.dialects.onnx.ops.builtin import ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.errors import CollectedError, XonncError
from xonnc.formats.onnx.export_graphs import DimNames, no_dim_names
from xonnc.formats.onnx.exporter import export_model, export_proto
from xonnc.formats.onnx.import_scope import IS_NODE
from xonnc.formats.onnx.importer import OVERRIDABLE_SINCE, import_loaded, overridable_inputs
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.model_summary import ModelSummary, summarize
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.transforms.cse import erase_dead
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.functions import dim_names
from xonnc.transforms.invalid_branches import allow_invalid_branches
from xonnc.transforms.models.model_functions import simplify_functions
from xonnc.transforms.models.set_layouts_onnx import Layouts, set_layouts, with_moving
from xonnc.transforms.models.signatures import Shapes, Signature, set_input_shapes, set_signature
from xonnc.transforms.onnx_cse_with_node_name import OnnxCseWithNodeName, merge
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL, DEFAULT_PASSES, Passes, passes_of
from xonnc.transforms.shape_inference_onnx import correct_shapes, forget_all_declared, forget_declared
from xonnc.transforms.shapes.inference_context import ShapeError
from xonnc.transforms.simplify_onnx import Simplification


@dataclass(frozen=True)
class SimplifiedModel:
    """A model after simplification, and what it was made of before and is now."""

    module: ModuleOp
    before: ModelSummary
    after: ModelSummary
    had_external_data: bool
    """Whether the weights came from files beside the model."""
    overridable: tuple[str, ...] = ()
    """The inputs that have an initializer, and so need not be given; they stay inputs."""

    def write(self, path: str | Path, external_data: ExternalData | None = None) -> list[Path]:
        """
        Writes the model, each file through a temporary one; gives the files.

        The weights go to a file beside the model if `external_data` says so, or came from one.
        """
        if external_data is None and self.had_external_data and str(path) != "-":
            external_data = ExternalData(f"{Path(path).name}.data")
        names = _dim_names(self.module)
        return export_model(self.module, path, external_data=external_data, dim_names=names)

    def proto(self) -> onnx.ModelProto:
        """The model as one message with all weights in it."""
        return export_proto(self.module, _dim_names(self.module))


def _dim_names(module: ModuleOp) -> DimNames:
    """Names for the sizes within a module that follow from named sizes of its inputs."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    arguments = [argument.type for function in functions for argument in function.body.block.args]
    if all(static_shape(type_) is not None for type_ in arguments):
        return no_dim_names
    sizes = DimAnalysis(module)
    return lambda value: dim_names(value, sizes)


Declared: TypeAlias = Literal["believed", "checked", "ignored"]
"""What becomes of the sizes that a model declares of results."""


def simplify(
    model: str | Path | onnx.ModelProto,
    *,
    input_shapes: Shapes | None = None,
    inline_functions: bool = False,
    signature: Signature | None = None,
    fold_overridable: bool = False,
    without_defaults: Collection[str] = (),
    strict: bool = False,
    declared: Declared = "believed",
    level: int = DEFAULT_LEVEL,
    enable_pass: Collection[str] = (),
    disable_pass: Collection[str] = (),
    drops_branches: bool = False,
    layouts: Layouts | None = None,
) -> SimplifiedModel:
    """
    Simplifies the model in a file (`-`: standard input) or in memory, which stays as it is.

    `input_shapes` replaces the shapes of inputs (-1: dynamic), by their names, and `signature` those and the
    names of their dimensions, by their places; with `inline_functions`, calls of the model's own functions
    are replaced by their bodies; with `fold_overridable`, inputs that have an initializer are what it says,
    and are no inputs any more, but for those of `without_defaults`, which must be given. What is dynamic and
    operators of unknown domains stay. Declared shapes that contradict the operators are a warning, with
    `strict` an error; with `declared` "checked", those of results whose shape an operand holds are forgotten,
    and the others are for a run to check; with "ignored", all are forgotten. The passes are those of an
    optimization `level`, 0 to 3, and those to `enable_pass`, without those to `disable_pass`
    (`xonnc.transforms.optimization_levels`). `layouts` are those that inputs and outputs get, by their
    names: `NHWC`, or `NCHW:NHWC` with the one that the model has; `input_shapes` are for these. With
    `drops_branches`, a branch without valid shapes is an error of the run that takes it, which ONNX has no
    operator for. Raises `XonncError` for a file that is no model, or a model that contradicts itself.
    """
    passes = passes_of(level, with_moving(enable_pass, layouts or {}), disable_pass)
    with without_cycle_collection():
        return with_claims(
            lambda corrects: _simplified(
                model,
                input_shapes,
                inline_functions,
                signature,
                fold_overridable,
                without_defaults,
                corrects,
                declared,
                passes,
                drops_branches,
                layouts or {},
            ),
            strict,
        )


def specialize_shapes(module: ModuleOp, input_shapes: Shapes, passes: Passes = DEFAULT_PASSES) -> ModuleOp:
    """
    A copy of a simplified module, simplified for other shapes of its inputs; constants are shared.

    A branch that has no valid shapes for these becomes an assertion that fails. Declared shapes that these
    contradict are a warning.
    """

    def made(corrects: bool) -> ModuleOp:
        context, copy = new_context(), module.clone()
        allow_invalid_branches(copy)
        set_input_shapes(copy, input_shapes)
        if corrects:
            correct_shapes(copy)
        _simplify(copy, context, passes)
        return copy

    with without_cycle_collection():
        return with_claims(made)


def _simplified(
    model: str | Path | onnx.ModelProto,
    input_shapes: Shapes | None,
    inline_functions: bool,
    signature: Signature | None,
    fold_overridable: bool,
    without_defaults: Collection[str],
    corrects: bool,
    declared: Declared,
    passes: Passes,
    drops_branches: bool,
    layouts: Layouts,
) -> SimplifiedModel:
    context = new_context()
    loaded = LoadedModel.of(model) if isinstance(model, onnx.ModelProto) else load(model)
    if without_defaults:
        loaded.drop_defaults(without_defaults)
    had_external_data = any(
        tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in loaded.proto.graph.initializer
    )
    module = import_loaded(loaded, context, inline_functions, keep_defaults=not fold_overridable)
    if fold_overridable:
        _drop_listed(module)
    before = summarize(module)
    if drops_branches and corrects:
        # Not before: what contradicts a declared shape alone is no invalid branch.
        allow_invalid_branches(module, of_shapes=True)
    try:
        if corrects:
            correct_shapes(module)
        if declared == "checked":
            forget_declared(module)
        elif declared == "ignored":
            forget_all_declared(module)
        _require_no_defaults(layouts, () if fold_overridable else overridable_inputs(loaded.proto))
        set_layouts(module, layouts)
        if input_shapes:
            set_input_shapes(module, input_shapes)
        if signature is not None:
            set_signature(module, signature)
        _simplify(module, context, passes)
        simplify_functions(module, partial(_simplify, passes=passes), context)
    except CollectedError as error:
        raise error.at(loaded.name) from error
    except ShapeError as error:
        raise ShapeError(f"{loaded.name}: {error}") from error
    except XonncError as error:
        raise XonncError(f"{loaded.name}: {error}") from error
    overridable = () if fold_overridable else overridable_inputs(loaded.proto)
    return SimplifiedModel(module, before, summarize(module), had_external_data, overridable)


def _require_no_defaults(layouts: Layouts, overridable: Collection[str]) -> None:
    """Refuses another layout for an input that has an initializer, which would stay in the old one."""
    for name in layouts:
        if name in overridable:
            raise XonncError(f"layout {name}:{layouts[name]}: '{name}' has an initializer; fold it")


def _drop_listed(module: ModuleOp) -> None:
    """Initializers are listed as inputs no longer, but before IR version 4, where all are."""
    version = module.attributes.get("onnx.ir_version")
    if isinstance(version, IntegerAttr) and version.value.data < OVERRIDABLE_SINCE:
        return
    for function in module.ops:
        if isinstance(graph := function.attributes.get("onnx.graph"), DictionaryAttr):
            kept = {name: value for name, value in graph.data.items() if name != "all_inputs"}
            function.attributes["onnx.graph"] = DictionaryAttr(kept)


def _simplify(module: ModuleOp, context: Context, passes: Passes) -> None:
    """Simplifies and merges what is equal, again while merging finds something."""
    simplification = Simplification(module, context, passes)
    simplification.run()
    while OnnxCseWithNodeName.name in passes:
        merged = merge(module)
        DisposablePool.of(context).collect([module])
        # Further rounds are for what merging made possible, and end where nothing came of it.
        if not (merged and simplification.run()):
            break
    else:
        erase_dead(module)
    _make_initializers(module)


def _make_initializers(module: ModuleOp) -> None:
    """
    Constants that are nodes become initializers, but for those that are outputs of the model themselves.

    A body that gives a constant from outside gets one of its own: it would be an Identity of the body.
    """
    for end in [op for op in module.walk() if isinstance(op, YieldOp)]:
        for index, value in enumerate(end.operands):
            op = value.owner
            if not isinstance(op, ConstantOp) or op.parent is end.parent or not _is_small(value):
                continue
            own = op.clone()
            assert end.parent is not None
            end.parent.insert_op_before(own, end)
            end.operands[index] = own.output
            if not op.output.uses:
                op.detach()
                op.erase()
    for op in module.walk():
        if isinstance(op, ConstantOp) and op.value is not None and IS_NODE in op.attributes:
            if not any(isinstance(use.operation, ReturnOp) for use in op.output.uses):
                del op.attributes[IS_NODE]


MAX_COPIED = 64
"""Elements of a constant that bodies get a copy of."""


def _is_small(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    return shape is not None and prod(shape) <= MAX_COPIED
