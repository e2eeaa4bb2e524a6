"""`xonnc report`: estimated cycles, memory traffic and memory of a loadable, package or model."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_writes
from xonnc.lowering.memory_planning.offset_assignment import ALLOCATORS
from xonnc.targets import DEFAULT_TARGET, load_target
from xonnc.targets.cpu import cpu_names
from xonnc.tools.commands.simplify import named_shape
from xonnc.tools.console import columns, quantity, row, size, wrote
from xonnc.tools.files import is_package, require_output
from xonnc.tools.memory_report import report_memory

if TYPE_CHECKING:
    import onnx
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.calibration import Sample
    from xonnc.compiler import Calibrate, Compilation
    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.formats.nvdla.performance import HardwareLayer, Performance
    from xonnc.lowering.quantization_statistics.quantization_error import QuantizationError
    from xonnc.targets import NvdlaTarget
    from xonnc.tools.html_report.document import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "model", type=Path, help="a loadable (.nvdla), a package (.xpkg), or a model to compile first"
    )
    parser.add_argument(
        "--target",
        help="a target's name or .toml file (default: nv_full, or the one that the package names)",
    )
    parser.add_argument(
        "--calib", type=Path, metavar="FILE", help="quantize a float model with this calibration table"
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="DATA",
        help="quantize with samples (.npz, .npy, a folder) and report each tensor's quantization error",
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help="memory plan of a model: offsets and lifetimes of tensors, peak and lower bound; "
        "--target may also be a processor (cpu, avx2). Of a loadable: what its layers write",
    )
    parser.add_argument(
        "--mem-alloc",
        choices=ALLOCATORS,
        default="auto",
        help="with --memory: the plan of this allocator; the compiler uses auto, the smallest of several "
        "plans (default: %(default)s)",
    )
    parser.add_argument(
        "--input-shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME:SIZES",
        help="static shape of a dynamic input: x:1,3,224,224",
    )
    parser.add_argument(
        "--register-cycles",
        type=cycle_count,
        default=0.0,
        metavar="N",
        help="cycles of the firmware's access to a register (default: 0, the hardware alone)",
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with seven linked views; --target may be cpu"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write the timeline in the format of Chrome and Perfetto"
    )
    parser.add_argument(
        "--svg",
        type=Path,
        metavar="FILE",
        help="write a picture of the timeline; with --memory, of the buffers",
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help="write a table of layers or kernels; with --memory, of buffers",
    )
    parser.add_argument("--total", action="store_true", help="leave out the table of layers")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Estimate and print."""
    if args.html or args.trace or args.svg or args.csv:
        return _write_page(args)
    if args.memory:
        return report_memory(args, calibration_of(args))
    if args.input_shape and (is_package(args.model) or args.model.suffix == ".nvdla"):
        raise XonncError(f"{args.model}: --input-shape is for models; this is compiled already")
    if is_package(args.model):
        return _report_package(args)
    if _is_processor(args.target):
        raise XonncError(
            f"--target {args.target} is for --memory and --html; "
            "the times of kernels are in 'xonnc run MODEL --profile'"
        )
    target = load_target(args.target or DEFAULT_TARGET)
    cost, errors = _cost(args, target)
    if args.json:
        measured = (
            {}
            if errors is None
            else {"quantization_errors": [quantization_error_json(one) for one in errors]}
        )
        print(json.dumps(as_json(cost) | measured, indent=2))
        return 0
    _tell(args.model.name, cost, target, args.total)
    if errors is not None:
        print()
        for line in quantization_error_table(errors):
            print(line)
    return 0


def _write_page(args: argparse.Namespace) -> int:
    """Write the report page, the trace, pictures and tables."""
    from xonnc.tools.html_report.page import render, trace
    from xonnc.tools.html_report.pictures import memory_csv, timeline_csv

    possible: tuple[tuple[Path | None, str, Callable[[Document], str]], ...] = (
        (args.html, ".html", render),
        (args.trace, ".json", trace),
        (args.svg, ".svg", partial(_picture, args.memory)),
        (args.csv, ".csv", memory_csv if args.memory else timeline_csv),
    )
    files = [(path, suffix, text) for path, suffix, text in possible if path is not None]
    for path, suffix, _ in files:
        require_output(path, (suffix,), args.model)
    document = _document(args)
    if args.memory and not document.memories:
        raise XonncError(f"{args.model}: no memory map: {document.notes.get('memory', 'it has no buffers')}")
    with atomic_writes() as outputs:
        for path, _, text in files:
            with outputs.open(path) as file:
                file.write(text(document).encode())
    for path, *_ in files:
        wrote(path)
    return 0


