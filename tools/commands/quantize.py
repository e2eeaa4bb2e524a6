"""`xonnc quantize`: quantize a float model to INT8 for any runtime."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.tools.commands import calibration_options
from xonnc.tools.commands.simplify import named_shape
from xonnc.tools.console import plural, progress, row, size, wrote
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from xonnc.quantizer import QuantizedModel

MAX_SHOWN = 4
"""The most names of layers in a line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the quantized model")
    calibration_options.add_arguments(parser)
    calibration_options.add_keep_float(parser.add_argument)
    calibration_options.add_accuracy(parser.add_argument)
    parser.add_argument(
        "--activations",
        choices=("uint8", "int8", "symmetric"),
        default="uint8",
        help="integers of activations; symmetric is int8 with zero point 0 (default: %(default)s)",
    )
    parser.add_argument(
        "--per-tensor", action="store_true", help="one scale for all weights of a layer, not one per channel"
    )
    parser.add_argument(
        "--input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:1,3,224,224",
        help="shape of the samples of a dynamic input (a dynamic batch is 1); may be repeated",
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse declared shapes that contradict the operators"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")


def run(args: argparse.Namespace) -> int:
    """Quantize, write the model and print a report."""
    if not (args.calibrate or args.calib):
        raise XonncError(f"{args.model}: --calibrate gives samples to measure ranges on, --calib a table")
    require_output(args.output, (".onnx", ".onnxtxt", ".json"), *calibration_options.inputs(args))
    calibration_options.require_output_of(args)
    with progress(f"quantizing {args.model.name}", args.quiet) as step:
        quantized = calibration_options.quantized(
            args, dict(args.input_shape), step, args.activations, args.per_tensor
        )
    written = quantized.write(args.output)
    if args.json:
        print(json.dumps(_as_json(args.model, quantized, written), indent=2))
    elif not args.quiet:
        _report(args.model, quantized, written)
    return 0


def _report(model: Path, quantized: QuantizedModel, written: Sequence[Path]) -> None:
    float_nodes = [layer.node for layer in quantized.layers if not layer.is_quantized]
    count = len(quantized.layers)
    print(f"{model.name}   {count - len(float_nodes)} of {plural(count, 'layer')} in INT8")
    if float_nodes:
        row("in float", ", ".join(float_nodes[:MAX_SHOWN]) + (", …" if len(float_nodes) > MAX_SHOWN else ""))
    if quantized.selection is not None:
        row("accuracy", calibration_options.selection_text(quantized.selection))
    before, after = quantized.model.before.bytes, quantized.model.after.bytes
    row("weights", f"{size(before)} -> {size(after)}")
    for each in quantized.agreement:
        error = f"largest error {each.largest_error:.1e} of the largest value"
        row(
            "agreement", f"{each.output}: cosine {each.cosine:.6f} to the float model on the samples, {error}"
        )
    for path in written:
        wrote(path, path.stat().st_size)


def _as_json(model: Path, quantized: QuantizedModel, written: Sequence[Path]) -> dict[str, object]:
    return {
        "model": str(model),
        "files": [str(path) for path in written],
        "layers": [asdict(layer) for layer in quantized.layers],
        "agreement": [asdict(each) for each in quantized.agreement],
        "accuracy": None if quantized.selection is None else asdict(quantized.selection),
    }
