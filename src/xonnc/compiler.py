"""
Compile ONNX models for NVDLA: import, simplification, quantization, lowering and emission in named stages.

    compilation = compile_model("resnet50.onnx", "nv_full")
    compilation.write("resnet50.nvdla")
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import onnx
from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xonnc.argument_types import checks_arguments
from xonnc.contexts import StageCallback, ignore_stage, new_context
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.html_tables import html_table
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.writer import write_loadable
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.model_summary import ModelSummary, comparison_table, summarize
from xonnc.lowering.dla_to_loadable.report import CompileReport
from xonnc.lowering.dla_to_loadable.stages import STAGES as DLA_STAGES
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable, compile_converted, disabling_passes
from xonnc.lowering.onnx_to_dla.builders.batch import set_batch, shapes_of_one_image
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput, set_images
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import inserted_pairs, is_quantized
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import convert, has_dynamic_inputs
from xonnc.lowering.onnx_to_dla.graph.division_to_product_onnx import DivisionToProduct
from xonnc.lowering.onnx_to_dla.graph.group_norm_to_conv_onnx import GroupNormToConv
from xonnc.lowering.onnx_to_dla.graph.layer_norm_to_conv_onnx import LayerNormToConv
from xonnc.lowering.onnx_to_dla.graph.matmul_to_conv_onnx import matmul_to_conv
from xonnc.lowering.onnx_to_dla.graph.response_norm_to_conv_onnx import ResponseNormToConv
from xonnc.lowering.onnx_to_dla.graph.split_sums import split_products, split_sums
from xonnc.lowering.onnx_to_dla.quantization.legalize_qdq_onnx import legalize_pairs
from xonnc.lowering.onnx_to_dla.quantization.propagate_qdq_onnx import propagate_pairs
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import quantize
from xonnc.lowering.onnx_to_dla.split_softmax_onnx import split_softmax
from xonnc.lowering.placement.assign_precision_onnx import assign_precision
from xonnc.lowering.placement.dataflow_graph import graph_of
from xonnc.lowering.placement.place_nodes import refusals_of
from xonnc.plugins.kept_operators import keeping
from xonnc.plugins.nvdla_bodies import lowered_by_nvdla
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.extensions import finish_stage
from xonnc.targets import NvdlaTarget, load_target
from xonnc.transforms.declared_types import check_declared, with_claims
from xonnc.transforms.decompose_quantized_onnx import DecomposeQuantized
from xonnc.transforms.dense_constants_onnx import make_dense
from xonnc.transforms.legalize_versions_onnx import legalize_versions, newest_opset_of
from xonnc.transforms.models.signatures import Shapes, set_input_shapes
from xonnc.transforms.move_transposes_onnx import MoveTransposes
from xonnc.transforms.recompose_onnx import Recompose, standard_rules
from xonnc.transforms.simplify_onnx import Simplify
from xonnc.transforms.unroll_loops_onnx import unroll_loops

ModelInput: TypeAlias = str | Path | onnx.ModelProto
"""A model: the path of a file, or the model in memory."""

STAGES = ("onnx", "simplified", *(name for name, _ in DLA_STAGES), "emitted")
"""Stages in order: imported, simplified, lowered to the `dla` dialect, scheduled, allocated, emitted."""


@dataclass(frozen=True)
class Compilation:
    """
    A compiled loadable, summaries of the model before and after simplification, and the back end's report.
    """

    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    loadable: Loadable = field(repr=False)
    report: CompileReport = field(repr=False)
    inserted_pairs: int = 0
    """QDQ pairs that a quantized model lacks and the compiler inserted."""

    def write(self, path: str | Path) -> int:
        """
        Write the loadable to a file, atomically.

        Parameters:
            path: the file to write.

        Returns: the size of the file in bytes.

        Raises: `XonncError` if the file cannot be written.
        """
        return write_loadable(self.loadable, Path(path))

    def _repr_html_(self) -> str:
        layers = self.report.layers_by_engine.items()
        title = f"{self.report.target}: {self.report.milliseconds:.2f} ms by the cycle model"
        return comparison_table(self.imported, self.simplified) + html_table(
            title, ["engine", "layers"], layers
        )


Calibrate = Callable[[ModuleOp], Ranges]
"""A function from the simplified module to the value ranges by which its tensors are quantized."""

RECOMPOSED_OPSET = 20
"""The latest opset whose operators float models are recomposed to: GELU is of 20, attention of 23."""


class InternalCompilerError(Exception):
    """The compiler produced a loadable that its own checks refuse: a bug, not a mistake of the user."""


@checks_arguments
def compile_model(
    path: ModelInput,
    target: str = "nv_full",
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
    input_shapes: Shapes | None = None,
    disable_pass: Collection[str] = (),
    batch: int = 1,
) -> Compilation:
    """
    Compile an ONNX model to an NVDLA loadable.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        target: the name of a target (`nv_full`, `nv_small`, …) or the path of a TOML file.
        on_stage: called with the name of each stage of `STAGES` but the last and the module after it. It may
            raise to stop the compilation.
        calibrate: returns the ranges by which a float model is quantized to INT8; without it the model keeps
            its precision.
        images: image inputs by name (`""`: the only input), which the DLA reads in a pixel format.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        input_shapes: sizes of dynamic inputs by name; the DLA takes fixed sizes.
        disable_pass: optional passes of the back end to leave out, such as `dla-use-winograd`.
        batch: the number of images that the loadable computes in one run, for models of one image.

    Returns: the compilation. Its loadable has passed all static checks.

    Raises:
        RefusalError: with every node that the target cannot take.
        InvalidModelError: for an invalid model.
        XonncError: for a file that is not a model.
        UnknownNameError: for an unknown target, or a pass that is not optional.

    Example:
        >>> compilation = xonnc.compile_model("resnet50.onnx", "nv_full")
        >>> compilation.write("resnet50.nvdla")
    """
    hardware = load_target(target)
    front = run_frontend(
        path, on_stage, calibrate, images, strict, input_shapes=input_shapes, nvdla=hardware, batch=batch
    )
    with disabling_passes(disable_pass):
        compiled = _compile_whole(front, target, on_stage)
    problems = check_loadable(compiled.loadable, hardware)
    if problems:
        raise InternalCompilerError(f"the loadable breaks a rule, of {len(problems)} found: {problems[0]}")
    return Compilation(
        front.imported,
        front.simplified,
        front.opset,
        compiled.loadable,
        compiled.report,
        front.inserted_pairs,
    )


def _compile_whole(front: FrontendResult, target: str, on_stage: StageCallback | None) -> CompiledLoadable:
    """Compile the module of a front end's result for the DLA, or raise an error with all that it refuses."""
    graph = graph_of(front.module)
    if not graph.results:
        raise XonncError("the model has no outputs, so that it computes nothing")
    original, nodes = front.module.clone(), graph.nodes
    try:
        engines = convert(front.module, load_target(target), DisposablePool.of(front.context))
    except RefusalError as refused:
        if has_dynamic_inputs(refused):
            raise
        # What reads the result of a refused node is lowered only in a partition of its own.
        found = refusals_of(original, target, front.context, refused, nodes)
        others = _of_others(found, refused)
        subjects = [*refused.subjects, *(None for _ in others)]
        raise RefusalError([*refused.reasons, *others], subjects) from None
    drop_attributes(original)
    return compile_converted(front.module, target, front.context, engines, on_stage)


