"""Console output of the tools: rows of reports and a progress bar on terminals."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

PROGRESS_DELAY_SECONDS = 1.0
"""Seconds after which a progress bar is shown."""


class ProgressCallback(Protocol):
    """A function called with the progress of a task."""

    def __call__(self, done: int, total: int, what: str = "") -> None: ...


def row(label: str, text: str) -> None:
    """Print a row of a report: a label and a text."""
    print(f"  {label:<12} {text}")


def wrote(path: Path, count: float | None = None, remark: str = "") -> None:
    """Print the row of a file written: its path, its size in bytes, and a remark."""
    row("wrote", f"{path}" + (f" ({size(count)})" if count is not None else "") + remark)


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows of cells as aligned lines."""
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in rows
    ]


def size(count: float) -> str:
    """Format a number of bytes: `287.3 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f} B"


def plural(count: int, noun: str) -> str:
    """`1 input`, `2 inputs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def quantity(count: float) -> str:
    """Format a large count: `25.6 M`."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count:.0f}"


@contextmanager
def progress(label: str, quiet: bool = False) -> Generator[ProgressCallback]:
    """Show a progress bar on standard error if that is a terminal and the task takes over a second."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    bar = _Bar(label)
    try:
        yield bar
    finally:
        bar.close()


def _silent(done: int, total: int, what: str = "") -> None:
    """Ignore progress."""


class _Bar:
    """A `rich` bar that appears after `PROGRESS_DELAY_SECONDS` seconds."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begun = time.monotonic()
        self.update: ProgressCallback | None = None
        self.close = lambda: None

    def __call__(self, done: int, total: int, what: str = "") -> None:
        if self.update is None:
            if time.monotonic() - self.begun < PROGRESS_DELAY_SECONDS:
                return
            self.update = self._open()
        self.update(done, total, what)

    def _open(self) -> ProgressCallback:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[what]}"),
            console=Console(stderr=True),
            transient=True,
        )
        task = bar.add_task(self.label, total=None, what="")
        bar.start()
        self.close = bar.stop

        def update(done: int, total: int, what: str = "") -> None:
            bar.update(task, completed=done, total=total, what=what)

        return update
