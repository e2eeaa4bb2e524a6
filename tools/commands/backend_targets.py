"""`xonnc compile` for targets of plug-in backends."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.commands import stages
from xonnc.tools.console import plural, progress, row, size
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.backend_compilation import BackendOutput
    from xonnc.plugins.backend_declarations import Backend

OPTIONS = "model output target dump stop_after elide_larger strict dry_run json quiet verbose".split()
"""The options of the command that every target has, by their names in the parsed arguments."""


def run(args: argparse.Namespace, backend: Backend, defaults: Mapping[str, object]) -> int:
    """Compile, write the output and print a report; `defaults` are the values of options not given."""
    from xonnc.backend_compilation import compile_for_backend, stages_of

    for name, value in defaults.items():
        if name not in OPTIONS and getattr(args, name) != value:
            option = "-O" if name == "level" else f"--{name.replace('_', '-')}"
            raise XonncError(f"{option} is not for target {args.target}, of {backend}")
    names = stages_of(backend)
    is_text = stages.prepare(args, names)
    suffix = ".mlir" if is_text else backend.suffix
    output: Path = args.output or args.model.with_suffix(suffix)
    if not args.dry_run:
        require_output(output, (suffix,), args.model)
    try:
        with progress(f"compiling {args.model.name}", args.quiet) as step:
            on_stage = stages.stage_callback(args, names, None if args.dry_run else output, step)
            found = compile_for_backend(args.model, args.target, on_stage, args.strict)
    except stages.StoppedAfterStage:
        stages.print_stop(args, None if args.dry_run else output)
        return 0
    written = 0 if args.dry_run else found.write(output)
    if args.json:
        print(json.dumps(_as_json(args.model, found, output if written else None), indent=2))
    elif not args.quiet:
        _report(args.model, found, args.verbose)
        if not args.dry_run:
            print(f"wrote           {output} ({size(written)})")
    return 0


def _report(model: Path, found: BackendOutput, is_verbose: bool) -> None:
    print(f"{model.name}   opset {found.opset}, {plural(found.imported.nodes, 'node')}")
    row("simplified", f"{found.imported.nodes} -> {plural(found.simplified.nodes, 'node')}")
    counts = Counter(op for node in found.nodes for op in node.ops)
    shown = ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "no ops"
    row("lowered", f"{found.target}: {shown}")
    if is_verbose:
        for node in found.nodes:
            row("node", f"{node.node} ({node.operator}): {', '.join(node.ops) or 'no ops'}")


def _as_json(model: Path, found: BackendOutput, output: Path | None) -> dict[str, object]:
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "target": found.target,
        "backend": found.backend,
        "opset": found.opset,
        "imported": asdict(found.imported),
        "simplified": asdict(found.simplified),
        "nodes": [
            {"node": node.node, "operator": node.operator, "ops": list(node.ops)} for node in found.nodes
        ],
    }
