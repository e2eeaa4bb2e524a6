"""The function `simplify` of onnxsim on this compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import onnx

from xonnc import simplifier
from xonnc.compat.onnxoptimizer.manager import default_passes, run
from xonnc.compat.onnxoptimizer.registry import PASSES
from xonnc.compat.onnxsim.comparison import InputFill, is_same
from xonnc.compat.onnxsim.profile import profiling
from xonnc.compat.onnxsim.providers import Provider, check_providers
from xonnc.compat.onnxsim.rewriting import ModelRewriter, rewritten
from xonnc.contexts import new_context
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_loaded
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.loaded_export import save_loaded, whole_model
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.formats.onnx.schemas import newest_opset
from xonnc.formats.onnx.tensors import AnyArray
from xonnc.transforms.models.opset_conversion import convert_opset

DEFAULT_EXTERNAL_DATA_THRESHOLD = "100MB"
"""The size from which onnxsim writes weights to a file of their own."""

GemmFusionBackend: TypeAlias = Literal["ort_cpu", "unrestricted", "webgpu", "webnn"]

Sizes: TypeAlias = Mapping[str, Sequence[int]] | Sequence[int]
"""Shapes by input; one shape alone is that of the only input."""


def simplify(
    model: str | Path | onnx.ModelProto,
    check_n: int = 0,
    perform_optimization: bool = True,
    skip_fuse_bn: bool = False,
    overwrite_input_shapes: Sizes | None = None,
    test_input_shapes: Sizes | None = None,
    skipped_optimizers: Sequence[str] | None = None,
    skip_constant_folding: bool = False,
    skip_shape_inference: bool = False,
    input_data: Mapping[str, AnyArray] | None = None,
    dynamic_input_shape: bool = False,
    custom_lib: str | None = None,
    include_subgraph: bool = False,
    unused_output: Sequence[str] | None = None,
    tensor_size_threshold: str = "1.5GB",
    mutable_initializer: bool = False,
    *,
    initializers_as_constants: bool = True,
    inline_functions: bool = False,
    import_custom_schemas: bool = True,
    input_shapes: Sizes | None = None,
    target_opset_version: int | Literal["latest"] | None = None,
    extra_optimizers: Sequence[str] | None = None,
    custom_rewriter: ModelRewriter | None = None,
    output_path: str | Path | None = None,
    external_data_threshold: str = DEFAULT_EXTERNAL_DATA_THRESHOLD,
    check_rtol: float = 1e-4,
    check_atol: float = 1e-5,
    input_fill: InputFill = "random",
    providers: Sequence[Provider] | None = None,
    gemm_fusion_backend: GemmFusionBackend = "ort_cpu",
    profile: str | None = None,
    ort_profile: str | None = None,
    merge_ort_profile: bool = False,
) -> tuple[onnx.ModelProto, bool]:
    """
    Simplify a model.

    Parameters:
        model: the model or its path; it is not changed.
        check_n: the number of inputs on which original and result are compared in onnxruntime.
        perform_optimization: whether nodes are rewritten; else only constants are folded.
        skip_fuse_bn: whether batch normalizations stay apart from convolutions.
        overwrite_input_shapes: new shapes of inputs; sizes below 1 leave a dimension as it is.
        test_input_shapes: shapes of dynamic inputs for the comparison.
        skipped_optimizers: passes of ONNX-optimizer to leave out; the others run, and this compiler's own
            rules do not.
        skip_constant_folding: whether operators on constants stay.
        skip_shape_inference: accepted; this compiler's inference is part of its simplification.
        input_data: inputs of the comparison.
        dynamic_input_shape: accepted; dynamic shapes need no option.
        custom_lib: must be `None`.
        include_subgraph: accepted; subgraphs are always simplified.
        unused_output: outputs to remove.
        tensor_size_threshold: accepted; docs/folding.md tells what this compiler folds.
        mutable_initializer: whether inputs with an initializer stay inputs.
        initializers_as_constants: whether nodes on initializers are folded, and weights changed; if not, they
            are left as they are, and so are nodes that need their values.
        inline_functions: whether calls of local functions are replaced by their bodies.
        import_custom_schemas: accepted; operators without a schema are kept as they are.
        input_shapes: both `overwrite_input_shapes` and `test_input_shapes`.
        target_opset_version: the opset to convert the model to first.
        extra_optimizers: passes of ONNX-optimizer to run on the simplified model.
        custom_rewriter: a function that rewrites the model in turn with simplification, until it changes
            nothing: it returns a new model, or `None` if it changed its argument, or `False`.
        output_path: where the simplified model is written too; `model` must be a path.
        external_data_threshold: the size from which it is written with its weights in a file beside it: a
            number with B, KB, MB or GB.
        check_rtol: relative tolerance of the comparison.
        check_atol: absolute tolerance of the comparison.
        input_fill: elements of its inputs: `random`, `ones`, `zeros` or `arange`.
        providers: execution providers of onnxruntime; their names are checked, and a warning says that
            constants are folded on the CPU.
        gemm_fusion_backend: accepted; MatMul and Add of any floats become a Gemm.
        profile: a file for the times of all parts as a trace for Perfetto; the default name if empty. A
            summary is printed.
        ort_profile: the prefix of onnxruntime's own profiles of the comparison; the default one if empty.
        merge_ort_profile: whether these are part of the trace instead.

    Returns: the simplified model, and whether the comparison found no difference.

    Raises:
        XonncError: for an invalid model, an unknown input, output or pass, a size that is none, an opset that
            cannot express the model, or a `custom_lib`.
        ValueError: for `output_path` without a path as `model`, or an unknown provider.
        TypeError: for a `custom_rewriter` that returns something else.
    """
    del skip_shape_inference, dynamic_input_shape, include_subgraph, tensor_size_threshold
    del import_custom_schemas, gemm_fusion_backend
    limit = size_of(external_data_threshold)
    if custom_lib is not None:
        raise XonncError(f"custom_lib {custom_lib}: libraries of onnxruntime are not loaded; use a plug-in")
    if output_path is not None and isinstance(model, onnx.ModelProto):
        raise ValueError("output_path needs the path of a model")
    check_providers(providers or ())
    skipped = (*(skipped_optimizers or ()), *(["fuse_bn_into_conv"] if skip_fuse_bn else []))
    rewrites = Rewrites(
        rewrites_nodes=perform_optimization,
        skipped=skipped,
        extra=known_passes(extra_optimizers or ()),
        folds=not skip_constant_folding,
        initializers_as_constants=initializers_as_constants,
        mutable_initializer=mutable_initializer,
        inline_functions=inline_functions,
    )
    with profiling(profile, ort_profile, merge_ort_profile) as measured:
        original = model if isinstance(model, onnx.ModelProto) else whole_model(load(model))
        prepared = _without_outputs(original, unused_output or ())
        if target_opset_version is not None:
            prepared = _converted(prepared, target_opset_version, inline_functions)
        shapes = _shapes(prepared, overwrite_input_shapes or input_shapes or {})
        simplified = rewrites.apply(prepared, shapes)
        if custom_rewriter is not None:
            simplified = rewritten(simplified, custom_rewriter, rewrites.apply)
        if output_path is not None:
            save(simplified, Path(output_path), limit)
        if not check_n:
            return simplified, True
        sizes = shapes | _shapes(prepared, test_input_shapes or input_shapes or {})
        tolerances = (check_rtol, check_atol)
        data = input_data or {}
        same = is_same(original, simplified, check_n, sizes, data, input_fill, tolerances, measured)
    return simplified, same


@dataclass(frozen=True)
class Rewrites:
    """What is rewritten in a model."""

    rewrites_nodes: bool
    skipped: Sequence[str]
    """Passes of ONNX-optimizer to leave out; with some, the others stand in for this compiler's rules."""
    extra: Sequence[str]
    """Passes of ONNX-optimizer to run in addition."""
    folds: bool
    initializers_as_constants: bool
    mutable_initializer: bool
    inline_functions: bool

    def apply(
        self, model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]] | None = None
    ) -> onnx.ModelProto:
        """Return the model simplified, with new shapes of inputs."""
        runs_passes = self.rewrites_nodes and bool(self.skipped)
        own_rules = self.rewrites_nodes and not self.skipped
        prepared = _optimized(model, self.skipped) if runs_passes else model
        if self.initializers_as_constants:
            added: list[str] = []
        else:
            prepared, added = _overridable(prepared)
        simplified = simplifier.simplify(
            prepared,
            input_shapes=dict(shapes or {}),
            inline_functions=self.inline_functions,
            fold_overridable=self.initializers_as_constants and not self.mutable_initializer,
            level=simplifier.DEFAULT_LEVEL if own_rules else 0,
            enable_pass=("unroll-loops-onnx",) if own_rules else ("constprop-onnx",) if self.folds else (),
            disable_pass=() if self.folds else ("constprop-onnx",),
        ).proto()
        _remove_inputs(simplified, added)
        if runs_passes:
            simplified = _optimized(simplified, self.skipped)
        passes = [*self.extra] if self.rewrites_nodes else []
        if not all(node.name for node in simplified.graph.node):
            # Tools that come after know nodes by their names, so onnxsim gives each one.
            passes.append("set_unique_name_for_nodes")
        return _after_passes(simplified, passes) if passes else simplified


