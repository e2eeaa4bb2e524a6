"""
Cost of constant folding: memory of the process and of the constant pool, and time.

Each scenario is a small module that materializes large constants (16 MB each, from `Range`) while it is
folded. It runs through `constprop-onnx` in onnx-opt and in plain xdsl-opt, each as the installed command in
its own process, between two measuring passes that the commands load as a plug-in.

    python bench/folding_memory.py [SCENARIO …]

Prints a line for each scenario and host; exits 1 if memory exceeds the scenario's bound.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from xonnc.dialects.onnx.elements import DisposablePool

FOLDS = 40
ELEMENTS = 4 << 20
TENSOR = f"tensor<{ELEMENTS}xf32>"
"""16 MB."""

MEGABYTE = 1 << 20
HOSTS = ("onnx-opt", "xdsl-opt")
SAMPLES_FILE = "XONNC_BENCH_FIGURES"


@dataclass(frozen=True)
class MemorySample:
    """Memory of the process and the constant pool in MB at one moment, and the clock in seconds."""

    rss: float
    peak_rss: float
    pool_live: float
    pool_peak: float
    clock: float


@dataclass(frozen=True)
class MeasurePass(ModulePass):
    """Append a memory sample to a file and reset the peaks; the module is unchanged."""

    name = "bench-measure"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Take a sample."""
        pool = DisposablePool.of(ctx)
        live, peak = pool.live_bytes / MEGABYTE, pool.peak_bytes / MEGABYTE
        sample = MemorySample(_status("VmRSS"), _status("VmHWM"), live, peak, time.perf_counter())
        with Path(os.environ[SAMPLES_FILE]).open("a") as file:
            print(json.dumps(asdict(sample)), file=file)
        pool.reset_peak()
        # Writing 5 makes the kernel start a new peak (proc(5), clear_refs).
        Path("/proc/self/clear_refs").write_text("5")


