"""
onnx-mlir's command-line options, each with what it does here or what comes nearest
(docs/internals/onnx-rules.md §8.3).

One table: what the tools accept, the message for a flag that none takes, and the page `docs/peer-flags.md`
are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

Tool: TypeAlias = Literal["onnx-opt", "onnx-translate", "xonnc emit", "xonnc simplify"]

Declared: TypeAlias = Literal["common", "onnx-mlir", "onnx-mlir-opt"]
"""The tools for which onnx-mlir declares an option: all its tools, for its driver, for its `opt`."""

OPT: tuple[Tool, ...] = ("onnx-opt",)
EMIT: tuple[Tool, ...] = ("xonnc emit",)
IMPORT: tuple[Tool, ...] = ("onnx-translate", "xonnc emit")
PASSES: tuple[Tool, ...] = ("onnx-opt", "xonnc emit")
ALL: tuple[Tool, ...] = ("onnx-opt", "onnx-translate", "xonnc emit")
SIGNATURE: tuple[Tool, ...] = (*ALL, "xonnc simplify")

PROBES = "`xonnc run --profile` measures the kernels of a model, `--timing` and `--stats` the passes"


@dataclass(frozen=True)
class PeerFlag:
    """An option of onnx-mlir."""

    name: str
    """Its name without dashes; of several that choose one thing, all of them with commas between."""
    declared: Declared
    does: str
    """Its effect here; for an unsupported flag the nearest equivalent."""
    value: str | None = None
    """The value after `=`; `None` for a switch, which takes `true` or `false`."""
    by: tuple[Tool, ...] = ()
    """The tools that take it; none if it is not taken."""
    sets: tuple[tuple[str, str], ...] = ()
    """The passes, each with its option, that it stands for wherever they are asked for."""
    choices: tuple[str, ...] = ()
    """The values that are taken; any if there are none."""
    default: str | None = None
    """The value where none is written; `None` if one has to be."""
    is_own: bool = False
    """Whether the tools have it among their own options, with the same meaning."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the names of the option, without dashes."""
        return tuple(self.name.split(","))


def _folding(option: str) -> tuple[tuple[str, str], ...]:
    """Return an option of constant propagation, passed to each occurrence of that pass."""
    folding = ("constprop-onnx", "onnx-hybrid-transform", "simplify-shape-related-ops-onnx")
    return tuple((name, option) for name in folding)


