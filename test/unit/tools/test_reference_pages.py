"""The pages of `docs` that are written from the code are those in the repository."""

from __future__ import annotations

from pathlib import Path

from xonnc.tools.reference import pages

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_pages_are_up_to_date():
    stale = [name for name, text in pages().items() if (DOCS / name).read_text() != text]
    assert not stale, f"run `make generate`: {', '.join(stale)}"
