"""The commands and the example of docs/nvdla-package.md do what it says."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xonnc.tools.driver import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "nvdla-package.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def folder(small_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model that has a node for the CPU, and an input."""
    small_model("model.onnx", operator="Sin")
    np.save(tmp_path / "x.npy", np.ones((1, 3, 8, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_commands() -> int:
    lines = [line.split("#")[0].strip() for _, block in BLOCKS for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("xonnc ")]
    for command in commands:
        assert main(command) == 0, command
    return len(commands)


def test_every_command_works_and_so_does_the_example(folder: Path):
    assert run_commands() == 12
    assert np.load(folder / "y.npy").shape == (1, 5)
    (example,) = [block for language, block in BLOCKS if language == "python"]
    names: dict[str, object] = {}
    exec(compile(example, "example", "exec"), names)
    assert repr(names["outputs"]).startswith("{'y': array(")


def table_of(header: str) -> set[str]:
    """The names in the first column of the table that begins so."""
    rows = PAGE.split(f"| {header} | what |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    return {name for row in rows for name in re.findall(r"`([a-z0-9]+)`", row.split("|")[1])}


def test_the_manifest_has_the_entries_of_the_page_and_no_others(folder: Path):
    assert main(["compile", "model.onnx", "-q"]) == 0
    with zipfile.ZipFile(folder / "model.xpkg") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert set(manifest) == table_of("entry")
    for step in manifest["steps"]:
        optional = {"nodes"} if step["kind"] == "dla" else set[str]()
        assert set(step) == table_of("entry of a step") | optional
