"""`xonnc report`: what a loadable, or a model once compiled, costs to run."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.targets import load_target
from xonnc.tools.console import quantity, row, size

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.formats.nvdla.performance import HardwareLayer, Performance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("model", type=Path, help="a loadable (.nvdla), or a model to compile first")
    parser.add_argument(
        "--target", default="nv_full", help="a target's name or .toml file (default: %(default)s)"
    )
    parser.add_argument(
        "--calib", type=Path, metavar="FILE", help="round a model of floats to 8 bits by this"
    )
    parser.add_argument("--total", action="store_true", help="leave the table of layers out")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Estimates and prints."""
    cost = _cost(args)
    if args.json:
        print(json.dumps(as_json(cost), indent=2))
        return 0
    target = load_target(args.target)
    print(f"{args.model.name} on {cost.target} at {cost.clock_mhz:g} MHz, {target.dram_gb_per_s:g} GB/s")
    for label, text in totals(cost):
        row(label, text)
    if not args.total:
        print()
        for line in table(cost.layers):
            print(line)
    return 0


def _cost(args: argparse.Namespace) -> Performance:
    from xonnc.formats.nvdla.checks.check import read_checked
    from xonnc.formats.nvdla.performance import performance

    if args.model.suffix == ".nvdla":
        target = load_target(args.target)
        return performance(read_checked(args.model, target), target)
    from xonnc.compiler import compile_model
    from xonnc.formats.nvdla.calibration import read_calibration
    from xonnc.lowering.quantize_onnx import name_values

    if not args.calib:
        return compile_model(args.model, args.target).report.performance
    ranges = read_calibration(args.calib)

    def calibrate(module: ModuleOp) -> Ranges:
        name_values(module)
        return ranges

    return compile_model(args.model, args.target, calibrate=calibrate).report.performance


def totals(cost: Performance) -> list[tuple[str, str]]:
    """The network as a whole, in rows."""
    cycles: Counter[str] = Counter()
    for layer in cost.layers:
        cycles[layer.bound] += layer.cycles
    shares = ", ".join(f"{name} {count / cost.cycles:.0%}" for name, count in cycles.most_common())
    return [
        ("latency", f"{cost.milliseconds:.3f} ms, {quantity(cost.cycles)} cycles: {rate(cost)}"),
        ("work", f"{quantity(cost.macs)} multiplications, {cost.utilisation:.1%} of what the core could do"),
        (
            "memory",
            f"{size(cost.traffic_bytes)} moved; {size(cost.compulsory_bytes)} if each layer read every byte "
            f"once, {size(cost.boundary_bytes)} of weights, inputs and outputs",
        ),
        ("waits for", shares),
    ]


def rate(cost: Performance) -> str:
    """Inferences in a second."""
    return f"{1000 / cost.milliseconds:.1f} inferences a second" if cost.milliseconds else "nothing to do"


def table(layers: tuple[HardwareLayer, ...]) -> list[str]:
    """A line for each hardware layer: cycles of compute and memory, what it waits for, utilisation."""
    head = ("layer", "engines", "node", "cycles", "compute", "DRAM", "bound", "MACs used", "moved")
    rows: list[tuple[str, ...]] = [head]
    for index, layer in enumerate(layers):
        rows.append(
            (
                str(index),
                "+".join(layer.engines),
                layer.node or "–",
                f"{layer.cycles}",
                f"{layer.compute_cycles}",
                f"{layer.memory_cycles}",
                "memory" if layer.bound == "memory" else f"compute ({layer.bound})",
                f"{layer.utilisation:.1%}" if layer.macs else "–",
                size(layer.traffic_bytes),
            )
        )
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(head))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in rows
    ]


def as_json(cost: Performance) -> dict[str, object]:
    """Everything there is, figures derived from others too."""
    layers = [
        asdict(layer)
        | {
            "cycles": layer.cycles,
            "compute_cycles": layer.compute_cycles,
            "traffic_bytes": layer.traffic_bytes,
            "bound": layer.bound,
            "utilisation": layer.utilisation,
        }
        for layer in cost.layers
    ]
    return {
        "target": cost.target,
        "clock_mhz": cost.clock_mhz,
        "cycles": cost.cycles,
        "milliseconds": cost.milliseconds,
        "macs": cost.macs,
        "utilisation": cost.utilisation,
        "traffic_bytes": cost.traffic_bytes,
        "compulsory_bytes": cost.compulsory_bytes,
        "boundary_bytes": cost.boundary_bytes,
        "layers": layers,
    }
