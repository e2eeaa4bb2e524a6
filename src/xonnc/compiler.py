"""
From a model file to a loadable: the whole compiler as a table of named stages.

    compilation = compile_model("resnet50.onnx", "nv_full")
    compilation.write("resnet50.nvdla")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import StageCallback, ignore_stage, new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.checks.check import check_loadable
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.writer import write_loadable
from xonnc.formats.onnx import import_model
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.model_summary import ModelSummary, summarize
from xonnc.lowering.dla_to_loadable.report import CompileReport
from xonnc.lowering.dla_to_loadable.stages import STAGES as DLA_STAGES
from xonnc.lowering.dla_to_loadable.stages import compile_to_loadable
from xonnc.lowering.onnx_to_dla.image_inputs import ImageInput, set_images
from xonnc.lowering.onnx_to_dla.quantize_onnx import is_quantized, quantize
from xonnc.lowering.onnx_to_dla.split_sums import split_sums
from xonnc.targets import load_target
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.decompose_quantized_onnx import DecomposeQuantized
from xonnc.transforms.dense_constants_onnx import make_dense
from xonnc.transforms.legalize_versions_onnx import legalize_versions
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.simplify_onnx import Simplify

STAGES = ("onnx", "simplified", *(name for name, _ in DLA_STAGES), "emitted")
"""The stages in order: as imported, simplified, on the engines, ordered, with addresses, a loadable."""


@dataclass(frozen=True)
class Compilation:
    """A loadable, how the model looked on the way, and what the back end decided."""

    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    loadable: Loadable
    report: CompileReport

    def write(self, path: str | Path) -> int:
        """Writes the loadable through a temporary file; gives its size in bytes."""
        return write_loadable(self.loadable, Path(path))


Calibrate = Callable[[ModuleOp], Ranges]
"""Finds the ranges of the values that the simplified module computes."""


class InternalCompilerError(Exception):
    """The compiler made something that its own checks refuse: never the user's mistake."""


def compile_model(
    path: str | Path,
    target: str = "nv_full",
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
) -> Compilation:
    """
    Compiles the model in a file for the target called `target`, or described in that TOML file.

    With `calibrate`, a model of floats is rounded to 8 bits by the ranges that it finds. Inputs named in
    `images` lie as pixels (`""`: the only input). `on_stage` sees the
    module after each stage of `STAGES` but the last, and may raise to stop there. Declared shapes that
    contradict the operators are a warning, with `strict` an error. Raises `XonncError` for a
    file that is no model and `RefusalError` with everything the target cannot take. What comes out has
    passed every static check of loadables.
    """
    hardware = load_target(target)
    front = run_frontend(path, on_stage, calibrate, images, strict)
    compiled = compile_to_loadable(front.module, target, front.context, on_stage)
    problems = check_loadable(compiled.loadable, hardware)
    if problems:
        raise InternalCompilerError(f"the loadable breaks a rule, of {len(problems)} found: {problems[0]}")
    return Compilation(front.imported, front.simplified, front.opset, compiled.loadable, compiled.report)


@dataclass(frozen=True)
class FrontendResult:
    """A model before it is placed: simplified, and rounded to 8 bits if that was asked for."""

    module: ModuleOp
    context: Context
    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    is_quantized_here: bool
    """Whether all of its roundings are ours, for the DLA's sake."""


def run_frontend(
    path: str | Path,
    on_stage: StageCallback | None = None,
    calibrate: Calibrate | None = None,
    images: Mapping[str, ImageInput] | None = None,
    strict: bool = False,
) -> FrontendResult:
    """The stages that every target has, as `compile_model` describes them."""
    return with_claims(lambda corrects: _run_frontend(path, on_stage, calibrate, images, corrects), strict)


def _run_frontend(
    path: str | Path,
    on_stage: StageCallback | None,
    calibrate: Calibrate | None,
    images: Mapping[str, ImageInput] | None,
    corrects: bool,
) -> FrontendResult:
    context = new_context()
    module = import_model(Path(path), context, inline_functions=True)
    require_known_operators(module)
    if corrects:
        correct_shapes(module)
    set_images(module, images or {})
    imported, opset = summarize(module), _opset(module)
    seen = on_stage or ignore_stage
    seen("onnx", module)
    make_dense(module, DisposablePool.of(context))
    Simplify().apply(context, module)
    if legalize_versions(module, context):
        # Attributes have become constants, which may meet other constants.
        Simplify().apply(context, module)
    DecomposeQuantized().apply(context, module)
    DisposablePool.of(context).collect([module])
    simplified = summarize(module)
    is_quantized_here = calibrate is not None and not is_quantized(module)
    if is_quantized_here:
        split_sums(module, DisposablePool.of(context))
    if calibrate is not None:
        quantize(module, calibrate(module), DisposablePool.of(context))
    seen("simplified", module)
    return FrontendResult(module, context, imported, simplified, opset, is_quantized_here)


def _opset(module: ModuleOp) -> int:
    imports = module.attributes.get("onnx.opset_imports")
    if isinstance(imports, builtin.DictionaryAttr):
        version = imports.data.get("") or imports.data.get("ai.onnx")
        if isinstance(version, builtin.IntegerAttr):
            return version.value.data
    raise XonncError("the model names no opset of ai.onnx")
