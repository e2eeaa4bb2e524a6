"""`xonnc inspect`: check a loadable against the rules of runtime, firmware and hardware."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.targets import DEFAULT_TARGET, load_target
from xonnc.tools.console import plural, row, size
from xonnc.tools.files import is_package
from xonnc.tools.package_parts import read_loadables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.formats.nvdla.checks.problem import Violation
    from xonnc.formats.nvdla.loadable import Loadable, TensorDesc
    from xonnc.formats.nvdla.pixel_normalization import Normalization
    from xonnc.targets import NvdlaTarget


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("loadable", type=Path, help="a loadable (.nvdla), or a package (.xpkg)")
    parser.add_argument(
        "--target",
        help="configuration of the loadable (default: nv_full, or the one that the package names)",
    )
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only set the exit code")


def run(args: argparse.Namespace) -> int:
    """Check; exit code 1 if a rule is broken, 0 with warnings alone."""
    from xonnc.formats.nvdla.checks.loadable_check import findings
    from xonnc.formats.nvdla.checks.problem import Severity
    from xonnc.formats.nvdla.reader import read_loadable

    if is_package(args.loadable):
        parts, named = read_loadables(args.loadable)
        where = {"part": ""}
    else:
        parts, named = {args.loadable.name: read_loadable(args.loadable)}, DEFAULT_TARGET
        where = {}
    target = load_target(args.target or named)
    found = {name: findings(loadable, target) for name, loadable in parts.items()}
    if args.json:
        listed = [asdict(one) | dict.fromkeys(where, name) for name, each in found.items() for one in each]
        print(json.dumps(listed, indent=2))
    elif not args.quiet:
        for name, loadable in parts.items():
            _tell(name, loadable, found[name], target)
        if not parts:
            print(f"{args.loadable.name}: a package without a loadable; the CPU runs all of it")
    return 1 if any(one.severity is Severity.ERROR for each in found.values() for one in each) else 0


def _tell(name: str, loadable: Loadable, found: Sequence[Violation], target: NvdlaTarget) -> None:
    """Print the problems of a loadable, or a summary of it."""
    from xonnc.formats.nvdla.checks.loadable_check import other_targets, way_out
    from xonnc.formats.nvdla.checks.problem import Severity

    errors = [problem for problem in found if problem.severity is Severity.ERROR]
    warnings = [problem for problem in found if problem.severity is Severity.WARNING]
    for problem in (*errors, *warnings):
        prefix = "" if problem.severity is Severity.ERROR else "warning: "
        print(f"{prefix}{problem} [{problem.rule}]")
    if errors:
        others = other_targets(loadable, target)
        hint = f"; {way_out(others)}" if others else ""
        print(f"{name}: {plural(len(errors), 'rule')} broken for {target.name}{hint}")
        return
    _summary(name, loadable)
    summary = plural(len(warnings), "warning") if warnings else "no problems"
    row("checked", f"{summary} for {target.name}")


def _summary(name: str, loadable: Loadable) -> None:
    from xonnc.formats.nvdla.enumerations import MemoryFlags
    from xonnc.formats.nvdla.pixel_normalization import normalizations_of
    from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks, interface_layout

    engines: Counter[str] = Counter()
    for task in decode_tasks(loadable):
        if isinstance(task, DlaTask):
            engines.update(operation.engine.name for operation in task.operations)
        else:
            engines["EMU"] += len(task.operations)
    interface, tasks = interface_layout(loadable).value, plural(len(loadable.tasks), "task")
    print(f"{name}   firmware interface {interface}, {tasks}")
    row("operations", ", ".join(f"{engine} {count}" for engine, count in engines.items()))
    row(
        "memory",
        f"{size(sum(memory.size for memory in loadable.memories))} in {len(loadable.memories)} objects",
    )
    for flag in (MemoryFlags.INPUT, MemoryFlags.OUTPUT):
        for memory in loadable.memories:
            if memory.flags & flag and memory.tensor_desc_id < len(loadable.tensors):
                tensor = loadable.tensors[memory.tensor_desc_id]
                shape = f"{tensor.n}x{tensor.c}x{tensor.h}x{tensor.w}"
                layout = _layout_text(tensor, normalizations_of(loadable).get(tensor.name))
                row((flag.name or "").lower(), f"{memory.bind_id}: {tensor.name} {shape}, {layout}")


def _layout_text(tensor: TensorDesc, pixels: Normalization | None) -> str:
    """Describe the memory layout of a bound tensor, and the normalisation of its pixels."""
    from xonnc.formats.nvdla.enumerations import PixelFormat
    from xonnc.formats.nvdla.pixels import PIXEL_LAYOUTS

    lines = f"lines of {tensor.stride_1} bytes"
    if tensor.pixel_format not in PIXEL_LAYOUTS:
        return f"a feature cube, {lines}, surfaces of {tensor.stride_2}"
    meaning = ""
    if pixels is not None and not pixels.is_identity:
        mean, std = (", ".join(f"{number:g}" for number in each) for each in (pixels.mean, pixels.std))
        meaning = f", less {mean} and divided by {std}"
    return f"{PixelFormat(tensor.pixel_format).name} pixels, {lines}{meaning}"