def _picture(is_of_memory: bool, document: Document) -> str:
    from xonnc.tools.html_report.document import Timeline
    from xonnc.tools.html_report.pictures import memory_svg, timeline_svg

    if is_of_memory:
        return memory_svg(document.memories)
    return timeline_svg(document.timeline or Timeline("", "", ()))


def _is_processor(target: str | None) -> bool:
    return target in ("cpu", *cpu_names())


def _document(args: argparse.Namespace) -> Document:
    name: str = args.target or DEFAULT_TARGET
    if is_package(args.model):
        from xonnc.formats.nvdla.checks.loadable_check import require_sound
        from xonnc.formats.nvdla.loadable import Loadable
        from xonnc.tools.html_report.nvdla import report_loadable
        from xonnc.tools.package_parts import read_parts

        _require_floats(args)
        parts, named = read_parts(args.model)
        target = load_target(args.target or named or DEFAULT_TARGET)
        for name, part in parts.items():
            if isinstance(part.content, Loadable):
                require_sound(part.content, name, target)
        return report_loadable(args.model, parts, target, args.register_cycles)
    if args.model.suffix == ".nvdla":
        from xonnc.formats.nvdla.checks.loadable_check import read_checked
        from xonnc.tools.html_report.nvdla import report_loadable
        from xonnc.tools.package_parts import PackagePart

        _require_floats(args)
        hardware = load_target(name)
        documents = {args.model.name: PackagePart(read_checked(args.model, hardware), ())}
        return report_loadable(args.model, documents, hardware, args.register_cycles)
    if _is_processor(name):
        from xonnc.tools.html_report.native import report_native

        for option in ("calib", "calibrate"):
            if getattr(args, option):
                raise XonncError(f"--{option} is for NVDLA targets, not for native code")
        return report_native(args.model, name, dict(args.input_shape) or None)
    from xonnc.tools.html_report.nvdla import report_model

    samples = _QuantizationSamples(args)
    given = args.calib or args.calibrate
    return report_model(
        args.model,
        name,
        samples.calibrate if given else None,
        samples.on_stage,
        samples.measured if args.calibrate else None,
        args.register_cycles,
        dict(args.input_shape) or None,
    )


def _report_package(args: argparse.Namespace) -> int:
    """Report on each loadable of a package."""
    from xonnc.formats.nvdla.checks.loadable_check import require_sound
    from xonnc.formats.nvdla.performance import performance
    from xonnc.tools.package_parts import read_parts

    _require_floats(args)
    parts, named = read_parts(args.model)
    target = load_target(args.target or named)
    costs: dict[str, Performance] = {}
    for name, part in parts.items():
        if not isinstance(part.content, bytes):
            require_sound(part.content, name, target)
            cost = performance(part.content, target, args.register_cycles)
            costs[name] = cost.with_nodes(part.nodes)
    if args.json:
        print(json.dumps({"parts": {name: as_json(cost) for name, cost in costs.items()}}, indent=2))
        return 0
    for index, (name, cost) in enumerate(costs.items()):
        print("\n" * bool(index), end="")
        _tell(name, cost, target, args.total)
    if not costs:
        print(f"{args.model.name}: a package without a loadable; the CPU runs all of it")
    return 0


def _tell(name: str, cost: Performance, target: NvdlaTarget, only_total: bool) -> None:
    print(f"{name} on {cost.target} at {cost.clock_mhz:g} MHz, {target.dram_gb_per_s:g} GB/s")
    for label, text in totals(cost):
        row(label, text)
    if not only_total:
        print()
        for line in table(cost.layers):
            print(line)


def _require_floats(args: argparse.Namespace) -> None:
    """Refuse `--calibrate` for compiled files, which have no float tensors to compare with."""
    if args.calibrate:
        what = "package" if is_package(args.model) else "loadable"
        raise XonncError(
            f"{args.model}: a {what} has no float values to compare with; give --calibrate the ONNX model"
        )


