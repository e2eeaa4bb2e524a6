"""The lit format that runs tests in its own process: it fails where lit's shell would."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest

LIT = Path(__file__).resolve().parents[2] / "lit"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The format's module."""
    monkeypatch.setattr(sys, "path", [str(LIT), *sys.path])
    yield import_module("in_process")
    sys.modules.pop("in_process")


def ran(in_process: Any, path: Path, text: str) -> str:
    """What fails in a test of this text; `shell` if it is none for this format."""
    path.write_text(text)
    pipes = in_process.script(text, in_process.Paths(path, path.with_suffix(".tmp")))
    return "shell" if pipes is None else "".join(in_process.failure(pipe) for pipe in pipes)


MODULE = "func.func private @f(i32) -> ()\n"


@pytest.mark.parametrize(
    "text",
    [
        "// RUN: onnx-opt %s | filecheck %s\n// CHECK: @f\n",
        "// RUN: onnx-mlir-opt %s -cse | onnx-opt --canonicalize | FileCheck %s --check-prefix=X\n// X: @f\n",
        "// RUN: onnx-opt %s \\\n// RUN:   | filecheck %s\n// CHECK: @f\n",
        "// RUN: not onnx-opt --nothing %s 2>&1 | filecheck %s\n// CHECK: no pass or option 'nothing'\n",
        "// RUN: not filecheck --input-file=%s %s\n// CHECK: {{never-}}there\n",
        "// RUN: onnx-opt %s -o %t\n// RUN: filecheck %s --input-file=%t\n// CHECK: @f\n",
        "// RUN: rm -rf %t && mkdir %t && echo '{\"a\": 1}' > %t/a.json\n"
        '// RUN: filecheck %s --input-file=%t/a.json\n// CHECK: {"a": 1}\n',
        "// RUN: not onnx-opt --nothing %s 2>&1 >/dev/null | filecheck %s\n// CHECK: no pass or option\n",
        "// RUN: not onnx-opt --nothing %s 2>/dev/null | not filecheck %s\n// CHECK: no pass or option\n",
        "// RUN: onnx-opt %s | filecheck %s\n// CHECK: @[[END:[a-z]+]](\n",
        "// RUN: onnx-opt '--print-ir-after=cse' --cse %s 2>&1 | filecheck %s\n// CHECK: IR Dump After\n",
    ],
)
def test_passes(text: str, in_process: Any, tmp_path: Path):
    assert ran(in_process, tmp_path / "t.mlir", text + MODULE) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// RUN: onnx-opt %s | filecheck %s\n// CHECK: @g\n", "filecheck ended with exit code 1"),
        ("// RUN: onnx-opt %s --nothing | filecheck %s\n// CHECK: @f\n", "onnx-opt ended with exit code 2"),
        ("// RUN: not onnx-opt %s\n", "onnx-opt ended with exit code 0"),
        ("// RUN: onnx-opt %s | filecheck %s\n", "No check strings found"),
        ("// RUN: mkdir %t/a/b\n", "a/b"),
        ("// RUN: onnx-opt %s | filecheck %s --unknown\n// CHECK: @f\n", "filecheck ended with exit code 2"),
    ],
)
def test_fails(text: str, problem: str, in_process: Any, tmp_path: Path):
    assert problem in ran(in_process, tmp_path / "t.mlir", text + MODULE)


@pytest.mark.parametrize(
    "text",
    [
        "// RUN: onnx-opt %s -o %T/out\n",
        "// RUN: onnx-opt %s --plugin p.py\n",
        "// RUN: onnx-opt %s > out\n",
        "// RUN: echo | onnx-opt\n",
        "// RUN: echo && onnx-opt %s\n",
        "// END.\n// RUN: onnx-opt %s\n",
        "// RUN: onnx-opt %s && true\n",
        "// RUN: cat %s | onnx-opt\n",
        "// RUN: onnx-opt $HOME\n",
        "// REQUIRES: moon\n// RUN: onnx-opt %s\n",
        "// no run line\n",
    ],
)
def test_leaves_to_the_shell(text: str, in_process: Any, tmp_path: Path):
    assert ran(in_process, tmp_path / "t.mlir", text + MODULE) == "shell"


def test_a_shell_runs_the_packages_of_this_process(monkeypatch: pytest.MonkeyPatch):
    """In a copy of the repository, tests of a shell must not run the code of the original."""
    for paths in ("/copy/src", None):
        if paths is None:
            monkeypatch.delenv("PYTHONPATH", raising=False)
        else:
            monkeypatch.setenv("PYTHONPATH", paths)
        monkeypatch.setattr(sys, "path", [str(LIT), *sys.path])
        config = SimpleNamespace(environment={"PATH": "/bin"}, substitutions=[])
        run_path(str(LIT / "lit.cfg.py"), {"config": config})
        assert config.environment.get("PYTHONPATH") == paths
