"""Numbers, aligned rows and progress on the console."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from xonnc.tools import console


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (1_000_000, "1.0 MB"),
        (287_340_000, "287.3 MB"),
        (1_000_000_000, "1.0 GB"),
        (5_000_000_000_000, "5000.0 GB"),
    ],
)
def test_sizes(count: float, text: str):
    assert console.size(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0 k"),
        (1_000_000, "1.0 M"),
        (25_560_000, "25.6 M"),
        (1_000_000_000, "1.0 G"),
    ],
)
def test_quantities(count: float, text: str):
    assert console.quantity(count) == text


def test_plurals():
    assert [console.plural(count, "input") for count in (0, 1, 2)] == ["0 inputs", "1 input", "2 inputs"]


def test_columns_are_aligned_without_blanks_at_line_ends():
    assert console.columns([("a", "bb", "c"), ("ddd", "e", "")]) == ["a    bb  c", "ddd  e"]


def test_rows_of_files(capsys: pytest.CaptureFixture[str]):
    console.wrote(Path("m.o"))
    console.wrote(Path("m.o"), 0)
    console.wrote(Path("m.o"), 2000, ", new")
    assert capsys.readouterr().out.splitlines() == [
        "  wrote        m.o",
        "  wrote        m.o (0 B)",
        "  wrote        m.o (2.0 kB), new",
    ]


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("delay", "is_terminal", "is_quiet", "is_shown"),
    [(0, True, False, True), (0, True, True, False), (0, False, False, False), (3600, True, False, False)],
)
def test_progress(
    delay: float, is_terminal: bool, is_quiet: bool, is_shown: bool, monkeypatch: pytest.MonkeyPatch
):
    stream = Terminal() if is_terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(console, "PROGRESS_DELAY_SECONDS", delay)
    monkeypatch.setenv("TERM", "xterm")
    with console.progress("reading", is_quiet) as update:
        update(1, 2, "weights")
    assert ("reading" in stream.getvalue()) == is_shown
