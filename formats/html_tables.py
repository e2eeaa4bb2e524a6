"""Small HTML tables, which notebooks show in place of the text of an object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 40
"""Rows of a table in a notebook; the number of the others is said."""


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with its title; values are escaped, and rows beyond `MAX_ROWS` are counted only."""
    lines = [list(map(str, row)) for row in rows]
    hidden = len(lines) - MAX_ROWS
    if hidden > 0:
        lines = [*lines[:MAX_ROWS], [f"… {hidden} more", *[""] * (len(header) - 1)]]
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<p><b>{escape(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
