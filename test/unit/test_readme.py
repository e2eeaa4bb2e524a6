"""The README's commands and examples do what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tool_server import shell

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
TOOLS = ("xonnc ", "onnx-opt ", "onnx-translate ")
COMMANDS = [
    line.split("#")[0].strip()
    for language, block in BLOCKS
    if not language
    for line in block.splitlines()
    if line.startswith(TOOLS)
]


def test_every_command_works(tmp_path: Path, small_model: Callable[..., Path]):
    small_model("model.onnx")
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        done = shell(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_the_example_folds_to_six_under_both_tools(tmp_path: Path):
    (block,) = [block for _, block in BLOCKS if block.startswith("$ cat example.mlir")]
    text, printed = block.removeprefix("$ cat example.mlir\n").split(
        "$ onnx-opt example.mlir --constprop-onnx\n"
    )
    (tmp_path / "example.mlir").write_text(text)
    assert shell("onnx-opt example.mlir --constprop-onnx", tmp_path).stdout == printed
    plain = shell("xdsl-opt -p constprop-onnx example.mlir", tmp_path).stdout
    assert plain.strip() == printed.strip().replace("module {", "builtin.module {", 1)


def test_the_python_examples_run(
    tmp_path: Path, small_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    nvdla, native = [block for language, block in BLOCKS if language == "python"]
    small_model("model.onnx")
    monkeypatch.chdir(tmp_path)
    exec(compile(nvdla, "README.md", "exec"), {})
    assert (tmp_path / "model.nvdla").is_file()
    names: dict[str, object] = {}
    exec(compile(native, "README.md", "exec"), names)
    assert names["outputs"]


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(((?!http)[^)]+)\)", README):
        assert (ROOT / target).exists(), target
