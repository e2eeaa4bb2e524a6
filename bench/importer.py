"""
Cost of importing a model against `onnx.load`: time and retained memory.

Each reading runs in its own process; the two readers alternate, and medians are shown. `import` is
`xonnc.formats.onnx.import_model`: from the file to a module of the onnx dialect with memory-mapped weights.
Memory is the growth of the process: anonymous memory for xonnc (clean pages of a mapped file can be
reclaimed), peak RSS for `onnx.load`.

    python bench/importer.py [MODEL …] [-n RUNS]

Exits 1 if a model of 40 MB or more takes over 0.25 of the time of `onnx.load`, or grows the process by over
0.1 of its size. The model `many_14k` (14 kB of weights a node) is the worst case, bound by the creation of
operations; it is only reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.models import MODELS, path_of, size_of

MEGABYTE = 1e6
TIME_BOUND = 0.25
MEMORY_BOUND = 0.1
REPORTED_ONLY = ("many_14k",)
READERS = ("import", "onnx.load")
DEFAULTS = (
    "big_matmul",
    "light_resnet50",
    "light_vgg19",
    "many_256k",
    "many_14k",
    "light_resnet50_external",
)


def memory() -> dict[str, float]:
    """Current anonymous memory and peak RSS of this process, in MB."""
    found: dict[str, float] = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("RssAnon", "VmHWM"):
            found[name] = int(value.split()[0]) * 1024 / MEGABYTE
    return found


def read(reader: str, path: Path) -> dict[str, float]:
    """Read `path` in this process; return seconds and memory growth in MB."""
    work = _ours() if reader == "import" else _theirs()
    before = memory()
    start = time.perf_counter()
    module = work(str(path))
    seconds = time.perf_counter() - start
    after = memory()
    assert module is not None
    return {
        "seconds": seconds,
        "anonymous": after["RssAnon"] - before["RssAnon"],
        "peak": after["VmHWM"] - before["VmHWM"],
    }


def _ours() -> Callable[[str], object]:
    from xdsl.context import Context

    from xonnc.dialects.onnx import get_onnx
    from xonnc.formats.onnx.importer import import_model

    ctx = Context()
    ctx.register_dialect("onnx", get_onnx)
    ctx.load_registered_dialect("onnx")
    _read_small(lambda path: import_model(path, ctx))
    return lambda path: import_model(path, ctx)


def _theirs() -> Callable[[str], object]:
    import onnx

    load: Callable[[str], object] = vars(onnx)["load"]
    _read_small(load)
    return load


def _read_small(reader: Callable[[str], object]) -> None:
    """Read a tiny model, so that modules and operator schemas are loaded before the clock starts."""
    import tempfile

    import onnx.parser

    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(onnx.parser.parse_model(text).SerializeToString())
        file.flush()
        reader(file.name)


def measure(name: str, runs: int) -> dict[str, dict[str, float]]:
    """Median measurements of each reader."""
    path = path_of(name)
    figures: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    for _ in range(runs):
        for reader in READERS:
            command = [sys.executable, __file__, "--read", reader, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures[reader].append(json.loads(done.stdout))
    return {
        reader: {key: statistics.median(run[key] for run in found) for key in found[0]}
        for reader, found in figures.items()
    }


def main() -> int:
    """Measure and print a line for each model."""
    parser = argparse.ArgumentParser(description="Times the importer against onnx.load.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument(
        "-n", type=int, default=5, metavar="RUNS", help="readings of each model by each reader"
    )
    parser.add_argument("--read", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        print(json.dumps(read(args.read[0], Path(args.read[1]))))
        return 0
    heads = (f"{'model':<18}", "    size", "   import", " onnx.load", " ratio", "  gained", "    load peak")
    print(*heads)
    broken = False
    for name in args.models or DEFAULTS:
        found = measure(name, args.n)
        ours, theirs = (found[reader] for reader in READERS)
        size = size_of(path_of(name)) / MEGABYTE
        ratio = ours["seconds"] / theirs["seconds"]
        print(
            f"{name:<18} {size:>5.0f} MB {ours['seconds'] * 1e3:>6.1f} ms {theirs['seconds'] * 1e3:>7.1f} ms "
            f"{ratio:>6.3f} {ours['anonymous']:>5.1f} MB {theirs['peak']:>10.0f} MB",
            flush=True,
        )
        if name not in REPORTED_ONLY:
            broken |= ratio > TIME_BOUND or ours["anonymous"] > MEMORY_BOUND * size
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
