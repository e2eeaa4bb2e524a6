"""
Models that onnxruntime's own tools write, in native code and in onnxruntime, on one thread.

    python bench/contrib_models.py [--match bert] [--rounds 7] [--page docs/contrib-operators.md]

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

from bench.contrib_page import MODELS as HEADING
from bench.latency.feeds import feeds_for
from bench.zoo.optimized import MODELS
from xonnc.native import compile_native

ROUND_SECONDS = 0.1

HEAD = """
Models written by onnxruntime's static, dynamic and 4-bit quantizers, by its graph optimizer and by its
transformer optimizer, on one thread (`python bench/contrib_models.py --page docs/contrib-operators.md`): the
least time of interleaved rounds, and their ratio. The error is that to onnxruntime without graph
optimization, relative to the largest value of the output. Errors above 1e-3 are those of quantized models,
in which a tie that is rounded otherwise changes what follows: onnxruntime's own levels of graph optimization
differ as much. No model calls the host.

| Model | Operators of com.microsoft | onnxruntime | native | ratio | error |
|---|---|---|---|---|---|
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the models and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--match", default="", help="a regular expression for the models' names")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--page", type=Path, help="the page whose section to write")
    args = parser.parse_args(argv)
    names = [name for name in MODELS if re.search(args.match, name)]
    if not names:
        parser.error(f"--match {args.match}: there are {', '.join(MODELS)}")
    rows: dict[str, str] = {}
    for name in names:
        rows[name] = row_of(name, MODELS[name](), args.rounds)
        print(rows[name], flush=True)
    if args.page is not None:
        update(args.page, rows)
    return 0


def update(path: Path, rows: Mapping[str, str]) -> None:
    """Replace the rows of models in the section of a page; other models keep theirs."""
    before, _, section = path.read_text().partition(HEADING)
    merged = {line.split("|")[1].strip(): line for line in section.splitlines() if line.startswith("| ")}
    merged.update(rows)
    listed = "".join(f"{merged[name]}\n" for name in MODELS if name in merged)
    path.write_text(before + HEADING + HEAD + listed)


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
        own = compile_native(path, threads=1, cache=False)
        error = largest_error(own.run(None, feeds), plain.run(None, feeds))
        best = [np.inf, np.inf]
        for _ in range(rounds):
            for index, session in enumerate((peer, own)):
                best[index] = min(best[index], seconds(session, feeds))
    found = ", ".join(contrib_names(model))
    times = f"{best[0] * 1e3:.2f} ms | {best[1] * 1e3:.2f} ms | {best[1] / best[0]:.2f}"
    if calls := own.host_calls():
        times += f" ({len(calls)} host calls)"
    return f"| {name} | {found} | {times} | {error:.1e} |"


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
