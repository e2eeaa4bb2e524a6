"""`xonnc optimize`: run the passes of ONNX-optimizer, with its options."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.tools.console import plural, row, size, wrote
from xonnc.tools.files import require_output
from xonnc.tools.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.compat.onnxoptimizer.change_log import Change
    from xonnc.compat.onnxoptimizer.manager import Report

VALUE_AFTER_EQUALS = ("--external-data",)
"""Options with an optional value, which is only accepted after `=`."""

MAX_ITERATIONS = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    from xonnc.compat.onnxoptimizer.command_line import add_arguments

    parser.epilog = "The passes are those of ONNX-optimizer; 'xonnc simplify' runs this compiler's own."
    add_arguments(parser)
    parser.add_argument("--fixed-point", action="store_true", dest="fixed_point", help=argparse.SUPPRESS)
    parser.add_argument(
        "--max-iterations",
        type=int,
        default=MAX_ITERATIONS,
        metavar="N",
        help="sweeps of --fixed_point at most (default: %(default)s)",
    )
    parser.add_argument(
        "--external-data",
        nargs="?",
        metavar="FILE",
        help="write weights to FILE beside the model (default: OUTPUT.data); default if the model has it",
    )
    parser.add_argument(
        "--report", action="store_true", help="list the nodes that each pass removes and adds"
    )
    parser.add_argument(
        "--c-api",
        type=Path,
        metavar="DIR",
        help="write ONNX-optimizer's C API to DIR: a header and a shared library that calls these passes",
    )
    parser.add_argument("-o", dest="written", type=Path, metavar="OUTPUT", help="the same, by an option")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Optimize a model, print names of passes, or write the C API."""
    from xonnc.compat.onnxoptimizer.change_log import ChangeLog
    from xonnc.compat.onnxoptimizer.command_line import names_asked_for, optimize_file
    from xonnc.formats.onnx.save_model import ExternalData

    if (names := names_asked_for(args)) is not None:
        print(json.dumps([_described(name) for name in names], indent=2) if args.json else " ".join(names))
        return 0
    if args.c_api is not None:
        return _write_c_api(args)
    args.output = args.output or args.written
    if args.input is None or args.output is None:
        raise UsageError("two files are needed: the model and the optimized model")
    if args.max_iterations < 1:
        raise UsageError(f"--max-iterations {args.max_iterations}: at least one sweep is needed")
    require_output(args.output, (".onnx", ".onnxtxt", ".onnxtext", ".json"), args.input)
    external = None
    if args.external_data is not None:
        external = ExternalData(args.external_data or f"{args.output.name}.data")
    log = ChangeLog() if args.report else None
    loaded, report, written = optimize_file(args.input, args.output, args, args.max_iterations, external, log)
    if args.json:
        found: dict[str, object] = {
            "model": str(args.input),
            "files": [str(path) for path in written],
            "nodes": len(loaded.proto.graph.node),
            "rewrites": report.rewrites,
            "iterations": report.iterations,
            "converged": report.converged,
            "weights": {"before": report.weights[0], "after": report.weights[1]},
        }
        if log is not None:
            found["changes"] = [asdict(change) for change in log.changes]
        print(json.dumps(found, indent=2))
    elif not args.quiet:
        if log is not None:
            _print_changes(log.changes)
        _print(args, report, len(loaded.proto.graph.node))
        for path in written:
            wrote(path, path.stat().st_size)
    return 0


def _write_c_api(args: argparse.Namespace) -> int:
    from xonnc.compat.onnxoptimizer.c_api.build import build

    if args.input is not None:
        raise UsageError("--c-api DIR takes no model")
    written = build(args.c_api)
    if args.json:
        print(json.dumps({"files": [str(path) for path in written]}, indent=2))
    elif not args.quiet:
        for path in written:
            wrote(path, path.stat().st_size)
    return 0


def _described(name: str) -> dict[str, str]:
    """Return what there is to know of a pass."""
    from xonnc.compat.onnxoptimizer.registry import PASSES

    return PASSES[name].metadata()


def _print_changes(changes: Sequence[Change]) -> None:
    for change in changes:
        print(f"sweep {change.sweep}: {change.pass_name}: {change.before} -> {plural(change.after, 'node')}")
        for mark, nodes in (("-", change.removed), ("+", change.added)):
            for node in nodes:
                print(f"  {mark} {node}")


def _print(args: argparse.Namespace, report: Report, nodes: int) -> None:
    print(f"{args.input.name}   {plural(nodes, 'node')} left")
    for name, count in report.rewrites.items():
        if count:
            row(name, plural(count, "rewrite"))
    before, after = report.weights
    if before != after:
        row("weights", f"{size(before)} -> {size(after)}")
    if args.fixed_point:
        state = "converged" if report.converged else "stopped, not converged,"
        row("fixed point", f"{state} after {plural(report.iterations, 'sweep')}")
