"""`xonnc reduce`: reduce a failing model (delta debugging)."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.console import progress, row, wrote
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.fuzzing.edits import ReductionCase
    from xonnc.tools.console import ProgressCallback

MODEL_PLACEHOLDER = "{}"
"""Placeholder of the model's path in `--check`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json")
    parser.add_argument(
        "--check",
        required=True,
        metavar="CMD",
        help="command that exits with the same code for MODEL and for every smaller model that still "
        "fails; the path replaces {}, or is appended",
    )
    parser.add_argument("--says", default="", metavar="TEXT", help="text that a failing run must print")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60,
        metavar="SECONDS",
        help="a run that takes longer does not count as failing (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", type=Path, help="the reduced model (default: MODEL-reduced.onnx)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


@dataclass(frozen=True)
class FailureCheck:
    """The command of `--check`, and what it prints for failing models."""

    command: tuple[str, ...]
    says: str
    timeout: float

    def outcome(self, path: Path) -> int | None:
        """Run the command; return its exit code, or None after a timeout or without the text of `--says`."""
        filled = [word.replace(MODEL_PLACEHOLDER, str(path)) for word in self.command]
        argv = filled if filled != list(self.command) else [*filled, str(path)]
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, errors="replace", timeout=self.timeout
            )
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            raise XonncError(f"--check: {argv[0]}: {error.strerror}") from None
        return done.returncode if self.says in done.stdout + done.stderr else None


def run(args: argparse.Namespace) -> int:
    """Reduce and write the model."""
    from xonnc.formats.atomic_write import atomic_write
    from xonnc.formats.onnx.loaded_export import load_proto
    from xonnc.fuzzing.case_reduction import reduced
    from xonnc.fuzzing.edits import ReductionCase

    output = args.output or args.model.with_name(f"{args.model.stem}-reduced.onnx")
    require_output(output, (".onnx",), args.model)
    check = FailureCheck(tuple(_words(args.check)), args.says, args.timeout)
    case = ReductionCase(load_proto(args.model))
    with (
        TemporaryDirectory(prefix="xonnc-") as folder,
        progress(f"reducing {args.model.name}", args.quiet) as step,
    ):
        path = Path(folder) / "candidate.onnx"
        outcome = _outcome(check, case, path)
        if not outcome:
            condition = f" and says '{args.says}'" if args.says else ""
            raise XonncError(
                f"{args.model}: --check does not fail{condition} on the "
                "whole model; there is nothing to reduce"
            )
        smaller = reduced(case, _FailurePredicate(check, path, outcome, step))
    with atomic_write(output) as file:
        file.write(smaller.model.SerializeToString())
    if args.json:
        print(json.dumps({"nodes_before": case.nodes, "nodes": smaller.nodes, "file": str(output)}, indent=2))
    elif not args.quiet:
        row("nodes", f"{case.nodes} before, {smaller.nodes} now")
        wrote(output)
    return 0


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise XonncError(f"--check {command}: {error}") from None
    if not words:
        raise XonncError("--check: a command is needed")
    return words


@dataclass
class _FailurePredicate:
    """Whether candidates fail as the whole model does; candidates may be reported."""

    check: FailureCheck
    path: Path
    outcome: int
    step: ProgressCallback
    tries: int = 0

    def __call__(self, candidate: ReductionCase) -> bool:
        from xonnc.fuzzing.case_reduction import MAX_CANDIDATES
        from xonnc.fuzzing.validity import invalidity

        self.step(self.tries, MAX_CANDIDATES, f"{candidate.nodes} nodes")
        self.tries += 1
        # What is no model fails for reasons of its own.
        return not invalidity(candidate.model) and _outcome(self.check, candidate, self.path) == self.outcome


def _outcome(check: FailureCheck, case: ReductionCase, path: Path) -> int | None:
    path.write_bytes(case.model.SerializeToString())
    return check.outcome(path)
