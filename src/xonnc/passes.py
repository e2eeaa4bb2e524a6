"""
Registry of the dialects and passes of xonnc, imported on first use.

`xdsl-opt` and `onnx-opt` find them through `xonnc.tools.universe`; `xonnc passes` and the generated pages of
`docs` list them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from xonnc.rewriting import extensions

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute, Dialect, Operation
    from xdsl.passes import ModulePass

    from xonnc.transforms.constant_evaluation import Program
    from xonnc.transforms.shapes.inference_context import Integers

DIALECTS: Mapping[str, str] = {
    "dla": "dialects.dla:get_dla",
    "krnl": "dialects.krnl:get_krnl",
    "onnx": "dialects.onnx:get_onnx",
}
"""Factories of dialects by name, as `module:function` below `xonnc`."""

PASSES: Mapping[str, str] = {
    "append-decoding-strategy": "transforms.append_decoding_strategy:AppendDecodingStrategy",
    "assign-layout": "lowering.onnx_to_krnl.assign_layout:AssignLayout",
    "assign-precision-onnx": "lowering.placement.assign_precision_onnx:AssignPrecisionOnnx",
    "canonicalize-onnx": "transforms.canonicalize_onnx:Canonicalize",
    "collect-sequences-onnx": "transforms.collect_sequences_onnx:CollectSequences",
    "constprop-onnx": "transforms.constprop_onnx:ConstProp",
    "conv-opt-onnx": "transforms.conv_opt_onnx:ConvOpt",
    "convert-krnl-to-llvm": "lowering.krnl_to_llvm.convert_krnl_to_llvm:ConvertKrnlToLlvm",
    "convert-onnx-to-dla": "lowering.onnx_to_dla.convert_onnx_to_dla:ConvertOnnxToDla",
    "convert-onnx-to-krnl": "lowering.onnx_to_krnl.convert_onnx_to_krnl:ConvertOnnxToKrnl",
    "convert-onnx-to-tosa": "lowering.onnx_to_tosa.convert_onnx_to_tosa:ConvertOnnxToTosa",
    "cpu-pipeline": "lowering.krnl_to_llvm.cpu_pipeline:CpuPipeline",
    "decompose-onnx": "transforms.decompose_onnx:Decompose",
    "decompose-plugins-onnx": "transforms.decompose_plugins_onnx:DecomposePlugins",
    "decompose-quantized-onnx": "transforms.decompose_quantized_onnx:DecomposeQuantized",
    "dense-constants-onnx": "transforms.dense_constants_onnx:DenseConstants",
    "dla-allocate": "lowering.dla.dla_allocate:DlaAllocate",
    "dla-batch-images": "lowering.dla.dla_batch_images:DlaBatchImages",
    "dla-bubble-up-slices": "lowering.dla.dla_bubble_up_slices:DlaBubbleUpSlices",
    "dla-compress-weights": "lowering.dla.dla_compress_weights:DlaCompressWeights",
    "dla-fuse": "lowering.dla.dla_fuse:DlaFuse",
    "dla-order-branches": "lowering.dla.dla_order_branches:DlaOrderBranches",
    "dla-place-in-cvsram": "lowering.dla.dla_place_in_cvsram:DlaPlaceInCvsram",
    "dla-resolve-views": "lowering.dla.dla_resolve_views:DlaResolveViews",
    "dla-schedule": "lowering.dla.dla_schedule:DlaSchedule",
    "dla-share-constants": "lowering.dla.dla_share_constants:DlaShareConstants",
    "dla-skip-rows": "lowering.dla.dla_skip_rows:DlaSkipRows",
    "dla-split": "lowering.dla.dla_split:DlaSplit",
    "dla-split-kernels": "lowering.dla.dla_split_kernels:DlaSplitKernels",
    "dla-use-winograd": "lowering.dla.dla_use_winograd:DlaUseWinograd",
    "fuse-channels-onnx": "transforms.fuse_channels_onnx:FuseChannels",
    "fuse-onnx": "lowering.onnx_to_krnl.fuse_onnx:FuseOnnx",
    "fuse-operators-onnx": "transforms.fuse_operators_onnx:FuseOperators",
    "group-norm-to-conv-onnx": "lowering.onnx_to_dla.graph.group_norm_to_conv_onnx:GroupNormToConv",
    "inline": "transforms.inline:Inline",
    "insert-qdq-onnx": "lowering.qdq.insert_qdq_onnx:InsertQdqOnnx",
    "instrument-onnx-runtime-signature": (
        "transforms.instrument_onnx_runtime_signature:InstrumentOnnxRuntimeSignature"
    ),
    "division-to-product-onnx": "lowering.onnx_to_dla.graph.division_to_product_onnx:DivisionToProduct",
    "krnl-attach-core": "lowering.onnx_to_krnl.planning.krnl_attach_core:KrnlAttachCore",
    "layer-norm-to-conv-onnx": "lowering.onnx_to_dla.graph.layer_norm_to_conv_onnx:LayerNormToConv",
    "legalize-onnx": "transforms.legalize_onnx:Legalize",
    "legalize-qdq-onnx": "lowering.onnx_to_dla.quantization.legalize_qdq_onnx:LegalizeQdq",
    "legalize-versions-onnx": "transforms.legalize_versions_onnx:LegalizeVersions",
    "matmul-to-conv-onnx": "lowering.onnx_to_dla.graph.matmul_to_conv_onnx:MatMulToConv",
    "move-transposes-onnx": "transforms.move_transposes_onnx:MoveTransposes",
    "onnx-cse-with-node-name": "transforms.onnx_cse_with_node_name:OnnxCseWithNodeName",
    "onnx-dim-analysis": "transforms.onnx_dim_analysis:OnnxDimAnalysis",
    "onnx-hybrid-transform": "transforms.onnx_hybrid_transform:OnnxHybridTransform",
    "onnx-op-transform": "transforms.onnx_op_transform:OnnxOpTransform",
    "onnx-pre-krnl-verify": "transforms.onnx_pre_krnl_verify:OnnxPreKrnlVerify",
    "outline-data-dependent-onnx": "lowering.onnx_to_krnl.outline_data_dependent_onnx:OutlineDataDependent",
    "parallelize-krnl": "lowering.native.parallelize_krnl:ParallelizeKrnl",
    "plan-memory": "lowering.native.plan_memory:PlanMemory",
    "prepack-weights": "lowering.native.prepack_weights:PrepackWeights",
    "print-op-stats": "transforms.print_op_stats:PrintOpStats",
    "propagate-qdq-onnx": "lowering.onnx_to_dla.quantization.propagate_qdq_onnx:PropagateQdq",
    "quantize-onnx": "lowering.onnx_to_dla.quantization.quantize_onnx:QuantizeOnnx",
    "recompose-onnx": "transforms.recompose_onnx:Recompose",
    "reduce-memory-onnx": "lowering.onnx_to_krnl.reduce_memory_onnx:ReduceMemory",
    "remove-same-onnx-dim": "transforms.remove_same_onnx_dim:RemoveSameOnnxDim",
    "replace-op-with-its-operand": "transforms.replace_op_with_its_operand:ReplaceOpWithItsOperand",
    "response-norm-to-conv-onnx": "lowering.onnx_to_dla.graph.response_norm_to_conv_onnx:ResponseNormToConv",
    "scrub-disposable": "transforms.scrub_disposable:ScrubDisposable",
    "select-bf16-onnx": "lowering.onnx_to_krnl.planning.select_bf16_onnx:SelectBf16",
    "select-winograd-onnx": "lowering.onnx_to_krnl.planning.select_winograd_onnx:SelectWinograd",
    "set-layouts-onnx": "transforms.models.set_layouts_onnx:SetLayouts",
    "set-onnx-node-name": "transforms.set_onnx_node_name:SetOnnxNodeName",
    "shape-inference-onnx": "transforms.shape_inference_onnx:ShapeInference",
    "share-kernels": "lowering.native.share_kernels:ShareKernels",
    "simplify-onnx": "transforms.simplify_onnx:Simplify",
    "simplify-shape-related-ops-onnx": "transforms.simplify_shape_related_ops_onnx:SimplifyShapeRelatedOps",
    "split-softmax-onnx": "lowering.onnx_to_dla.split_softmax_onnx:SplitSoftmax",
    "standard-func-return": "transforms.standard_func_return:StandardFuncReturn",
    "symbol-dce": "transforms.symbol_dce:SymbolDce",
    "tosa-fold-transposes": "lowering.onnx_to_tosa.tosa_fold_transposes:TosaFoldTransposes",
    "unroll-loops-onnx": "transforms.unroll_loops_onnx:UnrollLoops",
    "widen-activations-onnx": "lowering.onnx_to_dla.quantization.widen_activations_onnx:WidenActivations",
    "write-op-stats-to-module-attribute": (
        "transforms.write_op_stats_to_module_attribute:WriteOpStatsToModuleAttribute"
    ),
}
"""Passes by name, as `module:class` below `xonnc`."""


BUNDLED: Mapping[str, str] = {
    "microsoft": "plugins.bundled:get_microsoft",
    "qonnx": "plugins.bundled:get_qonnx",
}
"""Dialects of bundled plug-ins."""


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """Functions that import and make the dialects, by name."""
    own = {name: partial(_dialect, entry) for name, entry in {**DIALECTS, **BUNDLED}.items()}
    return {**own, **extensions.added_dialects()}


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Functions that import the passes, by name."""
    return {name: partial(pass_class, name) for name in (*PASSES, *extensions.added_passes())}


