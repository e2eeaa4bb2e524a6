"""Measurements as lines of text and as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.latency.measure import NOT_IN_MEAN, ModelResult
from bench.latency.peers import BASELINE, PEERS, XONNC
from bench.latency.ratios import Latency, geometric_mean

NOTHING = "–"

ORDER = (BASELINE, XONNC, *(name for name in PEERS if name not in (BASELINE, XONNC)))
"""Order of the columns."""


def line(row: ModelResult) -> str:
    """A line about one model."""
    parts = [f"{row.model:<20} {row.megabytes:6.1f} MB"]
    for name in ORDER:
        if name in row.failures:
            parts.append(f"{name}: {row.failures[name]}")
        elif name in row.latencies:
            found, compile_cost = row.latencies[name], row.compile_cost[name]
            ratio = "" if name == BASELINE else f" {found.median:5.2f} ({found.minimum:.2f})"
            noise = " noisy" if found.is_noisy else ""
            recompile_cost = (
                f", again {row.recompile_cost[name].seconds:.2f} s" if name in row.recompile_cost else ""
            )
            parts.append(
                f"{name} {found.best * 1e3:8.2f} ms{ratio}{noise}, compile {compile_cost.seconds:5.2f} s "
                f"{compile_cost.peak:5.0f} MB{recompile_cost}"
            )
    return " | ".join(parts)


def latency_table(rows: Sequence[ModelResult]) -> str:
    """Milliseconds of the baseline and ratios to it: medians of paired rounds, in brackets of minima."""

    def cell(row: ModelResult, name: str) -> str:
        found = row.latencies.get(name)
        if found is None:
            return NOTHING
        noise = "\\*" if found.is_noisy else ""
        return (
            f"{found.best * 1e3:.2f} ms"
            if name == BASELINE
            else f"{found.median:.2f} ({found.minimum:.2f}){noise}"
        )

    means: list[str] = []
    for name in _present(rows):
        latencies = latencies_of(name, rows)
        if not latencies:
            means.append(NOTHING)
            continue
        median, minimum = (
            geometric_mean([getattr(each, kind) for each in latencies]) for kind in ("median", "minimum")
        )
        means.append("" if name == BASELINE else f"{median:.2f} ({minimum:.2f}) of {len(latencies)}")
    return f"{_table(rows, cell)}\n| geometric mean of networks | {' | '.join(means)} |"


def compile_table(rows: Sequence[ModelResult]) -> str:
    """Seconds to compile and run once, in brackets with a warm cache."""

    def cell(row: ModelResult, name: str) -> str:
        if name not in row.latencies:
            return NOTHING
        recompile_cost = f" ({row.recompile_cost[name].seconds:.2f})" if name in row.recompile_cost else ""
        return f"{row.compile_cost[name].seconds:.2f}{recompile_cost}"

    return _table(rows, cell)


def memory_table(rows: Sequence[ModelResult]) -> str:
    """Peak memory of compiling and running once beyond the imported packages, and size of the file, in MB."""

    def cell(row: ModelResult, name: str) -> str:
        return f"{row.compile_cost[name].peak:.0f}" if name in row.latencies else NOTHING

    return _table(rows, cell, [("file", lambda row: f"{row.megabytes:.0f}")])


def load_averages(rows: Sequence[ModelResult]) -> str:
    """A sentence on the load average of the machine."""
    found = [row.load for row in rows]
    least, most = min(found), max(found)
    return (
        f"Load average of the machine during the measurement, the peers included: {least:.1f} to {most:.1f}."
    )


def reasons(rows: Sequence[ModelResult]) -> str:
    """Failures of peers, a line each."""
    return "\n".join(
        f"* {row.model}, {name}: {row.failures[name]}"
        for name in ORDER
        for row in rows
        if name in row.failures
    )


def latencies_of(name: str, rows: Sequence[ModelResult]) -> list[Latency]:
    """Latencies of a peer on all networks."""
    return [row.latencies[name] for row in rows if name in row.latencies and row.model not in NOT_IN_MEAN]


def _present(rows: Sequence[ModelResult]) -> list[str]:
    """The peers that ran any of the models."""
    return [name for name in ORDER if any(name in row.latencies for row in rows)]


def _table(
    rows: Sequence[ModelResult],
    cell: Callable[[ModelResult, str], str],
    leading: Sequence[tuple[str, Callable[[ModelResult], str]]] = (),
) -> str:
    names = _present(rows)
    titles = ["model", *(title for title, _ in leading), *names]
    lines = [
        [row.model, *(text(row) for _, text in leading), *(cell(row, name) for name in names)] for row in rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])
