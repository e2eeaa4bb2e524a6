"""The commands of docs/nvdla.md work, one after another, on the model that the page writes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xonnc.targets import limits, load_target

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "nvdla.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_whole_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    tools = shlex.quote(str(Path(sys.executable).parent))
    shells = 0
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "docs/nvdla.md", "exec"), {})
            continue
        shells += 1
        done = subprocess.run(
            ["bash", "-c", f"PATH={tools}:$PATH; set -eu -o pipefail\n{block}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    assert shells >= 6
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"model.nvdla", "mine.nvdla", "half.nvdla", "table.json", "y.npy", "y.bin", "model.txt"}
    assert np.load(tmp_path / "y.npy").size == 10


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_the_page_quotes_what_is_said():
    lack = limits.lacks_precision(load_target("nv_small"), "fp16")
    assert lack is not None
    assert lack.replace("nv_small", "T") in PAGE
    lowering = ROOT / "lowering"
    said = "".join(path.read_text() for path in lowering.rglob("*.py"))
    for phrase in ("the DLA takes static shapes without empty dimensions", "the DLA has no such operator"):
        assert phrase in PAGE
        assert phrase in said
