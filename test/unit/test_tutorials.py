"""The tutorials, followed literally, end as written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tutorial_pages import follow

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"


@pytest.mark.parametrize(("page", "commands"), [("simplify", 8), ("native", 9), ("extend", 7)])
def test_a_tutorial(page: str, commands: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert follow(TUTORIALS / f"{page}.md", tmp_path) >= commands
