"""The command line of onnxoptimizer: `python -m xonnc.compat.onnxoptimizer IN OUT`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from xonnc.compat.onnxoptimizer.change_log import ChangeLog
from xonnc.compat.onnxoptimizer.manager import MAX_ITERATIONS, Report, default_passes, run
from xonnc.compat.onnxoptimizer.model import declare_inferred_types
from xonnc.compat.onnxoptimizer.registry import PASSES
from xonnc.errors import InvalidModelError, XonncError
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.formats.onnx.loaded_export import save_loaded
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.model_check import check_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of onnxoptimizer."""
    parser.add_argument("input", type=Path, nargs="?", help="the model")
    parser.add_argument("output", type=Path, nargs="?", help="the optimized model")
    parser.add_argument("--print_all_passes", action="store_true", help="print the names of all passes")
    parser.add_argument(
        "--print_fuse_elimination_passes", action="store_true", help="print the names of the default passes"
    )
    parser.add_argument(
        "-p",
        "--passes",
        nargs="*",
        metavar="NAME",
        help="passes to run, in order; by default those that fuse or eliminate",
    )
    parser.add_argument("--fixed_point", action="store_true", help="repeat until no pass changes anything")
    parser.add_argument(
        "--skip_infer_shapes", action="store_true", help="do not add inferred shapes to the result"
    )


def names_asked_for(args: argparse.Namespace) -> list[str] | None:
    """Return the names of passes to print, if the command line asks for them."""
    if args.print_all_passes:
        return list(PASSES)
    return default_passes() if args.print_fuse_elimination_passes else None


def optimize_file(
    source: Path,
    target: Path,
    args: argparse.Namespace,
    max_iterations: int = MAX_ITERATIONS,
    external: ExternalData | None = None,
    log: ChangeLog | None = None,
) -> tuple[LoadedModel, Report, list[Path]]:
    """Check, optimize and write a model; return it with the report and the files written."""
    if problems := check_model(source):
        raise InvalidModelError([f"{source}: {problem}" for problem in problems])
    loaded = load(source)
    report = run(loaded, args.passes, args.fixed_point, max_iterations, log)
    if not args.skip_infer_shapes:
        declare_inferred_types(loaded.proto)
    return loaded, report, save_loaded(loaded, target, external)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 1 and a line on standard error if that fails."""
    parser = argparse.ArgumentParser(prog="onnxoptimizer", description="Optimize an ONNX model.")
    add_arguments(parser)
    args = parser.parse_args(argv)
    if (names := names_asked_for(args)) is not None:
        print(*names)
        return
    try:
        if args.input is None or args.output is None:
            raise XonncError("give the model and the file to write: onnxoptimizer IN OUT")
        optimize_file(args.input, args.output, args)
    except XonncError as error:
        print(f"onnxoptimizer: {error}", file=sys.stderr)
        sys.exit(1)
