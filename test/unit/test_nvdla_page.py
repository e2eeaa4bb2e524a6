"""The commands of docs/nvdla.md work, one after another, on the model that the page writes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tool_server import shell

import xonnc
from xonnc.targets import limits, load_target
from xonnc.tools.digits import INPUT, read_images, read_model

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "nvdla.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_whole_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    shells = 0
    for language, block in BLOCKS:
        if language == "python":
            exec(compile(block, "docs/nvdla.md", "exec"), {})
            continue
        if language == "text":
            continue
        shells += 1
        done = shell(block, tmp_path)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    assert shells >= 6
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"model.nvdla", "mine.nvdla", "half.nvdla", "table.json", "y.npy", "y.bin", "model.txt"}
    for scores in ("y.npy", "z.npy"):
        assert np.load(tmp_path / scores).argmax() == 7


def test_the_float_accuracy_is_measured():
    correct = dict(re.findall(r"^\| (float32|INT8)[^|]*\| (\d+) \(", PAGE, re.MULTILINE))
    images, model = read_images(), xonnc.compile(read_model())
    scores = [np.asarray(model.run(None, {INPUT: image[None]})[0]) for image in images.held_out]
    found = np.concatenate(scores).argmax(axis=1)
    assert int(np.sum(found == images.labels)) == int(correct["float32"])


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
