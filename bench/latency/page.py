"""Sections of a Markdown page that benchmarks replace."""

from __future__ import annotations

import re
from pathlib import Path

COUNTS = {1: "one thread", 2: "two threads"}


def heading(what: str, threads: int) -> str:
    """The title of a section."""
    return f"{what}, {COUNTS.get(threads, f'{threads} threads')}"


def replace_section(page: Path, title: str, text: str) -> None:
    """Replace a section of a page, or append it."""
    section = f"## {title}\n\n{text.strip()}\n"
    before = page.read_text() if page.exists() else ""
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", before, re.DOTALL | re.MULTILINE)
    if found is None:
        after = f"{before.rstrip()}\n\n{section}".lstrip()
    else:
        rest = before[found.end() :]
        after = before[: found.start()] + section + (f"\n{rest}" if rest else "")
    unfinished = page.with_suffix(".part")
    unfinished.write_text(after)
    unfinished.rename(page)
