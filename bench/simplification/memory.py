"""How much memory this process holds and held at most."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

MEGABYTE = 1e6


def begin_peak() -> float:
    """Starts a new peak of resident memory; megabytes that are resident now."""
    # 5 makes the kernel forget the peak (proc(5), clear_refs); without it there is the peak since the start.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS") or _largest()


def peak() -> float:
    """Megabytes that were resident at most since the peak began."""
    return _status("VmHWM") or _largest()


def _status(key: str) -> float | None:
    """Megabytes by Linux's name; `None` elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith(f"{key}:")), None)
    return None if found is None else int(found.split()[1]) * 1024 / MEGABYTE


def _largest() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / MEGABYTE if sys.platform == "darwin" else size * 1024 / MEGABYTE
