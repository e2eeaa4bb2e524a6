"""`xonnc compile` for the CPU: a shared library, an object file, LLVM IR or C source."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.rewriting.extensions import NATIVE_STAGES, with_joined
from xonnc.targets.cpu import CODE_SUFFIXES
from xonnc.tools.commands import calibration_options, compile_stats, pass_options, stages
from xonnc.tools.commands.simplify import named_shape
from xonnc.tools.console import plural, progress, row, size, wrote
from xonnc.tools.files import require_output
from xonnc.transforms.optimization_levels import BF16_PASS, WINOGRAD_PASS

if TYPE_CHECKING:
    import onnx

    from xonnc.artifacts import Artifact
    from xonnc.tools.console import ProgressCallback


CPU_ONLY_STAGES = (*NATIVE_STAGES[1:], "llvm")
"""Stages of native code generation alone."""

NVDLA_ONLY_OPTIONS = {
    "batch": "--batch",
    "package": "--package",
    "require_dla": "--require-dla",
    "input_format": "--input-format",
    "host": "--host",
}
"""Options for NVDLA targets alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    group = parser.add_argument_group(f"native code (--output ends in {', '.join(CODE_SUFFIXES)})")
    group.add_argument(
        "--prefix", metavar="NAME", help="prefix of exported C symbols (default: the name of the output)"
    )
    group.add_argument(
        "--no-malloc",
        action="store_true",
        help="C source with memory in static arrays; the caller supplies the weights",
    )
    group.add_argument(
        "--unsafe", action="store_true", help="leave out run-time checks of indices and counts"
    )
    group.add_argument(
        "--no-tuning",
        action="store_true",
        help="use the cost model's tile sizes, not those measured by 'xonnc tune'",
    )
    group.add_argument(
        "--allow-bf16",
        action="store_true",
        help="round the operands of float32 products with constant weights to bfloat16, where the processor "
        f"has instructions for that; sums stay float32 (the same as --enable-pass {BF16_PASS})",
    )
    group.add_argument(
        "--allow-winograd",
        action="store_true",
        help="compute 3x3 convolutions with fewer multiplications where that is faster: sums lose some "
        "accuracy, and infinite pixels make results around them NaN (the same as --enable-pass "
        f"{WINOGRAD_PASS})",
    )
    pass_options.add_arguments(
        group.add_argument, "; LLVM uses the same level (3 doubles compile time and seldom gains)"
    )
    compile_stats.add_arguments(group.add_argument)
    group.add_argument(
        "--input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:1,3,224,224",
        help="static shape for a dynamic input; may be repeated",
    )


def is_for_cpu(args: argparse.Namespace) -> bool:
    """Return whether the arguments ask for native code; `XonncError` if they contradict each other."""
    from xonnc.targets.cpu import cpu_names

    targets = ("cpu", *cpu_names())
    is_code = args.output is not None and args.output.suffix in CODE_SUFFIXES
    is_own_stage = args.target is None and args.stop_after in with_joined(CPU_ONLY_STAGES)
    is_text = args.stop_after is not None and (args.target in targets or is_own_stage)
    if not is_code and not is_text and args.target not in targets:
        given = {
            "--no-malloc": args.no_malloc,
            "--unsafe": args.unsafe,
            "--no-tuning": args.no_tuning,
            "--allow-bf16": args.allow_bf16,
            "--allow-winograd": args.allow_winograd,
            **pass_options.given(args),
            "--stats": args.stats,
            "--print-fusion-groups": args.print_fusion_groups,
        }
        for option in [name for name, value in given.items() if value]:
            raise XonncError(f"{option} is for native code: -o model{' or -o model'.join(CODE_SUFFIXES)}")
        return False
    if not is_code and not is_text and args.output is not None:
        raise XonncError(f"{args.output}: native code is written to {', '.join(CODE_SUFFIXES)}")
    if args.target not in (None, *targets):
        raise XonncError(f"{args.output}: code for {args.target}; targets of it are {', '.join(targets)}")
    for name, option in NVDLA_ONLY_OPTIONS.items():
        if getattr(args, name):
            raise XonncError(f"{option} is for NVDLA targets, not for native code")
    return True


def require_model(args: argparse.Namespace) -> None:
    """Refuse IR as input, from which only native code is compiled."""
    from xonnc.stage_files import is_ir

    if is_ir(args.model):
        name = args.model.stem
        raise XonncError(
            f"{args.model}: of IR, 'xonnc compile' makes native code: --target cpu, or -o {name}.so; "
            f"'onnx-translate {args.model} -o {name}.nvdla' writes a loadable of IR in the dla dialect"
        )


def run(args: argparse.Namespace) -> int:
    """Compile, write the output and print a report."""
    if not args.dry_run:
        return _run(args)
    # Linkers write files, whose sizes a report has: they do so elsewhere.
    with TemporaryDirectory() as folder:
        return _run(args, Path(folder))