COMMON = (
    PeerFlag("input", "common", "the file to read (default: standard input)", "FILE", ALL, is_own=True),
    PeerFlag("o", "common", "where to write", "FILE", ALL, is_own=True),
    PeerFlag(
        "maccel",
        "common",
        "accepted for `NONE` and `CPU`; another accelerator is a `--target` of `xonnc compile`",
        "NAME",
        ALL,
        choices=("NONE", "CPU"),
    ),
    PeerFlag(
        "O0,O1,O2,O3",
        "common",
        "the optimization level of `--EmitLib` and `--EmitObj` (default: 2; `xonnc passes --levels` lists "
        "their passes); the passes of the ONNX level are the same",
        by=ALL,
    ),
    PeerFlag(
        "mtriple", "common", "accepted without effect: code is for systems like this one", "TRIPLE", ALL
    ),
    PeerFlag(
        "mcpu",
        "common",
        "the kind of processor that `--EmitLib` and `--EmitObj` are for; no effect on the ONNX level",
        "NAME",
        ALL,
    ),
    PeerFlag("march", "common", "accepted without effect: `--mcpu` chooses the processor", "NAME", ALL),
    PeerFlag("nnpa-epsilon", "common", "none; it belongs to another accelerator", "NUMBER"),
    PeerFlag("instrument-stage", "common", PROBES, "STAGE"),
    PeerFlag(
        "onnx-const-prop-round-fp-to-int",
        "common",
        "`--constprop-onnx=round-fp-to-int`: casts to integers round to nearest even",
        by=PASSES,
        sets=_folding("round-fp-to-int"),
    ),
    PeerFlag(
        "onnx-const-prop-expansion-bound",
        "common",
        "`--constprop-onnx='expansion-bound=N'`: no fold makes more than N times the bytes it reads",
        "N",
        PASSES,
        sets=_folding("expansion-bound"),
    ),
    PeerFlag(
        "onnx-const-prop-disable-pattern",
        "common",
        "`--constprop-onnx='disable-pattern=A,B'`: rules to leave out",
        "NAMES",
        PASSES,
        sets=_folding("disable-pattern"),
    ),
    PeerFlag(
        "onnx-hybrid-pass",
        "common",
        "`false` runs the passes one after the other; no effect on onnx-opt, whose passes are options",
        by=PASSES,
    ),
    PeerFlag(
        "functions-to-decompose",
        "common",
        "operators with a function body in ONNX, to be imported as that body",
        "NAMES",
        IMPORT,
    ),
    PeerFlag("disable-krnl-op-fusion", "common", "none; elementwise operators are always fused into kernels"),
    PeerFlag("disable-quantization-zero-point", "common", "none; zero points are always applied"),
    PeerFlag("enable-krnl-buffer-reuse", "common", "not needed; buffers are always reused"),
    PeerFlag("enable-safe-code-gen", "common", "not needed; indices are checked unless `--unsafe` is given"),
    PeerFlag(
        "shapeInformationUB", "common", "`--shapeInformation` fixes sizes; there are no bounds", "SHAPES"
    ),
    PeerFlag(
        "shapeInformationLB", "common", "`--shapeInformation` fixes sizes; there are no bounds", "SHAPES"
    ),
    PeerFlag(
        "disable-memref-prefetch",
        "common",
        "none; prefetch distances are those of the core (`krnl-attach-core`)",
    ),
    PeerFlag(
        "decompose-op-in-onnx",
        "common",
        "`--decompose-onnx='decompose-op-in-onnx=A,B'`: operators decomposed only on request",
        "NAMES",
        PASSES,
        sets=(
            ("decompose-onnx", "decompose-op-in-onnx"),
            ("onnx-hybrid-transform", "decompose-op-in-onnx"),
        ),
    ),
    PeerFlag("linalg-ops", "common", "none; there is no lowering to linalg", "NAMES"),
    PeerFlag(
        "disable-eliminate-write-only-alloc", "common", "none; a buffer that nothing reads is never allocated"
    ),
    PeerFlag(
        "disable-constant-prop",
        "common",
        "`--constprop-onnx=disable`: nothing is folded",
        by=PASSES,
        sets=_folding("disable"),
    ),
    PeerFlag("disable-count-include-pad", "common", "none; the attribute is always applied"),
    PeerFlag("j", "common", "accepted without effect: passes run one after the other", "N", ALL),
)

