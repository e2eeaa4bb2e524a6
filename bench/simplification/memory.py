"""Current and peak resident memory of this process."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

MEGABYTE = 1e6


def begin_peak() -> float:
    """Reset the peak RSS; return the current RSS in MB."""
    # Writing 5 resets the peak (proc(5), clear_refs); where it fails, the peak since process start counts.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS") or _largest()


def peak() -> float:
    """Peak RSS in MB since `begin_peak`."""
    return _status("VmHWM") or _largest()


def _status(key: str) -> float | None:
    """A field of /proc/self/status in MB; `None` on other systems."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith(f"{key}:")), None)
    return None if found is None else int(found.split()[1]) * 1024 / MEGABYTE


def _largest() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / MEGABYTE if sys.platform == "darwin" else size * 1024 / MEGABYTE
