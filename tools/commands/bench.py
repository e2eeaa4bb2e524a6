"""`xonnc bench`: time and memory of many models, as native code and on NVDLA."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.targets.cpu import cpu_names
from xonnc.tools.console import columns, plural, progress, row, size

if TYPE_CHECKING:
    from xonnc.tools.model_timing import Measurement

ENDINGS = (".onnx", ".onnxtxt")

PRECISIONS = ("int8", "float")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "models", type=Path, nargs="+", metavar="MODEL", help="models, and folders that are searched for them"
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="TARGET",
        help="cpu, an NVDLA target or a .toml file; may be repeated (default: cpu)",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="for NVDLA: int8 quantizes float models with generated samples (default: float where the target "
        "has it)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=1.0,
        metavar="N",
        help="time to repeat the runs of a model (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Measure and print a table; exit code 1 if a model does not compile for a target."""
    from xonnc.tools.model_timing import measured

    models = list(_models(args.models))
    targets: Sequence[str] = args.target or ["cpu"]
    for target in targets:
        _require_measurable(target)
    cases = [(model, target) for model in models for target in targets]
    found: list[Measurement] = []
    with progress("measuring", args.quiet or args.json) as step:
        for done, (model, target) in enumerate(cases, 1):
            found.append(measured(model, target, args.precision, args.seconds))
            step(done, len(cases), model.name)
    if args.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
    elif not args.quiet:
        for line in columns(_table(found)):
            print(line)
        failed = sum(bool(each.failure) for each in found)
        row("compiled", f"{len(found) - failed} of {len(found)}: {plural(len(models), 'model')}")
    return 1 if any(each.failure for each in found) else 0


def _models(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the models in the order given; those of folders by name."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = sorted(each for each in path.rglob("*") if each.suffix in ENDINGS and each.is_file())
        if not inside:
            raise XonncError(f"{path}: no models ({', '.join(ENDINGS)}) in this folder")
        yield from inside


def _require_measurable(target: str) -> None:
    """Refuse unknown targets, and processors other than this one."""
    from xonnc.native_compilation import resolve_processor
    from xonnc.plugins.backends import require_target

    require_target(target)
    if target in ("cpu", *cpu_names()):
        resolve_processor(target)


def _table(found: Sequence[Measurement]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("model", "target", "compile s", "ms", "activations", "CPU nodes", "")]
    for each in found:
        time = "" if each.milliseconds is None else f"{each.milliseconds:.3f}"
        memory = "" if each.activation_bytes is None else size(each.activation_bytes)
        nodes = f"{each.cpu_nodes}" if each.cpu_nodes else ""
        compiled = "" if each.failure else f"{each.compile_seconds:.1f}"
        rows.append((each.model, each.target, compiled, time, memory, nodes, each.failure))
    return rows
