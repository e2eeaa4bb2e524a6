"""Tables of the figures, in Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from math import exp, log

from bench.models import CHAIN_LENGTHS
from bench.simplification.results import Cell, Figures, costs, verdicts
from bench.simplification.sample import Sample
from bench.simplification.tools import BASELINE, OURS, TOOLS

NOTHING = "–"


def tables(figures: Figures) -> str:
    """Time, memory and nodes by model and tool; cost of a node; what was asked."""
    others = [tool for tool in figures.tools if tool != BASELINE]
    parts = [
        f"Time as a multiple of {BASELINE}; medians\n",
        _table(figures, others, [("MB", _size), (f"{BASELINE} s", _load_seconds)], _time),
        _geomeans(figures, others),
        "\nPeak memory as a multiple of the file\n",
        _table(figures, figures.tools, [("MB", _size)], _peak),
        "\nNodes left\n",
        _table(figures, others, [("nodes in", _nodes_in)], lambda _figures, _model, cell: str(cell.nodes)),
        "\nSeconds before the clock starts: interpreter, imports, a model of one node\n",
        ", ".join(f"{tool} {start:.2f}" for tool, start in _starts(figures)),
        "",
        _chains(figures),
        *_failures(figures),
        "\nAsked\n",
        *(
            f"* {'holds' if verdict.passed else 'MISSED'} ({verdict.checked}): {verdict.asked}"
            + "".join(f"\n  * {miss}" for miss in verdict.misses)
            for verdict in verdicts(figures)
        ),
    ]
    return "\n".join(parts) + "\n"


def as_json(figures: Figures) -> str:
    """Every sample."""
    return json.dumps(
        {
            "tools": {name: TOOLS[name].title() for name in figures.tools},
            "megabytes": figures.sizes,
            "cells": {
                model: {tool: asdict(cell) for tool, cell in row.items()}
                for model, row in figures.cells.items()
            },
            "verdicts": [asdict(verdict) | {"passed": verdict.passed} for verdict in verdicts(figures)],
        },
        indent=1,
    )


def from_json(text: str) -> Figures:
    """The figures of which `as_json` made a text."""
    kept = json.loads(text)
    figures = Figures(list(kept["tools"]), kept["megabytes"])
    for model, row in kept["cells"].items():
        for tool, fields in row.items():
            samples = [Sample(**sample) for sample in fields["samples"]]
            figures.cells.setdefault(model, {})[tool] = Cell(**fields | {"samples": samples})
    return figures


def _table(
    figures: Figures,
    tools: list[str],
    heads: list[tuple[str, Callable[[Figures, str], str]]],
    tell: Callable[[Figures, str, Cell], str],
) -> str:
    lines = [_line(["model", *(head for head, _ in heads), *tools])]
    lines.append("|" + "---|" * (1 + len(heads) + len(tools)))
    for model, row in figures.cells.items():
        cells = [
            NOTHING
            if (cell := row.get(tool)) is None
            else tell(figures, model, cell)
            if cell.is_done
            else "failed"
            for tool in tools
        ]
        lines.append(_line([model, *(value(figures, model) for _, value in heads), *cells]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _size(figures: Figures, model: str) -> str:
    return f"{figures.sizes[model]:.3g}"


def _load_seconds(figures: Figures, model: str) -> str:
    loaded = figures.loaded(model)
    return NOTHING if loaded is None else f"{loaded.seconds:.3f}"


def _nodes_in(figures: Figures, model: str) -> str:
    loaded = figures.loaded(model)
    return NOTHING if loaded is None else str(loaded.nodes)


def _time(figures: Figures, model: str, cell: Cell) -> str:
    loaded = figures.loaded(model)
    return f"{cell.seconds:.3f} s" if loaded is None else f"{cell.seconds / loaded.seconds:.3g}"


def _peak(figures: Figures, model: str, cell: Cell) -> str:
    return f"{cell.peak / figures.sizes[model]:.2f}"


def _geomeans(figures: Figures, tools: list[str]) -> str:
    """The last line of the table of times: over the models that the tool did, so many."""
    cells = ["**geomean** (models)", "", ""]
    for tool in tools:
        ratios = [
            cell.seconds / loaded.seconds
            for model in figures.cells
            if (cell := figures.done(model, tool)) and (loaded := figures.loaded(model))
        ]
        mean = exp(sum(map(log, ratios)) / len(ratios)) if ratios else 0.0
        cells.append(f"**{mean:.3g}** ({len(ratios)})" if ratios else NOTHING)
    return _line(cells)


def _starts(figures: Figures) -> Iterable[tuple[str, float]]:
    for tool in figures.tools:
        found = [cell.start for model in figures.cells if (cell := figures.done(model, tool))]
        if found:
            yield tool, sorted(found)[len(found) // 2]


def _chains(figures: Figures) -> str:
    cells = {count: cell for count in CHAIN_LENGTHS if (cell := figures.done(f"chain_{count}", OURS))}
    if not cells:
        return ""
    told = ", ".join(f"{count}: {cost:.0f}" for count, cost in costs(cells).items())
    return f"Microseconds of {OURS} a node by the length of the chain: {told}"


def _failures(figures: Figures) -> Iterable[str]:
    """Why cells are empty or wrong."""
    for model, row in figures.cells.items():
        for tool, cell in row.items():
            if reason := cell.failure or cell.disagreement:
                yield f"* {model}, {tool}: {reason}"
