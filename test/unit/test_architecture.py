"""Arrows between the rooms run one way, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    "dialects": {"dialects"},
    "rewriting": {"dialects", "rewriting"},
    "transforms": {"dialects", "rewriting", "transforms"},
    "lowering": {"dialects", "rewriting", "transforms", "formats", "targets", "lowering"},
    "formats/onnx": {"dialects", "formats"},
    "formats/nvdla": {"formats", "targets"},
    "formats/package": {"formats"},
    "targets": {"targets"},
    "runtime": {"formats", "targets", "runtime"},
    "fuzzing": {
        "compiler",
        "contexts",
        "formats",
        "fuzzing",
        "lowering",
        "native",
        "runtime",
        "simplifier",
        "targets",
        "tools",
    },
}
"""Rooms and the rooms they may import; every room may import `xonnc.errors`."""


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def sources(room: str) -> Iterator[Path]:
    return (ROOT / room).rglob("*.py")


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_arrows_run_one_way(room: str):
    allowed = MAY_IMPORT[room] | {"errors"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources(room)
        for name in imports(path)
        if name.startswith("xonnc.") and name.split(".")[1] not in allowed
    ]
    assert not wrong


def test_only_two_rooms_know_the_onnx_package():
    rooms = [room for room in MAY_IMPORT if room not in ("formats/onnx", "fuzzing")]
    wrong = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in sources(room)
        if any(name == "onnx" or name.startswith("onnx.") for name in imports(path))
    ]
    assert not wrong


def test_native_code_starts_without_the_compiler_for_the_dla():
    code = "import sys, xonnc.native; print([name for name in sys.modules if 'dla' in name])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
