"""Options of `xonnc compile` on stages: dump the IR, stop early."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xonnc.errors import UnknownNameError, suggest
from xonnc.formats.atomic_write import atomic_write
from xonnc.rewriting.extensions import with_joined
from xonnc.tools.files import STDOUT, stage_file

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.contexts import StageCallback
    from xonnc.tools.console import ProgressCallback


class StoppedAfterStage(Exception):
    """Raised when the stage of `--stop-after` is reached and its IR is written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options on stages."""
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write the IR after each stage to DIR")
    parser.add_argument(
        "--stop-after",
        metavar="STAGE",
        help="stop after this stage and write its IR to --output ('-': standard output)",
    )
    parser.add_argument(
        "--elide-larger", type=int, metavar="N", help="leave constants of over N elements out of dumped IR"
    )


def prepare(args: argparse.Namespace, stages: Sequence[str]) -> bool:
    """Create the folder of dumps, and return whether compilation stops early; refuse unknown stages."""
    stages = with_joined(stages)
    if args.stop_after and args.stop_after not in stages:
        hint = suggest(args.stop_after, stages)
        raise UnknownNameError(
            f"--stop-after {args.stop_after}: no such stage{hint}; there are {', '.join(stages)}"
        )
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
    return args.stop_after not in (None, stages[-1])


def stage_callback(
    args: argparse.Namespace, stages: Sequence[str], output: Path | None, step: ProgressCallback
) -> StageCallback:
    """Return a callback that dumps the IR of stages and raises `StoppedAfterStage` after `--stop-after`."""
    stages = with_joined(stages)

    def on_stage(stage: str, module: ModuleOp) -> None:
        step(stages.index(stage) + 1, len(stages), stage)
        if args.dump:
            write_ir(module, stage_file(args.dump, stages, stage), args.elide_larger)
        if stage == args.stop_after:
            if output:
                write_ir(module, output, args.elide_larger)
            raise StoppedAfterStage

    return on_stage


def print_stop(args: argparse.Namespace, output: Path | None) -> None:
    """Print where a compilation stopped, unless standard output has the IR."""
    if not args.quiet and output != STDOUT:
        print(f"stopped after {args.stop_after}" + (f", wrote {output}" if output else ""))


def write_ir(module: ModuleOp, path: Path, elide_larger: int | None = None) -> None:
    """Write a module with its locations, atomically; `-` is standard output."""
    if path == STDOUT:
        _print_ir(module, sys.stdout, elide_larger)
        return
    with atomic_write(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        _print_ir(module, text, elide_larger)


def _print_ir(module: ModuleOp, text: TextIO, elide_larger: int | None) -> None:
    from xonnc.dialects.onnx.assembly import OnnxPrinter

    OnnxPrinter(stream=text, print_debuginfo=True, elide_larger=elide_larger, portable=True).print_op(module)
    text.write("\n")
