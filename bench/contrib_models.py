"""
Models that onnxruntime's own tools write, in native code and in onnxruntime, on one thread.

    python bench/contrib_models.py [--match bert] [--rounds 7]

Rounds are interleaved; times are the minimum. The error is that to onnxruntime without graph optimization,
which changes how dynamically quantized models round, relative to the largest value of the output.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.latency.feeds import feeds_for
from bench.zoo.optimized import MODELS
from xonnc.native import compile_native

ROUND_SECONDS = 0.1


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the models and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--match", default="", help="a regular expression for the models' names")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    args = parser.parse_args(argv)
    print("| Model | Operators of com.microsoft | onnxruntime | native | ratio | error | host |")
    print("|---|---|---|---|---|---|---|")
    for name, make in MODELS.items():
        if re.search(args.match, name):
            print(row_of(name, make(), args.rounds), flush=True)
    return 0


def contrib_names(model: onnx.ModelProto) -> list[str]:
    """The operators of com.microsoft of a model."""
    return sorted({node.op_type for node in model.graph.node if node.domain == "com.microsoft"})


def row_of(name: str, model: onnx.ModelProto, rounds: int) -> str:
    """Measure one model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        feeds = feeds_for(path)
        plain, peer = (session_of(path, level) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"))
        own = compile_native(path, threads=1)
        error = largest_error(own.run(None, feeds), plain.run(None, feeds))
        best = [np.inf, np.inf]
        for _ in range(rounds):
            for index, session in enumerate((peer, own)):
                best[index] = min(best[index], seconds(session, feeds))
    found = ", ".join(contrib_names(model))
    times = f"{best[0] * 1e3:.2f} ms | {best[1] * 1e3:.2f} ms | {best[1] / best[0]:.2f}"
    return f"| {name} | {found} | {times} | {error:.1e} | {len(own.host_calls())} |"


def session_of(path: Path, level: str) -> Any:
    """Open a model in onnxruntime on one thread, at a level of graph optimization."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def largest_error(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference of outputs, relative to the largest value."""
    errors: list[float] = []
    for one, other in zip(found, expected, strict=True):
        first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
        errors.append(float(np.abs(first - second).max()) / max(float(np.abs(second).max()), 1e-9))
    return max(errors)


def seconds(session: Any, feeds: Mapping[str, Any]) -> float:
    """The least time of one run, over a round."""
    least, end = np.inf, time.perf_counter() + ROUND_SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        least = min(least, time.perf_counter() - start)
    return float(least)


if __name__ == "__main__":
    raise SystemExit(main())