def _of_others(lines: Iterable[str], refused: RefusalError) -> list[str]:
    """Return the lines about nodes that are not refused already."""
    known = tuple(f"{line.partition('): ')[0]}): " for line in refused.reasons)
    return [line for line in lines if line not in refused.reasons and not line.startswith(known)]


@dataclass(frozen=True)
class FrontendResult:
    """A model before it is lowered: simplified, and quantized if calibration was asked for."""

    module: ModuleOp
    context: Context
    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    inserted_pairs: int
    """QDQ pairs that a quantized model lacks and the compiler inserted."""


MAX_UNROLLED_OPS = 4096
"""Limit of ops that a loop becomes: accelerators have no loops, so that a loop is worth many ops there."""


def run_frontend(
    path: ModelInput,
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
    is_lowered: Callable[[Operation], bool] | None = None,
    input_shapes: Shapes | None = None,
    nvdla: NvdlaTarget | None = None,
    batch: int = 1,
) -> FrontendResult:
    """
    Run the stages common to all targets; parameters and errors are those of `compile_model`.

    Parameters: `path`, `on_stage`, `calibrate`, `images`, `strict` and `input_shapes`, as in
        `compile_model`; `is_lowered` tells which operators of plug-ins the target lowers itself, by
        default NVDLA. The others are decomposed. `nvdla` is the target that the module is for: a quantized
        model gets the QDQ pairs that follow from their neighbours, and its nodes their precisions. `batch`
        images are computed in one run.

    Returns: the simplified module with its context and summaries.
    """
    return with_claims(
        lambda corrects: _run_frontend(
            path, on_stage, calibrate, images, corrects, is_lowered, input_shapes, nvdla, batch
        ),
        strict,
    )


def _run_frontend(
    path: ModelInput,
    on_stage: StageCallback | None,
    calibrate: Calibrate | None,
    images: Mapping[str, ImageInput] | None,
    corrects: bool,
    is_lowered: Callable[[Operation], bool] | None,
    input_shapes: Shapes | None,
    nvdla: NvdlaTarget | None,
    batch: int,
) -> FrontendResult:
    context = new_context()
    loaded = LoadedModel.of(path) if isinstance(path, onnx.ModelProto) else load(path)
    module = import_loaded(loaded, context, inline_functions=True)
    require_known_operators(module)
    if input_shapes:
        set_input_shapes(module, input_shapes)
    if batch != 1 and (shapes := shapes_of_one_image(module)):
        set_input_shapes(module, shapes)
    check_declared(module, corrects)
    set_images(module, images or {})
    imported, opset = summarize(module), _opset(module)
    seen = on_stage or ignore_stage
    finish_stage("onnx", context, module, seen)
    simplify(module, context, is_lowered or lowered_by_nvdla(module, calibrate is not None))
    simplified, was_quantized = summarize(module), is_quantized(module)
    prepare(module, context, calibrate, nvdla)
    if nvdla is not None:
        set_batch(module, batch)
    finish_stage("simplified", context, module, seen)
    pairs = inserted_pairs(module) if was_quantized else 0
    return FrontendResult(module, context, imported, simplified, opset, pairs)


