"""
What xonnc gives to every xDSL tool: dialects and passes, found by the entry point `xdsl.universe`.

Every start of `xdsl-opt` loads this module, so everything here is a function that imports when called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.universe import Universe

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute, Dialect, Operation
    from xdsl.passes import ModulePass

    from xonnc.transforms.evaluation import Program
    from xonnc.transforms.shapes.site import Integers


def installed_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of everything installed; xDSL's `llvm` with the vectors that code for the CPU has."""
    return {**Universe.get_multiverse().all_dialects, "llvm": _vector_llvm}


def _vector_llvm() -> Dialect:
    from xonnc.dialects.krnl.vector_llvm import VECTOR_LLVM

    return VECTOR_LLVM


def _onnx() -> Dialect:
    from xonnc.dialects.onnx import get_onnx

    return get_onnx()


def _dla() -> Dialect:
    from xonnc.dialects.dla import get_dla

    return get_dla()


def _krnl() -> Dialect:
    from xonnc.dialects.krnl import get_krnl

    return get_krnl()


def _convert_krnl_to_llvm() -> type[ModulePass]:
    from xonnc.lowering.krnl_to_llvm.convert_krnl_to_llvm import ConvertKrnlToLlvm

    return ConvertKrnlToLlvm


def _convert_onnx_to_krnl() -> type[ModulePass]:
    from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import ConvertOnnxToKrnl

    return ConvertOnnxToKrnl


def _outline_data_dependent() -> type[ModulePass]:
    from xonnc.lowering.onnx_to_krnl.outline_data_dependent_onnx import OutlineDataDependent

    return OutlineDataDependent


def _cpu_pipeline() -> type[ModulePass]:
    from xonnc.lowering.krnl_to_llvm.cpu_pipeline import CpuPipeline

    return CpuPipeline


def _convert_onnx_to_dla() -> type[ModulePass]:
    from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import ConvertOnnxToDla

    return ConvertOnnxToDla


def _dla_allocate() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_allocate import DlaAllocate

    return DlaAllocate


def _dla_fuse() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_fuse import DlaFuse

    return DlaFuse


def _dla_resolve_views() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_resolve_views import DlaResolveViews

    return DlaResolveViews


def _legalize_versions() -> type[ModulePass]:
    from xonnc.transforms.legalize_versions_onnx import LegalizeVersions

    return LegalizeVersions


def _dla_bubble_up_slices() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_bubble_up_slices import DlaBubbleUpSlices

    return DlaBubbleUpSlices


def _dla_schedule() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_schedule import DlaSchedule

    return DlaSchedule


def _dla_split() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_split import DlaSplit

    return DlaSplit


def _dla_split_kernels() -> type[ModulePass]:
    from xonnc.lowering.dla.dla_split_kernels import DlaSplitKernels

    return DlaSplitKernels


def _quantize_onnx() -> type[ModulePass]:
    from xonnc.lowering.onnx_to_dla.quantize_onnx import QuantizeOnnx

    return QuantizeOnnx


def _canonicalize() -> type[ModulePass]:
    from xonnc.transforms.canonicalize_onnx import Canonicalize

    return Canonicalize


def _collect_sequences() -> type[ModulePass]:
    from xonnc.transforms.collect_sequences_onnx import CollectSequences

    return CollectSequences


def _append_decoding_strategy() -> type[ModulePass]:
    from xonnc.transforms.append_decoding_strategy import AppendDecodingStrategy

    ask_onnx()
    return AppendDecodingStrategy


def _constprop() -> type[ModulePass]:
    from xonnc.transforms.constprop_onnx import ConstProp

    ask_onnx()
    return ConstProp


def _conv_opt() -> type[ModulePass]:
    from xonnc.transforms.conv_opt_onnx import ConvOpt

    return ConvOpt


def _instrument_signature() -> type[ModulePass]:
    from xonnc.transforms.instrument_onnx_runtime_signature import InstrumentOnnxRuntimeSignature

    return InstrumentOnnxRuntimeSignature


def _onnx_cse() -> type[ModulePass]:
    from xonnc.transforms.onnx_cse_with_node_name import OnnxCseWithNodeName

    return OnnxCseWithNodeName


def _onnx_dim_analysis() -> type[ModulePass]:
    from xonnc.transforms.onnx_dim_analysis import OnnxDimAnalysis

    return OnnxDimAnalysis


def _onnx_hybrid_transform() -> type[ModulePass]:
    from xonnc.transforms.onnx_hybrid_transform import OnnxHybridTransform

    ask_onnx()
    return OnnxHybridTransform


def _onnx_op_transform() -> type[ModulePass]:
    from xonnc.transforms.onnx_op_transform import OnnxOpTransform

    ask_onnx()
    return OnnxOpTransform


def _onnx_pre_krnl_verify() -> type[ModulePass]:
    from xonnc.transforms.onnx_pre_krnl_verify import OnnxPreKrnlVerify

    return OnnxPreKrnlVerify


def _print_op_stats() -> type[ModulePass]:
    from xonnc.transforms.print_op_stats import PrintOpStats

    return PrintOpStats


def _recompose() -> type[ModulePass]:
    from xonnc.transforms.recompose_onnx import Recompose

    return Recompose


