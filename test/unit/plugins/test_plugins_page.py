"""The code of docs/plugins.md works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tool_server import run_tool

ROOT = Path(__file__).resolve().parents[3]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/plugins.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_are_plugins(block: str, tmp_path: Path):
    (tmp_path / "block.py").write_text(block)
    done = run_tool(["xonnc", "plugins", "list", "--plugin", "block.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "block.py" in done.stdout


def test_there_are_blocks():
    assert len(BLOCKS) >= 3