def _cost(
    args: argparse.Namespace, target: NvdlaTarget
) -> tuple[Performance, list[QuantizationError] | None]:
    from xonnc.formats.nvdla.checks.loadable_check import read_checked
    from xonnc.formats.nvdla.performance import performance

    if args.model.suffix == ".nvdla":
        _require_floats(args)
        return performance(read_checked(args.model, target), target, args.register_cycles), None
    from xonnc.compiler import compile_model

    name = args.target or DEFAULT_TARGET
    shapes = dict(args.input_shape) or None
    if calibration_of(args) is None:
        compilation = compile_model(args.model, name, input_shapes=shapes)
        return _compiled_cost(compilation, target, args.register_cycles), None
    rounds = _QuantizationSamples(args)
    compilation = compile_model(args.model, name, rounds.on_stage, rounds.calibrate, input_shapes=shapes)
    cost = _compiled_cost(compilation, target, args.register_cycles)
    return cost, rounds.measured() if args.calibrate else None


def _compiled_cost(compilation: Compilation, target: NvdlaTarget, register_cycles: float) -> Performance:
    """Return the cost of a compiled model with the names of its nodes."""
    from xonnc.formats.nvdla.performance import performance

    cost = performance(compilation.loadable, target, register_cycles)
    return cost.with_nodes([layer.node for layer in compilation.report.layers])


