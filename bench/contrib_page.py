"""The page that `bench/contrib.py` writes: a table of the contrib operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

HEAD = """# Contrib operators of onnxruntime

onnxruntime's quantizers, graph fusions and transformer tools write operators of the domain `com.microsoft`.
A bundled plug-in, `xonnc.contrib.microsoft`, has the {operators} operators below, with those of the default
domain that ONNX withdrew at opset 10 (Affine, Crop, DynamicSlice, ImageScaler, ParametricSoftplus, Scale,
ScaledTanh). It is loaded when a model has one of them; no flag is needed. Other operators of the domain are
kept as they are.

`python bench/contrib.py --page docs/contrib-operators.md` measured each on random shapes, attributes and
values: {cases} cases, {failures} with differences. Results are compared with onnxruntime ("ort"), or with a
NumPy reference ("ref") where onnxruntime has no CPU kernel for the type. Tolerances, of the largest value:
1e-4 for float32 and float64, 1e-2 for float16, 0.1 for bfloat16, 2e-2 for dynamically quantized operators.
Results in 8 bits may differ by one quantization step where a tie is rounded.

* *Type*: element type of the first operand; *Cases*: the number of them that native code computed.
* *Import*: nodes have their own op class, and result types, with symbolic dimensions too.
* *Fold*: nodes of constants are computed at compile time.
* *Native*: compiled to machine code; "constants" if all operands but the first have to be constant, "host" if
  the host computes parts of the cases all the same.
* *Dynamic*: all dimensions of all inputs are symbolic; "constants" as before, "widths" if the last dimension
  of each input, the hidden or head size, has to be static.
* *AOT*: compiled to a shared library ahead of time, for static shapes; "constants" as before.
* *Steps*: elements of quantized results that differ by one step.

"""

MODELS = "\n## Models of onnxruntime's tools\n"
"""Heading of the part of the page that `bench/contrib_models.py` writes."""

COLUMNS = (
    "Operator",
    "Type",
    "Against",
    "Cases",
    "Steps",
    "Import",
    "Fold",
    "Native",
    "Dynamic",
    "AOT",
    "Computes",
)


@dataclass
class Row:
    """What was measured of an operator for one element type."""

    operator: str
    dtype: str
    cases: int
    computes: str
    peer: str = ""
    imported: str = ""
    folded: str = ""
    native: str = ""
    dynamic: str = ""
    ahead: str = ""
    steps: int = 0
    note: str = ""
    """Why a cell is `no`."""

    @property
    def is_failure(self) -> bool:
        """Whether results differ, or a stage does not take the operator."""
        return "no" in (self.peer, self.imported, self.folded, self.native)

    def cells(self) -> str:
        """The outcomes as cells of the table."""
        outcomes = (self.imported, self.folded, self.native, self.dynamic, self.ahead)
        return " | ".join(outcomes)


def update(path: Path, rows: Sequence[Row]) -> None:
    """Replace the rows of operators in the page at `path`; other operators keep theirs, as do the models."""
    text = path.read_text() if path.is_file() else ""
    old_rows, (_, heading, models) = read_rows(text), text.partition(MODELS)
    new = {row.operator for row in rows}
    merged = [*(row for row in old_rows if row.operator not in new), *rows]
    path.write_text(page(sorted(merged, key=lambda row: row.operator)) + heading + models)


def read_rows(text: str) -> list[Row]:
    """Read the table of a page."""
    rows: list[Row] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != len(COLUMNS) or cells[0] == COLUMNS[0] or cells[0].startswith("---"):
            continue
        operator, dtype, peer, cases, steps, *outcomes, computes = cells
        if not operator:
            operator, computes = rows[-1].operator, rows[-1].computes
        rows.append(Row(operator, dtype, int(cases), computes, peer, *outcomes, steps=int(steps)))
    return rows


def page(rows: Sequence[Row]) -> str:
    """The page."""
    table = "| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|\n"
    head = HEAD.format(
        operators=len({row.operator for row in rows}),
        cases=f"{sum(row.cases for row in rows):,}",
        failures=sum(row.is_failure for row in rows),
    )
    grouped = groupby(rows, key=lambda row: row.operator)
    return head + table + "".join(_operator(list(same)) for _, same in grouped)


def _operator(rows: Sequence[Row]) -> str:
    """The rows of an operator; types with the same outcomes are one row."""
    text = ""
    by_cells: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_cells.setdefault((row.peer, row.cells()), []).append(row)
    for index, ((peer, cells), same) in enumerate(by_cells.items()):
        name, computes = (rows[0].operator, rows[0].computes) if index == 0 else ("", "")
        types = ", ".join(row.dtype for row in same)
        cases, steps = sum(row.cases for row in same), sum(row.steps for row in same)
        text += f"| {name} | {types} | {peer} | {cases} | {steps} | {cells} | {computes} |\n"
    return text
