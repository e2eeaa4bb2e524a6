"""The package that `xonnc new-backend` writes, and the tutorial that installs it and goes through it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from tool_server import shell

from xonnc.tools.driver import main

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

PIP = f"{BIN}/python -m pip install -q --no-deps --no-build-isolation --no-index --upgrade --target site"
"""Into a folder of its own, which leaves the environment of the tests as it is, and without the network."""


def run(command: str, folder: Path) -> str:
    """Run a command of the tutorial; return what it prints."""
    command = re.sub(r"^pip install", PIP, command)
    command = re.sub(r"^pytest", "python -m pytest -q -p no:cacheprovider", command)
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    return shell(command, folder, environment, is_merged=True).stdout


def test_the_tutorial(tmp_path: Path):
    """Commands print what stands below them; other blocks are appended to the file in their first line."""
    text = (ROOT / "docs/tutorials/backend.md").read_text()
    for kind, block in BLOCK.findall(text):
        if kind != "console":
            path = tmp_path / block.splitlines()[0].removeprefix("# ")
            with path.open("a") as file:
                file.write(block)
            continue
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            printed = "\n".join(line.rstrip() for line in run(command, tmp_path).splitlines())
            if command.startswith("pytest"):
                assert expected.strip() in printed, printed
            else:
                assert printed.strip() == expected.strip(), command
    assert run("ruff check --isolated --select E4,E9,F demo/test", tmp_path) == "All checks passed!\n"


def test_names_with_several_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "package"
    assert main(["new-backend", "my_npu", "--json", "-o", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["folder"] == str(folder)
    assert all((folder / name).is_file() for name in found["files"])
    assert (folder / "xonnc_my_npu" / "my_npu.toml").is_file()
    assert "class MyNpuTarget" in (folder / "xonnc_my_npu" / "target.py").read_text()
    assert "--convert-onnx-to-my-npu" in (folder / "test" / "lit" / "convert.mlir").read_text()
    assert run("ruff check --isolated --select E4,E7,E9,F package", tmp_path) == "All checks passed!\n"


def test_the_hint_installs_pytest_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xonnc.tools.commands.new_backend.find_spec", str.isspace)
    assert main(["new-backend", "npu"]) == 0
    assert capsys.readouterr().out == "wrote npu; next: pip install './npu[test]' && pytest npu\n"
    assert 'test = ["filecheck", "lit", "pytest"]' in (tmp_path / "npu" / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-NPU", "backend 'My-NPU': the name must be lower-case letters, digits and _, such as npu"),
        ("nv_full", "backend 'nv_full': there is a target or dialect of this name; choose another"),
        ("onnx", "backend 'onnx': there is a target or dialect of this name; choose another"),
        ("full", "full: exists already; name another folder with --output"),
    ],
)
def test_names_that_are_refused(
    name: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    assert main(["new-backend", name]) == 1
    assert capsys.readouterr().err == f"xonnc: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
