"""What was found, as lines of text and as tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.latency.measure import NO_NETWORKS, Row
from bench.latency.peers import ANCHOR, OURS, PEERS
from bench.latency.ratios import Pace, geometric_mean

NOTHING = "–"

ORDER = (ANCHOR, OURS, *(name for name in PEERS if name not in (ANCHOR, OURS)))
"""Of columns."""


def line(row: Row) -> str:
    """A model's row as text."""
    parts = [f"{row.model:<20} {row.megabytes:6.1f} MB"]
    for name in ORDER:
        if name in row.failures:
            parts.append(f"{name}: {row.failures[name]}")
        elif name in row.paces:
            found, ready = row.paces[name], row.ready[name]
            ratio = "" if name == ANCHOR else f" {found.median:5.2f} ({found.minimum:.2f})"
            noise = " noisy" if found.is_noisy else ""
            again = f", again {row.again[name].seconds:.2f} s" if name in row.again else ""
            parts.append(
                f"{name} {found.best * 1e3:8.2f} ms{ratio}{noise}, compile {ready.seconds:5.2f} s "
                f"{ready.peak:5.0f} MB{again}"
            )
    return " | ".join(parts)


def latency_table(rows: Sequence[Row]) -> str:
    """Milliseconds of the anchor, and ratios to them: medians of pairs, in brackets of the minima."""

    def cell(row: Row, name: str) -> str:
        found = row.paces.get(name)
        if found is None:
            return NOTHING
        noise = "\\*" if found.is_noisy else ""
        return (
            f"{found.best * 1e3:.2f} ms"
            if name == ANCHOR
            else f"{found.median:.2f} ({found.minimum:.2f}){noise}"
        )

    means: list[str] = []
    for name in _present(rows):
        paces = paces_of(name, rows)
        if not paces:
            means.append(NOTHING)
            continue
        median, minimum = (
            geometric_mean([getattr(each, kind) for each in paces]) for kind in ("median", "minimum")
        )
        means.append("" if name == ANCHOR else f"{median:.2f} ({minimum:.2f}) of {len(paces)}")
    return f"{_table(rows, cell)}\n| geometric mean of networks | {' | '.join(means)} |"


def compile_table(rows: Sequence[Row]) -> str:
    """Seconds to the first answer, in brackets in a second process, of those that keep what they compiled."""

    def cell(row: Row, name: str) -> str:
        if name not in row.paces:
            return NOTHING
        again = f" ({row.again[name].seconds:.2f})" if name in row.again else ""
        return f"{row.ready[name].seconds:.2f}{again}"

    return _table(rows, cell)


def memory_table(rows: Sequence[Row]) -> str:
    """Megabytes at most until the first answer, beyond what the packages need, and of the file."""

    def cell(row: Row, name: str) -> str:
        return f"{row.ready[name].peak:.0f}" if name in row.paces else NOTHING

    return _table(rows, cell, [("file", lambda row: f"{row.megabytes:.0f}")])


def loads(rows: Sequence[Row]) -> str:
    """The machine's load meanwhile; the peers are part of it."""
    found = [row.load for row in rows]
    least, most = min(found), max(found)
    return f"Load average of the machine meanwhile, the peers' own among it: {least:.1f} to {most:.1f}."


def reasons(rows: Sequence[Row]) -> str:
    """Why peers do not run models, a line each."""
    return "\n".join(
        f"* {row.model}, {name}: {row.failures[name]}"
        for name in ORDER
        for row in rows
        if name in row.failures
    )


def paces_of(name: str, rows: Sequence[Row]) -> list[Pace]:
    """A peer's on all networks."""
    return [row.paces[name] for row in rows if name in row.paces and row.model not in NO_NETWORKS]


def _present(rows: Sequence[Row]) -> list[str]:
    """The peers that ran any of the models."""
    return [name for name in ORDER if any(name in row.paces for row in rows)]


def _table(
    rows: Sequence[Row],
    cell: Callable[[Row, str], str],
    leading: Sequence[tuple[str, Callable[[Row], str]]] = (),
) -> str:
    names = _present(rows)
    titles = ["model", *(title for title, _ in leading), *names]
    lines = [
        [row.model, *(text(row) for _, text in leading), *(cell(row, name) for name in names)] for row in rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *lines])
