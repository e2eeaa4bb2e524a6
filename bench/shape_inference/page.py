"""Verdicts as a page: `docs/shapes.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.shape_inference.comparison import Finding, ShapeVerdict
from bench.shape_inference.known_differences import reason

TEXT = """# Inferred shapes

Written by `python bench/shapes.py --write docs/shapes.md`.

Of {models} models (all of `onnx.backend.test`, and those of `bench/models.py`) what they say of values inside
and of the shapes of their outputs is taken away; what `shape-inference-onnx` finds again is held against
`onnx.shape_inference` with strict mode and data propagation, and against the shapes that the outputs had when
the models ran.

* {dims} sizes that the onnx package knows, or names as the inputs do
* {more} sizes and ranks that only `shape-inference-onnx` knows or names
* {less} sizes that only the onnx package has, and {other} on which the two differ, all of them listed here

| model | value | what | why |
|---|---|---|---|
{rows}

## With batches of any size and texts of any length

The models of `bench/models.py` again, with a name for the first size of every input and for the length of
texts: sizes of values inside that are neither known nor named.

| model | without a name |
|---|---|
{unknown_dims}
"""


def unexplained(verdicts: Sequence[ShapeVerdict]) -> list[tuple[str, Finding]]:
    """What differs without a reason that is known."""
    return [
        (verdict.name, finding)
        for verdict in verdicts
        for finding in verdict.findings
        if reason(verdict.name, finding) is None
    ]


def page(verdicts: Sequence[ShapeVerdict], unknown_dims: Mapping[str, int]) -> str:
    """The page, in Markdown; `unknown_dims` counts values of models with dynamic inputs."""
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
