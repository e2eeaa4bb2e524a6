"""`xonnc emit`: write IR or code as onnx-mlir does for its `--Emit…` options."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xonnc.errors import RefusalError, XonncError, cannot_read
from xonnc.formats.atomic_write import OutputFiles, atomic_writes
from xonnc.tools.commands.stages import StoppedAfterStage
from xonnc.tools.files import FILE_KINDS, require_output
from xonnc.tools.pass_flags import ALIASES, suggest_pass
from xonnc.tools.peer_flags import Tool, peer_flags
from xonnc.tools.signature_options import signature_of
from xonnc.tools.usage import UsageError

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass
    from xdsl.utils.arg_spec import ArgSpec, ParameterListType

    from xonnc.tools.instrumentation import PassObserver, PassRecord
    from xonnc.tools.peer_settings import PeerSettings

PEER_TOOL: Tool = "xonnc emit"
"""The command in the table of onnx-mlir's options."""

ELIDED_ABOVE = 10
"""Constants up to this many elements are printed in the file without constants."""

HYBRID = "onnx-hybrid-transform"

CODE = {"EmitObj": ".o", "EmitLib": ".so"}
"""File extensions of code for the CPU."""

TEXTS = {"EmitMLIR": "krnl", "EmitLLVMIR": "llvm"}
"""Stages from which IR on the way to code for the CPU is written."""

KINDS = {".o": "Object file", ".so": "Shared library", ".h": "Header", ".weight": "Constants"}

