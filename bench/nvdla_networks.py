"""
Twelve networks in four NVDLA configurations: compiled, checked and simulated. FP16 outputs are compared with
onnxruntime; INT8 outputs bit for bit with an integer reference of the same quantized graph, and with the
float model.

    python bench/nvdla_networks.py [NAME …] [--target nv_small] [--precision INT8] [-n 10] [--markdown]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.nvdla_zoo import (
    CONFIGURATIONS,
    NETWORKS,
    Array,
    Configuration,
    compiled,
    image,
    markdown,
    model_of,
)
from oracles.nvdla.quantized_reference import QuantizedReference, UnsupportedOperator
from oracles.nvdla.sweep import PlannedLayers
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.onnx.exporter import export_proto
from xonnc.runtime.nvdla.simulator import Output, Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import load_target

INPUT_SEED = 1
MIN_COSINE = {"FP16": 0.999, "INT8": 0.98}
NOISE_SIGMAS = 3.0
"""A top-1 score is clear if its margin exceeds so many standard deviations of the error."""


@dataclass(frozen=True)
class NetworkResult:
    """One network in one configuration; `refusal` where it does not compile."""

    network: str
    configuration: Configuration
    refusal: str = ""
    problems: int = 0
    integers: str = ""
    """Comparison of the simulator's integers with the reference."""
    cosine: float = 0.0
    clear_top1: int = 0
    same_top1: int = 0
    """Of the inputs with a clear top-1 class, those with the same top-1 class on the NVDLA."""
    inputs: int = 0
    compile_seconds: float = 0.0
    simulate_seconds: float = 0.0
    """Per input."""

    @property
    def passed(self) -> bool:
        """Whether everything agrees."""
        return (
            not self.refusal
            and not self.problems
            and self.integers in ("", "equal")
            and self.cosine >= MIN_COSINE[self.configuration.precision]
            and 10 * self.same_top1 >= 9 * self.clear_top1
        )


def main() -> int:
    """Print a row for each network and configuration; exit 1 if one that compiles disagrees."""
    parser = argparse.ArgumentParser(description="Networks on the NVDLA against their references.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--target", default="", help="the configurations of this target alone")
    parser.add_argument("--precision", default="", help="INT8 or FP16 alone")
    parser.add_argument("-n", "--inputs", type=int, default=10)
    parser.add_argument("--markdown", action="store_true", help="as in docs/nvdla-accuracy.md")
    args = parser.parse_args()
    rows: list[NetworkResult] = []
    for name in args.names or NETWORKS:
        for configuration in CONFIGURATIONS:
            if args.target in ("", configuration.target) and args.precision in ("", configuration.precision):
                rows.append(measure(name, configuration, args.inputs))
                print(f"{name} on {configuration}: {_told(rows[-1])}", file=sys.stderr, flush=True)
    if args.markdown:
        print("\n".join(markdown(cells(rows))))
    else:
        Console(width=150).print(as_table(rows))
    taken = [row for row in rows if not row.refusal]
    print(f"{sum(row.passed for row in rows)} of {len(rows)} agree, {len(rows) - len(taken)} do not compile")
    return 0 if all(row.passed for row in taken) else 1


def measure(name: str, configuration: Configuration, inputs: int) -> NetworkResult:
    """Compile, simulate and compare one network."""
    quantized: list[onnx.ModelProto] = []

    def on_stage(stage: str, module: ModuleOp) -> None:
        if stage == "simplified" and configuration.is_integer:
            quantized.append(export_proto(module))

    target = load_target(configuration.target)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            compilation = compiled(name, configuration, on_stage=on_stage)
        except RefusalError as error:
            return NetworkResult(name, configuration, refusal=str(error).splitlines()[0])
        path = Path(folder) / "network.nvdla"
        compilation.write(path)
        compiled_seconds = time.perf_counter() - begun
        loadable = read_loadable(path)
        reference = Onnxruntime(model_of(name, configuration))
        shapes = {port.name: tuple(size or 1 for size in port.shape) for port in reference.inputs()}
        feeds = [image(shapes, INPUT_SEED, index) for index in range(inputs)]
        outputs, seconds = _simulated(loadable, configuration, feeds)
    expected = [reference.run(feed)[0] for feed in feeds]
    found = [output.numbers.reshape(one.shape) for output, one in zip(outputs, expected, strict=True)]
    clear_top1, same_top1 = _highest(expected, found)
    return NetworkResult(
        name,
        configuration,
        problems=len(check_loadable(loadable, target)),
        integers=_integers(quantized[0], configuration, feeds[0], outputs[0]) if quantized else "",
        cosine=min(_cosine(one, other) for one, other in zip(expected, found, strict=True)),
        clear_top1=clear_top1,
        same_top1=same_top1,
        inputs=inputs,
        compile_seconds=compiled_seconds,
        simulate_seconds=seconds / inputs,
    )


