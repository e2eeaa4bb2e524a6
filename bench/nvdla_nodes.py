"""
The node tests of the onnx package on NVDLA: which run on the DLA, which as a package of DLA and CPU
partitions, and which the DLA refuses, with reasons. What runs on the DLA is simulated and compared.

    python bench/nvdla_nodes.py [--target nv_small] [--precision INT8] [--match conv] [--every 25]
                                [--list] [--json FILE] [--write docs/nvdla-nodes.md]

A node test has an input for every operand. Operands after the first become constants here, as weights are in
a network, except for operators with symmetric operands (Add, Concat, …). INT8 is calibrated with the test's
own inputs.

FP16 outputs are compared with the expected ones. Quantized graphs (INT8, or a case with QuantizeLinear) are
compared bit for bit with the integer reference where all nodes run on the DLA and the reference supports the
operators; otherwise with the expected outputs, or with the quantized graph in onnxruntime. Integer outputs
that are not quantized must be equal.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.backend import BackendCase, load_case, load_cases, to_array
from bench.nvdla_zoo import CONFIGURATIONS, Configuration
from oracles.nvdla.quantized_reference import QuantizedReference, UnsupportedOperator
from oracles.nvdla.sweep import PlannedLayers
from xonnc.calibration import calibrate_module
from xonnc.compiler import InternalCompilerError, run_frontend
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.formats.onnx.embedded_models import program
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.packages import CompiledPackage, compile_package
from xonnc.runtime.nvdla.simulator import Output, Simulator
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]
Feeds = dict[str, Any]

SYMMETRIC_OPERATORS = frozenset(("Add", "Concat", "Div", "Max", "Mean", "Min", "Mul", "Sub", "Sum"))
"""Operators whose operands are all activations in networks."""

MAX_ERROR = {"FP16": 1e-2, "INT8": 3e-2}
"""Largest allowed error relative to the largest expected magnitude, where there is no exact reference."""

MAX_FLOAT16 = 65504.0

KINDS = ("DLA", "package", "refused")
"""Valid results of a case; others (`crash`, `wrong`) are faults."""

SEVERAL_NODES = "(several nodes)"
"""The operator of models with several nodes: function bodies."""


@dataclass(frozen=True)
class NodeResult:
    """Result of one case in one configuration."""

    case: str
    operator: str
    configuration: str
    kind: str
    detail: str = ""
    """The refusal, the fault, or how it was compared."""

    @property
    def is_fault(self) -> bool:
        """Whether the compiler or the simulator is at fault."""
        return self.kind not in KINDS


@dataclass(frozen=True)
class NodeTest:
    """A case as a network with constant weights: model, inputs and expected outputs."""

    model: onnx.ModelProto
    feeds: Feeds
    expected: Sequence[object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit 1 if a case crashes or gives wrong values."""
    parser = argparse.ArgumentParser(description="The node tests of the onnx package on the NVDLA.")
    parser.add_argument("--target", default="", help="the configurations of this target alone")
    parser.add_argument("--precision", default="", help="INT8 or FP16 alone")
    parser.add_argument("--match", default="", help="cases whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="run every Nth case")
    parser.add_argument("--list", action="store_true", help="a line for each case that is not on the DLA")
    parser.add_argument("--json", type=Path, help="file for all outcomes")
    parser.add_argument("--write", type=Path, help="file for the page of documentation")
    args = parser.parse_args(arguments)
    selected = [
        one
        for one in CONFIGURATIONS
        if args.target in ("", one.target) and args.precision in ("", one.precision)
    ]
    results: list[NodeResult] = []
    for case in [case for case in load_cases("node") if args.match in case.name][:: args.every]:
        found = run_case(case, selected)
        results += found
        for one in found:
            if one.is_fault or (args.list and one.kind != "DLA"):
                print(f"{one.case} on {one.configuration}: {one.kind}: {one.detail}", flush=True)
    print(page(results, list(map(str, selected)), args.every))
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")
    if args.write:
        args.write.write_text(page(results, list(map(str, selected)), args.every))
    return 1 if any(one.is_fault for one in results) else 0


def run_case(case: BackendCase, configurations: Iterable[Configuration] = CONFIGURATIONS) -> list[NodeResult]:
    """Run a case in each configuration."""
    model, data_sets = load_case(case)
    operators = [node.op_type for node in model.graph.node]
    operator = operators[0] if len(operators) == 1 else SEVERAL_NODES
    test = None
    if data_sets:
        inputs, outputs = data_sets[0]
        test = node_test_of(model, list(map(to_array, inputs)), list(map(to_array, outputs)))
    found: list[NodeResult] = []
    for configuration in configurations:
        kind, detail = ("refused", "no inputs to try") if test is None else run_test(test, configuration)
        found.append(NodeResult(case.name, operator, str(configuration), kind, detail))
    return found


def node_test_of(model: onnx.ModelProto, inputs: Sequence[object], outputs: Sequence[object]) -> NodeTest:
    """The case with constants in place of the inputs that are weights."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    combined = {name for node in graph.node if node.op_type in SYMMETRIC_OPERATORS for name in node.input}
    feeds: Feeds = {}
    for index, (port, value) in enumerate(zip(list(graph.input), inputs, strict=False)):
        if not port.type.HasField("tensor_type"):
            feeds[port.name] = value
            continue
        array = np.asarray(value)
        if index and not (port.name in combined and array.dtype.kind == "f"):
            graph.initializer.append(numpy_helper.from_array(array, port.name))
            graph.input.remove(port)
        else:
            feeds[port.name] = array
    return NodeTest(changed, feeds, outputs)


def run_test(test: NodeTest, configuration: Configuration) -> tuple[str, str]:
    """Run a case in a configuration; return its kind and detail."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return _run_test(test, configuration, Path(folder))
    except XonncError as error:
        return "refused", str(error).splitlines()[0]
    except (InternalCompilerError, AssertionError, ArithmeticError, AttributeError, LookupError) as error:
        return "crash", f"{type(error).__name__}: {error}"
    except (NotImplementedError, TypeError, ValueError, VerifyException) as error:
        return "crash", f"{type(error).__name__}: {error}"


def _run_test(test: NodeTest, configuration: Configuration, folder: Path) -> tuple[str, str]:
    path, quantized = folder / "case.onnx", folder / "rounded.onnx"
    path.write_bytes(test.model.SerializeToString())

    def ranges(module: ModuleOp) -> Ranges:
        return _ranges(module, test.feeds)

    def on_stage(stage: str, module: ModuleOp) -> None:
        if stage == "simplified":
            quantized.write_bytes(export_proto(module).SerializeToString())

    package = compile_package(
        path, configuration.target, on_stage, ranges if configuration.is_integer else None
    )
    if not package.compiled:
        return "refused", package.causes[0][2] if package.causes else "nothing is left to compute"
    kind = "package" if package.cpu_nodes else "DLA"
    has_quantization = _has_quantization(quantized)
    if package.whole is not None and has_quantization:
        outputs = _simulated(package, configuration, test.feeds)
        try:
            wrong = _exact_difference(quantized, configuration, test.feeds, outputs)
        except UnsupportedOperator:
            wrong = None
        if wrong is not None:
            return ("wrong", wrong) if wrong else (kind, "bit for bit")
    package.write(folder / "case.xpkg")
    found = list(load_package(folder / "case.xpkg").run(test.feeds).values())
    wrong = difference(found, test.expected, configuration, is_quantized=has_quantization)
    if wrong and has_quantization:
        # Saturation is a quantization error, not one of the engines: compare with the quantized graph.
        numbers, ours = (_finite(each, test.expected) for each in (found, _run(quantized, test.feeds)))
        wrong = difference(numbers, ours, configuration, _largest_scale(quantized), is_quantized=True)
    if wrong and not has_quantization and _exceeds_float16(path, test.feeds):
        return kind, "beyond the range of FP16: not compared"
    return ("wrong", wrong) if wrong else (kind, "within the tolerance")


def _finite(values: Sequence[object], expected: Sequence[object]) -> list[Array]:
    """
    Return values with 0 where infinities or NaN are expected. Integers hold neither, and tools differ in what
    they make of them.
    """
    result: list[Array] = []
    for value, other in zip(values, expected, strict=True):
        array = np.asarray(other)
        is_float = "float" in array.dtype.name
        result.append(np.where(np.isfinite(array), np.asarray(value), 0) if is_float else np.asarray(value))
    return result


def _has_quantization(path: Path) -> bool:
    graph = onnx.ModelProto.FromString(path.read_bytes()).graph
    return any(node.op_type == "QuantizeLinear" for node in graph.node)


def _ranges(module: ModuleOp, feeds: Feeds) -> Ranges:
    """Calibrated range of each value, by onnxruntime or else by the reference evaluator."""
    try:
        return calibrate_module(module, [feeds])
    except XonncError:
        pass
    name_values(module)
    model = export_proto(module)
    floats = [info for info in model.graph.value_info if info.type.tensor_type.elem_type == TensorProto.FLOAT]
    known_values = {output.name for output in model.graph.output}
    model.graph.output.extend(info for info in floats if info.name not in known_values)
    found = program(model.SerializeToString(), "the case")(feeds)
    values = {output.name: value for output, value in zip(model.graph.output, found, strict=True)}
    known_values = {**feeds, **values}
    arrays = {name: np.asarray(value) for name, value in known_values.items() if not isinstance(value, list)}
    finite = {name: array[np.isfinite(array)] for name, array in arrays.items() if array.dtype.kind == "f"}
    return {
        name: Range(float(array.min(initial=0)), float(array.max(initial=0)))
        for name, array in finite.items()
    }


def _run(model: Path, feeds: Feeds) -> Sequence[object]:
    """Outputs of a model, by onnxruntime or else by the reference evaluator."""
    try:
        return ReferenceModel(model).run(feeds)
    except XonncError:
        return program(model.read_bytes(), model.name)(feeds)


def _exceeds_float16(path: Path, feeds: Feeds) -> bool:
    """Whether an intermediate value exceeds the range of FP16."""
    ranges = _ranges(run_frontend(path).module, feeds)
    return any(one.magnitude > MAX_FLOAT16 for one in ranges.values())


def _simulated(package: CompiledPackage, configuration: Configuration, feeds: Feeds) -> list[Output]:
    assert package.whole is not None
    loadable = parse_loadable(to_bytes(package.whole.loadable))
    simulator = Simulator(loadable, load_target(configuration.target))
    return simulator.run([feeds[port.name].reshape(port.shape) for port in simulator.inputs])


def _exact_difference(
    quantized: Path, configuration: Configuration, feeds: Feeds, outputs: Sequence[Output]
) -> str:
    """How the integers differ from those of the reference; empty if not."""
    model = onnx.ModelProto.FromString(quantized.read_bytes())
    expected = QuantizedReference(model, PlannedLayers(load_target(configuration.target))).run(feeds)
    for integers, output in zip(expected, outputs, strict=True):
        wrong = int((output.tensor.reshape(integers.shape) != integers).sum())
        if wrong:
            return f"{wrong} of {integers.size} integers differ"
    return ""


MAX_SCALE = 0.1
"""Largest intermediate scale that excuses an error, relative to the largest expected magnitude."""


def _largest_scale(quantized: Path) -> float:
    """
    The largest scale of a QuantizeLinear in the graph.

    A value halfway between two quantization levels may go either way, which is an error of one scale; later
    quantization adds up to a tenth of it.
    """
    graph = onnx.ModelProto.FromString(quantized.read_bytes()).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    scales = (constants.get(node.input[1]) for node in graph.node if node.op_type == "QuantizeLinear")
    return max((float(scale.max()) for scale in scales if scale is not None), default=0.0)


def difference(
    found: Sequence[object],
    expected: Sequence[object],
    configuration: Configuration,
    scale: float = 0.0,
    *,
    is_quantized: bool,
) -> str:
    """
    Describe a difference beyond the tolerance and beyond what one `scale` explains; empty if there is none.

    Integers must be equal; 8-bit ones in a graph that `is_quantized` may differ by 1: ties round either way.
    """
    for one, other in zip(found, expected, strict=True):
        numbers, expected_numbers = np.asarray(one), np.asarray(other)
        # Not by the kind, which is another for bfloat16.
        if "float" not in expected_numbers.dtype.name:
            most = (
                1
                if is_quantized
                and expected_numbers.dtype.kind in "iu"
                and expected_numbers.dtype.itemsize == 1
                else 0
            )
            if numbers.shape != expected_numbers.shape or not _is_near(numbers, expected_numbers, most):
                return f"{numbers.dtype} {list(numbers.shape)} that differ"
            continue
        if numbers.shape != expected_numbers.shape:
            return f"shape {list(numbers.shape)}, not {list(expected_numbers.shape)}"
        limited = np.clip(expected_numbers.astype(np.float64), -MAX_FLOAT16, MAX_FLOAT16)
        errors = np.abs(np.clip(numbers.astype(np.float64), -MAX_FLOAT16, MAX_FLOAT16) - limited)
        largest = float(np.nanmax(np.abs(limited), initial=0.0)) or 1.0
        if np.any(np.isnan(errors) != np.isnan(limited)):
            return "NaN where there should be none, or none where there should be"
        error = float(np.nanmax(errors, initial=0.0))
        if error > max(MAX_ERROR[configuration.precision] * largest, min(1.1 * scale, MAX_SCALE * largest)):
            return f"error {error / largest:.2e} of the largest"
    return ""


def _is_near(numbers: Array, expected: Array, most: int) -> bool:
    if not most:
        return np.array_equal(numbers, expected)
    return bool(np.all(np.abs(numbers.astype(np.int64) - expected.astype(np.int64)) <= most))


def page(results: Sequence[NodeResult], configurations: Sequence[str], every: int = 1) -> str:
    """The tables as Markdown."""
    lines = [
        "# Node tests on NVDLA",
        "",
        "For whoever wants to know which operators NVDLA runs. Written by",
        f"`python bench/nvdla_nodes.py --write docs/nvdla-nodes.md` from the node tests of onnx "
        f"{onnx.__version__}. The",
        "first input is variable and the others are constants, except for symmetric operators:",
        f"{', '.join(sorted(SYMMETRIC_OPERATORS))}. Whatever runs on NVDLA is simulated and compared."
        + (f" One test in {every} was run (`--every {every}`)." if every > 1 else ""),
        "",
        *_shares(results, configurations),
        "",
        "## By operator",
        "",
        "Cases entirely on NVDLA / partly, in a package / rejected, so that the CPU runs them.",
        "",
        f"| operator | cases | {' | '.join(configurations)} |",
        f"|---|---|{'---|' * len(configurations)}",
    ]
    for operator in sorted({one.operator for one in results}):
        here = [one for one in results if one.operator == operator]
        cells = [_cell([one for one in here if one.configuration == name]) for name in configurations]
        if any(not cell.startswith("0 / 0 /") for cell in cells):
            lines.append(f"| {operator} | {len(here) // len(configurations)} | {' | '.join(cells)} |")
    nowhere = sorted(
        {one.operator for one in results} - {one.operator for one in results if one.kind != "refused"}
    )
    lines += ["", f"Refused everywhere: {', '.join(nowhere)}.", "", "## Reasons", ""]
    lines += [
        "Of refusals in all configurations, most frequent first.",
        "",
        "| cases | operator | reason |",
    ]
    lines += ["|---|---|---|"]
    reasons = Counter((one.operator, one.detail) for one in results if one.kind == "refused")
    for (operator, reason), count in reasons.most_common(60):
        lines.append(f"| {count} | {operator} | {reason.replace('|', '/')[:160]} |")
    return "\n".join(lines) + "\n"


def _shares(results: Sequence[NodeResult], configurations: Sequence[str]) -> list[str]:
    lines = [
        "| configuration | cases | on the DLA | in a package | refused | faults | bit for bit |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in configurations:
        here = [one for one in results if one.configuration == name]
        kinds = Counter(one.kind for one in here)
        faults = sum(one.is_fault for one in here)
        exact = sum(one.detail == "bit for bit" for one in here)
        counts = " | ".join(str(kinds[kind]) for kind in KINDS)
        lines.append(f"| {name} | {len(here)} | {counts} | {faults} | {exact} |")
    return lines


def _cell(results: Sequence[NodeResult]) -> str:
    kinds = Counter(one.kind for one in results)
    faults = sum(one.is_fault for one in results)
    return " / ".join(str(kinds[kind]) for kind in KINDS) + (f", {faults} faults" if faults else "")


if __name__ == "__main__":
    sys.exit(main())