DRIVER = (
    PeerFlag(
        "EmitONNXBasic,EmitONNXIR,EmitMLIR,EmitLLVMIR,EmitObj,EmitLib,EmitJNI",
        "onnx-mlir",
        "the output: the model as imported (the only one in onnx-translate), after the ONNX-level passes, as"
        " kernels, as LLVM dialect, an object file, or a library with a C header; Java is not supported",
        by=IMPORT,
    ),
    PeerFlag("disable-recompose", "onnx-mlir", "disables `recompose-onnx` and its rules", by=EMIT),
    PeerFlag(
        "invokeOnnxVersionConverter",
        "onnx-mlir",
        "converts the model to the newest opset first, by the onnx package's version converter",
        by=IMPORT,
    ),
    PeerFlag("preserveLocations", "onnx-mlir", "prints locations (the default in onnx-translate)", by=IMPORT),
    PeerFlag("printIR", "onnx-mlir", "prints the result on standard output too", by=EMIT),
    PeerFlag("printONNXBasicIR", "onnx-mlir", "prints the model as imported, constants elided", by=EMIT),
    PeerFlag(
        "do-not-emit-full-mlir-code", "onnx-mlir", "writes only the file with elided constants", by=EMIT
    ),
    PeerFlag("omit-compile-info", "onnx-mlir", "none; output files have no compile information"),
    PeerFlag(
        "preserveBitcode", "onnx-mlir", "`xonnc compile --dump DIR` keeps the IR of each stage, LLVM's too"
    ),
    PeerFlag(
        "preserveLLVMIR", "onnx-mlir", "`xonnc compile --dump DIR` keeps the IR of each stage, LLVM's too"
    ),
    PeerFlag("preserveMLIR", "onnx-mlir", "`xonnc compile --dump DIR` keeps the IR of each stage"),
    PeerFlag(
        "useOnnxModelTypes",
        "onnx-mlir",
        "`false` ignores the model's types of intermediate values",
        by=IMPORT,
    ),
    PeerFlag(
        "repeatOnnxTransform",
        "onnx-mlir",
        "without the hybrid pass and with --onnx-op-transform-threshold=0: N more iterations",
        "N",
        EMIT,
    ),
    PeerFlag(
        "shapeInformation",
        "onnx-mlir",
        "sizes of inputs by index, `0:1x3x-1,1-2:5`; a size of -1 is dynamic, index -1 stands for all inputs",
        "SHAPES",
        SIGNATURE,
    ),
    PeerFlag(
        "dimParams",
        "onnx-mlir",
        "names of inputs' dynamic dimensions by index, `0:0=batch,1=seq|1:0=batch`; -1 stands for all inputs",
        "NAMES",
        SIGNATURE,
    ),
    PeerFlag(
        "customEnvFlags",
        "onnx-mlir",
        "the environment variable whose flags precede those of the command line (default: ONNX_MLIR_FLAGS)",
        "NAME",
        ALL,
    ),
    PeerFlag(
        "modelSize", "onnx-mlir", "accepted without effect: there is no limit on the size", "SIZE", EMIT
    ),
    PeerFlag(
        "store-constants-to-file",
        "onnx-mlir",
        "`onnx-translate --external-data=FILE`; code has a `.weight` file",
    ),
    PeerFlag(
        "constants-to-file-single-threshold", "onnx-mlir", "`onnx-translate --external-data-threshold`", "KB"
    ),
    PeerFlag(
        "constants-to-file-total-threshold", "onnx-mlir", "`onnx-translate --external-data-threshold`", "GB"
    ),
    PeerFlag("v", "onnx-mlir", "prints the name of each pass as it starts", by=PASSES),
    PeerFlag(
        "Xopt",
        "onnx-mlir",
        "none; LLVM runs in the process, and its IR passes are not used",
        "FLAG",
    ),
    PeerFlag(
        "Xllc",
        "onnx-mlir",
        "none; LLVM runs in the process, and its IR passes are not used",
        "FLAG",
    ),
    PeerFlag(
        "mllvm",
        "onnx-mlir",
        "none; LLVM runs in the process, and its IR passes are not used",
        "FLAG",
    ),
    PeerFlag("instrument-ops", "onnx-mlir", PROBES, "OPS"),
    PeerFlag(
        "InstrumentBeforeOp,InstrumentAfterOp,InstrumentReportTime,InstrumentReportMemory",
        "onnx-mlir",
        PROBES,
    ),
    PeerFlag(
        "parallelize-ops",
        "onnx-mlir",
        "`xonnc.compile(…, threads=N)` divides the iterations of kernels among threads",
        "OPS",
    ),
    PeerFlag(
        "instrument-signature",
        "onnx-mlir",
        "`--instrument-onnx-runtime-signature='signature-pattern=…'`: types of the ops that match",
        "OPS",
        PASSES,
        sets=(("instrument-onnx-runtime-signature", "signature-pattern"),),
    ),
    PeerFlag(
        "instrument-onnx-node",
        "onnx-mlir",
        "`--instrument-onnx-runtime-signature='node-pattern=…'`: types and data of the nodes that match",
        "NODES",
        PASSES,
        sets=(("instrument-onnx-runtime-signature", "node-pattern"),),
    ),
    PeerFlag(
        "onnx-op-stats",
        "onnx-mlir",
        "prints the number of ops by name in the result",
        "TXT|JSON",
        PASSES,
        choices=("TXT", "JSON"),
    ),
    PeerFlag(
        "onnx-op-transform-threshold",
        "onnx-mlir",
        "`--onnx-op-transform='onnx-op-transform-threshold=N'`: the largest number of iterations",
        "N",
        PASSES,
        sets=(("onnx-op-transform", "onnx-op-transform-threshold"),),
    ),
    PeerFlag(
        "onnx-op-transform-report",
        "onnx-mlir",
        "`--onnx-op-transform=onnx-op-transform-report`: the number of iterations",
        by=PASSES,
        sets=(("onnx-op-transform", "onnx-op-transform-report"),),
    ),
    PeerFlag("parallel", "onnx-mlir", "`xonnc.compile(…, threads=N)` runs on several threads"),
    PeerFlag("disable-simd", "onnx-mlir", "none; `--mcpu=portable` uses the shortest vectors"),
    PeerFlag("enable-fast-math", "onnx-mlir", "none; results equal those of ONNX up to rounding"),
    PeerFlag(
        "simd-data-layout",
        "onnx-mlir",
        "`--conv-opt-onnx=simd-data-layout`: convolutions in the NCHW4c layout",
        by=PASSES,
        sets=(
            ("conv-opt-onnx", "simd-data-layout"),
            ("onnx-op-transform", "onnx-op-transform-simd-data-layout"),
        ),
    ),
    PeerFlag(
        "ops-for-call",
        "onnx-mlir",
        "none; with `c_source`, the native code of an operator of a plug-in is a call of a C function",
        "OPS",
    ),
    PeerFlag(
        "verifyInputTensors",
        "onnx-mlir",
        "not needed; sessions and `xonnc simulate` always check their inputs",
    ),
    PeerFlag("use-linalg-path", "onnx-mlir", "none; there is no lowering to linalg"),
    PeerFlag("enable-debug-info", "onnx-mlir", "`--mlir-print-debuginfo` writes locations"),
    PeerFlag(
        "allowSorting",
        "onnx-mlir",
        "`false` rejects a model whose nodes are not in topological order instead of sorting them",
        by=IMPORT,
    ),
    PeerFlag(
        "report-heap-before", "onnx-mlir", "prints the memory in use before these passes", "PASSES", PASSES
    ),
    PeerFlag(
        "report-heap-after", "onnx-mlir", "prints the memory in use after these passes", "PASSES", PASSES
    ),
    PeerFlag("tag", "onnx-mlir", "none; symbols have no suffix", "TAG"),
    PeerFlag("enable-conv-opt-pass", "onnx-mlir", "`false` disables `conv-opt-onnx`", by=EMIT),
    PeerFlag("disable-fused-op", "onnx-mlir", "none; no pass creates onnx.Fused"),
    PeerFlag(
        "disable-conv-to-matmul", "onnx-mlir", "disables the rules that convert Conv to MatMul", by=EMIT
    ),
    PeerFlag(
        "replace-op-with-its-operand",
        "onnx-mlir",
        "nodes to bypass, as `0:relu_.*`; in onnx-opt the pass of this name",
        "N:REGEX",
        EMIT,
    ),
    PeerFlag("L", "onnx-mlir", "none; libraries need only libm", "DIR"),
    PeerFlag("l", "onnx-mlir", "none; libraries need only libm", "LIBRARY"),
    PeerFlag(
        "config-file",
        "onnx-mlir",
        'flags from a JSON file, `{"compile-options": ["-O3", …]}`, which precede those of the command line',
        "FILE",
        ALL,
    ),
    PeerFlag("save-config-file", "onnx-mlir", "writes the flags of this run to such a file", "FILE", ALL),
    PeerFlag("profile-ir", "onnx-mlir", PROBES, "LEVEL"),
    PeerFlag("profile-ir-with-sig", "onnx-mlir", PROBES, "LEVEL"),
    PeerFlag("opt-report", "onnx-mlir", "`--stats` lists the rules that were applied", "Parallel|Simd"),
    PeerFlag("enable-timing", "onnx-mlir", "`--timing`: the time of each pass", by=PASSES),
    PeerFlag("enable-bound-check", "onnx-mlir", "not needed; indices are checked unless `--unsafe` is given"),
    PeerFlag(
        "append-decoding-strategy",
        "onnx-mlir",
        "replaces the model's first result by the next token; in onnx-opt the pass of this name",
        "greedy",
        EMIT,
        choices=("greedy",),
        default="greedy",
    ),
    PeerFlag("test-compiler-opt", "onnx-mlir", "none; it is for tests of onnx-mlir itself"),
)

TOOL = (
    PeerFlag(
        "split-input-file",
        "onnx-mlir-opt",
        "processes the parts between `// -----` separately",
        by=OPT,
        is_own=True,
    ),
    PeerFlag(
        "verify-diagnostics", "onnx-mlir-opt", "checks `expected-error {{…}}` comments", by=OPT, is_own=True
    ),
    PeerFlag(
        "verify-each", "onnx-mlir-opt", "verifies after each pass; `=0` disables that", by=OPT, is_own=True
    ),
    PeerFlag("allow-unregistered-dialect", "onnx-mlir-opt", "accepts unknown ops", by=OPT, is_own=True),
)

PEER_FLAGS = (*COMMON, *DRIVER, *TOOL)
"""All options that onnx-mlir declares."""


@cache
def peer_flags() -> dict[str, PeerFlag]:
    """Return the options by each of their spellings."""
    return {spelling: flag for flag in PEER_FLAGS for spelling in flag.spellings}


def spelled(name: str) -> str:
    """Return an option with its dashes: `-o`, `--parallel`."""
    return f"-{name}" if len(name) == 1 or name in ("O0", "O1", "O2", "O3") else f"--{name}"
