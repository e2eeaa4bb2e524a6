"""`xonnc compile --target tosa`: a model in the tosa dialect, for compilers that read it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.commands import backend_targets, stages
from xonnc.tools.console import plural, progress, row, wrote
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.tosa import TosaOutput

TARGET = "tosa"


def run(args: argparse.Namespace, defaults: Mapping[str, object]) -> int:
    """Compile, write the output and print a report; `defaults` are the values of options not given."""
    from xonnc.tosa import STAGES, compile_tosa

    backend_targets.require_common_options(args, defaults, "target tosa")
    if args.package:
        raise XonncError("--package is not for target tosa")
    stages.prepare(args, STAGES)
    output: Path = args.output or args.model.with_suffix(".mlir")
    if not args.dry_run:
        require_output(output, (".mlir",), args.model)
    try:
        with progress(f"compiling {args.model.name}", args.quiet) as step:
            on_stage = stages.stage_callback(args, STAGES, None if args.dry_run else output, step)
            found = compile_tosa(args.model, on_stage, args.strict, dict(args.input_shape) or None)
    except stages.StoppedAfterStage:
        stages.print_stop(args, None if args.dry_run else output)
        return 0
    written = 0 if args.dry_run else found.write(output)
    if args.json:
        print(json.dumps(_as_json(args.model, found, output if written else None), indent=2))
    elif not args.quiet:
        _report(args.model, found)
        if written:
            wrote(output, written)
    return 0


def _report(model: Path, found: TosaOutput) -> None:
    print(f"{model.name}   opset {found.opset}, {plural(found.imported.nodes, 'node')}")
    row("simplified", f"{found.imported.nodes} -> {plural(found.simplified.nodes, 'node')}")
    row("lowered", "TOSA: " + ", ".join(f"{name} {count}" for name, count in sorted(found.ops.items())))


def _as_json(model: Path, found: TosaOutput, output: Path | None) -> dict[str, object]:
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "target": TARGET,
        "opset": found.opset,
        "imported": asdict(found.imported),
        "simplified": asdict(found.simplified),
        "ops": dict(found.ops),
    }
