"""
Native code against onnxruntime and other peers: latency, compile time and memory, model by model.

    python bench/cpu.py [--models resnet50 lstm …] [--threads 1] [--rounds 7] [--json FILE] [--markdown FILE]

The method is that of spec/cpu-performance.md §7: each peer in a process of its own, at its defaults; outputs
are compared first; turns alternate, ABBA; what counts are ratios of neighbouring turns. Peers that are not
installed are left out (`pip install '.[peers]'`; torch for processors only is
`pip install torch --index-url https://download.pytorch.org/whl/cpu` and `pip install --no-deps onnx2torch`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.models import NETWORKS, path_of
from bench.racing.figures import GEOMETRIC_MEAN, LARGEST, geometric_mean
from bench.racing.peers import ANCHOR, OURS, PEERS
from bench.racing.race import Row, measure
from bench.racing.tables import compile_table, latency_table, line, memory_table, reasons


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table; exit 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--models", nargs="+", default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="writes all figures to a file")
    parser.add_argument("--markdown", type=Path, help="writes tables to a file")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.models if name not in NETWORKS]:
        parser.error(f"no model '{unknown[0]}'; there are {', '.join(NETWORKS)}")
    peers = [name for name in options.peers if PEERS[name].is_there()]
    if ANCHOR not in peers or OURS not in peers:
        parser.error(f"{ANCHOR} and {OURS} must be there")
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.1f}; ratios: median of pairs (of minima)")
    rows: list[Row] = []
    for model in options.models:
        rows.append(measure(model, path_of(model), peers, options.threads, options.rounds, again=True))
        print(line(rows[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if options.markdown is not None:
        options.markdown.write_text(page(rows))
    return conclude(rows)


def page(rows: Sequence[Row]) -> str:
    """The tables, and under them who did not run what."""
    parts = (
        ("Latency as a multiple of onnxruntime's: median of pairs (of minima; * noisy)", latency_table(rows)),
        ("Seconds to the first answer (the second time)", compile_table(rows)),
        ("Peak memory in MB", memory_table(rows)),
        ("Not run", reasons(rows)),
    )
    return "\n".join(f"{title}\n\n{text}\n" for title, text in parts if text)


def conclude(rows: Sequence[Row]) -> int:
    """Prints the geometric means; 1 if a promise of the issue is broken."""
    for name in PEERS:
        paces = [row.paces[name] for row in rows if name in row.paces]
        if paces and name != ANCHOR:
            means = [
                geometric_mean([getattr(each, kind) for each in paces]) for kind in ("median", "minimum")
            ]
            print(f"{name}: geometric mean {means[0]:.3f} ({means[1]:.3f}) of {len(paces)} models")
    own = {row.model: row.paces[OURS] for row in rows if OURS in row.paces}
    slow = [f"{model} {found.minimum:.2f}" for model, found in own.items() if found.minimum > LARGEST]
    if slow:
        print(f"above {LARGEST}: {', '.join(slow)}")
    failed = [row.model for row in rows if OURS in row.failures]
    mean = geometric_mean([found.minimum for found in own.values()]) if own else float("inf")
    return 1 if slow or failed or mean > GEOMETRIC_MEAN else 0


if __name__ == "__main__":
    sys.exit(main())
