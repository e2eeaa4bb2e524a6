"""
Graph simplification against other tools: time, peak memory and number of nodes.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install -e '.[check,peers]'
    /tmp/peers/bin/python bench/simplify.py [--models a,b] [--tools a,b] [--rounds 3] [--json FILE]

Each sample runs in its own single-core process. Tools alternate, in reversed order every other round. Models
simplified by xonnc are first compared with the original in onnxruntime, on inputs with negative, large and
zero values. Tools that are not installed are left out. Exits 1 if a requirement is not met: no more nodes
than the best peer, faster than the others, peak memory bounded by the file size.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.models import CHAIN_LENGTHS, LARGEST, MODELS, NETWORKS, path_of, size_of
from bench.simplification.results import Measurements, ToolResult, requirements
from bench.simplification.sample import disagreement, run_sample
from bench.simplification.tables import as_json, from_json, tables
from bench.simplification.tools import BASELINE, TOOLS, XONNC

CHAINS = [f"chain_{count}" for count in CHAIN_LENGTHS]
DEFAULTS = [*NETWORKS, LARGEST, *CHAINS]
XONNC_ONLY = {LARGEST, *CHAINS}
"""Models run with xonnc only: peers would take 16 GB of memory and many minutes."""

INPUTS = 4
"""Number of inputs on which outputs are compared."""


def main() -> int:
    """Measure and print tables; exit 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", metavar="A,B", help=f"of {', '.join(DEFAULTS)}")
    parser.add_argument("--tools", metavar="A,B", help=f"of {', '.join(TOOLS)}; {BASELINE} always")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="time limit of a sample")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to FILE")
    parser.add_argument(
        "--add-to",
        type=Path,
        metavar="FILE",
        help="file of --json: take measurements of other tools from there",
    )
    parser.add_argument("--check-peers", action="store_true", help="compare outputs of the peers too")
    args = parser.parse_args()
    models = _chosen(parser, args.models, DEFAULTS, MODELS)
    tools = _chosen(parser, args.tools, TOOLS, TOOLS)
    tools = [tool for tool in TOOLS if tool in tools or tool == BASELINE]
    missing = sorted({TOOLS[tool].package for tool in tools if not TOOLS[tool].is_installed()})
    if missing:
        print(f"not installed, left out: {', '.join(missing)} (pip install 'xonnc[check,peers]')", flush=True)
    measurements = Measurements([tool for tool in tools if TOOLS[tool].is_installed()])
    print(", ".join(sorted({TOOLS[tool].package_version() for tool in measurements.tools})), flush=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n", flush=True)
    for round_ in range(args.rounds):
        for model in models:
            _measure(measurements, model, round_, args)
    if args.add_to:
        _add(measurements, args.add_to)
    if args.json:
        args.json.write_text(as_json(measurements))
    print(tables(measurements))
    return 0 if all(requirement.passed for requirement in requirements(measurements)) else 1


def _chosen(
    parser: argparse.ArgumentParser, text: str | None, defaults: Iterable[str], known: Collection[str]
) -> list[str]:
    """Names of a comma-separated list, or the defaults."""
    names = text.split(",") if text else list(defaults)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no '{unknown[0]}'; there are {', '.join(known)}")
    return names


def _measure(measurements: Measurements, model: str, round_: int, args: argparse.Namespace) -> None:
    """Take a sample of each tool; in the first round, compare outputs."""
    path = path_of(model)
    measurements.sizes[model] = size_of(path) / 1e6
    for tool in measurements.tools if round_ % 2 == 0 else reversed(measurements.tools):
        if model in XONNC_ONLY and tool != XONNC:
            continue
        cell = measurements.cell(model, tool)
        if cell.failure:
            continue
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder, "simplified.onnx") if round_ == 0 else None
            cell.add(run_sample(tool, path, args.limit, written))
            is_compared = TOOLS[tool].package == "xonnc" or (args.check_peers and TOOLS[tool].is_standard)
            if written and cell.is_done and is_compared and tool != BASELINE:
                cell.disagreement = disagreement(path, written, INPUTS, args.limit)
        _print_progress(model, tool, cell)


def _add(measurements: Measurements, file: Path) -> None:
    """Add results of other tools from an earlier run, measured in other rounds."""
    earlier = from_json(file.read_text())
    for model in measurements.cells:
        measurements.cells[model] = {**earlier.cells.get(model, {}), **measurements.cells[model]}
    measurements.tools = [tool for tool in TOOLS if any(tool in row for row in measurements.cells.values())]


def _print_progress(model: str, tool: str, cell: ToolResult) -> None:
    if cell.is_done:
        last = cell.samples[-1]
        text = f"{last.seconds:8.3f} s {last.peak:6.0f} MB {cell.nodes:6} nodes  {cell.disagreement or ''}"
    else:
        text = cell.failure
    print(f"{model:<20} {tool:<14} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