def _run(args: argparse.Namespace, folder: Path | None = None) -> int:
    """Compile; files are written to a folder instead if one is given."""
    from xonnc.artifacts import STAGES, compile_artifact

    is_text = stages.prepare(args, STAGES)
    if is_text and (args.stats or args.print_fusion_groups):
        option = "--stats" if args.stats else "--print-fusion-groups"
        raise XonncError(f"{option}: --stop-after {args.stop_after} stops before all of it is known")
    output: Path = args.output or args.model.with_suffix(".mlir" if is_text else ".so")
    require_output(output, (".mlir",) if is_text else CODE_SUFFIXES, *calibration_options.inputs(args))
    calibration_options.require_output_of(args)
    if folder is not None:
        output = folder / output.name
    stage_output = None if args.dry_run else output
    statistics = compile_stats.Statistics(args.model)
    try:
        with progress(f"compiling {args.model.name}", args.quiet) as step:
            artifact = compile_artifact(
                _model(args, step),
                output.with_suffix(".ll") if is_text else output,
                args.target or "cpu",
                prefix=args.prefix,
                no_malloc=args.no_malloc,
                unsafe=args.unsafe,
                tuning=not args.no_tuning,
                mem_alloc=args.mem_alloc,
                **_pass_choice(args),
                input_shapes=dict(args.input_shape) or None,
                on_stage=statistics.observing(stages.stage_callback(args, STAGES, stage_output, step)),
                strict=args.strict,
            )
    except stages.StoppedAfterStage:
        stages.print_stop(args, stage_output)
        return 0
    if args.json:
        extra = {"statistics": statistics.as_json()} if args.stats else {}
        groups = {"fusion_groups": list(map(asdict, statistics.groups))} if args.print_fusion_groups else {}
        table = _as_json(args.model, replace(artifact, files={}) if args.dry_run else artifact)
        print(json.dumps(table | extra | groups, indent=2))
    elif not args.quiet:
        _report(args.model, artifact)
        for path, count in () if args.dry_run else artifact.files.items():
            wrote(path, count)
        if args.layout:
            left = plural(artifact.simplified.operators.get("Transpose", 0), "transpose")
            row("layout", f"{', '.join(map(':'.join, args.layout))} ({left} in the model)")
        _report_arithmetic(args, output.suffix == ".c", statistics)
        if args.stats:
            row("passes", _passes(args))
            statistics.print_report()
        if args.print_fusion_groups:
            statistics.print_groups()
    return 0


def _model(args: argparse.Namespace, step: ProgressCallback) -> Path | onnx.ModelProto:
    """Return the model, quantized if that is asked for."""
    from xonnc.stage_files import is_ir

    if not calibration_options.is_given(args):
        return args.model
    if is_ir(args.model):
        raise XonncError(f"{args.model}: this is IR; calibration takes the model that it was made of")
    return calibration_options.quantized(args, dict(args.input_shape), step).proto()


def _pass_choice(args: argparse.Namespace) -> pass_options.PassChoice:
    """Return the options of the passes, `--allow-bf16` and `--allow-winograd` among them."""
    choice = pass_options.choice(args)
    allowed = {BF16_PASS: args.allow_bf16, WINOGRAD_PASS: args.allow_winograd}
    choice["enable_pass"] = [*choice["enable_pass"], *(name for name, given in allowed.items() if given)]
    return choice


def _report_arithmetic(
    args: argparse.Namespace, is_portable: bool, statistics: compile_stats.Statistics
) -> None:
    """Print what came of `--allow-bf16` and `--allow-winograd`."""
    if args.allow_bf16:
        row("bfloat16", _bf16_products(args.target or "cpu", is_portable))
    if args.allow_winograd:
        found = plural(statistics.winograd, "convolution")
        row("winograd", f"{found} with fewer multiplications" if statistics.winograd else "none would gain")


def _bf16_products(name: str, is_portable: bool) -> str:
    """Say which products take operands in bfloat16 on a processor."""
    from xonnc.native_compilation import resolve_processor
    from xonnc.targets.cpu import cpu_names, load_cpu

    if is_portable:
        return "none: C source is for any processor"
    target = resolve_processor(name, needs_host=False)
    if not target.bf16_dot:
        having = [each for each in cpu_names() if load_cpu(each).bf16_dot]
        return f"none: {target.name} has no instructions for it; {', '.join(having)} has"
    if target.core.has_fast_bf16:
        return "products with constant weights"
    return f"products of few rows by large constants; others are faster in float32 on {target.core.name}"


def _passes(args: argparse.Namespace) -> str:
    from xonnc.transforms.models.set_layouts_onnx import with_moving
    from xonnc.transforms.optimization_levels import passes_of, spelled

    choice = _pass_choice(args)
    enabled = with_moving(choice["enable_pass"], choice["layouts"])
    return spelled(passes_of(choice["level"], enabled, choice["disable_pass"]))


def _report(model: Path, artifact: Artifact) -> None:
    print(
        f"{model.name}   {plural(artifact.calls, 'call')} of {plural(artifact.kernels, 'kernel')} for "
        f"{artifact.target}"
    )
    program = artifact.program
    arena = "as the sizes of a run need" if program.is_dynamic else size(program.arena)
    row("memory", f"weights {size(artifact.weight_bytes)}, activations {arena}")


def _as_json(model: Path, artifact: Artifact) -> dict[str, object]:
    return {
        "model": str(model),
        "target": artifact.target,
        "kernels": artifact.kernels,
        "calls": artifact.calls,
        "operators": artifact.simplified.operators,
        "weight_bytes": artifact.weight_bytes,
        "arena_bytes": None if artifact.program.is_dynamic else artifact.program.arena,
        "takes_any_sizes": artifact.program.is_dynamic,
        "files": {str(path): count for path, count in artifact.files.items()},
    }