def pass_class(name: str) -> type[ModulePass]:
    """
    Import a pass.

    Parameters:
        name: the name of the pass.

    Returns: its class. It may use the onnx package for operators that xonnc cannot evaluate.

    Raises: `KeyError` for an unknown name.
    """
    use_onnx_package()
    added = extensions.added_passes()
    return added[name] if name in added else _load(PASSES[name])


def run_pass(name: str, context: Context, module: ModuleOp) -> None:
    """
    Run a pass with its default options.

    Parameters:
        name: the name of the pass.
        context: the context of the module.
        module: the module, changed in place.
    """
    pass_class(name)().apply(context, module)


def use_onnx_package() -> None:
    """Register the onnx package as fallback of passes for constant folding and shape inference."""
    from xonnc.transforms.onnx_package_hooks import use_evaluator, use_inference

    use_evaluator(_evaluate)
    use_inference(_infer)


def _dialect(entry: str) -> Dialect:
    return _load(entry)()


def _load(entry: str) -> Any:
    module, _, name = entry.partition(":")
    return getattr(import_module(f"xonnc.{module}"), name)


def _evaluate(module: ModuleOp) -> Program:
    from xonnc.formats.onnx.reference_evaluator import program_of

    return program_of(module)


def _infer(op: Operation, integers: Integers) -> Sequence[Attribute | None]:
    from xonnc.formats.onnx.onnx_shape_inference import infer_results

    return infer_results(op, integers)
