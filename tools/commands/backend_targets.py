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
from xonnc.formats.package.archive import SUFFIX
from xonnc.tools.commands import stages
from xonnc.tools.console import plural, progress, row, wrote
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.backend_compilation import BackendOutput
    from xonnc.backend_packages import BackendPackage
    from xonnc.plugins.backend_declarations import Backend

OPTIONS = (
    "model output package target dump stop_after elide_larger strict input_shape dry_run json quiet verbose"
).split()
"""The options of the command that every target has, by their names in the parsed arguments."""


def run(args: argparse.Namespace, backend: Backend, defaults: Mapping[str, object]) -> int:
    """Compile, write the output and print a report; `defaults` are the values of options not given."""
    from xonnc.backend_compilation import compile_for_backend, stages_of

    require_common_options(args, defaults, f"target {args.target}, of {backend}")
    if args.package or (args.output is not None and args.output.suffix == SUFFIX):
        return _run_package(args)
    names = stages_of(backend)
    is_text = stages.prepare(args, names)
    suffix = ".mlir" if is_text else backend.suffix
    output: Path = args.output or args.model.with_suffix(suffix)
    if not args.dry_run:
        require_output(output, (suffix,), args.model)
    try:
        with progress(f"compiling {args.model.name}", args.quiet) as step:
            on_stage = stages.stage_callback(args, names, None if args.dry_run else output, step)
            found = compile_for_backend(
                args.model, args.target, on_stage, args.strict, dict(args.input_shape) or None
            )
    except stages.StoppedAfterStage:
        stages.print_stop(args, None if args.dry_run else output)
        return 0
    written = 0 if args.dry_run else found.write(output)
    if args.json:
        print(json.dumps(_as_json(args.model, found, output if written else None), indent=2))
    elif not args.quiet:
        _report(args.model, found, args.verbose)
        if not args.dry_run:
            wrote(output, written)
    return 0


def _run_package(args: argparse.Namespace) -> int:
    """Compile a package of parts for the backend and for the CPU."""
    from xonnc.backend_packages import compile_backend_package

    if args.stop_after or args.dump:
        option = "--stop-after" if args.stop_after else "--dump"
        raise XonncError(f"{option} is not for packages of {args.target}; leave out --package")
    output: Path = args.output or args.model.with_suffix(SUFFIX)
    if not args.dry_run:
        require_output(output, (SUFFIX,), args.model)
    with progress(f"compiling {args.model.name}", args.quiet):
        package = compile_backend_package(
            args.model, args.target, None, args.strict, dict(args.input_shape) or None
        )
    written = 0 if args.dry_run else package.write(output)
    if args.json:
        print(json.dumps(_package_as_json(args.model, package, output if written else None), indent=2))
    elif not args.quiet:
        _report_package(args.model, package, args.verbose)
        if written:
            wrote(output, written)
    return 0


def _report_package(model: Path, package: BackendPackage, is_verbose: bool) -> None:
    print(f"{model.name}   opset {package.opset}, {plural(package.imported.nodes, 'node')}")
    row("simplified", f"{package.imported.nodes} -> {plural(package.simplified.nodes, 'node')}")
    on_cpu = len(package.cpu_nodes)
    parts = sum(step.kind == "backend" for step in package.manifest.steps)
    row(
        "placed",
        f"{plural(package.nodes - on_cpu, 'node')} on {package.target} in {plural(parts, 'part')}, "
        f"{on_cpu} on the CPU, {plural(package.crossings, 'tensor')} in between",
    )
    causes = Counter((node.operator, node.reason) for node in package.cpu_nodes)
    for (operator, reason), count in causes.most_common():
        row("on the CPU", f"{count} {operator}: {reason}")
    for node in package.cpu_nodes if is_verbose else ():
        row("node", f"{node.name} ({node.operator}): {node.reason}")


def _package_as_json(model: Path, package: BackendPackage, output: Path | None) -> dict[str, object]:
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "target": package.target,
        "backend": package.backend,
        "opset": package.opset,
        "imported": asdict(package.imported),
        "simplified": asdict(package.simplified),
        "nodes": package.nodes,
        "crossings": package.crossings,
        "cpu_nodes": [asdict(node) for node in package.cpu_nodes],
        "steps": [
            {"kind": step.kind, "inputs": step.inputs, "outputs": step.outputs}
            for step in package.manifest.steps
        ],
    }


def require_common_options(args: argparse.Namespace, defaults: Mapping[str, object], target: str) -> None:
    """Refuse options that only the compiler's own targets have."""
    for name, value in defaults.items():
        if name not in OPTIONS and getattr(args, name) != value:
            option = "-O" if name == "level" else f"--{name.replace('_', '-')}"
            raise XonncError(f"{option} is not for {target}")


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
