"""
Measure the stages of a model, in a worker process.

* `graph`: import and export, and simplification; outputs compared with the model in onnxruntime.
* `native`: native code; outputs, host calls and latency compared with onnxruntime on one thread.
* `nvdla`: packages, run in the simulator.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, TypeGuard

import numpy as np
import onnx

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.conformance.model_specs import Array, Feeds, is_list, read_feeds

Figures = dict[str, Any]

MODEL = "model.onnx"
INPUTS = "inputs.npz"

CHECK_INPUTS = 3
"""Number of generated inputs for `xonnc simplify --check`."""

ROUNDS = 7
ROUND_SECONDS = 0.05
"""Interleaved timing rounds of onnxruntime and native code, and least CPU seconds of a round."""

ABSOLUTE_TOLERANCE = 1e-6
"""Absolute tolerance: rounding error of a saturated sigmoid."""

TOLERANCE = 2e-3
"""Tolerance relative to the largest value: effect of summation order in a deep network."""


@dataclass(frozen=True)
class StageTask:
    """A stage of a model to measure; `report` is a file that gets the figures as they are known."""

    stage: str
    folder: Path
    report: Path


class StageRunner:
    """Measures stages of models in a worker process."""

    def __init__(self, is_alone: bool) -> None:
        """Make a runner; one that is alone measures times on one processor."""
        self._is_alone = is_alone
        self._is_ready = False

    def __call__(self, task: StageTask) -> Figures:
        """Measure; what is known so far is in the report if the process dies."""
        self._prepare()
        figures: Figures = {}

        def save(found: Figures = figures) -> None:
            task.report.write_text(json.dumps(found))

        try:
            STAGES[task.stage](task.folder, figures, save)
        except Exception as error:
            figures[f"{task.stage}_failed"] = _reason(error)
        return figures

    def _prepare(self) -> None:
        if self._is_ready:
            return
        self._is_ready = True
        if self._is_alone and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _graph(folder: Path, figures: Figures, save: Callable[[], None]) -> None:
    path, feeds = folder / MODEL, read_feeds(folder / INPUTS)
    model = onnx.ModelProto.FromString(path.read_bytes())
    figures["nodes"] = _nodes(model)
    figures["opset"] = max((each.version for each in model.opset_import if not each.domain), default=0)
    figures["contributed"] = _contributed(model.graph)
    figures["megabytes"] = path.stat().st_size / 1e6
    expected = _expected(path, feeds, figures)
    if expected is None:
        return
    figures["random"] = expected.is_random
    save()
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made, "copy.onnx")
        figures["round_trip"] = _failure_of(lambda: _round_trip(path, copy, expected))
        save()
        simple = Path(made, "simple.onnx")
        figures["simplify"] = _failure_of(lambda: _simplified(path, simple, figures, expected))


def _expected(path: Path, feeds: Feeds, figures: Figures) -> Expected | None:
    """Outputs of onnxruntime; `None` if it does not run the model."""
    try:
        return Expected(onnxruntime(path), feeds)
    except Exception as error:
        figures["unanswered"] = _reason(error)
        return None


def _round_trip(path: Path, copy: Path, expected: Expected) -> str:
    from xonnc.contexts import new_context
    from xonnc.formats.onnx.exporter import export_model
    from xonnc.formats.onnx.importer import import_model

    export_model(import_model(path, new_context()), copy)
    return expected.differences(onnxruntime(copy))


def _simplified(path: Path, simple: Path, figures: Figures, expected: Expected) -> str:
    from xonnc.errors import XonncError
    from xonnc.simplifier import simplify
    from xonnc.tools.equivalence import compare_models

    begun = time.perf_counter()
    simplify(path).write(simple)
    figures["simplify_seconds"] = time.perf_counter() - begun
    figures["simplified_nodes"] = _nodes(onnx.ModelProto.FromString(simple.read_bytes()))
    if wrong := expected.differences(onnxruntime(simple)):
        return wrong
    try:
        wrong = [each for each in compare_models(path, simple, CHECK_INPUTS) if not each.passed]
    except XonncError as error:
        # The page is the same wherever the models are.
        return f"--check: {error}".replace(f"{path.parent}/", "")
    return "; ".join(
        f"--check: {each.output}: {each.mismatch or f'{each.largest_error:.1e}'}" for each in wrong
    )


def _native(folder: Path, figures: Figures, save: Callable[[], None]) -> None:
    import xonnc

    path, feeds = folder / MODEL, read_feeds(folder / INPUTS)
    expected = _expected(path, feeds, figures)
    if expected is None:
        return
    begun = time.perf_counter()
    session = xonnc.compile(path, target="cpu", threads=1, cache=False)
    session.run(None, feeds)
    figures["native_seconds"] = time.perf_counter() - begun
    figures["native"] = expected.differences(session)
    figures["host"] = dict(Counter(session.host_calls()))
    figures["reasons"] = sorted(
        {f"{line.what}: {line.reason}" for line in session.report() if line.where == "host"}
    )
    save()
    anchor = onnxruntime(path, optimized=True)
    anchor.run(None, feeds)
    runs = [lambda: session.run(None, feeds), lambda: anchor.run(None, feeds)]
    counts = [_count(run) for run in runs]
    ratios: list[float] = []
    lengths: list[float] = []
    for round_ in range(ROUNDS):
        order = (0, 1) if round_ % 2 else (1, 0)
        seconds = {which: _seconds(runs[which], counts[which]) for which in order}
        ratios.append(seconds[0] / seconds[1])
        lengths.append(seconds[1])
    figures["ratio"] = median(ratios)
    figures["onnxruntime_seconds"] = min(lengths)


def _nvdla(folder: Path, figures: Figures, save: Callable[[], None]) -> None:
    for target, is_rounded in (("nv_small", True), ("nv_full", False)):
        figures[target] = _failure_of(partial(_package, folder, target, is_rounded, figures))
        save()


def _package(folder: Path, target: str, is_rounded: bool, figures: Figures) -> str:
    from xdsl.dialects.builtin import ModuleOp

    from xonnc.calibration import calibrate_module
    from xonnc.formats.nvdla.calibration import Ranges
    from xonnc.packages import compile_package
    from xonnc.runtime.package import load_package
    from xonnc.simplifier import simplify

    path, feeds = folder / MODEL, read_feeds(folder / INPUTS)
    expected = onnxruntime(path).run(None, feeds)

    def ranges(module: ModuleOp) -> Ranges:
        return calibrate_module(module, [feeds])

    with tempfile.TemporaryDirectory() as made:
        # The DLA takes static shapes.
        fixed, packed = Path(made, "fixed.onnx"), Path(made, "package.xpkg")
        shapes = {name: array.shape for name, array in feeds.items()}
        simplify(path, input_shapes=shapes).write(fixed)
        package = compile_package(fixed, target, None, ranges if is_rounded else None)
        package.write(packed)
        on_dla = package.nodes - len(package.cpu_nodes)
        figures[f"{target}_nodes"] = [on_dla, package.nodes, len(package.compiled)]
        figures[f"{target}_causes"] = [f"{count} {what}: {why}" for count, what, why in package.causes[:3]]
        found = load_package(packed).run(feeds)
    names = [each.name for each in onnxruntime(path).get_outputs()]
    cosines = [_cosine(one, found[name]) for name, one in zip(names, expected, strict=True)]
    figures[f"{target}_cosine"] = min(cosines)
    return ""


STAGES: dict[str, Callable[[Path, Figures, Callable[[], None]], None]] = {
    "graph": _graph,
    "native": _native,
    "nvdla": _nvdla,
}


def _failure_of(run: Callable[[], str]) -> str:
    """The message of a check, or its exception."""
    try:
        return run()
    except Exception as error:
        return _reason(error)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def onnxruntime(path: Path, optimized: bool = False) -> Any:
    """A single-threaded session with all graph optimizations or none."""
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    level = "ORT_ENABLE_ALL" if optimized else "ORT_DISABLE_ALL"
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _nodes(model: onnx.ModelProto) -> int:
    return sum(_count_nodes(graph) for graph in (model.graph, *model.functions))


def _contributed(graph: onnx.GraphProto) -> list[str]:
    """Operators of the domain com.microsoft in a graph, without subgraphs."""
    return sorted({node.op_type for node in graph.node if node.domain == "com.microsoft"})


def _count_nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> int:
    inner = [
        body
        for node in graph.node
        for attribute in node.attribute
        for body in (attribute.g, *attribute.graphs)
        if body.node
    ]
    return len(graph.node) + sum(map(_count_nodes, inner))


class Expected:
    """Outputs of a model in onnxruntime, run twice to detect random ones."""

    def __init__(self, anchor: Any, feeds: Feeds) -> None:
        self.feeds = feeds
        self._outputs, again = (anchor.run(None, feeds) for _ in range(2))
        pairs = zip(again, self._outputs, strict=True)
        self._random = [differences([one], [other]) != "" for one, other in pairs]

    @property
    def is_random(self) -> bool:
        """Whether any output is random."""
        return any(self._random)

    def differences(self, session: Any) -> str:
        """The first output of a session that differs; random outputs are compared by type and shape."""
        found = session.run(None, self.feeds)
        if len(found) != len(self._outputs):
            return f"{len(found)} outputs for {len(self._outputs)}"
        pairs = zip(found, self._outputs, self._random, strict=True)
        both = [(_blank(a), _blank(b)) if random else (a, b) for a, b, random in pairs]
        return differences([one for one, _ in both], [other for _, other in both])


def _blank(value: Any) -> Any:
    """Replace a tensor by zeros."""
    return np.zeros_like(value) if _is_tensor(value) else value


def _is_tensor(value: Any) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def differences(found: Sequence[Any], expected: Sequence[Any]) -> str:
    """The first output that differs, and how; empty if none does."""
    if len(found) != len(expected):
        return f"{len(found)} outputs for {len(expected)}"
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        if wrong := _difference(one, other):
            return f"output {index}: {wrong}"
    return ""


def _difference(found: Any, expected: Any) -> str:
    if _is_map(expected):
        return differences(_columns(found), _columns(expected))
    if is_list(expected):
        return differences(found, expected)
    if expected is None or found is None:
        return "" if found is expected else "one is absent"
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return f"shape {list(a.shape)} for {list(b.shape)}"
    if a.dtype.kind != b.dtype.kind or a.dtype.itemsize != b.dtype.itemsize:
        if a.dtype.kind not in "OUS":
            return f"{a.dtype} for {b.dtype}"
    if b.dtype.kind not in "f":
        wrong = int(np.count_nonzero(a != b))
        return f"{wrong} of {b.size} elements differ" if wrong else ""
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(y)
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return "other elements are infinite or NaN"
    scale = float(np.abs(y[finite]).max(initial=0.0)) or 1.0
    error = float(np.abs(x[finite] - y[finite]).max(initial=0.0)) / scale
    limit = 0.02 if b.dtype.itemsize == 2 else TOLERANCE
    return "" if error <= limit + ABSOLUTE_TOLERANCE / scale else f"{error:.1e} of the largest value"


def _is_map(value: Any) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def _columns(table: dict[Any, Any]) -> list[Any]:
    """Keys and values in sorted order."""
    keys = sorted(table, key=str)
    return [list(map(str, keys)), [table[key] for key in keys]]


def _cosine(a: Any, b: Any) -> float:
    x, y = (np.asarray(each).astype(np.float64).ravel() for each in (a, b))
    if x.shape != y.shape:
        return 0.0
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / lengths if lengths else float(np.array_equal(x, y))


def _count(run: Callable[[], object]) -> int:
    """Number of runs in a round."""
    run()
    return max(1, int(ROUND_SECONDS / max(_seconds(run, 1), 1e-6)))


def _seconds(run: Callable[[], object], count: int) -> float:
    """CPU seconds per run, unaffected by other processes."""
    begun = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - begun) / count
