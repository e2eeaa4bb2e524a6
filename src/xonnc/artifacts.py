"""
From a model to files that run it without Python: a shared library, an object file, LLVM IR or C source.

    xonnc.compile_artifact("model.onnx", "model.so")

Beside each comes a header, `model.h`, and a file of constants, `model.weight`, if they are not inside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from xonnc.contexts import Watcher, new_context, nobody
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import Program
from xonnc.lowering.convert_onnx_to_krnl import has_kernel
from xonnc.lowering.krnl_to_llvm.entry import entry_text, weights_text
from xonnc.lowering.krnl_to_llvm.text import llvm_module, llvm_text
from xonnc.lowering.llvm_to_c.program import byte_products, c_source
from xonnc.lowering.native_header import Holding, c_header
from xonnc.lowering.native_layout import Layout, layout_of, require_whole
from xonnc.lowering.native_program import Steps, calls_of
from xonnc.lowering.native_sizes import require_sizes
from xonnc.native import Making, lowered, processor_of, require_level
from xonnc.runtime.native.jit import is_foreign, object_code
from xonnc.runtime.native.linker import link
from xonnc.signatures import Signature
from xonnc.simplifier import respecialized, simplify
from xonnc.standard_functions import write_out
from xonnc.targets.cpu import CpuTarget

SUFFIXES = (".so", ".o", ".ll", ".c")

STAGES = ("simplified", "krnl", "llvm", "emitted")
"""The stages in order: the ONNX level, kernels and calls of them, functions of LLVM (not for C), files."""

MOST_INSIDE = 1 << 28
"""Bytes of constants that objects hold; more are a file of their own, which processes share."""


@dataclass(frozen=True)
class Artifact:
    """The files of a compiled model, and what it needs."""

    files: Mapping[Path, int]
    """With their bytes."""
    program: Program
    target: str
    weight_bytes: int
    kernels: int
    calls: int
    """How often kernels are called in a run."""


def compile_artifact(
    model: str | Path | onnx.ModelProto,
    output: str | Path,
    target: str = "cpu",
    *,
    prefix: str = "model",
    no_malloc: bool = False,
    unsafe: bool = False,
    level: int = 2,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    signature: Signature | None = None,
    watch: Watcher = nobody,
) -> Artifact:
    """
    Compiles a model to the file `output`, of the kind that its suffix says, and those beside it.

    `target` is `cpu`, this processor, or a kind (`avx2`), which this one need not be; C source is for any.
    What the files define begins with `prefix`. C source made with `no_malloc` has its memory in static
    arrays. `unsafe` leaves out the checks of indices and counts. LLVM makes machine code at `level` 0 to 3.
    Inputs with dynamic sizes take any, unless `input_shapes` say those of inputs by their names, or a
    `signature` by their places; one of these is needed where an operator has no code for any sizes. `watch`
    is shown the module after each stage of `STAGES` but the last, and may raise to stop there. Raises
    `RefusalError` with every operator that has no native code, `XonncError` for a name or suffix that does
    not fit.
    """
    path = Path(output)
    if path.suffix not in SUFFIXES:
        raise XonncError(f"{path}: native code is written to {', '.join(SUFFIXES)}")
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", prefix) is None:
        raise XonncError(f"prefix '{prefix}': names in C begin so, of letters, digits and _")
    if no_malloc and path.suffix != ".c":
        raise XonncError(f"{path}: memory in static arrays is for C source; -o {path.with_suffix('.c')}")
    require_level(level)
    processor = processor_of(target, needs_host=False)
    if path.suffix == ".c":
        processor = replace(processor, byte_products=byte_products(processor.vector_bytes))
    module = simplify(
        model,
        inline_functions=True,
        signature=signature,
        fold_overridable=True,
    ).module
    if input_shapes:
        module = respecialized(module, input_shapes)
    context = new_context()
    require_sizes(module)
    write_out(module, context, lambda op: not has_kernel(op))
    watch("simplified", module)
    program, rows, kernels = lowered(module, Making(processor, unsafe=unsafe), context, watch)
    require_whole(program, path.name)
    if no_malloc and program.is_open:
        raise XonncError(
            f"{path}: memory in static arrays is for sizes that are known; --input-shape says them"
        )
    layout = layout_of(program)
    steps: Steps = [(f"{prefix}_{name}", row) for name, row in rows]
    header, weight_file = path.with_suffix(".h"), path.with_suffix(".weight")
    files: dict[Path, int] = {}
    fits = 0 < layout.weights.size <= MOST_INSIDE
    inside = path.suffix in (".so", ".o") and fits and not is_foreign(processor.triple)
    if path.suffix == ".c":
        source = c_source(kernels, steps, layout, prefix, header.name, processor.vector_bytes)
        if no_malloc:
            source += f"_Alignas(64) unsigned char {prefix}_arena[{max(64, program.arena)}];\n"
        files[path] = _write(path, source.encode())
    else:
        code = llvm_module(kernels, steps, processor.vector_bytes)
        watch("llvm", code)
        text = llvm_text(code, triple=processor.triple)
        text += entry_text([name for name, _ in steps], layout, prefix)
        if path.suffix == ".ll":
            files[path] = _write(path, text.encode())
        else:
            files[path] = _write_code(
                path, text, layout, prefix, inside, None if target == "cpu" else processor, level
            )
    if not inside:
        with atomic_write(weight_file) as stream:
            files[weight_file] = layout.weights.write_to(stream)
    where = "inside" if inside else "caller" if no_malloc else "file"
    name = Path(model).name if isinstance(model, str | Path) else model.graph.name
    holding = Holding(where, weight_file.name)
    files[header] = _write(header, c_header(program, layout, prefix, name, holding).encode())
    calls = sum(1 for _, row in steps for _ in calls_of(row))
    return Artifact(files, program, processor.name, layout.weights.size, len(kernels), calls)


def _write(path: Path, content: bytes) -> int:
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def _write_code(
    path: Path,
    text: str,
    layout: Layout,
    prefix: str,
    inside: bool,
    processor: CpuTarget | None,
    level: int,
) -> int:
    """An object file or a shared library, for a kind of processor or this one; its bytes."""
    features, triple = (None, "") if processor is None else (processor.features, processor.triple)
    with TemporaryDirectory(dir=path.parent) as folder:
        if inside:
            constants = Path(folder).resolve() / "weights"
            with constants.open("wb") as stream:
                stream.writelines(layout.weights.pieces())
            text += weights_text(constants, prefix)
        code = object_code(text, features, triple, level)
        if path.suffix == ".o":
            return _write(path, code)
        objects = Path(folder) / "model.o"
        _write(objects, code)
        link(objects, path, triple if is_foreign(triple) else "")
    return path.stat().st_size
