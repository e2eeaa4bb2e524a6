"""
Compile ONNX models to native code that runs in this process.

    session = xonnc.compile("model.onnx", target="cpu")
    outputs = session.run(None, {"x": array})
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xonnc.argument_types import checks_arguments
from xonnc.contexts import StageCallback, ignore_stage, new_context
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.multiplications import multiplications_by_node
from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.formats.native.program import HostStep, NativeStep, Program
from xonnc.formats.native.program_json import is_serializable
from xonnc.formats.native.saved_program import read_saved
from xonnc.formats.native.stored_program import StoredProgram
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import overridable_inputs
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.load_model import load
from xonnc.formats.onnx.payload_extraction import PayloadMarkers, without_payloads
from xonnc.formats.onnx.save_model import serialized
from xonnc.garbage_collection import without_cycle_collection
from xonnc.lowering.krnl_to_llvm.cpu_pipeline import CpuPipeline, is_fused
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.memory_planning.offset_assignment import Allocator
from xonnc.lowering.native.c_kernels import c_unit
from xonnc.lowering.native.profiling import split_kernels
from xonnc.lowering.native.read_program import StepFunctions, read_program
from xonnc.lowering.native.tensor_size_limit import check_tensor_sizes
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import has_kernel
from xonnc.lowering.onnx_to_krnl.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.krnl_attach_core import attach_core
from xonnc.lowering.onnx_to_krnl.shape_inputs import shape_determining_inputs
from xonnc.lowering.onnx_to_krnl.tile_selection import Tile, set_tiles
from xonnc.rewriting.extensions import finish_stage, identities
from xonnc.runtime.native.c_compiler import with_c_kernels
from xonnc.runtime.native.cache import Cache, cache_key, open_cache
from xonnc.runtime.native.host_processor import host_core
from xonnc.runtime.native.instance import Executable
from xonnc.runtime.native.jit import Code, Threads, host_features, host_identity, machine_code
from xonnc.runtime.native.onnxruntime_api import ModelMetadata
from xonnc.runtime.native.session import InputShapes, InputValues, Session, SessionSource
from xonnc.runtime.native.tuned_tiles import read_tiles
from xonnc.simplifier import simplify, specialize_shapes
from xonnc.targets.cpu import CpuTarget, best_cpu, cpu_names, load_cpu
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.decompose_plugins_onnx import decompose_plugins
from xonnc.transforms.dense_constants_onnx import make_dense
from xonnc.transforms.legalize_onnx import decompose_plugin_operators
from xonnc.transforms.models.set_layouts_onnx import Layouts, with_moving
from xonnc.transforms.models.signatures import set_input_values
from xonnc.transforms.models.standard_functions import inline_standard_functions
from xonnc.transforms.optimization_levels import (
    DEFAULT_LEVEL,
    Passes,
    passes_of,
    spelled,
)
from xonnc.transforms.recompose_onnx import Recompose
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.simplify_onnx import Simplification

if TYPE_CHECKING:
    from xonnc.calibration import Samples
    from xonnc.formats.nvdla.calibration import Ranges

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


@checks_arguments
def compile_native(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    threads: int = 1,
    *,
    cache: bool = True,
    profile: bool = False,
    unsafe: bool = False,
    level: int = DEFAULT_LEVEL,
    enable_pass: Collection[str] = (),
    disable_pass: Collection[str] = (),
    tuning: bool = True,
    layouts: Layouts | None = None,
    calibrate: Samples | Callable[[ModuleOp], Ranges] | None = None,
    method: str | None = None,
    keep_float: Sequence[str] = (),
    accuracy: float | None = None,
) -> Session:
    """
    Compile a model to native code for this processor.

    Operators without a kernel run in the ONNX reference evaluator; `Session.report` lists them.

    Parameters:
        model: the path of the model, or the model in memory.
        target: `cpu` for this processor, or a processor kind such as `avx2` that it supports.
        threads: the number of threads of a run, 1 to 256.
        cache: whether compiled code is kept in the disk cache and read from it.
        profile: whether each kernel is timed, for `Session.profile`.
        unsafe: whether run-time checks of indices and counts are left out; out-of-range indices are then
            undefined behaviour.
        level: the optimization level, 0 to 3. LLVM uses the same level; 3 doubles the compile time and seldom
            gains speed, since vectorisation and tiling are done before LLVM.
        enable_pass: passes to run in addition to those of the level.
        disable_pass: passes of the level to leave out.
        tuning: whether tile sizes measured by `xonnc tune` are used, for the target `cpu`.
        layouts: layouts of inputs and outputs by name: `{"x": "NHWC"}`, or `NCHW:NHWC` with the model's own.
        calibrate: samples to quantize a float model to INT8 with, as `xonnc.quantize` takes them.
        method: how samples become ranges; `None` for the default of `xonnc.quantize`.
        keep_float: names of nodes that `calibrate` leaves in float.
        accuracy: the lowest cosine similarity of an output with the float model's, as in `xonnc.quantize`.

    Returns: a session. It compiles a program for the input shapes of each `run`, once.

    Raises:
        InvalidModelError: for an invalid model.
        UnknownNameError: for an unknown target or level.
        XonncError: for a file that is not a model, or an option out of range.

    Example:
        >>> session = xonnc.compile("model.onnx", target="cpu", threads=2)
        >>> outputs = session.run(None, {"x": array})
    """
    processor = resolve_processor(target)
    if not 1 <= threads <= MAX_THREADS:
        raise XonncError(f"threads: {threads}; 1 to {MAX_THREADS} can share a run")
    if calibrate is not None:
        # Imported late: the quantizer runs models as native code.
        from xonnc.quantizer import DEFAULT_METHOD, quantize

        found = quantize(
            model, calibrate, method=method or DEFAULT_METHOD, keep_float=keep_float, accuracy=accuracy
        )
        model = found.proto()
    elif keep_float or accuracy is not None:
        option = "keep_float" if keep_float else "accuracy"
        raise XonncError(f"{option}: without samples in calibrate= nothing is quantized")
    tiles = measured_tiles(target, tuning)
    options = CompileOptions(
        processor,
        threads,
        profile,
        unsafe,
        level,
        enable_pass=enable_pass,
        disable_pass=disable_pass,
        tiles=tiles,
        layouts=layouts or {},
    )
    store = open_cache() if cache else None

    source = _Source(model, target, cache, options)

    def session(fed: frozenset[str] = frozenset()) -> Session:
        def undeclared() -> Session:
            return Session(_Compiler(model, options, store, fed, believes_declared=False))

        inputs = with_inputs if not fed else None
        return Session(_Compiler(model, options, store, fed), inputs, undeclared, source)

    def with_inputs(names: frozenset[str]) -> Session:
        return session(_require_overridable(model, names))

    return session()


@dataclass(frozen=True)
class _Source(SessionSource):
    """The model of a session and its options."""

    model: str | Path | onnx.ModelProto
    target: str
    cache: bool
    options: CompileOptions

    def for_debugging(self) -> Session:
        # Level 0 fuses and removes nothing that has a name.
        module = simplify(self.model, inline_functions=True, level=0).module
        proto = export_proto(module)
        known = {output.name for output in proto.graph.output}
        proto.graph.output.extend(info for info in proto.graph.value_info if info.name not in known)
        return compile_native(proto, self.target, self.options.threads, cache=self.cache, level=0)

    def multiplications(self, shapes: InputShapes) -> Mapping[str, int]:
        try:
            module = simplify(
                self.model,
                input_shapes=shapes,
                inline_functions=True,
                level=self.options.level,
                enable_pass=self.options.enable_pass,
                disable_pass=self.options.disable_pass,
            ).module
        except XonncError:
            # Other inputs than the shapes may decide whether a model is valid.
            return {}
        return multiplications_by_node(module)

    def write_code(self, path: Path) -> list[Path]:
        from xonnc.artifacts import compile_artifact

        options = self.options
        written = compile_artifact(
            self.model,
            path,
            self.target,
            unsafe=options.unsafe,
            level=options.level,
            enable_pass=options.enable_pass,
            disable_pass=options.disable_pass,
            tuning=bool(options.tiles),
            layouts=options.layouts,
        )
        return list(written.files)

    def metadata(self) -> ModelMetadata:
        proto = self.model if isinstance(self.model, onnx.ModelProto) else load(self.model).proto
        return ModelMetadata(
            proto.producer_name,
            proto.graph.name,
            proto.domain,
            proto.doc_string,
            proto.graph.doc_string,
            proto.model_version,
            {entry.key: entry.value for entry in proto.metadata_props},
        )

    def pickled(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        model = self.model
        if isinstance(model, onnx.ModelProto):
            written = serialized(model)
            if written is None:
                raise XonncError(
                    "sessions of a model in memory of more than 2 GB cannot be pickled; "
                    "write it with external data, and compile the file"
                )
            model = written
        elif (content := Path(model).read_bytes()) and not _may_have_external_data(content):
            model = content
        else:
            # Weights in another file are found by the path.
            model = str(Path(model).resolve())
        return _unpickled, (model, self.target, self.cache, self.options)


def _unpickled(model: bytes | str, target: str, cache: bool, options: CompileOptions) -> Session:
    return compile_native(
        onnx.load_model_from_string(model) if isinstance(model, bytes) else model,
        target,
        options.threads,
        cache=cache,
        profile=options.profile,
        unsafe=options.unsafe,
        level=options.level,
        enable_pass=options.enable_pass,
        disable_pass=options.disable_pass,
        tuning=bool(options.tiles),
        layouts=options.layouts,
    )


def _require_overridable(model: str | Path | onnx.ModelProto, names: frozenset[str]) -> frozenset[str]:
    """Return the names, or raise `XonncError` if one is not an input with a default value."""
    proto = model if isinstance(model, onnx.ModelProto) else load(model).proto
    known = overridable_inputs(proto)
    for name in sorted(names):
        if name not in known:
            inputs = [info.name for info in proto.graph.input]
            raise XonncError(
                f"no input '{name}'{suggest(name, inputs)}; there are {', '.join(inputs) or 'none'}"
            )
    return names


class _Compiler:
    """
    Compile a model for given input shapes and values of its shape-determining inputs.

    Simplification that does not depend on the inputs is done once; each program starts from a copy of that
    module. Prepacked weights are shared by all programs.
    """

    def __init__(
        self,
        model: str | Path | onnx.ModelProto,
        options: CompileOptions,
        cache: Cache | None,
        fed: frozenset[str] = frozenset(),
        believes_declared: bool = True,
    ) -> None:
        self._model = model
        self._fed = fed
        """Inputs with a default that are given all the same."""
        self._believes_declared = believes_declared
        """Whether sizes that only the model says are taken, to be checked by each run."""
        self._options = options
        self._cache = cache
        self._context = new_context()
        """Holds constants as kernels read them, for all programs."""
        self._digest = None if cache is None else _digest(model)
        self._fingerprint = None if self._digest is None else _fingerprint(model)

    def __call__(self, shapes: InputShapes, values: InputValues) -> Executable:
        threads = Threads(self._options.threads, self._options.threads)
        if self._cache is None or self._digest is None:
            return _load_executable(self._compiled(shapes, values), threads)
        key = _key(
            self._digest, shapes, values, f"{self._options} {sorted(self._fed)} {self._believes_declared}"
        )
        found = self._cache.get(key)
        if found is None:
            found = self._compiled(shapes, values)
            # A file that has changed since is another model.
            if (
                is_serializable(found.program, allow_models=True)
                and _fingerprint(self._model) == self._fingerprint
            ):
                self._cache.put(key, found)
        return _load_executable(found, threads)

    def _compiled(self, shapes: InputShapes, values: InputValues) -> StoredProgram:
        module = self._simplified
        if values:
            # Before shapes: a branch that is not taken need not fit them.
            module = with_claims(partial(_specialize_values, module, values, self._options.passes))
        module = specialize_shapes(module, shapes, self._options.passes) if shapes else module.clone()
        return _compiled(module, self._options, self._context)

    @cached_property
    def _simplified(self) -> ModuleOp:
        """The simplified model, before it is specialised."""
        module = simplify(
            self._model,
            inline_functions=True,
            fold_overridable=True,
            without_defaults=self._fed,
            declared="checked" if self._believes_declared else "ignored",
            level=self._options.level,
            enable_pass=self._options.enable_pass,
            disable_pass=self._options.disable_pass,
            drops_branches=True,
            layouts=self._options.layouts,
        ).module
        require_known_operators(module)
        finalize(self, _release_constants, module).atexit = False
        return module


def _specialize_values(module: ModuleOp, values: InputValues, passes: Passes, corrects: bool) -> ModuleOp:
    """Return a copy of a module in which shape-determining inputs are constants."""
    context, copy = new_context(), module.clone()
    set_input_values(copy, values, DisposablePool.of(context))
    if corrects:
        correct_shapes(copy)
    Simplification(copy, context, passes).run()
    return copy


def _key(digest: str, shapes: InputShapes, values: InputValues, options: str) -> str:
    """Return the cache key: everything that the generated code depends on."""
    numbers = repr({name: (str(value.dtype), value.tobytes()) for name, value in values.items()})
    compiler = f"{version('xonnc')} {identities()}"
    parts = (compiler, host_identity(), options, repr(sorted(shapes.items())), numbers, digest)
    return cache_key(part.encode() for part in parts)


def _digest(model: str | Path | onnx.ModelProto) -> str | None:
    """Return the SHA-256 of a model; `None` with external data or more than 2 GB, which is not cached."""
    if isinstance(model, onnx.ModelProto):
        content = serialized(model)
        return None if content is None or _may_have_external_data(content) else sha256(content).hexdigest()
    if not Path(model).is_file() or not Path(model).stat().st_size:
        return None
    with Path(model).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
        return None if _may_have_external_data(mapped) else sha256(mapped).hexdigest()


def _fingerprint(model: str | Path | onnx.ModelProto) -> tuple[int, int] | None:
    """Return the modification time and size of a model file, or the size of a model in memory."""
    if isinstance(model, onnx.ModelProto):
        return model.ByteSize(), 0
    if not Path(model).is_file():
        return None
    state = Path(model).stat()
    return state.st_mtime_ns, state.st_size


def _may_have_external_data(content: bytes | mmap) -> bool:
    """
    Return whether a serialised model may contain `TensorProto.external_data`.

    It searches for the key `location` in the message without its payloads: false positives are harmless (the
    model is not cached). So are bytes that are not a model, which the compiler reports.
    """
    with memoryview(content) as view:
        try:
            # Payloads are most of a model, and hold no locations.
            return b"location" in without_payloads(view, PayloadMarkers())
        except XonncError:
            return True


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
    Make constants dense, and expand operators that have no kernel into decompositions or function bodies.

    Parameters:
        module: a simplified module, changed in place.
        context: the context that holds its constants.
        passes: the enabled passes.
    """
    make_dense(module, DisposablePool.of(context))
    check_tensor_sizes(module)
    if decompose_plugins(context, module):
        Simplification(module, context, passes - {Recompose.name}).run()
    inline_standard_functions(module, context, lambda op: not has_kernel(op), passes)
    if decompose_plugin_operators(module, context):
        # Decompositions are written with operators that may have no kernel either.
        inline_standard_functions(module, context, lambda op: not has_kernel(op), passes)