def _converted(
    model: onnx.ModelProto, version: int | Literal["latest"], inline_functions: bool
) -> onnx.ModelProto:
    """Return a model of another opset."""
    context = new_context()
    module = import_loaded(LoadedModel.of(model), context, inline_functions, keep_defaults=True)
    convert_opset(module, newest_opset("") or 1 if version == "latest" else version, context)
    return export_proto(module)


def save(model: onnx.ModelProto, path: Path, limit: int) -> None:
    """Write a model, with its weights in a file beside it if it has `limit` bytes or more."""
    external = ExternalData(f"{path.name}.data") if model.ByteSize() >= limit else None
    save_loaded(LoadedModel.of(model), path, external)


def size_of(text: str) -> int:
    """Return the number of bytes that a text such as 1.5GB says; `XonncError` for others."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMG]?)B?\s*", text.upper())
    if found is None:
        raise XonncError(f"'{text}' is no size; it is a number with B, KB, MB or GB, such as 1.5GB")
    return int(float(found[1]) * 1024 ** ("", "K", "M", "G").index(found[2]))


def known_passes(names: Sequence[str]) -> Sequence[str]:
    """Return names of passes of ONNX-optimizer; `XonncError` for one that there is not."""
    for name in names:
        if name not in PASSES:
            raise XonncError(f"there is no optimizer '{name}'{suggest(name, PASSES)}")
    return names


def _overridable(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """
    Let inputs stand for all initializers, so that nothing takes their values for granted.

    Returns: a copy of the model, and the names of these inputs.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    model = copy
    inputs = {info.name for info in model.graph.input}
    added = [tensor for tensor in model.graph.initializer if tensor.name not in inputs]
    for tensor in added:
        model.graph.input.append(
            onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        )
    return model, [tensor.name for tensor in added]


