"""`xonnc explain`: the engine and hardware layer of each node of a model, or why it is refused."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.plugins.backends import backend_of, require_target
from xonnc.targets.cpu import cpu_names
from xonnc.tools.commands import image_options
from xonnc.tools.commands.simplify import named_shape
from xonnc.tools.console import columns, plural
from xonnc.tools.files import is_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
    from xonnc.node_explanations import Explanation, NodeExplanation

QDQ_OPERATORS = ("DequantizeLinear", "QuantizeLinear")
"""Operators in every layer of a quantized network, which the table does not list as sharing it."""

CONVOLUTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators that are named where a convolution's use of its buffer is listed."""

MAX_SHOWN = 4
"""Nodes and layers that a row of the table lists; JSON has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="the model: .onnx, .onnxtxt or .json; or a package (.xpkg)")
    parser.add_argument(
        "--target",
        default="nv_full",
        help="a target's name or .toml file; cpu or a processor kind for native code (default: %(default)s)",
    )
    parser.add_argument(
        "--calib", type=Path, metavar="FILE", help="quantize a float model with this calibration table"
    )
    image_options.add_arguments(parser)
    parser.add_argument(
        "--package",
        action="store_true",
        help="explain a package: nodes that the DLA refuses run on the CPU, which is no error",
    )
    parser.add_argument(
        "--input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:1,3,224,224",
        help="static shape for a dynamic input; may be repeated",
    )
    parser.add_argument("--refused", action="store_true", help="list refused nodes only")
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 1 if nodes are refused and no package is asked for."""
    images = image_options.images(args)
    if is_package(args.model):
        if args.calib or images or args.refused:
            option = "--calib" if args.calib else "--input-format" if images else "--refused"
            raise XonncError(f"{args.model}: {option} is for models; this is a package, compiled already")
        from xonnc.tools.commands import package_steps

        package_steps.explain(args.model, args.json)
        return 0
    require_target(args.target)
    backend = backend_of(args.target)
    if backend is not None and (args.package or args.calib or images):
        option = "--package" if args.package else "--calib" if args.calib else "--input-format"
        raise XonncError(f"{option} is not for target {args.target}, of {backend}")
    if args.target in ("cpu", *cpu_names()):
        return _explain_native(args)
    return _explain_nvdla(args, images)


def _explain_nvdla(args: argparse.Namespace, images: dict[str, ImageInput]) -> int:
    # Imported late: native code does not need the compiler for NVDLA.
    from xonnc.explanation import explain_model, explain_package
    from xonnc.formats.nvdla.calibration import read_calibration
    from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values

    ranges = read_calibration(args.calib) if args.calib else None

    def calibrate(module: ModuleOp) -> Ranges:
        assert ranges is not None, "only called with a table"
        name_values(module)
        return ranges

    explain = explain_package if args.package else explain_model
    shapes = dict(args.input_shape) or None
    explanation = explain(args.model, args.target, None if ranges is None else calibrate, images, shapes)
    if args.json:
        print(json.dumps(asdict(explanation), indent=2))
    else:
        _print(args.model, explanation, args.refused)
    return 1 if explanation.refusals and not args.package else 0


def _explain_native(args: argparse.Namespace) -> int:
    from xonnc.native_explanation import explain_native

    for option in ("package", "calib", "input_format", "input_mean", "input_std"):
        if getattr(args, option):
            raise XonncError(f"--{option.replace('_', '-')} is not for target {args.target}, a processor")
    explanation = explain_native(args.model, args.target, dict(args.input_shape) or None)
    if args.json:
        print(json.dumps(asdict(explanation), indent=2))
    else:
        _print(args.model, explanation, args.refused, "kernel call")
    return 1 if explanation.refusals else 0


def _print(model: Path, explanation: Explanation, only_refused: bool, unit: str = "hardware layer") -> None:
    counts = Counter(node.engine for node in explanation.nodes)
    shown = ", ".join(f"{engine} {count}" for engine, count in counts.most_common())
    print(f"{model.name} on {explanation.target}: {plural(len(explanation.nodes), 'node')} ({shown})")
    if explanation.parts or explanation.layers:
        print(f"  {plural(len(explanation.layers), unit)}")
    for part in explanation.parts:
        side = part.kind.upper()
        taken, given = (_some(list(names)) or "nothing" for names in (part.inputs, part.outputs))
        print(f"  {side}: {plural(len(part.nodes), 'node')}, {taken} to {given}")
    nodes = [node for node in explanation.nodes if node.reason or not only_refused]
    quiet = {node.node for node in explanation.nodes if node.operator in QDQ_OPERATORS}
    is_mixed = len({node.precision for node in explanation.nodes if node.precision}) > 1
    rows = [
        ("node", "operator", "engine", unit.split()[-2 if unit == "kernel call" else -1], "with, or why not"),
        *(_row(node, quiet, is_mixed) for node in nodes),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    print()
    for row in rows:
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        print(f"{cells}  {row[4]}".rstrip())
    if explanation.convolutions and not only_refused:
        print("\nconvolution buffer:")
        for line in columns(_buffer_table(explanation)):
            print(line)
    if explanation.refusals and not explanation.parts:
        print(f"\n{plural(len(explanation.refusals), 'refusal')}, all of them:")
        for refusal in explanation.refusals:
            print(f"  {refusal}")


def _row(node: NodeExplanation, quiet: Collection[str], is_mixed: bool) -> tuple[str, str, str, str, str]:
    """Return the cells of a node; its engine has its precision if the network mixes them."""
    engine = f"{node.engine} {node.precision}" if is_mixed and node.precision else node.engine
    layers = _some([str(layer) for layer in node.layers])
    company = [name for name in node.with_nodes if name not in quiet]
    return node.node, node.operator, engine, layers, node.reason or _some(company)


def _buffer_table(explanation: Explanation) -> list[tuple[str, ...]]:
    """Return a row for each way in which the convolutions of a node use the convolution buffer."""
    operators = {node.node: node.operator for node in explanation.nodes}
    rows: list[tuple[str, ...]] = [("node", "input", "kernels", "banks", "why")]
    for each in explanation.convolutions:
        # What follows a convolution in its layer lends it its name too.
        names = [name for name in each.nodes if operators.get(name) in CONVOLUTIONS]
        name = (names or each.nodes)[0] + (f" ({each.parts} parts)" if each.parts > 1 else "")
        banks = f"{each.data_banks} + {each.weight_banks}"
        rows.append((name, each.input_part, each.kernel_part, banks, each.reason))
    return rows


def _some(texts: list[str]) -> str:
    rest = len(texts) - MAX_SHOWN
    return ", ".join(texts[:MAX_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
