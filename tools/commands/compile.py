"""`xonnc compile`: compile an ONNX model to a loadable, a package or native code."""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import RefusalError, UndefinedOperatorError, XonncError
from xonnc.lowering.memory_planning.offset_assignment import ALLOCATORS
from xonnc.tools.commands import (
    backend_targets,
    calibration_options,
    image_options,
    native_code,
    stages,
    tosa_output,
)
from xonnc.tools.console import plural, progress, quantity, row, size, wrote
from xonnc.tools.files import require_output

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from xdsl.dialects.builtin import ModuleOp

    from xonnc.compiler import Calibrate, Compilation
    from xonnc.contexts import StageCallback
    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.lowering.dla_to_loadable.report import CompileReport
    from xonnc.lowering.quantization_statistics.float_selection import FloatSelection
    from xonnc.packages import CompiledPackage
    from xonnc.tools.console import ProgressCallback


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "model",
        type=Path,
        help="the model: .onnx, .onnxtxt or .json; for native code its IR too, such as "
        "the dump of a stage: .mlir",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="output: a loadable (.nvdla), a package (.xpkg) or native code (.so, .o, .ll, .c), IR for "
        "TOSA (default: beside the model; .nvdla, .xpkg if the CPU runs a part, .so for CPU targets)",
    )
    placing = parser.add_mutually_exclusive_group()
    placing.add_argument(
        "--package", action="store_true", help="write a package, whatever the suffix of --output"
    )
    placing.add_argument(
        "--require-dla", action="store_true", help="run nothing on the CPU; list what the DLA refuses"
    )
    parser.add_argument(
        "--target",
        help="a target's name or .toml file, or tosa (default: nv_full, or cpu for native code)",
    )
    parser.add_argument(
        "--host",
        metavar="TRIPLE",
        help="write a package whose CPU parts are object files for this host too, which 'xonnc deploy' uses: "
        "aarch64-linux-gnu, x86_64-linux-gnu, or a processor kind of 'xonnc targets'",
    )
    parser.add_argument(
        "--iface",
        choices=("0.11", "0.12"),
        default="0.12",
        help="firmware interface version; 0.11 for drivers older than April 2019 (default: %(default)s)",
    )
    parser.add_argument(
        "--batch",
        type=int,
        metavar="N",
        help="compute N images in one run, for a model of one image; layers load their weights once for all "
        "where that pays",
    )
    parser.add_argument(
        "--mem-alloc",
        choices=ALLOCATORS,
        default="auto",
        help="allocator of the memory of activations, but for the CPU's parts of packages; auto takes the "
        "smallest of several plans (default: %(default)s)",
    )
    calibration_options.add_arguments(parser)
    calibration_options.add_keep_float(parser.add_argument)
    calibration_options.add_accuracy(parser.add_argument)
    calibration_options.add_wide(parser.add_argument)
    image_options.add_arguments(parser)
    stages.add_arguments(parser)
    parser.add_argument(
        "--strict", action="store_true", help="refuse declared shapes that contradict the operators"
    )
    parser.add_argument("--dry-run", action="store_true", help="compile and report, write nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="report every layer")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing on success")
    native_code.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Compile, write the output and print a report."""
    from xonnc.plugins.backends import backend_of, require_target

    if args.target is not None:
        require_target(args.target, tosa_output.TARGET)
    backend = backend_of(args.target)
    if backend is not None or args.target == tosa_output.TARGET:
        native_code.require_model(args)
        parser = argparse.ArgumentParser(add_help=False)
        add_arguments(parser)
        defaults = vars(parser.parse_args([str(args.model)]))
        if backend is None:
            return tosa_output.run(args, defaults)
        return backend_targets.run(args, backend, defaults)
    return native_code.run(args) if native_code.is_for_cpu(args) else _run_for_nvdla(args)


def _run_for_nvdla(args: argparse.Namespace) -> int:
    # Imported late: native code does not need the compiler for NVDLA, which takes 0.3 s.
    from xonnc.compiler import STAGES
    from xonnc.formats.package.archive import SUFFIX
    from xonnc.lowering.dla_to_loadable.stages import allocating_memory, disabling_passes

    native_code.require_model(args)
    args.target = args.target or "nv_full"
    output: Path | None = args.output
    is_text = stages.prepare(args, STAGES)
    if is_text and output is None:
        output = args.model.with_suffix(".mlir")
    if not args.dry_run:
        _require_outputs(args, output, is_text)
    wants_package = args.package or (output is not None and output.suffix == SUFFIX)
    if args.host is not None:
        _require_package_for_host(args, wants_package)
        wants_package = True
    if args.require_dla and wants_package and not args.package:
        raise XonncError(
            f"{output}: a package, which may have parts on the CPU; --require-dla makes a .nvdla"
        )
    try:
        with disabling_passes(args.disable_pass), allocating_memory(args.mem_alloc):
            if wants_package or (output is None and not args.require_dla):
                return _run_package(args, output)
            return _run_loadable(args, output or args.model.with_suffix(".nvdla"))
    except stages.StoppedAfterStage:
        stages.print_stop(args, None if args.dry_run else output)
        return 0


def _require_package_for_host(args: argparse.Namespace, wants_package: bool) -> None:
    """Refuse options with which no package is written."""
    if args.require_dla:
        raise XonncError(f"--host {args.host}: with --require-dla nothing runs on the host")
    if args.output is not None and not wants_package:
        raise XonncError(
            f"{args.output}: the host's code is in a package; -o {args.output.with_suffix('.xpkg')}"
        )


def _require_outputs(args: argparse.Namespace, output: Path | None, is_text: bool) -> None:
    """Refuse outputs that cannot be written or are inputs, before compiling."""
    inputs = calibration_options.inputs(args)
    calibration_options.require_output_of(args)
    if output is None:
        return
    endings = (
        (".mlir",)
        if is_text
        else (".xpkg",)
        if args.package
        else (".nvdla", ".xpkg", *native_code.CODE_SUFFIXES)
    )
    require_output(output, endings, *inputs, takes_others=args.package)


def _run_loadable(args: argparse.Namespace, output: Path) -> int:
    """Compile the whole model for the DLA, or raise an error with everything that it refuses."""
    from xonnc.compiler import compile_model
    from xonnc.formats.package.archive import SUFFIX
    from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import has_dynamic_inputs

    options = _Options(args, None if args.dry_run else output)
    try:
        with options.progress() as step:
            compilation = compile_model(
                args.model,
                args.target,
                options.on_stage(step),
                options.calibrate(step),
                image_options.images(args),
                args.strict,
                dict(args.input_shape) or None,
                batch=_batch(args),
            )
    except RefusalError as refused:
        if has_dynamic_inputs(refused) or args.require_dla or isinstance(refused, UndefinedOperatorError):
            raise
        offer = f"{args.model}: the CPU has to run a part; -o {output.with_suffix(SUFFIX)} makes a package"
        raise RefusalError([*refused.reasons, offer]) from None
    compilation = _for_firmware(args, compilation)
    written = 0 if args.dry_run else compilation.write(output)
    return _told(args, compilation, output, written, options.selection)


def _batch(args: argparse.Namespace) -> int:
    return 1 if args.batch is None else args.batch


def _for_firmware(args: argparse.Namespace, compilation: Compilation) -> Compilation:
    """Convert the loadable to the interface version of `--iface`."""
    if args.iface == "0.12":
        return compilation
    from xonnc.formats.nvdla.interface_011 import to_interface_011

    return replace(compilation, loadable=to_interface_011(compilation.loadable))


def _run_package(args: argparse.Namespace, output: Path | None) -> int:
    """Compile a package; write a loadable if no name was given and the DLA runs the whole model."""
    from xonnc.compiler import STAGES, Compilation
    from xonnc.formats.package.archive import SUFFIX
    from xonnc.packages import compile_package

    options = _Options(args, None if args.dry_run else output)
    with options.progress() as step:
        package = compile_package(
            args.model,
            args.target,
            options.on_stage(step),
            options.calibrate(step),
            image_options.images(args),
            args.strict,
            args.host,
            dict(args.input_shape) or None,
            _batch(args),
        )
    is_asked = args.package or output is not None
    _require_static_inputs(args, package, is_asked)
    _require_calibration(args, package, is_asked)
    compiled = package.whole
    if output is None and compiled is not None and not args.package and args.host is None:
        compilation = Compilation(
            package.imported,
            package.simplified,
            package.opset,
            compiled.loadable,
            compiled.report,
            package.inserted_pairs,
        )
        compilation = _for_firmware(args, compilation)
        loadable: Path = args.model.with_suffix(".nvdla")
        written = 0 if args.dry_run else compilation.write(loadable)
        return _told(args, compilation, loadable, written, options.selection)
    if args.stop_after and args.stop_after != STAGES[-1]:
        raise XonncError(
            f"--stop-after {args.stop_after}: the CPU has a part in the model, so there is no such stage of "
            "all of it; stop after 'simplified'"
        )
    if args.iface != "0.12":
        raise XonncError(f"--iface {args.iface}: packages are run by xonnc, which takes 0.12; write a .nvdla")
    path: Path = output or args.model.with_suffix(SUFFIX)
    written = 0 if args.dry_run else package.write(path)
    if args.json:
        report = package_as_json(args.model, package, path if written else None)
        print(json.dumps(report | {"accuracy": _selection_json(options.selection)}, indent=2))
    elif not args.quiet:
        report_package(args.model, package, args.verbose)
        if options.selection is not None:
            row("accuracy", calibration_options.selection_text(options.selection))
        if written:
            wrote(path, written)
    return 0


def _require_calibration(args: argparse.Namespace, package: CompiledPackage, is_asked: bool) -> None:
    """
    Raise `XonncError` for a float model on a target that computes in INT8 only: the CPU would run all of it.

    If the user asked for a package (`is_asked`), warn instead.
    """
    from xonnc.targets import load_target

    is_quantized = "QuantizeLinear" in package.simplified.operators
    if package.compiled or is_quantized or "fp16" in load_target(args.target).precisions:
        return
    message = (
        f"{args.model}: nothing runs on the DLA: {package.target} computes in int8 and the model is in "
        "float; quantize it with --calibrate DATA"
    )
    if not is_asked:
        raise XonncError(f"{message} (--package writes a package for the CPU all the same)")
    warnings.warn(message, stacklevel=2)


def _require_static_inputs(args: argparse.Namespace, package: CompiledPackage, is_asked: bool) -> None:
    """
    Raise `XonncError` if dynamic inputs leave nothing to the DLA; warn if the user asked for a package.
    """
    from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import shape_option

    values = package.manifest.values
    for port in package.manifest.inputs:
        shape = values[port.value].shape
        if package.compiled or (shape is not None and None not in shape):
            continue
        option = "" if shape is None else f", such as {shape_option(port.name, shape)}"
        name = f"input '{port.name}'"
        message = f"{args.model}: nothing runs on the DLA: {name} has a dynamic shape; fix it{option}"
        if not is_asked:
            raise XonncError(f"{message} (--package writes a package for the CPU all the same)")
        warnings.warn(message, stacklevel=2)


def _told(
    args: argparse.Namespace,
    compilation: Compilation,
    output: Path,
    written: int,
    selection: FloatSelection | None,
) -> int:
    if args.json:
        found = _as_json(args.model, compilation, output if written else None)
        print(json.dumps(found | {"accuracy": _selection_json(selection)}, indent=2))
    elif not args.quiet:
        report(args.model, compilation)
        if selection is not None:
            row("accuracy", calibration_options.selection_text(selection))
        if args.verbose:
            _layers(compilation)
        if written:
            wrote(output, written)
    return 0


def _selection_json(selection: FloatSelection | None) -> dict[str, object] | None:
    return None if selection is None else asdict(selection)


class _Options:
    """Return the observers and the calibration of a compilation from the arguments."""

    def __init__(self, args: argparse.Namespace, output: Path | None):
        self._args = args
        self._output = output
        self._found: Ranges | None = None
        self.selection: FloatSelection | None = None
        """The nodes kept in float for `--accuracy`."""

    def progress(self) -> AbstractContextManager[ProgressCallback]:
        """A bar for one compilation."""
        return progress(f"compiling {self._args.model.name}", self._args.quiet)

    def on_stage(self, step: ProgressCallback) -> StageCallback:
        """Dump what is asked for, and stop after the last stage wanted."""
        from xonnc.compiler import STAGES

        return stages.stage_callback(self._args, STAGES, self._output, step)

    def calibrate(self, step: ProgressCallback) -> Calibrate | None:
        """Find the ranges, once, if the model is to be rounded."""
        if not calibration_options.is_given(self._args):
            return None

        def ranges(module: ModuleOp) -> Ranges:
            if self._found is None:
                self._found = calibration_options.ranges(self._args, module, step)
            self.selection = calibration_options.mark_float_nodes(self._args, module, self._found, step)
            return self._found

        return ranges


def report(model: Path, compilation: Compilation) -> None:
    """The summary of a compilation in a few lines."""
    numbers = compilation.report
    _report_model(model, compilation)
    _report_dla("placed", numbers)


def report_package(model: Path, package: CompiledPackage, is_verbose: bool) -> None:
    """The placement, with reasons."""
    _report_model(model, package)
    on_cpu = len(package.cpu_nodes)
    row(
        "placed",
        f"{package.target}: {plural(package.nodes - on_cpu, 'node')} on the DLA in "
        f"{plural(len(package.compiled), 'part')}, {on_cpu} on the CPU, "
        f"{plural(package.crossings, 'tensor')} in between",
    )
    for count, operator, reason in package.causes:
        row("on the CPU", f"{count} {operator}: {reason}")
    if is_verbose:
        for node in package.cpu_nodes:
            row("node", f"{node.name} ({node.operator}): {node.reason}")
    if package.manifest.host is not None:
        count = sum(name.endswith(".o") for name in package.host_files)
        total = size(sum(map(len, package.host_files.values())))
        row("host", f"{plural(count, 'object file')} for {package.manifest.host} ({total} in all)")
    for number, compiled in enumerate(package.compiled, 1):
        _report_dla(f"DLA part {number}", compiled.report)


def _report_model(model: Path, compilation: Compilation | CompiledPackage) -> None:
    before, after = compilation.imported, compilation.simplified
    print(
        f"{model.name}   opset {compilation.opset}, {plural(before.nodes, 'node')}, "
        f"{quantity(before.parameters)} parameters"
    )
    removed = {name: count - after.operators.get(name, 0) for name, count in before.operators.items()}
    shown = ", ".join(
        f"{count} {name}" for name, count in sorted(removed.items(), key=_descending) if count > 0
    )
    row(
        "simplified",
        f"{before.nodes} -> {plural(after.nodes, 'node')}" + (f" (removed: {shown})" if shown else ""),
    )
    if compilation.inserted_pairs:
        pairs = plural(compilation.inserted_pairs, "pair")
        row("quantized", f"{pairs} of QuantizeLinear and DequantizeLinear that the model lacks")


def _report_dla(label: str, numbers: CompileReport) -> None:
    engines = ", ".join(f"{engine} {count}" for engine, count in numbers.layers_by_engine.items())
    row(label, f"{numbers.target}: {engines} (hardware layers)")
    if len(numbers.nodes_by_precision) > 1:
        row("precision", _node_counts(numbers.nodes_by_precision))
    if numbers.conv_splits:
        pieces = sum(numbers.conv_splits.values())
        row(
            "split",
            f"{plural(len(numbers.conv_splits), 'convolution')} run as {pieces}, "
            "which fit the buffer and load ahead",
        )
    row(
        "memory",
        f"DRAM {size(numbers.dram_bytes)}: weights {size(numbers.weight_bytes)}, activations "
        f"{size(numbers.activation_bytes)} "
        f"(lower bound over all orders {size(numbers.activation_lower_bound)})",
    )
    images = numbers.performance.images
    of_batch = "" if images == 1 else f" ({numbers.milliseconds:.2f} ms for {images} in one run)"
    row(
        "estimate",
        f"{numbers.milliseconds / images:.2f} ms an inference{of_batch}, "
        f"{quantity(numbers.macs)} multiplications",
    )


def _node_counts(by_precision: Mapping[str, int]) -> str:
    return ", ".join(f"{plural(count, 'node')} in {name}" for name, count in by_precision.items())


def _descending(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _layers(compilation: Compilation) -> None:
    for layer in compilation.report.layers:
        work = f"{quantity(layer.cycles)} cycles ({layer.bound} bound), {size(layer.traffic_bytes)} moved"
        row("layer", f"{layer.node}: {layer.engine_text}, {work}")


def _as_json(model: Path, compilation: Compilation, output: Path | None) -> dict[str, object]:
    numbers = compilation.report
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "opset": compilation.opset,
        "imported": asdict(compilation.imported),
        "simplified": asdict(compilation.simplified),
        "inserted_pairs": compilation.inserted_pairs,
        "report": asdict(numbers)
        | {"macs": numbers.macs, "cycles": numbers.cycles, "milliseconds": numbers.milliseconds},
    }


def package_as_json(model: Path, package: CompiledPackage, output: Path | None) -> dict[str, object]:
    """Return the report on a package for `--json`."""
    return {
        "model": str(model),
        "output": None if output is None else str(output),
        "opset": package.opset,
        "target": package.target,
        "host": package.manifest.host,
        "host_files": {name: len(content) for name, content in package.host_files.items()},
        "imported": asdict(package.imported),
        "simplified": asdict(package.simplified),
        "inserted_pairs": package.inserted_pairs,
        "nodes": package.nodes,
        "crossings": package.crossings,
        "cpu_nodes": [asdict(node) for node in package.cpu_nodes],
        "steps": [
            {"kind": step.kind, "inputs": step.inputs, "outputs": step.outputs}
            for step in package.manifest.steps
        ],
        "reports": [asdict(compiled.report) for compiled in package.compiled],
    }
