"""Tables of the measurements in Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from math import exp, log

from bench.models import CHAIN_LENGTHS
from bench.simplification.results import Measurements, ToolResult, costs, requirements
from bench.simplification.sample import Measurement
from bench.simplification.tools import BASELINE, TOOLS, XONNC

NOTHING = "–"


def tables(measurements: Measurements) -> str:
    """Time, memory and nodes by model and tool; cost per node; requirements."""
    others = [tool for tool in measurements.tools if tool != BASELINE]
    parts = [
        f"Time as a multiple of {BASELINE}; medians\n",
        _table(measurements, others, [("MB", _size), (f"{BASELINE} s", _load_seconds)], _time),
        _geomeans(measurements, others),
        "\nPeak memory as a multiple of the file\n",
        _table(measurements, measurements.tools, [("MB", _size)], _peak),
        "\nRemaining nodes\n",
        _table(
            measurements, others, [("nodes in", _nodes_in)], lambda _figures, _model, cell: str(cell.nodes)
        ),
        "\nSeconds before the clock starts: interpreter, imports, a model of one node\n",
        ", ".join(f"{tool} {start:.2f}" for tool, start in _starts(measurements)),
        "",
        _chains(measurements),
        *_failures(measurements),
        "\nRequirements\n",
        *(
            f"* {'met' if requirement.passed else 'MISSED'} ({requirement.checked}): {requirement.text}"
            + "".join(f"\n  * {miss}" for miss in requirement.failures)
            for requirement in requirements(measurements)
        ),
    ]
    return "\n".join(parts) + "\n"


def as_json(measurements: Measurements) -> str:
    """All samples as JSON."""
    return json.dumps(
        {
            "tools": {name: TOOLS[name].package_version() for name in measurements.tools},
            "megabytes": measurements.sizes,
            "cells": {
                model: {tool: asdict(cell) for tool, cell in row.items()}
                for model, row in measurements.cells.items()
            },
            "requirements": [
                asdict(requirement) | {"passed": requirement.passed}
                for requirement in requirements(measurements)
            ],
        },
        indent=1,
    )


def from_json(text: str) -> Measurements:
    """Measurements from the output of `as_json`."""
    record = json.loads(text)
    measurements = Measurements(list(record["tools"]), record["megabytes"])
    for model, row in record["cells"].items():
        for tool, fields in row.items():
            samples = [Measurement(**sample) for sample in fields["samples"]]
            measurements.cells.setdefault(model, {})[tool] = ToolResult(**fields | {"samples": samples})
    return measurements


def _table(
    measurements: Measurements,
    tools: list[str],
    heads: list[tuple[str, Callable[[Measurements, str], str]]],
    tell: Callable[[Measurements, str, ToolResult], str],
) -> str:
    lines = [_line(["model", *(head for head, _ in heads), *tools])]
    lines.append("|" + "---|" * (1 + len(heads) + len(tools)))
    for model, row in measurements.cells.items():
        cells = [
            NOTHING
            if (cell := row.get(tool)) is None
            else tell(measurements, model, cell)
            if cell.is_done
            else "failed"
            for tool in tools
        ]
        lines.append(_line([model, *(value(measurements, model) for _, value in heads), *cells]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _size(measurements: Measurements, model: str) -> str:
    return f"{measurements.sizes[model]:.3g}"


def _load_seconds(measurements: Measurements, model: str) -> str:
    loaded = measurements.loaded(model)
    return NOTHING if loaded is None else f"{loaded.seconds:.3f}"


def _nodes_in(measurements: Measurements, model: str) -> str:
    loaded = measurements.loaded(model)
    return NOTHING if loaded is None else str(loaded.nodes)


def _time(measurements: Measurements, model: str, cell: ToolResult) -> str:
    loaded = measurements.loaded(model)
    return f"{cell.seconds:.3f} s" if loaded is None else f"{cell.seconds / loaded.seconds:.3g}"


def _peak(measurements: Measurements, model: str, cell: ToolResult) -> str:
    return f"{cell.peak / measurements.sizes[model]:.2f}"


def _geomeans(measurements: Measurements, tools: list[str]) -> str:
    """Last line of the table of times: geometric mean, and number of models."""
    cells = ["**geomean** (models)", "", ""]
    for tool in tools:
        ratios = [
            cell.seconds / loaded.seconds
            for model in measurements.cells
            if (cell := measurements.done(model, tool)) and (loaded := measurements.loaded(model))
        ]
        mean = exp(sum(map(log, ratios)) / len(ratios)) if ratios else 0.0
        cells.append(f"**{mean:.3g}** ({len(ratios)})" if ratios else NOTHING)
    return _line(cells)


def _starts(measurements: Measurements) -> Iterable[tuple[str, float]]:
    for tool in measurements.tools:
        found = [cell.start for model in measurements.cells if (cell := measurements.done(model, tool))]
        if found:
            yield tool, sorted(found)[len(found) // 2]


def _chains(measurements: Measurements) -> str:
    cells = {count: cell for count in CHAIN_LENGTHS if (cell := measurements.done(f"chain_{count}", XONNC))}
    if not cells:
        return ""
    text = ", ".join(f"{count}: {cost:.0f}" for count, cost in costs(cells).items())
    return f"Microseconds of {XONNC} a node by the length of the chain: {text}"


def _failures(measurements: Measurements) -> Iterable[str]:
    """Failures and disagreements, a line each."""
    for model, row in measurements.cells.items():
        for tool, cell in row.items():
            if reason := cell.failure or cell.disagreement:
                yield f"* {model}, {tool}: {reason}"
