"""`xonnc size`: find the smallest NVDLA configuration that runs a model fast enough."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xonnc.errors import XonncError
from xonnc.tools.console import columns, progress, row

if TYPE_CHECKING:
    from xonnc.executors.executor import Outcome
    from xonnc.tools.sweep.plan import Case

NOT_FOUND = 1
"""Exit code if no configuration is fast enough."""


class _Candidate(NamedTuple):
    """A configuration with its estimate, or the reason why it has none."""

    target: str
    precision: str
    figures: dict[str, float]
    refusal: str

    @property
    def fps(self) -> float:
        """Return inferences in a second."""
        time = self.figures.get("milliseconds", 0.0)
        return 1000 / time if time else 0.0

    def cost(self) -> tuple[float, ...]:
        """Return what orders configurations by size: multipliers, buffer, bandwidth."""
        return tuple(self.figures[name] for name in ("multipliers", "cbuf_bytes", "dram_gb_per_s"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model (.onnx)")
    parser.add_argument(
        "--fps", type=float, required=True, metavar="N", help="inferences a second that are needed"
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="TARGET",
        help="consider this target, a name or a .toml file; may be repeated (default: all that there are)",
    )
    parser.add_argument(
        "--ranges",
        type=Path,
        metavar="FILE",
        help="consider the targets of a sweep's .toml file instead, with its [[target]] tables",
    )
    parser.add_argument(
        "--precision", choices=("int8", "float"), help="only this (default: both where the target has them)"
    )
    parser.add_argument(
        "--samples", default="", metavar="FILE", help="calibration samples (default: generated)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="worker processes; 0: this process (default: one for each processor)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Estimate the model on each target; exit code 1 if none is fast enough."""
    if not 0 < args.fps < float("inf"):
        raise XonncError(f"--fps {args.fps}: a number above 0")
    if args.jobs < 0:
        raise XonncError(f"--jobs {args.jobs}: a number of processes, or 0 for this process")
    if not args.model.is_file():
        raise XonncError(f"{args.model}: no such file")
    cases = _cases(args)
    candidates = [_candidate(cases[each.index], each) for each in _outcomes(cases, args)]
    candidates.sort(key=lambda each: (not each.figures, each.cost() if each.figures else ()))
    fast = [each for each in candidates if each.fps >= args.fps]
    if args.json:
        print(json.dumps(_document(args, candidates, fast), indent=2))
    elif not args.quiet:
        _print(args, candidates, fast)
    return 0 if fast else NOT_FOUND


def _cases(args: argparse.Namespace) -> list[Case]:
    from xonnc.targets import target_names
    from xonnc.tools.sweep.plan import Case, read_targets
    from xonnc.tools.sweep.target_ranges import TargetChoice

    if args.target and args.ranges:
        raise XonncError("--target and --ranges: give one of them")
    named = [TargetChoice(name) for name in args.target or target_names()]
    targets = read_targets(args.ranges) if args.ranges else named
    cases: list[Case] = []
    for target in targets:
        precisions = target.load().precisions
        for precision, needed in (("int8", "int8"), ("float", "fp16")):
            is_taken = precision == args.precision if args.precision else needed in precisions
            if is_taken:
                cases.append(Case(str(args.model), target, precision, args.samples))
    return cases


def _outcomes(cases: list[Case], args: argparse.Namespace) -> list[Outcome[dict[str, float]]]:
    from xonnc.executors.open_executor import open_executor
    from xonnc.tools.sweep.measure import measure

    found: list[Outcome[dict[str, float]]] = []
    with (
        open_executor(min(args.jobs, len(cases))) as executor,
        progress("estimating", args.quiet or args.json) as step,
    ):
        for outcome in executor.run(measure, cases):
            found.append(outcome)
            step(len(found), len(cases), cases[outcome.index].target.label)
    return found


def _candidate(case: Case, outcome: Outcome[dict[str, float]]) -> _Candidate:
    return _Candidate(case.target.label, case.precision, outcome.result or {}, outcome.error)


def _document(
    args: argparse.Namespace, candidates: list[_Candidate], fast: list[_Candidate]
) -> dict[str, object]:
    return {
        "model": str(args.model),
        "fps": args.fps,
        "smallest": f"{fast[0].target} {fast[0].precision}" if fast else None,
        "candidates": [
            {
                "target": each.target,
                "precision": each.precision,
                "fps": each.fps or None,
                "is_fast_enough": each.fps >= args.fps,
                "message": each.refusal,
                **each.figures,
            }
            for each in candidates
        ],
    }


def _print(args: argparse.Namespace, candidates: list[_Candidate], fast: list[_Candidate]) -> None:
    table = [("target", "precision", "multipliers", "ms", "fps", "mm² 16 nm", "mW 16 nm", "CPU nodes", "")]
    for each in candidates:
        if not each.figures:
            reason = each.refusal.partition("\n")[0]
            table.append((each.target, each.precision, "", "", "", "", "", "", f"refused: {reason}"))
            continue
        area, power = (each.figures.get(name) for name in ("area_mm2_16nm", "power_mw_16nm"))
        table.append(
            (
                each.target,
                each.precision,
                f"{each.figures['multipliers']:.0f}",
                f"{each.figures['milliseconds']:.3f}",
                f"{each.fps:.1f}",
                "" if area is None else f"{area:.2f}",
                "" if power is None else f"{power:.0f}",
                f"{each.figures['cpu_nodes']:.0f}",
                "" if each.fps >= args.fps else "too slow",
            )
        )
    for line in columns(table):
        print(line)
    if not fast:
        best = max(candidates, key=lambda each: each.fps)
        reached = f"; the fastest is {best.target}, with {best.fps:.1f}" if best.fps else ""
        row("smallest", f"none reaches {args.fps:g} inferences a second{reached}")
        return
    row("smallest", f"{fast[0].target} in {fast[0].precision}, with {fast[0].fps:.1f} inferences a second")
    if fast[0].figures["cpu_nodes"]:
        row("not counted", f"the time of {fast[0].figures['cpu_nodes']:.0f} nodes on the CPU")
