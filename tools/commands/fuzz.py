"""`xonnc fuzz`: random models simplified at each level, run before and after."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.tools.console import plural, progress, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.fuzzing.campaign import FuzzResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "-n", "--count", type=int, default=100, help="number of random models (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the first model, counted up for the others (default: %(default)s)",
    )
    parser.add_argument(
        "--level",
        action="append",
        default=[],
        metavar="NAME",
        help="what to test: a pass, `simplify`, `round-trip` (import and export), or `native` (code "
        "for this processor); may be repeated (default: all but `native`)",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="DIR",
        help="write failing models to DIR, reduced, each with a description",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=0,
        metavar="N",
        help="worker processes; a crash of one is a failure of its model (default: 0, this process)",
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on a Dask cluster: tcp://host:8786")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Test, reduce failures and report; exit code 1 if anything failed."""
    from xonnc.executors.open_executor import open_executor
    from xonnc.fuzzing.campaign import CRASH, run_seeds, save
    from xonnc.fuzzing.failures import ALL_LEVELS
    from xonnc.fuzzing.levels import LEVELS

    if args.count < 1:
        raise XonncError(f"--count {args.count}: at least one model is needed")
    if args.jobs < 0:
        raise XonncError(f"--jobs {args.jobs}: a number of processes, or 0 for this process")
    if args.seed < 0:
        raise XonncError(f"--seed {args.seed}: seeds are 0 and above")
    for level in args.level:
        if level not in ALL_LEVELS:
            raise UnknownNameError(
                f"--level {level}: no such level{suggest(level, ALL_LEVELS)}; "
                f"there are {', '.join(ALL_LEVELS)}"
            )
    if args.save is not None:
        if not args.save.parent.is_dir():
            raise XonncError(f"{args.save.parent}: no such folder")
        args.save.mkdir(exist_ok=True)
    found: list[FuzzResult] = []
    files: dict[int, list[Path]] = {}
    levels = args.level or tuple(LEVELS)
    seeds = range(args.seed, args.seed + args.count)
    executor = open_executor(args.jobs, args.scheduler) if args.jobs or args.scheduler else None
    with executor or nullcontext(), progress("trying random models", args.quiet or args.json) as step:
        for index, one in enumerate(run_seeds(seeds, levels, executor)):
            step(index, args.count, f"{sum(bool(each.failures) for each in found)} failed")
            found.append(one)
            if one.failures and args.save is not None and one.failures[0].kind != CRASH:
                files[one.seed] = save(one, args.save)
    found.sort(key=lambda one: one.seed)
    if args.json:
        print(json.dumps(_as_json(found, files, levels), indent=2))
    elif not args.quiet:
        _report(found, files, levels)
    return 1 if any(one.failures for one in found) else 0


def _report(found: Sequence[FuzzResult], files: dict[int, list[Path]], levels: Sequence[str]) -> None:
    engines = Counter(one.runs_by for one in found)
    row(
        "models",
        f"{len(found)} with {sum(one.nodes for one in found)} nodes, at {plural(len(levels), 'level')}",
    )
    row("run by", f"onnxruntime {engines['onnxruntime']}, the reference evaluator {engines['reference']}")
    if engines[""]:
        row("left out", f"{engines['']} that neither runs")
    for one in found:
        for failure in one.failures:
            row(f"seed {one.seed}", str(failure))
        for path in files.get(one.seed, ())[:1]:
            row("", f"reduced: {path}")
    failing = sum(bool(one.failures) for one in found)
    row("result", f"{plural(failing, 'model')} failed" if failing else "no difference, no crash")


def _as_json(
    found: Sequence[FuzzResult], files: dict[int, list[Path]], levels: Sequence[str]
) -> dict[str, object]:
    engines = Counter(one.runs_by or "neither" for one in found)
    return {
        "models": len(found),
        "nodes": sum(one.nodes for one in found),
        "levels": list(levels),
        "run by": dict(engines),
        "failures": [
            {
                "seed": one.seed,
                "motifs": one.motifs,
                "failures": [asdict(failure) for failure in one.failures],
                "files": [str(path) for path in files.get(one.seed, ())],
            }
            for one in found
            if one.failures
        ],
    }
