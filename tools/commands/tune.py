"""`xonnc tune`: measure tile sizes for the kernels of a model on this processor."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.tools.commands.simplify import named_shape
from xonnc.tools.console import plural, progress, row, wrote

if TYPE_CHECKING:
    from xonnc.tuning import TunedKernel, Tuning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the ONNX model")
    parser.add_argument("--target", default="cpu", help="cpu, this processor (default)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="N",
        help="approximate time budget (default: %(default)g)",
    )
    parser.add_argument(
        "--input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:1,3,224,224",
        help="static shape for a dynamic input; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Measure, store faster tiles and print a report."""
    from xonnc.tuning import tune

    with progress(f"tuning {args.model.name}", args.quiet) as step:
        tuning = tune(args.model, args.target, args.seconds, dict(args.input_shape) or None, step)
    if args.json:
        print(json.dumps(_as_json(args.model, tuning), indent=2))
    elif not args.quiet:
        _report(args.model, tuning)
    return 0


def _report(model: Path, tuning: Tuning) -> None:
    faster = _faster(tuning)
    measured = plural(len(tuning.kernels), "kernel")
    print(f"{model.name}   {measured} measured, {len(faster)} faster with another tile")
    width = max((len(kernel.name) for kernel in faster), default=0)
    for kernel in faster:
        sizes = f"{_sizes(kernel.computed)} -> {_sizes(kernel.fastest)}"
        times = f"{kernel.before * 1e6:.1f} -> {kernel.after * 1e6:.1f} us"
        layers = plural(len(kernel.nodes), "layer")
        print(f"  {kernel.name:<{width}}  {sizes:<16} {times:<24} {kernel.gain:>4.0%}  {layers}")
    before = sum(len(kernel.nodes) * kernel.before for kernel in tuning.kernels)
    saved = sum(kernel.saved for kernel in tuning.kernels)
    share = f"{saved / before:.1%}" if before else "0%"
    row("saved", f"{saved * 1e3:.2f} of the {before * 1e3:.2f} ms of these kernels in a run ({share})")
    if tuning.unmeasured:
        row("left", f"{plural(len(tuning.unmeasured), 'kernel')} without time; --seconds gives more")
    wrote(tuning.file)


def _faster(tuning: Tuning) -> Sequence[TunedKernel]:
    """Return the kernels with a faster tile, the largest saving first."""
    found = [kernel for kernel in tuning.kernels if kernel.fastest != kernel.computed]
    return sorted(found, key=lambda kernel: -kernel.saved)


def _sizes(tile: tuple[int, int]) -> str:
    return f"{tile[0]}x{tile[1]}"


def _as_json(model: Path, tuning: Tuning) -> dict[str, object]:
    return {
        "model": str(model),
        "file": str(tuning.file),
        "kernels": [
            {
                "kernel": kernel.name,
                "nodes": list(kernel.nodes),
                "computed": list(kernel.computed),
                "fastest": list(kernel.fastest),
                "microseconds_before": kernel.before * 1e6,
                "microseconds_after": kernel.after * 1e6,
            }
            for kernel in tuning.kernels
        ],
        "unmeasured": list(tuning.unmeasured),
    }