def _simulated(
    loadable: Loadable, configuration: Configuration, feeds: Sequence[dict[str, Array]]
) -> tuple[list[Output], float]:
    simulator = Simulator(loadable, load_target(configuration.target))
    begun = time.perf_counter()
    outputs = [
        simulator.run([feed[port.name].reshape(port.shape) for port in simulator.inputs])[0] for feed in feeds
    ]
    return outputs, time.perf_counter() - begun


def _integers(
    quantized: onnx.ModelProto, configuration: Configuration, feed: dict[str, Array], output: Output
) -> str:
    try:
        layers = PlannedLayers(load_target(configuration.target))
        (expected,) = QuantizedReference(quantized, layers).run(feed)
    except UnsupportedOperator as error:
        return str(error)
    wrong = int((output.tensor.reshape(expected.shape) != expected).sum())
    return f"{wrong} of {expected.size} differ" if wrong else "equal"


def _highest(expected: Sequence[Array], found: Sequence[Array]) -> tuple[int, int]:
    """Count inputs whose top-1 class is clear of noise, and those where it is the same."""
    if expected[0].size == max(expected[0].shape) == 1 or sum(size > 1 for size in expected[0].shape) != 1:
        return 0, 0
    noise = NOISE_SIGMAS * float(np.std(np.stack(expected) - np.stack(found)))
    clear_top1 = same_top1 = 0
    for one, other in zip(expected, found, strict=True):
        second, first = np.partition(one.ravel(), -2)[-2:]
        if first - second > noise:
            clear_top1 += 1
            same_top1 += int(one.argmax() == other.argmax())
    return clear_top1, same_top1


def _cosine(expected: Array, found: Array) -> float:
    a, b = expected.astype(np.float64).ravel(), found.astype(np.float64).ravel()
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else float(np.array_equal(a, b))


def _told(row: NetworkResult) -> str:
    if row.refusal:
        return row.refusal
    return (
        f"{'agrees' if row.passed else 'DISAGREES'}: cosine {row.cosine:.5f}"
        + f", top-1 {row.same_top1} of {row.clear_top1} clear"
        + (f", integers {row.integers}" if row.integers else "")
        + (f", {row.problems} problems" if row.problems else "")
        + f", {row.compile_seconds:.1f} s to compile, {row.simulate_seconds:.1f} s an input"
    )


def cells(rows: Sequence[NetworkResult]) -> dict[tuple[str, str], str]:
    """Table cells by network and configuration."""
    return {(row.network, str(row.configuration)): _cell(row) for row in rows}


def as_table(rows: Sequence[NetworkResult]) -> Table:
    """The table for the terminal."""
    table = Table("network", "configuration", "agrees", "cosine", "top-1", "integers", "compile s", "run s")
    for row in rows:
        if row.refusal:
            table.add_row(row.network, str(row.configuration), "", "", "", row.refusal[:70])
            continue
        table.add_row(
            row.network,
            str(row.configuration),
            "yes" if row.passed else "[red]no[/red]",
            f"{row.cosine:.5f}",
            f"{row.same_top1}/{row.clear_top1}",
            row.integers,
            f"{row.compile_seconds:.1f}",
            f"{row.simulate_seconds:.1f}",
        )
    return table


def _cell(row: NetworkResult) -> str:
    """Least cosine similarity and clear top-1 matches; bold if the result fails."""
    if row.refusal:
        return row.refusal
    text = f"{row.cosine:.5f}" + (f", {row.same_top1}/{row.clear_top1}" if row.clear_top1 else "")
    return text if row.passed else f"**{text}**"


if __name__ == "__main__":
    sys.exit(main())
