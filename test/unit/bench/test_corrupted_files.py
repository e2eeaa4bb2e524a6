"""A seeded sample of the damaged files of bench/corrupted_files.py: each ends with a clean error."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.corruption import worker
from bench.corruption.corpus import FORMATS, valid_files
from bench.corruption.worker import UncleanExit, find_format, make_case, run_command

CASES = 3
"""Of each format; the benchmark tries tens of thousands."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, content in valid_files().items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", [format_.name for format_ in FORMATS])
def test_damaged_files_end_with_clean_errors(name: str, folder: Path):
    format_ = find_format(name)
    for number in range(CASES):
        files, command = make_case(format_, number, seed=1)
        assert run_command(folder, files, command) is None, f"case {number}"


def test_cases_are_the_same_every_time_and_differ():
    format_ = find_format("mlir")
    cases = [make_case(format_, number, seed=1) for number in range(8)]
    assert cases == [make_case(format_, number, seed=1) for number in range(8)]
    assert len({str(files) for files, _ in cases}) == 8


def failing(arguments: list[str]) -> int:
    raise ZeroDivisionError(arguments[0])


def test_what_does_not_end_well_is_a_fault(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """An exception, the exit code of a bug, silence, a file that is left, and a run that takes too long."""

    def leaving(arguments: list[str]) -> int:
        Path("out.mlir").write_text("half")
        print("it is wrong", file=sys.stderr)
        return 1

    def endless(arguments: list[str]) -> int:
        while True:
            pass

    def with_bug(arguments: list[str]) -> int:
        return 3

    def silent(arguments: list[str]) -> int:
        return 1

    monkeypatch.setattr(worker, "MAX_SECONDS", 0.05)
    cases: list[tuple[Callable[[list[str]], int], str]] = [
        (failing, "raises ZeroDivisionError: x"),
        (with_bug, "exit 3: "),
        (silent, "exit 1 without a word"),
        (leaving, "exit 1, but leaves out.mlir"),
        (endless, "takes over 0.05 s in test/unit/bench/test_corrupted_files.py:"),
    ]
    for tool, what in cases:
        monkeypatch.setitem(worker.TOOLS, "tool", tool)
        fault = run_command(folder, {"x": b""}, ("tool", "x"))
        assert isinstance(fault, UncleanExit)
        assert fault.what.startswith(what)