OF_CODE = (
    *("mcpu", "maccel", "j", "modelSize", "shapeInformation", "dimParams", "preserveLocations", "printIR"),
    *("do-not-emit-full-mlir-code", "customEnvFlags", "config-file", "save-config-file"),
)
"""Options that apply to code for the CPU, or have no effect on it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.epilog = "It also accepts the options of onnx-mlir that docs/peer-flags.md lists for it."
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json, or its IR: .mlir")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="BASE",
        help="writes BASE.onnx.mlir, and BASE.tmp without constants; BASE.o or BASE.so, and BASE.h, for "
        "--EmitObj and --EmitLib (default: the model's name)",
    )


def run(args: argparse.Namespace) -> int:
    """Import, run the passes, write the files and print their names."""
    peer: PeerSettings = args.peer
    emitted = peer.chosen(peer_flags()["EmitONNXIR"].spellings) or "EmitONNXIR"
    if emitted == "EmitJNI":
        raise UsageError(
            f"--{emitted}: Java archives are not supported; use --EmitLib, which has a C interface"
        )
    base: Path = args.output or args.model.with_suffix("")
    if not base.name:
        raise XonncError(f"{base}: is a folder; name a file in it")
    for ending in (CODE[emitted], ".h") if emitted in CODE else (".onnx.mlir", ".tmp"):
        require_output(base.with_name(base.name + ending), FILE_KINDS, args.model, takes_others=True)
    if emitted in (*CODE, *TEXTS):
        return _compile(args.model, base, emitted, peer)
    passes = list(_passes(peer)) if emitted == "EmitONNXIR" else []
    signature = signature_of(peer)
    ctx, module = _imported(args.model, peer)
    if signature is not None:
        from xonnc.transforms.models.signatures import set_signature

        set_signature(module, signature)
    if peer.on("printONNXBasicIR"):
        _print(module, sys.stdout, peer, ELIDED_ABOVE)
    _apply(passes, ctx, module, peer)
    _tell_statistics(module, peer)
    if peer.on("printIR"):
        _print(module, sys.stdout, peer, None)
    _write(module, base, peer)
    return 0


def _compile(model: Path, base: Path, emitted: str, peer: PeerSettings) -> int:
    """Compile for the CPU and write code, or the IR of a stage."""
    from xonnc.artifacts import compile_artifact

    chosen = (*peer_flags()["EmitONNXIR"].spellings, *peer_flags()["O3"].spellings, *OF_CODE)
    unused = next((name for name in peer.values if name not in chosen), None)
    if unused is not None:
        raise UsageError(
            f"--{unused} is for --EmitONNXIR; with --{emitted} the model goes through 'xonnc simplify'"
        )

    def on_stage(stage: str, module: ModuleOp) -> None:
        if stage == TEXTS.get(emitted):
            if peer.on("printIR"):
                _print(module, sys.stdout, peer, None)
            _write(module, base, peer)
            raise StoppedAfterStage

    output = base.with_name(base.name + CODE.get(emitted, ".ll"))
    signature, target = signature_of(peer), peer.text("mcpu") or "cpu"
    chosen_level = peer.chosen(peer_flags()["O3"].spellings)
    level = 2 if chosen_level is None else int(chosen_level[1:])
    try:
        artifact = compile_artifact(
            model, output, target, level=level, signature=signature, on_stage=on_stage
        )
    except StoppedAfterStage:
        return 0
    except RefusalError as refused:
        if not any("--input-shape" in reason for reason in refused.reasons):
            raise
        hint = "xonnc emit takes sizes by the inputs' indices: --shapeInformation=0:1x3x224x224"
        raise RefusalError([*refused.reasons, hint]) from None
    for path in artifact.files:
        print(f"{KINDS[path.suffix]} written to:\n\t{path}\n")
    return 0


def stages(peer: PeerSettings) -> Iterator[str]:
    """
    The passes of the ONNX level in onnx-mlir's order (docs/internals/onnx-rules.md §8.2), as far as wanted.
    """
    is_hybrid = peer.on("onnx-hybrid-pass", default=True)
    for option in ("append-decoding-strategy", "replace-op-with-its-operand"):
        if peer.text(option) is not None:
            yield option
    yield "decompose-onnx"
    if not peer.on("disable-recompose"):
        yield "recompose-onnx"
    yield from _hybrid(peer) if is_hybrid else _one_by_one(peer)
    yield "simplify-shape-related-ops-onnx"
    if is_hybrid:
        yield HYBRID
    yield "remove-same-onnx-dim"
    yield "standard-func-return"
    yield "onnx-cse-with-node-name"
    yield "scrub-disposable"
    yield "set-onnx-node-name"
    if {"instrument-signature", "instrument-onnx-node"} & peer.values.keys():
        yield "instrument-onnx-runtime-signature"


def _hybrid(peer: PeerSettings) -> Iterator[str]:
    yield HYBRID
    if peer.on("enable-conv-opt-pass", default=True):
        yield "conv-opt-onnx"
        yield HYBRID


def _one_by_one(peer: PeerSettings) -> Iterator[str]:
    """Yield the passes that replace the hybrid pass when it is disabled."""
    yield "shape-inference-onnx"
    yield "canonicalize"
    yield "shape-inference-onnx"
    if peer.on("enable-conv-opt-pass", default=True):
        yield "conv-opt-onnx"
        yield "shape-inference-onnx"
    yield "constprop-onnx"
    if peer.number("onnx-op-transform-threshold") != 0:
        yield "onnx-op-transform"
        return
    for _ in range(peer.number("repeatOnnxTransform") or 0):
        yield "canonicalize"
        yield "shape-inference-onnx"
        yield "constprop-onnx"


def _specs(peer: PeerSettings) -> Iterator[ArgSpec]:
    """Yield the passes with the options that the flags set."""
    from xdsl.utils.arg_spec import ArgSpec

    for name in stages(peer):
        options: dict[str, ParameterListType] = {}
        if name == "append-decoding-strategy":
            options["strategy"] = peer.names(name)
        elif name == "replace-op-with-its-operand":
            options["list-id-regex"] = peer.names(name)
        elif name == HYBRID:
            options["recomposition"] = (not peer.on("disable-recompose"),)
            options["enable-conv-to-matmul"] = (not peer.on("disable-conv-to-matmul"),)
        elif name == "decompose-onnx":
            options["enable-conv-to-matmul"] = (not peer.on("disable-conv-to-matmul"),)
        elif name == "onnx-op-transform":
            options["enable-recompose-opt-pass"] = (not peer.on("disable-recompose"),)
            options["enable-conv-opt-pass"] = (peer.on("enable-conv-opt-pass", default=True),)
        yield ArgSpec(name, options)


def _passes(peer: PeerSettings) -> Iterator[ModulePass]:
    from xonnc.tools.opt import pass_factories
    from xonnc.tools.pass_flags import make_pass

    factories = pass_factories()
    for when in ("before", "after"):
        for name in _heap_passes(peer, when):
            if name not in factories:
                raise UsageError(f"no pass '{name}'{suggest_pass(name, factories)}")
    for spec in peer.for_passes(_specs(peer)):
        yield make_pass(spec, factories)


def _heap_passes(peer: PeerSettings, when: str) -> tuple[str, ...]:
    return tuple(ALIASES.get(name, name) for name in peer.names(f"report-heap-{when}"))


def _imported(model: Path, peer: PeerSettings) -> tuple[Context, ModuleOp]:
    from xdsl.context import Context

    from xonnc.formats.onnx.import_options import ImportOptions, load_with_options
    from xonnc.formats.onnx.importer import import_loaded
    from xonnc.tools.opt import universe
    from xonnc.tools.translate import import_options_of

    ctx = Context()
    for name, factory in universe().all_dialects.items():
        ctx.register_dialect(name, factory)
    if model.suffix == ".mlir":
        return ctx, _parsed(model, ctx, peer)
    loaded = load_with_options(str(model), None, None, import_options_of(peer) or ImportOptions())
    # onnx-mlir's importer puts the bodies of a model's own functions in place of their calls.
    return ctx, import_loaded(loaded, ctx, inline_functions=True)


def _parsed(path: Path, ctx: Context, peer: PeerSettings) -> ModuleOp:
    """Read IR of the onnx dialect."""
    from xonnc.tools.ir_text import read_module
    from xonnc.tools.translate import import_options_of

    if import_options_of(peer) is not None:
        raise XonncError(f"{path}: options of the import are for ONNX models; this is IR")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error) from None
    return read_module(ctx, text, str(path))


def _apply(passes: list[ModulePass], ctx: Context, module: ModuleOp, peer: PeerSettings) -> None:
    from xonnc.rewriting.statistics import collecting
    from xonnc.tools.instrumentation import (
        ConstantCollector,
        PassRecorder,
        PoolRecorder,
        instrumented,
        timing_report,
    )
    from xonnc.tools.pass_observers import HeapReporter, PassAnnouncer

    with collecting() as ledger:
        recorder = PassRecorder(ctx, ledger)
        observers: list[PassObserver] = [
            PoolRecorder(recorder),
            ConstantCollector(ctx),
            *([PassAnnouncer("xonnc emit")] if peer.on("v") else []),
            HeapReporter(ctx, _heap_passes(peer, "before"), _heap_passes(peer, "after")),
            recorder,
        ]
        instrumented(passes, observers).apply(ctx, module)
        records: list[PassRecord] = recorder.records
    if peer.on("enable-timing"):
        print(timing_report(records), file=sys.stderr)


def _tell_statistics(module: ModuleOp, peer: PeerSettings) -> None:
    from xonnc.transforms.op_counts import as_json, as_table, op_counts

    if (form := peer.text("onnx-op-stats")) is not None:
        counts = op_counts(module)
        print(as_json(counts) if form == "JSON" else as_table(counts), file=sys.stderr)


def _write(module: ModuleOp, base: Path, peer: PeerSettings) -> None:
    full, elided = (base.with_name(f"{base.name}{suffix}") for suffix in (".onnx.mlir", ".tmp"))
    with atomic_writes() as files:
        if not peer.on("do-not-emit-full-mlir-code"):
            _write_text(module, files, full, peer, None)
        _write_text(module, files, elided, peer, ELIDED_ABOVE)
    if not peer.on("do-not-emit-full-mlir-code"):
        print(f"Full MLIR code written to:\n\t{full}\n")
    print(f"Constant-free MLIR Code written to:\n\t{elided}\n")


def _write_text(
    module: ModuleOp, files: OutputFiles, path: Path, peer: PeerSettings, elide_larger: int | None
) -> None:
    with files.open(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        _print(module, text, peer, elide_larger)


def _print(module: ModuleOp, stream: TextIO, peer: PeerSettings, elide_larger: int | None) -> None:
    from xonnc.dialects.onnx.assembly import OnnxPrinter

    debuginfo = peer.on("preserveLocations")
    OnnxPrinter(stream=stream, print_debuginfo=debuginfo, elide_larger=elide_larger).print_op(module)
    stream.write("\n")
