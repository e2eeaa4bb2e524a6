"""`xonnc compile`: an ONNX model becomes a loadable."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.formats.replacing import replacing
from xonnc.runtime.calibration import METHODS
from xonnc.tools.console import plural, progress, quantity, row, size
from xonnc.tools.files import require_folder, stage_file

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.compiler import Compilation
    from xonnc.formats.nvdla.calibration import Ranges


class _Stop(Exception):
    """The stage asked for is reached."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json")
    parser.add_argument("-o", "--output", type=Path, help="the loadable (default: beside the model, .nvdla)")
    parser.add_argument(
        "--target", default="nv_full", help="a target's name or .toml file (default: %(default)s)"
    )
    ranges = parser.add_mutually_exclusive_group()
    ranges.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA",
        help="round a model of floats to 8 bits by the ranges that samples show: .npz, .npy or a folder",
    )
    ranges.add_argument("--calib", type=Path, metavar="FILE", help="the same, by a calibration table")
    parser.add_argument(
        "--calibration-method",
        choices=METHODS,
        default=METHODS[0],
        help="how samples become ranges (default: %(default)s)",
    )
    parser.add_argument("--save-calib", type=Path, metavar="FILE", help="write the calibration table")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write the IR after each stage to DIR")
    parser.add_argument(
        "--stop-after", metavar="STAGE", help="stop after this stage and write its IR to --output"
    )
    parser.add_argument(
        "--elide-larger", type=int, metavar="N", help="leave constants of over N elements out of dumped IR"
    )
    parser.add_argument("--dry-run", action="store_true", help="report only, write nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="report every layer")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Compiles, writes and reports."""
    from xonnc.compiler import STAGES

    if args.stop_after and args.stop_after not in STAGES:
        raise XonncError(f"--stop-after {args.stop_after}: no such stage; there are {', '.join(STAGES)}")
    stops_early = args.stop_after not in (None, STAGES[-1])
    output: Path = args.output or args.model.with_suffix(".mlir" if stops_early else ".nvdla")
    if not args.dry_run:
        require_folder(output)
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
    try:
        compilation = _compile(args, None if args.dry_run else output)
    except _Stop:
        if not args.quiet:
            print(f"stopped after {args.stop_after}" + ("" if args.dry_run else f", wrote {output}"))
        return 0
    written = 0 if args.dry_run else compilation.write(output)
    if args.json:
        print(json.dumps(_as_json(args.model, compilation, output if written else None), indent=2))
    elif not args.quiet:
        report(args.model, compilation)
        if args.verbose:
            _layers(compilation)
        if written:
            print(f"wrote           {output} ({size(written)})")
    return 0


def _compile(args: argparse.Namespace, output: Path | None) -> Compilation:
    """Compiles with the dumps asked for; `_Stop` once the last stage wanted is written to `output`."""
    from xonnc.compiler import STAGES, compile_model

    with progress(f"compiling {args.model.name}", args.quiet) as step:

        def watch(stage: str, module: ModuleOp) -> None:
            step(STAGES.index(stage) + 1, len(STAGES), stage)
            if args.dump:
                write_ir(module, stage_file(args.dump, STAGES, stage), args.elide_larger)
            if stage == args.stop_after:
                if output:
                    write_ir(module, output, args.elide_larger)
                raise _Stop

        if not (args.calibrate or args.calib):
            return compile_model(args.model, args.target, watch)

        def ranges(module: ModuleOp) -> Ranges:
            return _ranges(args, module, step)

        return compile_model(args.model, args.target, watch, ranges)


def _ranges(args: argparse.Namespace, module: ModuleOp, step: Callable[[int, int, str], None]) -> Ranges:
    """The ranges of a calibration table, or those that samples show."""
    from xonnc.calibration import calibrate_module, input_shapes, read_samples
    from xonnc.formats.nvdla.calibration import read_calibration, write_calibration
    from xonnc.lowering.quantize_onnx import name_values

    if args.calib:
        name_values(module)
        found = read_calibration(args.calib)
    else:
        samples = read_samples(args.calibrate, input_shapes(module))
        found = calibrate_module(module, samples, args.calibration_method, step)
    if args.save_calib:
        write_calibration(args.save_calib, found)
    return found


def write_ir(module: ModuleOp, path: Path, elide_larger: int | None = None) -> None:
    """Writes a module with its locations, through a temporary file."""
    from xonnc.dialects.onnx.assembly import OnnxPrinter

    with replacing(path) as file, TextIOWrapper(file, encoding="utf-8") as text:
        OnnxPrinter(stream=text, print_debuginfo=True, elide_larger=elide_larger).print_op(module)
        text.write("\n")


def report(model: Path, compilation: Compilation) -> None:
    """What a person wants to know of a compilation, in a few lines."""
    before, after, numbers = compilation.imported, compilation.simplified, compilation.report
    print(
        f"{model.name}   opset {compilation.opset}, {plural(before.nodes, 'node')}, "
        f"{quantity(before.parameters)} parameters"
    )
    gone = {name: count - after.operators.get(name, 0) for name, count in before.operators.items()}
    shown = ", ".join(f"{count} {name}" for name, count in sorted(gone.items(), key=_descending) if count > 0)
    row(
        "simplified",
        f"{before.nodes} -> {plural(after.nodes, 'node')}" + (f" (gone: {shown})" if shown else ""),
    )
    engines = ", ".join(f"{engine} {count}" for engine, count in numbers.layers_by_engine.items())
    row("placed", f"{numbers.target}: {engines} (hardware layers)")
    if numbers.conv_splits:
        pieces = sum(numbers.conv_splits.values())
        row("split", f"{plural(len(numbers.conv_splits), 'convolution')} run as {pieces} to fit the buffer")
    row(
        "memory",
        f"DRAM {size(numbers.dram_bytes)}: weights {size(numbers.weight_bytes)}, activations "
        f"{size(numbers.activation_bytes)} (lower bound {size(numbers.activation_lower_bound)})",
    )
    row("estimate", f"{numbers.milliseconds:.2f} ms an inference, {quantity(numbers.macs)} multiplications")


def _descending(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _layers(compilation: Compilation) -> None:
    for layer in compilation.report.layers:
        engines = "+".join(layer.engines)
        work = f"{quantity(layer.cycles)} cycles ({layer.bound} bound), {size(layer.traffic_bytes)} moved"
        row("layer", f"{layer.node}: {engines}, {work}")


def _as_json(model: Path, compilation: Compilation, output: Path | None) -> dict[str, object]:
    numbers = compilation.report
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "opset": compilation.opset,
        "imported": asdict(compilation.imported),
        "simplified": asdict(compilation.simplified),
        "report": asdict(numbers)
        | {"macs": numbers.macs, "cycles": numbers.cycles, "milliseconds": numbers.milliseconds},
    }