def simplify(module: ModuleOp, context: Context, is_lowered: Callable[[Operation], bool]) -> None:
    """
    Simplify a module as all targets do, unroll its loops, and decompose what the target does not lower.

    Parameters: `module`, `context` and `is_lowered`, as in `legalize`; the module is as imported.
    """
    make_dense(module, DisposablePool.of(context))
    Simplify().apply(context, module)
    if unroll_loops(module, context, MAX_UNROLLED_OPS):
        Simplify().apply(context, module)
    legalize(module, context, is_lowered)
    DecomposeQuantized().apply(context, module)
    DisposablePool.of(context).collect([module])


def prepare(
    module: ModuleOp, context: Context, calibrate: Calibrate | None, nvdla: NvdlaTarget | None
) -> None:
    """
    Quantize a simplified module if calibration is asked for, and assign precisions.

    Parameters:
        module: the simplified module, changed in place.
        context: the context of its constants.
        calibrate: returns the ranges of its values, as in `run_frontend`.
        nvdla: the configuration; `None` leaves precisions alone.
    """
    pool = DisposablePool.of(context)
    if nvdla is not None:
        if split_softmax(module, pool):
            Simplify().apply(context, module)
        split_products(module, pool)
        legalize_pairs(module, pool, nvdla)
    if calibrate is not None:
        if not is_quantized(module):
            prepare_quantization(module, context)
        quantize(module, calibrate(module), pool, nvdla)
    elif nvdla is not None:
        if not is_quantized(module) and "fp16" in nvdla.precisions:
            normalize_by_convolutions(module, context, in_fp16=True)
        propagate_pairs(module, pool, target=nvdla)
    if nvdla is not None:
        assign_precision(module, nvdla)


def legalize(module: ModuleOp, context: Context, is_lowered: Callable[[Operation], bool]) -> None:
    """
    Rewrite operators of old opsets, decompose those of plug-ins that the target does not lower, simplify.

    Parameters:
        module: the simplified module.
        context: its context.
        is_lowered: tells which operators of plug-ins the target lowers itself.
    """
    with keeping(module, is_lowered):
        has_changed = legalize_versions(module, context)
    if not has_changed:
        return
    # Attributes have become constants, which may meet other constants.
    Simplify().apply(context, module)
    # A rule of a plug-in may have made its operator again.
    with keeping(module, is_lowered):
        legalize_versions(module, context)


def prepare_quantization(module: ModuleOp, context: Context) -> None:
    """
    Rewrite a float module as INT8 on NVDLA takes it best, before ranges are measured.

    Layer normalisation, GELU and hard-swish become one operator each, so that nothing within them is
    quantized: the variance of a normalisation often rounds to 0.

    Parameters:
        module: the simplified module.
        context: its context.
    """
    pool = DisposablePool.of(context)
    # All operators of a model belong to one opset: a Resize of opset 13 admits no Gelu of opset 20.
    opset = int(min(RECOMPOSED_OPSET, newest_opset_of(module)))
    apply_rules(module, context, standard_rules(opset), pass_name=Recompose.name)
    split_sums(module, pool)
    normalize_by_convolutions(module, context)


def normalize_by_convolutions(module: ModuleOp, context: Context, in_fp16: bool = False) -> None:
    """
    Rewrite normalization of groups and of layers, and products of images with channels last, as NVDLA takes
    images.

    Parameters:
        module: the simplified module.
        context: its context.
        in_fp16: whether it is not quantized. Then products that need transposes of their own stay, and
            vectors are normalized.
    """
    pool = DisposablePool.of(context)
    has_changed = GroupNormToConv(in_fp16).rewrite(module, pool)
    # Each round moves transposes to the next normalization or product of a block. Norms that no other pass
    # takes are left to the last.
    while (
        LayerNormToConv(in_fp16).rewrite(module, pool)
        | ResponseNormToConv(in_fp16).rewrite(module, pool)
        | matmul_to_conv(module, pool, in_fp16)
    ) or DivisionToProduct(in_fp16).rewrite(module, pool):
        MoveTransposes().apply(context, module)
        has_changed = True
    if has_changed:
        Simplify().apply(context, module)


def _opset(module: ModuleOp) -> int:
    imports = module.attributes.get("onnx.opset_imports")
    if isinstance(imports, builtin.DictionaryAttr):
        version = imports.data.get("") or imports.data.get("ai.onnx")
        if isinstance(version, builtin.IntegerAttr):
            return version.value.data
    raise XonncError("the model names no opset of ai.onnx")