@dataclass(frozen=True)
class ClearModulePass(ModulePass):
    """Empty the module, so that printing it costs nothing."""

    name = "bench-forget"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Erase every operation of the module."""
        for inner in list(op.ops):
            inner.detach()
            inner.erase(safe_erase=False)


UNIVERSE = Universe(all_passes={each.name: lambda each=each: each for each in (MeasurePass, ClearModulePass)})


@dataclass(frozen=True)
class Scenario:
    """A module, and the allowed growth of the process and of the pool, in MB."""

    module: str
    after: float
    peak: float
    pool_peak: float


def _module(lines: list[str], result: str, type_: str) -> str:
    constants = [
        '%zero = "onnx.Constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>',
        '%one = "onnx.Constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>',
        f'%end = "onnx.Constant"() <{{value = dense<{ELEMENTS}.0> : tensor<f32>}}> : () -> tensor<f32>',
    ]
    body = "\n  ".join([*constants, *lines, f"onnx.Return %{result} : {type_}"])
    return f"func.func @main_graph() -> {type_} {{\n  {body}\n}}\n"


def _range(name: str) -> str:
    scalars = "tensor<f32>, tensor<f32>, tensor<f32>"
    return f'%{name} = "onnx.Range"(%zero, %end, %one) : ({scalars}) -> {TENSOR}'


def _add(name: str, left: str, right: str, right_type: str = TENSOR) -> str:
    return f'%{name} = "onnx.Add"(%{left}, %{right}) : ({TENSOR}, {right_type}) -> {TENSOR}'


def _chain() -> Scenario:
    """A chain of forty elementwise folds."""
    lines = [_range("v0"), *(_add(f"v{i + 1}", f"v{i}", "one", "tensor<f32>") for i in range(FOLDS))]
    return Scenario(_module(lines, f"v{FOLDS}", TENSOR), after=16 + 60, peak=100, pool_peak=3 * 16)


def _rotation() -> Scenario:
    """Forty rotations by one element: slices and concatenations that must be materialized."""
    vector = "tensor<1xi64>"
    rest = f"tensor<{ELEMENTS - 1}xf32>"
    lines = [
        '%none = "onnx.NoValue"() <{value}> : () -> none',
        _range("v0"),
        *(
            f'%at{at} = "onnx.Constant"() <{{value = dense<{at}> : {vector}}}> : () -> {vector}'
            for at in (0, 1, ELEMENTS)
        ),
    ]
    operands = f"({TENSOR}, {vector}, {vector}, none, none)"
    for i in range(FOLDS):
        lines += [
            f'%a{i} = "onnx.Slice"(%v{i}, %at1, %at{ELEMENTS}, %none, %none) : {operands} -> {rest}',
            f'%b{i} = "onnx.Slice"(%v{i}, %at0, %at1, %none, %none) : {operands} -> tensor<1xf32>',
            f'%v{i + 1} = "onnx.Concat"(%a{i}, %b{i}) <{{axis = 0 : si64}}>'
            f" : ({rest}, tensor<1xf32>) -> {TENSOR}",
        ]
    return Scenario(_module(lines, f"v{FOLDS}", TENSOR), after=16 + 60, peak=100, pool_peak=3 * 16)


def _many_sums() -> Scenario:
    """The sum of forty different tensors."""
    lines = [_range(f"r{i}") for i in range(FOLDS)]
    for i in range(FOLDS):
        lines.append(
            f'%n{i} = "onnx.Constant"() <{{value = dense<{i}.0> : tensor<f32>}}> : () -> tensor<f32>'
        )
        lines.append(_add(f"c{i}", f"r{i}", f"n{i}", "tensor<f32>"))
    lines += [_add(f"s{i}", f"s{i - 1}" if i > 1 else "c0", f"c{i}") for i in range(1, FOLDS)]
    everything = 2.0 * FOLDS * 16
    return Scenario(
        _module(lines, f"s{FOLDS - 1}", TENSOR), after=16 + 60, peak=everything, pool_peak=everything
    )


def _splat() -> Scenario:
    """A scalar expanded to 1 GB that is never materialized; the bound allows for imports of code."""
    big = "tensor<16384x16384xf32>"
    shape = '%shape = "onnx.Constant"() <{value = dense<16384> : tensor<2xi64>}> : () -> tensor<2xi64>'
    expand = f'%big = "onnx.Expand"(%one, %shape) : (tensor<f32>, tensor<2xi64>) -> {big}'
    return Scenario(_module([shape, expand], "big", big), after=16, peak=16, pool_peak=1)


SCENARIOS = {"chain": _chain, "rolled": _rotation, "forty": _many_sums, "splat": _splat}


def run(host: str, scenario: Scenario) -> tuple[MemorySample, MemorySample]:
    """Samples before and after `constprop-onnx`; raises `RuntimeError` with stderr if the tool fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, result, sample = (Path(folder, name) for name in ("input.mlir", "output.mlir", "figures"))
        source.write_text(scenario.module)
        command = [str(Path(sys.executable).with_name(host)), str(source), "-o", str(result)]
        passes = f"{MeasurePass.name},constprop-onnx,{MeasurePass.name},{ClearModulePass.name}"
        done = subprocess.run(
            [*command, "-p", passes],
            env=_plug_in(Path(folder)) | {SAMPLES_FILE: str(sample)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{host}: {done.stderr.strip()[-500:]}")
        before, after = (MemorySample(**json.loads(line)) for line in sample.read_text().splitlines())
        return before, after


def _plug_in(folder: Path) -> dict[str, str]:
    """An environment in which every xDSL tool loads the passes of this file by entry point."""
    info = folder / "xonnc_bench-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: xonnc-bench\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[xdsl.universe]\nxonnc-bench = {Path(__file__).stem}:UNIVERSE\n")
    folders = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def _status(key: str) -> float:
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) / 1024 if found else 0.0


def main() -> int:
    """Run the named scenarios, all by default."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    scenarios: list[str] = parser.parse_args().scenarios or list(SCENARIOS)
    if unknown := [name for name in scenarios if name not in SCENARIOS]:
        parser.error(f"no scenario {unknown[0]}; there are {', '.join(SCENARIOS)}")
    print("MB beyond the process before the pass; (bound)")
    broken = False
    for name in scenarios:
        scenario = SCENARIOS[name]()
        for host in HOSTS:
            try:
                before, after = run(host, scenario)
            except RuntimeError as error:
                print(f"{name:6} {host:8}  {error}", file=sys.stderr)
                return 1
            growth = after.rss - before.rss, after.peak_rss - before.rss, after.pool_peak
            bounds = scenario.after, scenario.peak, scenario.pool_peak
            broken |= any(found > bound for found, bound in zip(growth, bounds, strict=True))
            cells = (f"{found:7.1f} ({bound:.0f})" for found, bound in zip(growth, bounds, strict=True))
            labels = zip(("after", "peak", "pool peak"), cells, strict=True)
            texts = "  ".join(f"{label} {cell}" for label, cell in labels)
            print(f"{name:6} {host:8}  {texts}  {after.clock - before.clock:6.2f} s")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