def _remove_same_onnx_dim() -> type[ModulePass]:
    from xonnc.transforms.remove_same_onnx_dim import RemoveSameOnnxDim

    return RemoveSameOnnxDim


def _replace_op() -> type[ModulePass]:
    from xonnc.transforms.replace_op_with_its_operand import ReplaceOpWithItsOperand

    return ReplaceOpWithItsOperand


def _set_node_name() -> type[ModulePass]:
    from xonnc.transforms.set_onnx_node_name import SetOnnxNodeName

    return SetOnnxNodeName


def _standard_func_return() -> type[ModulePass]:
    from xonnc.transforms.standard_func_return import StandardFuncReturn

    return StandardFuncReturn


def _decompose_quantized() -> type[ModulePass]:
    from xonnc.transforms.decompose_quantized_onnx import DecomposeQuantized

    return DecomposeQuantized


def _legalize() -> type[ModulePass]:
    from xonnc.transforms.legalize_onnx import Legalize

    return Legalize


def _decompose() -> type[ModulePass]:
    from xonnc.transforms.decompose_onnx import Decompose

    return Decompose


def _dense_constants() -> type[ModulePass]:
    from xonnc.transforms.dense_constants_onnx import DenseConstants

    return DenseConstants


def _scrub() -> type[ModulePass]:
    from xonnc.transforms.scrub_disposable import ScrubDisposable

    return ScrubDisposable


def _shape_inference() -> type[ModulePass]:
    from xonnc.transforms.shape_inference_onnx import ShapeInference

    ask_onnx()
    return ShapeInference


def _simplify() -> type[ModulePass]:
    from xonnc.transforms.simplify_onnx import Simplify

    ask_onnx()
    return Simplify


def _simplify_shape_related() -> type[ModulePass]:
    from xonnc.transforms.simplify_shape_related_ops_onnx import SimplifyShapeRelatedOps

    ask_onnx()
    return SimplifyShapeRelatedOps


def _write_op_stats() -> type[ModulePass]:
    from xonnc.transforms.write_op_stats_to_module_attribute import WriteOpStatsToModuleAttribute

    return WriteOpStatsToModuleAttribute


def ask_onnx() -> None:
    """Gives the passes the onnx package for the operators that they have no functions for."""
    from xonnc.transforms.evaluation import use_evaluator
    from xonnc.transforms.shape_inference_onnx import use_fallback

    use_evaluator(_evaluate_by_onnx)
    use_fallback(_infer_by_onnx)


def _evaluate_by_onnx(module: ModuleOp) -> Program:
    from xonnc.formats.onnx.evaluate import program_of

    return program_of(module)


def _infer_by_onnx(op: Operation, integers: Integers) -> Sequence[Attribute | None]:
    from xonnc.formats.onnx.infer import infer_results

    return infer_results(op, integers)


XONNC_UNIVERSE = Universe(
    all_dialects={"dla": _dla, "krnl": _krnl, "onnx": _onnx},
    all_passes={
        "append-decoding-strategy": _append_decoding_strategy,
        "canonicalize-onnx": _canonicalize,
        "collect-sequences-onnx": _collect_sequences,
        "constprop-onnx": _constprop,
        "conv-opt-onnx": _conv_opt,
        "convert-krnl-to-llvm": _convert_krnl_to_llvm,
        "convert-onnx-to-dla": _convert_onnx_to_dla,
        "convert-onnx-to-krnl": _convert_onnx_to_krnl,
        "cpu-pipeline": _cpu_pipeline,
        "decompose-onnx": _decompose,
        "decompose-quantized-onnx": _decompose_quantized,
        "dense-constants-onnx": _dense_constants,
        "dla-allocate": _dla_allocate,
        "dla-bubble-up-slices": _dla_bubble_up_slices,
        "dla-fuse": _dla_fuse,
        "dla-resolve-views": _dla_resolve_views,
        "dla-schedule": _dla_schedule,
        "dla-split": _dla_split,
        "dla-split-kernels": _dla_split_kernels,
        "instrument-onnx-runtime-signature": _instrument_signature,
        "legalize-onnx": _legalize,
        "legalize-versions-onnx": _legalize_versions,
        "onnx-cse-with-node-name": _onnx_cse,
        "onnx-dim-analysis": _onnx_dim_analysis,
        "onnx-hybrid-transform": _onnx_hybrid_transform,
        "onnx-op-transform": _onnx_op_transform,
        "onnx-pre-krnl-verify": _onnx_pre_krnl_verify,
        "print-op-stats": _print_op_stats,
        "outline-data-dependent-onnx": _outline_data_dependent,
        "quantize-onnx": _quantize_onnx,
        "recompose-onnx": _recompose,
        "remove-same-onnx-dim": _remove_same_onnx_dim,
        "replace-op-with-its-operand": _replace_op,
        "scrub-disposable": _scrub,
        "set-onnx-node-name": _set_node_name,
        "shape-inference-onnx": _shape_inference,
        "simplify-onnx": _simplify,
        "simplify-shape-related-ops-onnx": _simplify_shape_related,
        "standard-func-return": _standard_func_return,
        "write-op-stats-to-module-attribute": _write_op_stats,
    },
)
