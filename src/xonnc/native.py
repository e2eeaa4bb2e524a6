"""
From a model to native code that runs in this process.

    session = xonnc.compile("model.onnx", target="cpu")
    outputs = session.run(None, {"x": array})
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from mmap import ACCESS_READ, mmap
from pathlib import Path
from weakref import finalize

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xonnc.contexts import StageCallback, ignore_stage, new_context
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.elements.cycles import without_cycle_collection
from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.formats.native.program import HostStep, NativeStep, Program
from xonnc.formats.native.program_json import is_serializable
from xonnc.formats.native.saved_program import read_saved
from xonnc.formats.native.stored_program import StoredProgram
from xonnc.formats.onnx.importer import overridable_inputs
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.load_model import load
from xonnc.formats.onnx.payload_extraction import PayloadMarkers, without_payloads
from xonnc.lowering.krnl_to_llvm.cpu_pipeline import CpuPipeline
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_module, llvm_text
from xonnc.lowering.native.profiling import split_kernels
from xonnc.lowering.native.read_program import StepFunctions, read_program
from xonnc.lowering.native.tensor_size_limit import check_tensor_sizes
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import has_kernel
from xonnc.lowering.onnx_to_krnl.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.krnl_attach_core import attach_core
from xonnc.lowering.onnx_to_krnl.shape_inputs import shape_determining_inputs
from xonnc.lowering.onnx_to_krnl.tile_selection import Tile, set_tiles
from xonnc.rewriting.extensions import identities
from xonnc.runtime.native.cache import Cache, cache_key, open_cache
from xonnc.runtime.native.host_processor import host_core
from xonnc.runtime.native.instance import Executable
from xonnc.runtime.native.jit import Code, host_features, host_identity, machine_code
from xonnc.runtime.native.session import InputShapes, InputValues, Session
from xonnc.runtime.native.tuned_tiles import read_tiles
from xonnc.simplifier import simplify, specialize_shapes
from xonnc.targets.cpu import CpuTarget, best_cpu, cpu_names, load_cpu
from xonnc.transforms.declared_types import with_claims
from xonnc.transforms.dense_constants_onnx import make_dense
from xonnc.transforms.models.set_layouts_onnx import Layouts, with_moving
from xonnc.transforms.models.signatures import set_input_values
from xonnc.transforms.models.standard_functions import inline_standard_functions
from xonnc.transforms.optimization_levels import (
    DEFAULT_LEVEL,
    Passes,
    passes_of,
    spelled,
)
from xonnc.transforms.shape_inference_onnx import correct_shapes
from xonnc.transforms.simplify_onnx import Simplification

MAX_THREADS = 256
"""Threads that may share a run."""


@dataclass(frozen=True)
class CompileOptions:
    """How code is made."""

    processor: CpuTarget
    threads: int = 1
    profile: bool = False
    """Whether each kernel is a step of its own."""
    unsafe: bool = False
    """Whether nothing looks for indices and counts that are out of range."""
    level: int = DEFAULT_LEVEL
    """How much LLVM does to code; with 3 its middle end runs too."""
    portable: bool = False
    """Whether code becomes C source."""
    enable_pass: Collection[str] = ()
    disable_pass: Collection[str] = ()
    tiles: Mapping[str, Tile] = field(default_factory=dict[str, Tile])
    """Tiles that were measured on this processor, by kernel."""
    layouts: Layouts = field(default_factory=dict[str, str])
    """Those that inputs and outputs get, by their names."""

    def __post_init__(self) -> None:
        """Refuses a level or a pass that there is not."""
        passes_of(self.level, self.enable_pass, self.disable_pass)

    @cached_property
    def passes(self) -> Passes:
        """Those of the table of levels that run."""
        return passes_of(self.level, with_moving(self.enable_pass, self.layouts), self.disable_pass)

    @property
    def pipeline(self) -> CpuPipeline:
        """The passes of the compiler."""
        return CpuPipeline(
            self.processor.name,
            self.unsafe,
            self.threads,
            self.portable,
            self.level,
            tuple(self.enable_pass),
            tuple(self.disable_pass),
        )

    def attach(self, module: ModuleOp) -> None:
        """Says on a module what its kernels are for, so that its IR becomes the same code anywhere."""
        attach_core(module, self.processor.core)
        if self.tiles:
            set_tiles(module, self.tiles)

    def __str__(self) -> str:
        flags = f"{self.profile} {self.unsafe} {self.level} {spelled(self.passes)}"
        chosen = f"{sorted(self.tiles.items())} {sorted(self.layouts.items())}"
        return f"{self.processor} {self.threads} {flags} {chosen}"


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
) -> Session:
    """
    Compiles the model in a file or in memory for this processor, in this process.

    `target` is `cpu`, or a kind of processor (`avx2`) that this one is. Operators without a kernel run
    through the ONNX reference evaluator, which `Session.report` shows. A run is shared out among `threads`
    threads. With `cache`, what was compiled before is read from disk (`xonnc.runtime.native.cache`). With
    `profile`, each kernel is a step, which `Session.profile` tells the time of. `unsafe` leaves out the
    checks of indices and counts: a run goes on where one is out of range, what it gives then is not defined.
    The passes are those of an optimization `level`, 0 to 3, and those to `enable_pass`, without those to
    `disable_pass` (`xonnc.transforms.optimization_levels`); LLVM makes code at the same level: 3 takes twice
    as long to compile and seldom gains speed, since vectors and tiles are made before. With `tuning`, code
    for `cpu` has the tiles that `xonnc tune` measured. `layouts` are those that inputs and outputs get, by
    their names: `{"x": "NHWC"}`, or `NCHW:NHWC` with the one that the model has. Raises `XonncError` for a
    file that is no model.
    """
    processor = resolve_processor(target)
    if not 1 <= threads <= MAX_THREADS:
        raise XonncError(f"threads: {threads}; 1 to {MAX_THREADS} can share a run")
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

    def session(fed: frozenset[str] = frozenset()) -> Session:
        def undeclared() -> Session:
            return Session(_Compiler(model, options, store, fed, believes_declared=False))

        return Session(_Compiler(model, options, store, fed), with_inputs if not fed else None, undeclared)

    def with_inputs(names: frozenset[str]) -> Session:
        return session(_require_overridable(model, names))

    return session()


def _require_overridable(model: str | Path | onnx.ModelProto, names: frozenset[str]) -> frozenset[str]:
    """The names, if all are of inputs that have a default."""
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
    Compiles a model for shapes of its inputs, and numbers that steer it.

    What the model is whatever its inputs are is found out once: the model is simplified as it is, and copies
    of that for shapes; constants that kernels read in another order are shared by all programs.
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
        self._fingerprint = _fingerprint(model)

    def __call__(self, shapes: InputShapes, values: InputValues) -> Executable:
        threads = self._options.threads
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
        """The model as it is."""
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
    """A copy of a module, simplified for the values of inputs."""
    context, copy = new_context(), module.clone()
    set_input_values(copy, values, DisposablePool.of(context))
    if corrects:
        correct_shapes(copy)
    Simplification(copy, context, passes).run()
    return copy


def _key(digest: str, shapes: InputShapes, values: InputValues, options: str) -> str:
    """What a compilation depends on."""
    numbers = repr({name: (str(value.dtype), value.tobytes()) for name, value in values.items()})
    compiler = f"{version('xonnc')} {identities()}"
    parts = (compiler, host_identity(), options, repr(sorted(shapes.items())), numbers, digest)
    return cache_key(part.encode() for part in parts)


def _digest(model: str | Path | onnx.ModelProto) -> str | None:
    """What tells a model from others; `None` for models that are not all in one place."""
    if isinstance(model, onnx.ModelProto):
        content = model.SerializeToString(deterministic=True)
        return None if _may_have_external_data(content) else sha256(content).hexdigest()
    if not Path(model).is_file() or not Path(model).stat().st_size:
        return None
    with Path(model).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as held:
        return None if _may_have_external_data(held) else sha256(held).hexdigest()


def _fingerprint(model: str | Path | onnx.ModelProto) -> tuple[int, int] | None:
    """What changes when a model does."""
    if isinstance(model, onnx.ModelProto):
        return model.ByteSize(), 0
    if not Path(model).is_file():
        return None
    state = Path(model).stat()
    return state.st_mtime_ns, state.st_size


def _may_have_external_data(content: bytes | mmap) -> bool:
    """
    Whether a model may have constants in other files, by their location (TensorProto.external_data).

    So has one that is no model: the compiler says what is wrong.
    """
    with memoryview(content) as view:
        try:
            # Payloads are most of a model, and hold no locations.
            return b"location" in without_payloads(view, PayloadMarkers())
        except XonncError:
            return True


def resolve_processor(target: str, needs_host: bool = True) -> CpuTarget:
    """The processor that `target` names; this one has to be of the kind if code for it `needs_host`."""
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
    """Tiles that were measured on this processor, which are for the target `cpu` alone."""
    return read_tiles(resolve_processor(target)) if tuning and target == "cpu" else {}


def prepare_for_lowering(module: ModuleOp, context: Context, passes: Passes) -> None:
    """Prepare a simplified module for the pipeline: dense constants, functions without kernels inlined."""
    make_dense(module, DisposablePool.of(context))
    check_tensor_sizes(module)
    inline_standard_functions(module, context, lambda op: not has_kernel(op), passes)


def _compiled(module: ModuleOp, options: CompileOptions, context: Context) -> StoredProgram:
    prepare_for_lowering(module, context, options.passes)
    steering = shape_determining_inputs(module)
    processor, threads = options.processor, options.threads
    options.attach(module)
    program, steps, kernels = lower_to_program(module, options, context)
    if options.profile:
        steps = split_kernels(program, steps)
    text = ""
    if steps:
        with without_cycle_collection():
            text = llvm_text(llvm_module(kernels, steps, processor.vector_bytes, threads), steps, threads)
    if not any(isinstance(step, HostStep) for step in program.walk_steps()):
        _release_constants(module, *kernels)
    return StoredProgram(program, machine_code(text, options.level) if steps else b"", steering)


def _release_constants(*ops: Operation) -> None:
    """
    Drop the attributes of modules that have been compiled.

    Modules die in cycles, which Python finds later; their constants must not wait for that.
    """
    roots = {root for op in ops if isinstance(root := op.get_toplevel_object(), Operation)}
    for root in roots:
        drop_attributes(root)


def load_native(folder: str | Path) -> Session:
    """
    The session of what `Session.save` has written to a folder.

    It takes inputs of the sizes that what was saved takes. Raises `XonncError` for files that are missing,
    damaged, of different programs, or for another processor.
    """
    saved = read_saved(Path(folder))
    if saved.processor != host_identity():
        raise XonncError(
            f"{folder}: code for a {saved.processor.split()[0]} processor and its features, which is not "
            "this one; compile the model here"
        )
    loaded = _load_executable(StoredProgram(saved.program, saved.code, ()), saved.threads)

    def compile_for(shapes: InputShapes, values: InputValues) -> Executable:
        return loaded

    return Session(compile_for)


def _load_executable(stored: StoredProgram, threads: int) -> Executable:
    if not stored.code:
        return Executable(stored.program, {}, None, stored.shape_determining, threads=threads)
    names = {step.function: step for step in stored.program.walk_steps() if isinstance(step, NativeStep)}
    code = Code(stored.code, names, threads)
    return Executable(stored.program, code.entries, code, stored.shape_determining, stored.code, threads)


def lower_to_program(
    module: ModuleOp, options: CompileOptions, context: Context, on_stage: StageCallback = ignore_stage
) -> tuple[Program, StepFunctions, Sequence[FuncOp]]:
    """
    Lower a simplified module: the program, the functions of its native steps, and the kernels.

    `on_stage` is called after each stage.
    """
    with without_cycle_collection():
        for stage, step in options.pipeline.to_kernels():
            if step is not None:
                step.apply(context, module)
            on_stage(stage, module)
    program, steps = read_program(module)
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and not is_outlined(op)]
    return program, steps, kernels[1:]