def _compiled(module: ModuleOp, options: CompileOptions, context: Context) -> StoredProgram:
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
        _release_constants(module, *kernels)
    code = with_c_kernels(machine_code(text, options.level), unit) if steps else b""
    return StoredProgram(program, code, shape_inputs)


def _release_constants(*ops: Operation) -> None:
    """
    Drop the attributes of compiled modules.

    IR objects form reference cycles, which Python collects late; their constants are freed at once.
    """
    roots = {root for op in ops if isinstance(root := op.get_toplevel_object(), Operation)}
    for root in roots:
        drop_attributes(root)


@checks_arguments
def load_native(folder: str | Path, threads: int | None = None) -> Session:
    """
    Load a session that `Session.save` wrote.

    The loaded session accepts the input shapes that the saved one accepts.

    Parameters:
        folder: the folder.
        threads: the number of threads of a run, at most those that it was compiled for (default: these).

    Returns: the session.

    Raises: `XonncError` for missing or damaged files, files of different programs, code for another
        processor, or more threads than it was compiled for.

    Example:
        >>> session = xonnc.load("saved")
    """
    path = Path(folder)
    if path.is_file():
        known = {
            ".so": "; xonnc.Library opens a library",
            ".xpkg": "; xonnc.load_package opens a package",
            ".nvdla": "; xonnc.Simulator runs a loadable",
            ".onnx": "; xonnc.compile compiles a model",
        }
        hint = known.get(path.suffix, "")
        raise XonncError(f"{path}: a file; load takes the folder that Session.save wrote{hint}")
    saved = read_saved(path)
    if saved.processor != host_identity():
        raise XonncError(
            f"{folder}: code for a {saved.processor.split()[0]} processor and its features, which is not "
            "this one; compile the model here"
        )
    started = saved.threads if threads is None else threads
    if not 1 <= started <= saved.threads:
        raise XonncError(
            f"threads: {started}; {folder} is compiled for 1 to {saved.threads}; compile with more threads"
        )
    stored = StoredProgram(saved.program, saved.code, ())
    loaded = _load_executable(stored, Threads(saved.threads, started))
    return Session(lambda shapes, values: loaded)


def compile_module(module: ModuleOp, context: Context, target: str = "cpu") -> Session:
    """
    Compile the IR of a stage from `simplified` to `planned` to native code for this processor.

    The session accepts the input shapes of the module.

    Parameters:
        module: the module, changed in place.
        context: the context that holds its constants.
        target: `cpu` or a processor kind, as in `compile_native`.

    Returns: the session.

    Raises: `XonncError` for a module that cannot be compiled.
    """
    options = CompileOptions(resolve_processor(target))
    threads = Threads(options.threads, options.threads)
    loaded = _load_executable(_compiled(module, options, context), threads)
    return Session(lambda shapes, values: loaded)


def _load_executable(stored: StoredProgram, threads: Threads) -> Executable:
    if not stored.code:
        return Executable(stored.program, {}, None, stored.shape_determining, threads=threads)
    names = {step.function: step for step in stored.program.walk_steps() if isinstance(step, NativeStep)}
    code = Code(stored.code, names, threads)
    return Executable(stored.program, code.entries, code, stored.shape_determining, stored.code, threads)


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