def _remove_inputs(model: onnx.ModelProto, names: Sequence[str]) -> None:
    removed = set(names)
    kept = [info for info in model.graph.input if info.name not in removed]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _optimized(model: onnx.ModelProto, skipped: Sequence[str]) -> onnx.ModelProto:
    return _after_passes(model, [name for name in default_passes() if name not in skipped])


def _after_passes(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    run(LoadedModel.of(copy), list(names), fixed_point=True)
    return copy


def _without_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a copy of a model without some outputs."""
    known = [info.name for info in model.graph.output]
    for name in names:
        if name not in known:
            raise XonncError(f"unused_output: there is no output '{name}'{suggest(name, known)}")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for index in reversed(range(len(known))):
        if known[index] in names:
            del copy.graph.output[index]
    return copy


def _shapes(model: onnx.ModelProto, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return new shapes of inputs; a size below 1 stands for the dimension as it is."""
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = {info.name: info for info in model.graph.input if info.name not in initializers}
    if not isinstance(sizes, Mapping):
        sizes = {"": sizes}
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in sizes.items():
        if not name and len(inputs) != 1:
            raise XonncError(f"shape {list(shape)}: the model has {len(inputs)} inputs; name one")
        key = name or next(iter(inputs))
        if key not in inputs:
            raise XonncError(f"there is no input '{key}'{suggest(key, inputs)}")
        dims = inputs[key].type.tensor_type.shape.dim
        if dims and len(dims) != len(shape):
            raise XonncError(f"input '{key}' has rank {len(dims)}; shape {list(shape)} has {len(shape)}")
        old = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in dims] or [-1] * len(shape)
        found[key] = tuple(new if new > 0 else size for new, size in zip(shape, old, strict=True))
    return found
