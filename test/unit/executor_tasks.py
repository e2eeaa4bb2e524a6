"""Functions that the tests of executors run in workers, which import them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from xonnc.errors import XonncError

if TYPE_CHECKING:
    from bench.conformance.measure import StageTask


def square(value: int) -> int:
    """Return the square."""
    return value * value


def refuse(value: int) -> int:
    """Refuse odd values."""
    if value % 2:
        raise XonncError(f"{value} is odd")
    if value == 4:
        raise KeyError("four")
    return value


def die_on(value: int) -> int:
    """Kill the worker of the task 3."""
    if value == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def die_once(marker: str) -> str:
    """Kill the first worker that gets this task; the file `marker` says that one did."""
    path = Path(marker)
    if path.suffix and not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def sleep(seconds: float) -> float:
    """Sleep."""
    time.sleep(seconds)
    return seconds


class Counter:
    """Counts the tasks of its worker."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _: int) -> int:
        self.count += 1
        return self.count


def report_or_die(task: StageTask) -> dict[str, int]:
    """Measure a model; die after a figure is reported if it is called so."""
    if task.folder.name == "dies":
        task.report.write_text('{"nodes": 3}')
        os.kill(os.getpid(), signal.SIGKILL)
    return {"nodes": 1}
