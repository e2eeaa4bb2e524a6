"""The page of differences: `docs/shapes.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.shape_inference.comparison import ShapeDifference, ShapeVerdict
from bench.shape_inference.known_differences import reason

TEXT = """# Inferred shapes

For whoever relies on shape inference. Written by `python bench/shapes.py --write docs/shapes.md`.

The declared shapes of intermediate values and outputs are removed from {models} models (all of
`onnx.backend.test`, and those of `bench/models.py`). What `shape-inference-onnx` infers is compared with
`onnx.shape_inference` (strict mode, data propagation), and with the shapes of outputs when the models ran.

* {dims} dimensions that the onnx package infers, or names as in the inputs
* {more} dimensions and ranks that only `shape-inference-onnx` infers or names
* {less} dimensions that only the onnx package infers, and {other} on which the two differ, all listed here

| model | value | difference | reason |
|---|---|---|---|
{rows}

## With dynamic batch and sequence length

The models of `bench/models.py` with a name for the first dimension of each input and for the sequence length:
dimensions of intermediate values that are neither known nor named.

| model | values with unknown dimensions |
|---|---|
{unknown_dims}
"""


def unexplained(verdicts: Sequence[ShapeVerdict]) -> list[tuple[str, ShapeDifference]]:
    """Differences without an entry in `known_differences.py`."""
    return [
        (verdict.name, finding)
        for verdict in verdicts
        for finding in verdict.findings
        if reason(verdict.name, finding) is None
    ]


def page(verdicts: Sequence[ShapeVerdict], unknown_dims: Mapping[str, int]) -> str:
    """The page in Markdown; `unknown_dims` counts values of models with dynamic inputs."""
    found = [(verdict.name, finding) for verdict in verdicts for finding in verdict.findings]
    rows = [
        f"| `{name}` | `{finding.value}` | {finding.what} | {reason(name, finding)} |"
        for name, finding in found
    ]
    return TEXT.format(
        models=len(verdicts),
        dims=sum(verdict.dims for verdict in verdicts),
        more=sum(verdict.only_ours for verdict in verdicts),
        less=sum(1 for _, finding in found if finding.kind == "less"),
        other=sum(1 for _, finding in found if finding.kind == "other"),
        rows="\n".join(rows),
        unknown_dims="\n".join(f"| `{name}` | {count} |" for name, count in unknown_dims.items()),
    )