def cycle_count(text: str) -> float:
    """Parse a count of cycles; `ArgumentTypeError` for anything but a finite number from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < inf:
        raise argparse.ArgumentTypeError(f"{text}: it is a number of cycles, 0 or more")
    return value


def calibration_of(args: argparse.Namespace) -> Calibrate | None:
    """Return the calibration function for `--calib` and `--calibrate`, or None."""
    return _QuantizationSamples(args).calibrate if args.calibrate or args.calib else None


class _QuantizationSamples:
    """The model before and after quantization, and the samples."""

    def __init__(self, args: argparse.Namespace):
        self._args = args
        self._floats: onnx.ModelProto | None = None
        self._quantized: onnx.ModelProto | None = None
        self._samples: list[Sample] = []

    def calibrate(self, module: ModuleOp) -> Ranges:
        """Return the ranges of the calibration table, or measure them on the samples."""
        from xonnc.calibration import calibrate_module
        from xonnc.formats.nvdla.calibration import read_calibration
        from xonnc.formats.onnx.exporter import export_proto
        from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import equalized, is_quantized, name_values

        if self._args.calib:
            name_values(module)
            found = read_calibration(self._args.calib)
        else:
            found = calibrate_module(module, self._read(module), target=self._args.target)
        if self._args.calibrate and not is_quantized(module):
            self._floats = export_proto(equalized(module, found))
        return found

    def on_stage(self, stage: str, module: ModuleOp) -> None:
        """Keep the quantized model."""
        from xonnc.formats.onnx.exporter import export_proto

        if stage == "simplified" and self._args.calibrate:
            self._read(module)
            self._quantized = export_proto(module)

    def measured(self) -> list[QuantizationError]:
        """Measure the quantization errors on the samples."""
        from xonnc.calibration import open_model
        from xonnc.lowering.quantization_statistics.quantization_error import measure_quantization_error

        assert self._quantized is not None, "compiling passes all stages"
        return measure_quantization_error(self._quantized, self._floats, self._samples, open_model)

    def _read(self, module: ModuleOp) -> list[Sample]:
        from xonnc.calibration import input_shapes, read_samples

        if not self._samples:
            self._samples = read_samples(self._args.calibrate, input_shapes(module))
        return self._samples


def quantization_error_table(errors: Sequence[QuantizationError]) -> list[str]:
    """Return a line for each quantized tensor."""
    rows: list[tuple[str, ...]] = [
        ("value", "made by", "type", "scale", "zero", "saturated", "SNR dB", "cosine")
    ]
    rows += [
        (
            one.name,
            one.operator,
            one.element,
            f"{one.scale:.4g}",
            f"{one.zero_point}",
            f"{one.saturated:.3%}" if one.saturated else "–",
            f"{one.signal_to_noise:.1f}" if isfinite(one.signal_to_noise) else "–",
            f"{one.cosine:.5f}",
        )
        for one in errors
    ]
    return columns(rows)


def quantization_error_json(one: QuantizationError) -> dict[str, object]:
    """Return a quantized tensor for `--json`; an infinite signal-to-noise ratio is null."""
    noise = one.signal_to_noise if isfinite(one.signal_to_noise) else None
    return {**asdict(one), "signal_to_noise": noise}


def totals(cost: Performance) -> list[tuple[str, str]]:
    """Return rows on the whole network."""
    cycles: Counter[str] = Counter()
    for layer in cost.layers:
        cycles.update(layer.shares._asdict())
    total = sum(cycles.values())
    shares = ", ".join(f"{name} {count / total:.0%}" for name, count in cycles.most_common() if count)
    kind = "measured on this hardware" if cost.is_measured else "extrapolated from nv_small"
    return [
        ("latency", f"{cost.milliseconds:.3f} ms, {quantity(cost.cycles)} cycles: {rate(cost)}"),
        ("cycle model", f"{kind}; firmware {firmware(cost)}"),
        ("work", f"{quantity(cost.macs)} multiplications, {cost.utilisation:.1%} of what the core could do"),
        (
            "memory",
            f"{size(cost.traffic_bytes)} moved; {size(cost.compulsory_bytes)} if each layer read every byte "
            f"once, {size(cost.boundary_bytes)} of weights, inputs and outputs",
        ),
        *([("on chip", f"{size(cost.on_chip_bytes)} of the bytes moved")] if cost.on_chip_bytes else []),
        ("time goes to", shares),
    ]


def firmware(cost: Performance) -> str:
    """Return what the figures say of the firmware."""
    if not cost.register_cycles:
        return "not counted (--register-cycles)"
    return f"counted, {cost.register_cycles:g} cycles for each access to a register"


def rate(cost: Performance) -> str:
    """Return the throughput in inferences per second."""
    if not cost.milliseconds:
        return "nothing to do"
    batch = "" if cost.images == 1 else f", {cost.images} in one run"
    return f"{1000 * cost.images / cost.milliseconds:.1f} inferences a second{batch}"


def table(layers: tuple[HardwareLayer, ...]) -> list[str]:
    """
    Return a line for each hardware layer: when it is enabled, computes first and ends, the cycles that it
    adds to the total and what most of them go to.
    """
    head = ("layer", "engines", "node", "enabled", "computes", "ends", "adds", "bound by", "MACs used")
    is_mixed = len({layer.precision for layer in layers if layer.precision}) > 1
    rows: list[tuple[str, ...]] = [(*head, "prefetched", "moved", *(["precision"] if is_mixed else []))]
    for index, layer in enumerate(layers):
        rows.append(
            (
                str(index),
                layer.engine_text,
                layer.node or "–",
                f"{layer.start}",
                f"{layer.computes}",
                f"{layer.end}",
                f"{layer.cycles}",
                layer.bound,
                f"{layer.utilisation:.1%}" if layer.macs else "–",
                size(layer.prefetched_bytes) if layer.prefetched_bytes else "–",
                size(layer.traffic_bytes),
                *([layer.precision or "–"] if is_mixed else []),
            )
        )
    return columns(rows)


def as_json(cost: Performance) -> dict[str, object]:
    """Return all figures for `--json`, derived ones included."""
    layers = [
        asdict(layer)
        | {
            "shares": layer.shares._asdict(),
            "traffic_bytes": layer.traffic_bytes,
            "bound": layer.bound,
            "utilisation": layer.utilisation,
        }
        for layer in cost.layers
    ]
    return {
        "target": cost.target,
        "clock_mhz": cost.clock_mhz,
        "register_cycles": cost.register_cycles,
        "is_measured": cost.is_measured,
        "cycles": cost.cycles,
        "milliseconds": cost.milliseconds,
        "macs": cost.macs,
        "utilisation": cost.utilisation,
        "traffic_bytes": cost.traffic_bytes,
        "compulsory_bytes": cost.compulsory_bytes,
        "boundary_bytes": cost.boundary_bytes,
        "layers": layers,
    }
