"""Native code of a module: options, preparation, lowering, machine code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xonnc.contexts import StageCallback, ignore_stage
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.errors import PluginFunctionError, UnknownNameError, XonncError, suggest
from xonnc.formats.native.program import HostStep, Program
from xonnc.formats.native.stored_program import StoredProgram
from xonnc.garbage_collection import without_cycle_collection
from xonnc.lowering.krnl_to_llvm.cpu_pipeline import CpuPipeline, is_fused
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.memory_planning.offset_assignment import Allocator
from xonnc.lowering.native.c_kernels import c_unit
from xonnc.lowering.native.profiling import split_kernels
from xonnc.lowering.native.read_program import StepFunctions, read_program
from xonnc.lowering.native.tensor_size_limit import check_tensor_sizes
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import has_kernel
from xonnc.lowering.onnx_to_krnl.planning.contributed_operators import require_implementations
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import attach_core
from xonnc.lowering.onnx_to_krnl.planning.shape_inputs import shape_determining_inputs
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tile, set_tiles
from xonnc.lowering.onnx_to_krnl.sized_loops import unroll_sized_loops
from xonnc.rewriting.extensions import finish_stage
from xonnc.runtime.native.c_compiler import with_c_kernels
from xonnc.runtime.native.host_processor import host_core
from xonnc.runtime.native.jit import host_features, machine_code
from xonnc.runtime.native.tuned_tiles import read_tiles
from xonnc.targets.cpu import CpuTarget, best_cpu, cpu_names, load_cpu
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.decompose_plugins_onnx import decompose_plugins
from xonnc.transforms.dense_constants_onnx import make_dense
from xonnc.transforms.legalize_onnx import decompose_plugin_operators
from xonnc.transforms.models.set_layouts_onnx import Layouts, with_moving
from xonnc.transforms.models.standard_functions import inline_standard_functions
from xonnc.transforms.optimization_levels import (
    DEFAULT_LEVEL,
    Passes,
    passes_of,
    spelled,
)
from xonnc.transforms.recompose_onnx import Recompose
from xonnc.transforms.simplify_onnx import Simplification

MAX_THREADS = 256
"""The most threads of one session."""


@dataclass(frozen=True)
class CompileOptions:
    """Options of native code generation."""

    processor: CpuTarget
    threads: int = 1
    profile: bool = False
    """Whether each kernel is a step of its own, so that it can be timed."""
    unsafe: bool = False
    """Whether run-time checks of indices and counts are left out."""
    level: int = DEFAULT_LEVEL
    """The optimization level of LLVM; at 3 its middle end runs too."""
    portable: bool = False
    """Whether the output is C source."""
    enable_pass: Collection[str] = ()
    disable_pass: Collection[str] = ()
    tiles: Mapping[str, Tile] = field(default_factory=dict[str, Tile])
    """Measured tile sizes (`xonnc tune`), by kernel."""
    layouts: Layouts = field(default_factory=dict[str, str])
    """Layouts of inputs and outputs, by name."""
    mem_alloc: Allocator = "auto"
    """The allocator of the memory of activations."""

    def __post_init__(self) -> None:
        """Raise `UnknownNameError` for an unknown level and `XonncError` for an unknown pass."""
        passes_of(self.level, self.enable_pass, self.disable_pass)

    @cached_property
    def passes(self) -> Passes:
        """The enabled passes of the table of optimization levels."""
        return passes_of(self.level, with_moving(self.enable_pass, self.layouts), self.disable_pass)

    @property
    def pipeline(self) -> CpuPipeline:
        """The pass pipeline of the CPU back end."""
        return CpuPipeline(
            self.processor.name,
            self.unsafe,
            self.threads,
            self.portable,
            self.level,
            tuple(self.enable_pass),
            tuple(self.disable_pass),
            self.mem_alloc,
        )

    def attach(self, module: ModuleOp) -> None:
        """
        Attach the processor description and the tiles to a module, so that its IR alone determines the code.

        Parameters:
            module: the module.
        """
        attach_core(module, self.processor.core)
        if self.tiles:
            set_tiles(module, self.tiles)

    def __str__(self) -> str:
        flags = f"{self.profile} {self.unsafe} {self.level} {self.mem_alloc} {spelled(self.passes)}"
        chosen = f"{sorted(self.tiles.items())} {sorted(self.layouts.items())}"
        return f"{self.processor} {self.threads} {flags} {chosen}"


def resolve_processor(target: str, needs_host: bool = True) -> CpuTarget:
    """
    Return the processor that a target name denotes.

    Parameters:
        target: `cpu`, or a processor kind such as `avx2`.
        needs_host: whether this machine has to support the kind.

    Raises: `UnknownNameError` for an unknown name, `XonncError` if this processor lacks a feature of the
        kind.

    Example:
        >>> resolve_processor("cpu").name
        'avx2'
    """
    features = set(host_features())
    if target == "cpu":
        best = best_cpu(features)
        return replace(best, core=host_core(best.core))
    if target not in cpu_names():
        names = ["cpu", *cpu_names()]
        raise UnknownNameError(
            f"no target '{target}'{suggest(target, names) or '.'} There are {', '.join(names)}"
        )
    found = load_cpu(target)
    lacking = [feature for feature in found.features if feature not in features]
    if lacking and needs_host:
        raise XonncError(f"{target}: this processor lacks {', '.join(lacking)}; target 'cpu' fits it")
    return found


def measured_tiles(target: str, tuning: bool) -> Mapping[str, Tile]:
    """
    Return the tile sizes that `xonnc tune` measured on this processor; empty for other targets than `cpu`.

    Parameters:
        target: the name of the target.
        tuning: whether to use them.
    """
    return read_tiles(resolve_processor(target)) if tuning and target == "cpu" else {}


def prepare_for_lowering(module: ModuleOp, context: Context, passes: Passes) -> None:
    """
    Make constants dense, unroll loops whose sizes follow from the iteration, and expand operators without a
    kernel into decompositions or function bodies.

    Parameters:
        module: a simplified module, changed in place.
        context: the context that holds its constants.
        passes: the enabled passes.
    """
    make_dense(module, DisposablePool.of(context))
    check_tensor_sizes(module)
    if ConstProp.name in passes and unroll_sized_loops(module, context):
        Simplification(module, context, passes - {Recompose.name}).run()
    try:
        is_decomposed = decompose_plugins(context, module)
    except PluginFunctionError:
        # An operator without a definition leaves others without the shapes that they need.
        require_implementations(module)
        raise
    if is_decomposed:
        Simplification(module, context, passes - {Recompose.name}).run()
    inline_standard_functions(module, context, lambda op: not has_kernel(op), passes)
    if decompose_plugin_operators(module, context):
        # Decompositions are written with operators that may have no kernel either.
        inline_standard_functions(module, context, lambda op: not has_kernel(op), passes)


def lower_to_program(
    module: ModuleOp, options: CompileOptions, context: Context, on_stage: StageCallback = ignore_stage
) -> tuple[Program, StepFunctions, Sequence[FuncOp]]:
    """
    Lower a simplified module to kernels and a memory plan.

    Parameters:
        module: the module, changed in place.
        options: the options of code generation.
        context: the context that holds its constants.
        on_stage: called after each stage.

    Returns: the program, the functions of its native steps, and the kernels.
    """
    with without_cycle_collection():
        if not is_fused(module):
            finish_stage("simplified", context, module, on_stage)
        for stage, step in options.pipeline.remaining(module):
            if step is not None:
                step.apply(context, module)
            finish_stage(stage, context, module, on_stage)
    program, steps = read_program(module)
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and not is_outlined(op)]
    return program, steps, kernels[1:]


def compile_program(module: ModuleOp, options: CompileOptions, context: Context) -> StoredProgram:
    """
    Compile a simplified module to a program and machine code.

    Parameters:
        module: the module, changed in place; its constants are released.
        options: the options of code generation.
        context: the context that holds its constants.

    Returns: the program.

    Raises: `XonncError` for a module that cannot be compiled.
    """
    prepare_for_lowering(module, context, options.passes)
    shape_inputs = shape_determining_inputs(module)
    processor, threads = options.processor, options.threads
    options.attach(module)
    program, steps, kernels = lower_to_program(module, options, context)
    if options.profile:
        steps = split_kernels(program, steps)
    text, unit = "", c_unit(kernels)
    if steps:
        with without_cycle_collection():
            text = llvm_text(llvm_module(kernels, steps, processor.vector_bytes, threads), steps, threads)
    if not any(isinstance(step, HostStep) for step in program.walk_steps()):
        release_constants(module, *kernels)
    code = with_c_kernels(machine_code(text, options.level), unit) if steps else b""
    return StoredProgram(program, code, shape_inputs)


def release_constants(*ops: Operation) -> None:
    """
    Drop the attributes of compiled modules.

    IR objects form reference cycles, which Python collects late; their constants are freed at once.

    Parameters:
        ops: ops of the modules.
    """
    roots = {root for op in ops if isinstance(root := op.get_toplevel_object(), Operation)}
    for root in roots:
        drop_attributes(root)
