"""
Compile ONNX models to files that run without Python: shared library, object file, LLVM IR or C source.

    xonnc.compile_artifact("model.onnx", "model.so")

Each comes with a header, `model.h`. Constants that are not embedded are in a file beside it: `model.weight`
for C source, `model.so.weight` and so on for the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.argument_types import checks_arguments
from xonnc.contexts import StageCallback, ignore_stage, new_context
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.atomic_write import OutputFiles, atomic_writes, name_path_in_errors, require_writable
from xonnc.formats.native.program import Program
from xonnc.formats.native.weights import WeightFile
from xonnc.formats.onnx.known_operators import require_known_operators
from xonnc.formats.onnx.model_summary import ModelSummary, summarize
from xonnc.lowering.krnl_to_llvm.entry_point import entry_text, weights_text
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import llvm_text
from xonnc.lowering.llvm_to_c.c_source import c_source
from xonnc.lowering.memory_planning.offset_assignment import require_allocator
from xonnc.lowering.native.api_tables import ApiTables, tables_as_c, tables_as_llvm, tables_of
from xonnc.lowering.native.c_api import api_as_c, api_as_llvm
from xonnc.lowering.native.c_header import c_header
from xonnc.lowering.native.c_kernels import c_unit
from xonnc.lowering.native.read_program import kernel_calls
from xonnc.lowering.native.value_locations import memory_layout, require_standalone
from xonnc.lowering.onnx_to_krnl.planning.contributed_operators import require_implementations
from xonnc.lowering.onnx_to_krnl.planning.krnl_attach_core import attached_core
from xonnc.native_compilation import (
    CompileOptions,
    lower_to_program,
    measured_tiles,
    prepare_for_lowering,
    resolve_processor,
)
from xonnc.rewriting.extensions import NATIVE_STAGES
from xonnc.runtime.native.c_compiler import with_c_kernels
from xonnc.runtime.native.jit import is_foreign, object_code
from xonnc.runtime.native.linker import link
from xonnc.simplifier import simplify, specialize_shapes
from xonnc.stage_files import Stage, is_ir, model_or_stage
from xonnc.targets.cpu import CODE_SUFFIXES, CpuTarget
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.models.set_layouts_onnx import Layouts
from xonnc.transforms.models.signatures import Signature
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL

STAGES = (*NATIVE_STAGES, "llvm", "emitted")
"""
Stages in order: simplified ONNX, legalised ONNX, outlined functions for data-dependent shapes, fusion groups,
channel-blocked layouts, kernels and calls of them, packed weights, kernels with ranges of iterations, planned
memory, LLVM dialect (not for C), files.
"""

PREFIX = r"[A-Za-z_][A-Za-z0-9_]*"

RESERVED = ("cnd", "mtx", "pthread", "sem", "thrd", "timer", "tss")
"""Prefixes whose `_create` or `_destroy` function exists in the C library."""

MAX_EMBEDDED_BYTES = 1 << 28
"""
Constants up to this many bytes are embedded in objects; larger ones are a file that processes share by
mapping.
"""


@dataclass(frozen=True)
class Artifact:
    """The files of a compiled model, and what is in them."""

    files: Mapping[Path, int]
    """Sizes in bytes, by file."""
    program: Program = field(repr=False)
    target: str
    weight_bytes: int
    kernels: int
    calls: int
    """Kernel calls of one run."""
    simplified: ModelSummary
    """The operators of the simplified model."""


@checks_arguments
def compile_artifact(
    model: str | Path | onnx.ModelProto,
    output: str | Path,
    target: str = "cpu",
    *,
    prefix: str | None = None,
    no_malloc: bool = False,
    unsafe: bool = False,
    level: int = DEFAULT_LEVEL,
    enable_pass: Collection[str] = (),
    disable_pass: Collection[str] = (),
    tuning: bool = True,
    layouts: Layouts | None = None,
    mem_alloc: str = "auto",
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    signature: Signature | None = None,
    on_stage: StageCallback = ignore_stage,
    strict: bool = False,
) -> Artifact:
    """
    Compile a model to native code in files.

    Parameters:
        model: the path of the model, or of IR: a model in the onnx dialect, or the dump of a stage up to
            `planned`, which is compiled from there on; or the model in memory.
        output: the file to write; its suffix (.so, .o, .ll, .c) selects the kind.
        target: `cpu` for this processor, or a processor kind (`avx2`, …), which need not be this one's. C
            source is portable.
        prefix: the prefix of the exported symbols (default: the name of `output`). Nothing else is exported.
        no_malloc: whether C source keeps its memory in static arrays; shapes must be static.
        unsafe: whether run-time checks of indices and counts are left out.
        level: the optimization level, 0 to 3, as in `xonnc.compile`.
        enable_pass: passes to run in addition to those of the level.
        disable_pass: passes of the level to leave out.
        tuning: whether tile sizes measured by `xonnc tune` are used, for the target `cpu`.
        layouts: layouts of inputs and outputs by name, as in `xonnc.compile`.
        mem_alloc: the allocator of the memory of activations: `first-fit`, `best-fit`, or `auto` for the
            smallest of several plans.
        input_shapes: static shapes for dynamic inputs, by name.
        signature: the same by position, with names of dimensions.
        on_stage: called with each stage of `STAGES` but the last and the module after it. It may raise to
            stop the compilation.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.

    Returns: the files written, with figures on the code.

    Raises:
        RefusalError: with every operator that has no native code. An operator may need static shapes.
        InvalidModelError: for an invalid model.
        XonncError: for a file that is not a model, an unknown suffix or an invalid prefix.

    Example:
        >>> xonnc.compile_artifact("model.onnx", "model.so", input_shapes={"x": (1, 3, 224, 224)})
    """
    path = Path(output)
    if path.suffix not in CODE_SUFFIXES:
        raise XonncError(f"{path}: native code is written to {', '.join(CODE_SUFFIXES)}")
    prefix = prefix_of(path) if prefix is None else prefix
    if re.fullmatch(PREFIX, prefix) is None:
        raise XonncError(f"prefix '{prefix}': it must be a C identifier: letters, digits and _")
    if prefix in RESERVED:
        raise XonncError(
            f"prefix '{prefix}': {prefix}_create or {prefix}_destroy is a function of the C library"
        )
    if no_malloc and path.suffix != ".c":
        raise XonncError(f"{path}: memory in static arrays is for C source; -o {path.with_suffix('.c')}")
    options = CompileOptions(
        resolve_processor(target, needs_host=False),
        unsafe=unsafe,
        level=level,
        portable=path.suffix == ".c",
        enable_pass=enable_pass,
        disable_pass=disable_pass,
        tiles=measured_tiles(target, tuning),
        layouts=layouts or {},
        mem_alloc=require_allocator(mem_alloc),
    )
    require_writable(path)
    processor = options.processor
    module, context = prepared_module(model, options, input_shapes, signature, strict)
    require_known_operators(module)
    require_implementations(module)
    simplified = summarize(module)
    program, rows, kernels = lower_to_program(module, options, context, on_stage)
    _require_native(program, path.name, options)
    if no_malloc and program.is_dynamic:
        raise XonncError(f"{path}: static arrays need static shapes; give them with --input-shape")
    unit = c_unit(kernels)
    if unit and path.suffix == ".ll":
        raise XonncError(
            f"{path}: a plug-in has operators in C, which are no LLVM IR; use -o {path.with_suffix('.o')}"
        )
    layout = memory_layout(program)
    files = _Files(path, prefix)
    can_hold = path.suffix in (".so", ".o") and not is_foreign(processor.triple)
    inside = can_hold and layout.weights.size <= MAX_EMBEDDED_BYTES
    tables = tables_of(program, layout, prefix, files.weights.name)
    name = Path(model).name if isinstance(model, str | Path) else model.graph.name
    # Everything is written before the first file gets its name, so that a full disk changes none.
    with name_path_in_errors(path), TemporaryDirectory(dir=path.parent) as folder, atomic_writes() as written:
        if path.suffix == ".c":
            api = _c_api(tables, prefix, program if no_malloc else None)
            source = c_source(kernels, rows, layout, api, files.header.name, processor.vector_bytes)
            files.write(written, path, source.encode())
        else:
            options.pipeline.to_code().apply(context, module)
            on_stage("llvm", module)
            text = llvm_text(module, triple=processor.triple, is_local=True)
            text += entry_text([name for name, _ in rows], layout)
            text += _llvm_api(tables, prefix, text, layout.weights if inside else None, Path(folder))
            own = None if target == "cpu" else processor
            files.write_code(written, text, unit, Path(folder), own, level)
        if not inside:
            files.write(written, files.weights, *layout.weights.file_pieces())
        files.write(written, files.header, c_header(program, prefix, name).encode())
    calls = sum(1 for _, row in rows for _ in kernel_calls(row))
    return Artifact(
        files.sizes, program, processor.name, layout.weights.size, len(kernels), calls, simplified
    )


def _require_native(program: Program, name: str, options: CompileOptions) -> None:
    """
    Raise `RefusalError` for operators without native code, with a hint if constant folding was disabled.
    """
    try:
        require_standalone(program, name)
    except RefusalError as refused:
        if ConstProp.name in options.passes:
            raise
        hint = f"{name}: pass {ConstProp.name} is off, without which fewer operators have native code"
        raise RefusalError([*refused.reasons, f"{hint}; --enable-pass {ConstProp.name}"]) from None


def planned_module(
    model: str | Path | onnx.ModelProto,
    target: str = "cpu",
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    on_stage: StageCallback = ignore_stage,
) -> ModuleOp:
    """
    Return the IR of a model after memory planning: kernels, their calls in order, buffer offsets.

    Parameters:
        model: the path of the model, or the model in memory.
        target: `cpu`, or a processor kind.
        input_shapes: static shapes for dynamic inputs, by name.
        on_stage: called with each stage before, as `compile_artifact` does.

    Raises: as `compile_artifact`.

    Example:
        >>> module = planned_module("model.onnx", "avx2")
    """
    options = CompileOptions(resolve_processor(target, needs_host=False))
    module, context = prepared_module(model, options, input_shapes)
    lower_to_program(module, options, context, on_stage)
    return module


def prepared_module(
    model: str | Path | onnx.ModelProto,
    options: CompileOptions,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    signature: Signature | None = None,
    strict: bool = False,
) -> tuple[ModuleOp, Context]:
    """
    Return the simplified module, prepared for lowering, and the context of its constants.

    IR of a stage is returned as it is, with a core if it has none.

    Parameters:
        model: the path of the model or of IR, or the model in memory.
        options: the options of code generation.
        input_shapes: static shapes for dynamic inputs, by name.
        signature: the same by position, with names of dimensions.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
    """
    if isinstance(model, str | Path) and is_ir(model):
        found = model_or_stage(Path(model))
        if isinstance(found, Stage):
            _require_own_shapes(Path(model), options, input_shapes, signature)
            if attached_core(found.module) is None:
                options.attach(found.module)
            return found.module, found.context
        model = found
    module = simplify(
        model,
        inline_functions=True,
        signature=signature,
        fold_overridable=True,
        strict=strict,
        declared="checked",
        level=options.level,
        enable_pass=options.enable_pass,
        disable_pass=options.disable_pass,
        layouts=options.layouts,
        drops_branches=True,
    ).module
    if input_shapes:
        module = specialize_shapes(module, input_shapes, options.passes)
    context = new_context()
    prepare_for_lowering(module, context, options.passes)
    options.attach(module)
    return module, context


def _require_own_shapes(
    path: Path,
    options: CompileOptions,
    input_shapes: Mapping[str, Sequence[int]] | None,
    signature: Signature | None,
) -> None:
    """Refuse options that simplification follows, for IR of a later stage."""
    if input_shapes or signature is not None:
        raise XonncError(f"{path}: the shapes of a stage are in its IR; input shapes are for the model")
    if options.layouts:
        raise XonncError(f"{path}: the layouts of a stage are in its IR; layouts of inputs are for the model")


WEIGHTS = "xonnc_weights"
"""The symbol of embedded constants."""


@dataclass
class _Files:
    """The files of one artifact, with their sizes."""

    path: Path
    prefix: str
    sizes: dict[Path, int] = field(default_factory=dict[Path, int])

    @property
    def header(self) -> Path:
        """The header; it is the same for all kinds of output."""
        return self.path.with_suffix(".h")

    @property
    def weights(self) -> Path:
        """The file of constants; each kind of output has its own, since the order of constants may differ."""
        return self.path.with_suffix(".weight" if self.path.suffix == ".c" else f"{self.path.suffix}.weight")

    def write(self, output: OutputFiles, path: Path, *pieces: bytes | memoryview) -> None:
        """Write one of the files."""
        with output.open(path) as stream:
            stream.writelines(pieces)
        self.sizes[path] = sum(memoryview(piece).nbytes for piece in pieces)

    def write_code(
        self,
        output: OutputFiles,
        text: str,
        unit: str,
        folder: Path,
        processor: CpuTarget | None,
        level: int,
    ) -> None:
        """
        Write LLVM IR, or compile it to an object file or a shared library for a processor kind or this
        processor; `unit` is the source of kernels written in C.
        """
        if self.path.suffix == ".ll":
            self.write(output, self.path, text.encode())
            return
        features, triple = (None, "") if processor is None else (processor.features, processor.triple)
        code = object_code(text, features, triple, level)
        code = with_c_kernels(code, unit, triple if is_foreign(triple) else "")
        if self.path.suffix == ".o":
            self.write(output, self.path, code)
            return
        objects, library = folder / "model.o", folder / "model.so"
        objects.write_bytes(code)
        link(objects, library, triple if is_foreign(triple) else "", self.path)
        self.sizes[self.path] = library.stat().st_size
        output.adopt(library, self.path)


def _llvm_api(tables: ApiTables, prefix: str, text: str, inside: WeightFile | None, folder: Path) -> str:
    """
    Return the tables and exported functions in LLVM IR, to be appended to the module `text`.

    Embedded constants are written to a file in `folder`, which the assembler includes.
    """
    symbol, made = None, ""
    if inside is not None and inside.size:
        constants = folder.resolve() / "weights"
        with constants.open("wb") as stream:
            stream.writelines(inside.pieces())
        symbol, made = WEIGHTS, weights_text(constants, WEIGHTS)
    made += tables_as_llvm(tables, symbol)
    return made + api_as_llvm(prefix, text + made)


def _c_api(tables: ApiTables, prefix: str, static: Program | None) -> str:
    """
    Return the tables and exported functions in C; `static` is the program whose memory is in static arrays.
    """
    parts = [tables_as_c(tables), api_as_c(prefix)]
    if static is not None:
        ports = len(static.inputs) + 2 * len(static.outputs)
        state = 128 + 8 * (ports + len(tables.shapes))
        sizes = {"STATE": state, "ARENA": max(64, static.arena)}
        defines = [f"#define XONNC_{name}_BYTES {size}" for name, size in sizes.items()]
        parts.insert(0, "\n".join(["#define XONNC_NO_MALLOC 1", *defines, ""]))
    return "\n".join(parts)


def prefix_of(path: Path) -> str:
    """
    Return the default prefix of exported symbols: the file's stem as a C identifier.

    Parameters:
        path: the output file.
    """
    stem = re.sub(r"[^A-Za-z0-9_]", "_", path.name.removesuffix(path.suffix))
    return stem if re.fullmatch(PREFIX, stem) and stem not in RESERVED else f"model_{stem}"
