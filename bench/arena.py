"""
Memory growth of inference beyond the weights: native code against onnxruntime.

    python bench/arena.py [NAME …] [--markdown]

Each measurement is the peak resident set size (RSS) of its own single-core process during three runs, minus
the RSS before the first; file mappings are excluded. onnxruntime's CPU arena is disabled, so that memory it
frees returns to the system. It runs with and without memory patterns; the smaller value counts.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.latency.feeds import feeds_for
from bench.models import path_of
from bench.simplification.memory import MEGABYTE, begin_peak, peak

NETWORKS = (
    *("mnist_cnn", "resnet18", "resnet50", "mobilenet_v2", "unet", "resnet18_qdq", "bert_tiny", "vit_small"),
    *("light_squeezenet", "light_shufflenet", "light_densenet121", "light_inception_v1"),
    *("light_inception_v2", "light_bvlc_alexnet", "light_zfnet512", "light_vgg19"),
)

XONNC = "xonnc"
PEERS = ("onnxruntime with patterns", "onnxruntime without")

ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""Make glibc return large blocks to the system as soon as they are freed."""

RUNS = 3


@dataclass(frozen=True)
class ArenaResult:
    """Planned bytes, their lower bound over all schedules, and measured megabytes of one network."""

    name: str
    planned: int
    lower_bound: int
    ours: float
    theirs: float


def main() -> int:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description="Memory growth of inference beyond the weights.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--markdown", action="store_true", help="as in docs/native-performance.md")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(measure_growth(args.worker, path_of(args.names[0])))
        return 0
    rows = [measure_network(name) for name in args.names or NETWORKS]
    if args.markdown:
        print("\n".join(markdown(rows)))
    else:
        Console(width=118).print(as_table(rows))
    return 0


def measure_network(name: str) -> ArenaResult:
    """Plan the memory of a network and measure it with each runtime."""
    from xonnc.artifacts import planned_module
    from xonnc.lowering.native.module_memory_map import memory_map

    found = memory_map(planned_module(path_of(name)))
    theirs = min(measure_in_process(peer, name) for peer in PEERS)
    return ArenaResult(name, found.size, found.lower_bound or 0, measure_in_process(XONNC, name), theirs)


def measure_in_process(worker: str, name: str) -> float:
    """Run `measure_growth` in a process of its own."""
    command = [sys.executable, __file__, name, "--worker", worker]
    run = subprocess.run(command, env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout.split()[-1])


def measure_growth(worker: str, path: Path) -> float:
    """Peak RSS growth in megabytes over `RUNS` runs."""
    run = _ours(path) if worker == XONNC else _theirs(path, has_patterns=worker == PEERS[0])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    mapped, before = _mapped(), begin_peak()
    for _ in range(RUNS):
        run()
    # Mapped weights become resident when first read: they are not growth of the arena.
    return peak() - before - (_mapped() - mapped)


def _mapped() -> float:
    """Resident megabytes of file mappings (RssFile)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssFile:")).split()[1]) * 1024 / MEGABYTE


def _ours(path: Path) -> Callable[[], object]:
    from xonnc.native import compile_native

    feeds = feeds_for(path)
    session = compile_native(path, cache=False)
    session.report()
    return lambda: session.run(None, feeds)


def _theirs(path: Path, has_patterns: bool) -> Callable[[], object]:
    runtime: Any = import_module("onnxruntime")
    feeds = feeds_for(path)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = has_patterns
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def cells(row: ArenaResult) -> tuple[str, ...]:
    """Table cells of one result."""
    above = "equal" if row.planned == row.lower_bound else f"{row.planned / max(1, row.lower_bound) - 1:.1%}"
    return (
        row.name,
        f"{row.planned / 1e6:.2f}",
        above,
        f"{row.ours:.2f}",
        f"{row.theirs:.2f}",
        f"{row.ours / row.theirs:.2f}" if row.theirs else "–",
    )


COLUMNS = ("network", "planned MB", "above lower bound", "xonnc MB", "onnxruntime MB", "ratio")


def markdown(rows: Sequence[ArenaResult]) -> list[str]:
    """The table in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(cells, rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def as_table(rows: Sequence[ArenaResult]) -> Table:
    """The table for the terminal."""
    table = Table(*COLUMNS)
    for row in rows:
        table.add_row(*cells(row))
    return table


if __name__ == "__main__":
    sys.exit(main())
