"""
Simplify ONNX models: fewer nodes, the same outputs.

    simplified = simplify("model.onnx")
    simplified.write("simple.onnx")
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal, TypeAlias

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from xonnc.argument_types import checks_arguments
from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.builtin import ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import is_ranked, is_tensor, static_shape, tensor_type
from xonnc.errors import CollectedError, XonncError
from xonnc.formats.onnx.export_graphs import DimNames, no_dim_names
from xonnc.formats.onnx.exporter import export_model, export_proto
from xonnc.formats.onnx.import_scope import IS_NODE
from xonnc.formats.onnx.importer import OVERRIDABLE_SINCE, import_loaded, overridable_inputs
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.model_summary import ModelSummary, comparison_table, summarize
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.garbage_collection import without_cycle_collection
from xonnc.rewriting.timeline import timed
from xonnc.transforms.cse import erase_dead
from xonnc.transforms.declared_types import (
    check_declared,
    forget_all_declared,
    forget_declared,
    forget_declared_by_bodies,
    with_claims,
)
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.functions import dim_names
from xonnc.transforms.invalid_branches import allow_invalid_branches
from xonnc.transforms.models.model_functions import simplify_functions
from xonnc.transforms.models.set_layouts_onnx import Layouts, set_layouts, with_moving
from xonnc.transforms.models.signatures import (
    Shapes,
    Signature,
    forget_dimension_names,
    set_input_shapes,
    set_signature,
)
from xonnc.transforms.onnx_cse_with_node_name import OnnxCseWithNodeName, merge
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL, DEFAULT_PASSES, Passes, passes_of
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.shapes.inference_context import UNKNOWN, ShapeError
from xonnc.transforms.simplify_onnx import Simplification


@dataclass(frozen=True)
class SimplifiedModel:
    """A simplified model, with summaries of it before and after."""

    module: ModuleOp = field(repr=False)
    before: ModelSummary
    after: ModelSummary
    had_external_data: bool
    """Whether the model had external data."""
    overridable: tuple[str, ...] = ()
    """Inputs with an initializer as their default value; they stay inputs."""

    def write(self, path: str | Path, external_data: ExternalData | None = None) -> list[Path]:
        """
        Write the model, each file atomically.

        Parameters:
            path: the file, or `-` for standard output.
            external_data: the file of weights; by default one is written if the model came with one.

        Returns: the files written.

        Raises: `XonncError` if a file cannot be written.
        """
        if external_data is None and self.had_external_data and str(path) != "-":
            external_data = ExternalData(f"{Path(path).name}.data")
        names = _dim_names(self.module)
        return export_model(self.module, path, external_data=external_data, dim_names=names)

    def proto(self) -> onnx.ModelProto:
        """Return the model as one `ModelProto`, weights included."""
        with timed("export"):
            return export_proto(self.module, _dim_names(self.module))

    def _repr_html_(self) -> str:
        return comparison_table(self.before, self.after)


def _dim_names(module: ModuleOp) -> DimNames:
    """Return a function that names dynamic dimensions which follow from named dimensions of the inputs."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    arguments = [argument.type for function in functions for argument in function.body.block.args]
    if all(static_shape(type_) is not None for type_ in arguments):
        return no_dim_names
    sizes = DimAnalysis(module)
    return lambda value: dim_names(value, sizes)


Declared: TypeAlias = Literal["believed", "checked", "ignored"]
"""The treatment of declared shapes of results."""


