"""
Native code against onnxruntime and other peers: latency, compile time and memory by model.

    python bench/cpu.py [--models resnet50 lstm …] [--threads 1] [--rounds 7] [--json FILE]
    python bench/cpu.py --read FILE … --page docs/native-performance.md      from earlier measurements

Each peer runs in its own process at its defaults. Outputs are compared first. Rounds are interleaved in ABBA
order, and ratios are taken between neighboring rounds, which cancels slow changes of the machine's load.
Peers that are not installed are left out (`pip install '.[peers]'`; for a CPU-only torch
`pip install torch --index-url https://download.pytorch.org/whl/cpu` and `pip install --no-deps onnx2torch`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.latency.measure import ModelResult, load, measure, rows_of
from bench.latency.page import heading, replace_section
from bench.latency.peers import BASELINE, PEERS, XONNC
from bench.latency.ratios import (
    MAX_COMPILE_SECONDS,
    MAX_GEOMETRIC_MEAN,
    MAX_RATIO,
    MAX_RECOMPILE_SECONDS,
    geometric_mean,
    max_megabytes,
)
from bench.latency.tables import (
    compile_table,
    latencies_of,
    latency_table,
    line,
    load_averages,
    memory_table,
    reasons,
)
from bench.models import NETWORKS, path_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; exit 1 if a promised limit is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--models", nargs="+", default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write all measurements to FILE")
    parser.add_argument(
        "--read", nargs="+", type=Path, default=[], help="read measurements from files of --json"
    )
    parser.add_argument("--page", type=Path, help="write the tables to their section of a page")
    default = [name for name, peer in PEERS.items() if peer.is_default]
    parser.add_argument("--peers", nargs="+", default=default, choices=list(PEERS))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.models if name not in NETWORKS]:
        parser.error(f"no model '{unknown[0]}'; there are {', '.join(NETWORKS)}")
    peers = [name for name in options.peers if PEERS[name].is_installed()]
    if BASELINE not in peers or XONNC not in peers:
        parser.error(f"{BASELINE} and {XONNC} must be among the peers, and installed")
    print(f"{options.threads} threads, load {load():.1f}; ratios: median of pairs (of minima)")
    rows = [row for path in options.read for row in rows_of(json.loads(path.read_text()))]
    for row in rows:
        print(line(row))
    for model in () if options.read else options.models:
        rows.append(
            measure(model, path_of(model), peers, options.threads, options.rounds, recompile_cost=True)
        )
        print(line(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if options.page is not None:
        replace_section(options.page, heading("Models", options.threads), section(rows))
    return conclude(rows)


def section(rows: Sequence[ModelResult]) -> str:
    """The tables, followed by the failures."""
    parts = (
        (
            "Latency relative to onnxruntime: median ratio of paired rounds (ratio of minima); \\* where "
            "the two differ by more than 10 %.",
            latency_table(rows),
        ),
        (
            "Seconds to compile and run once; in brackets with a warm compilation cache, if there is one.",
            compile_table(rows),
        ),
        ("Peak memory until then in MB, beyond the imported packages.", memory_table(rows)),
        ("Failures, with the last line of the error output:", reasons(rows)),
    )
    tables = (f"{title}\n\n{text}\n" for title, text in parts if text)
    return "\n".join([f"{load_averages(rows)}\n", *tables])


def conclude(rows: Sequence[ModelResult]) -> int:
    """Print the geometric means; return 1 if a promised limit is exceeded."""
    for name in PEERS:
        latencies = latencies_of(name, rows)
        if latencies and name != BASELINE:
            means = [
                geometric_mean([getattr(each, kind) for each in latencies]) for kind in ("median", "minimum")
            ]
            print(f"{name}: geometric mean {means[0]:.3f} ({means[1]:.3f}) of {len(latencies)} networks")
    own = {row.model: row.latencies[XONNC] for row in rows if XONNC in row.latencies}
    slow = [f"{model} {found.minimum:.2f}" for model, found in own.items() if found.minimum > MAX_RATIO]
    if slow:
        print(f"above {MAX_RATIO}: {', '.join(slow)}")
    failed = [row.model for row in rows if XONNC in row.failures]
    minima = [found.minimum for found in latencies_of(XONNC, rows)]
    mean = geometric_mean(minima) if minima else 0.0
    costly = _costly([row for row in rows if XONNC in row.latencies])
    for text in costly:
        print(text)
    return 1 if slow or failed or costly or mean > MAX_GEOMETRIC_MEAN else 0


def _costly(rows: Sequence[ModelResult]) -> list[str]:
    """Compile times and peak memory above the promised limits, one line each."""
    found: list[str] = []
    for row in rows:
        compile_cost, recompile_cost = row.compile_cost[XONNC], row.recompile_cost.get(XONNC)
        if compile_cost.seconds > MAX_COMPILE_SECONDS:
            seconds, limit = compile_cost.seconds, MAX_COMPILE_SECONDS
            found.append(f"{row.model}: {seconds:.1f} s to compile and run (limit {limit:.0f} s)")
        if recompile_cost is not None and recompile_cost.seconds > MAX_RECOMPILE_SECONDS:
            seconds, limit = recompile_cost.seconds, MAX_RECOMPILE_SECONDS
            found.append(f"{row.model}: {seconds:.1f} s with a warm cache (limit {limit:.0f} s)")
        if compile_cost.peak > max_megabytes(row.megabytes):
            peak, limit = compile_cost.peak, max_megabytes(row.megabytes)
            found.append(f"{row.model}: peak {peak:.0f} MB (limit {limit:.0f} MB)")
    return found


if __name__ == "__main__":
    sys.exit(main())