@checks_arguments
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
    Simplify a model.

    Parameters:
        model: the path of the model (`-`: standard input), or the model in memory, which is not changed.
        input_shapes: new shapes of inputs by name; -1 is a dynamic dimension.
        inline_functions: whether calls of local functions are replaced by their bodies.
        signature: new shapes of inputs and names of their dimensions, by position.
        fold_overridable: whether inputs with an initializer become constants.
        without_defaults: inputs whose initializer is dropped instead, so that they must be fed.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        declared: `believed` trusts declared shapes of results; `checked` drops those that an operand
            determines and has the run check the others; `ignored` drops all, and the names of dimensions.
        level: the optimization level, 0 to 3 (`xonnc passes --levels`).
        enable_pass: passes to run in addition to those of the level.
        disable_pass: passes of the level to leave out; `fast-math` stands for the rules that hold for real
            numbers only, so that floats are rounded elsewhere than in the model.
        drops_branches: whether a branch without valid shapes becomes a run-time assertion, which ONNX cannot
            express.
        layouts: layouts of inputs and outputs by name: `NHWC`, or `NCHW:NHWC` with the model's own;
            `input_shapes` refer to these.

    Returns: the simplified model. Dynamic dimensions and operators of unknown domains are kept.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: for an unknown level.
        XonncError: for a file that is not a model.

    Example:
        >>> xonnc.simplify("model.onnx").write("simple.onnx")
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
    Return a copy of a simplified module, simplified further for given input shapes; constants are shared.

    A branch without valid shapes becomes an assertion that fails. Declared shapes that contradict the given
    ones are a warning.

    Parameters:
        module: a simplified module.
        input_shapes: shapes of inputs by name; -1 is a dynamic dimension.
        passes: the enabled passes.

    Raises: `XonncError` for an unknown input or shapes that contradict the operators.

    Example:
        >>> specialize_shapes(xonnc.simplify("model.onnx").module, {"x": (1, 3, 224, 224)})
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
    with timed("import"):
        module = import_loaded(loaded, context, inline_functions, keep_defaults=not fold_overridable)
    if fold_overridable:
        _drop_listed(module)
    before = summarize(module)
    if drops_branches and corrects:
        # Not before: what contradicts a declared shape alone is no invalid branch.
        allow_invalid_branches(module, of_shapes=True)
    try:
        if declared == "checked":
            forget_declared(module)
            forget_declared_by_bodies(module)
        elif declared == "ignored":
            forget_all_declared(module)
            forget_dimension_names(module)
        _require_no_defaults(layouts, () if fold_overridable else overridable_inputs(loaded.proto))
        set_layouts(module, layouts)
        if input_shapes:
            set_input_shapes(module, input_shapes)
        if signature is not None:
            set_signature(module, signature)
        outputs = _main(module).function_type.outputs.data
        # With the given shapes, which what an exporter declared may contradict.
        check_declared(module, corrects)
        _simplify(module, context, passes)
        simplify_functions(module, partial(_simplify, passes=passes), context)
        _restore_ranks(_main(module), outputs)
    except CollectedError as error:
        raise error.at(loaded.name) from error
    except ShapeError as error:
        raise ShapeError(f"{loaded.name}: {error}") from error
    except XonncError as error:
        raise XonncError(f"{loaded.name}: {error}") from error
    overridable = () if fold_overridable else overridable_inputs(loaded.proto)
    return SimplifiedModel(module, before, summarize(module), had_external_data, overridable)


def _require_no_defaults(layouts: Layouts, overridable: Collection[str]) -> None:
    """Refuse another layout for an input that has an initializer, which would stay in the old one."""
    for name in layouts:
        if name in overridable:
            raise XonncError(f"layout {name}:{layouts[name]}: '{name}' has an initializer; fold it")


def _main(module: ModuleOp) -> FuncOp:
    """Return the main function: the first one."""
    return next(op for op in module.ops if isinstance(op, FuncOp))


def _restore_ranks(function: FuncOp, declared: Sequence[Attribute]) -> None:
    """
    Declare the ranks of outputs as before where none is inferred: ONNX requires a shape of each output.

    Such is the result of an If with branches of other ranks than it declares.
    """
    types = function.function_type
    outputs = [
        tensor_type((UNKNOWN,) * len(old.get_shape()), new.element_type)
        if is_tensor(new) and not is_ranked(new) and is_ranked(old)
        else new
        for old, new in zip(declared, types.outputs.data, strict=True)
    ]
    function.function_type = FunctionType.from_lists(types.inputs.data, outputs)


def _drop_listed(module: ModuleOp) -> None:
    """Initializers are listed as inputs no longer, but before IR version 4, where all are."""
    version = module.attributes.get("onnx.ir_version")
    if isinstance(version, IntegerAttr) and version.value.data < OVERRIDABLE_SINCE:
        return
    if isinstance(graph := module.attributes.get("onnx.graph"), DictionaryAttr):
        retained = {name: value for name, value in graph.data.items() if name != "all_inputs"}
        module.attributes["onnx.graph"] = DictionaryAttr(retained)


def _simplify(module: ModuleOp, context: Context, passes: Passes) -> None:
    """Simplify and merge equal nodes, repeated while merging enables further simplification."""
    simplification = Simplification(module, context, passes)
    simplification.run()
    while OnnxCseWithNodeName.name in passes:
        with timed("merge equal nodes", simplification.count_nodes):
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
    Turn Constant nodes into initializers, except outputs of the model.

    A small constant of an outer graph that a subgraph returns is cloned into it: else ONNX needs an Identity.
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
"""The most elements of a constant that is cloned into subgraphs."""


def _is_small(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    return shape is not None and prod(shape) <= MAX_COPIED
