"""
The input files of a command, which its outputs must not overwrite.

Readers note what they open while a command runs inside `protect_inputs`; a program that uses the Python
interface decides for itself what it replaces.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from xonnc.errors import XonncError

_INPUTS: ContextVar[set[tuple[int, int]] | None] = ContextVar("inputs", default=None)
"""Device and number of each regular file that was read, however it was named."""


@contextmanager
def protect_inputs() -> Generator[None]:
    """Record input files while the block runs."""
    token = _INPUTS.set(set())
    try:
        yield
    finally:
        _INPUTS.reset(token)


def record_input(file: Path | int) -> None:
    """Record a file as input, by its path or an open descriptor."""
    inputs = _INPUTS.get()
    if inputs is None:
        return
    # What cannot be opened is told by whoever reads it.
    with suppress(OSError):
        status = os.stat(file)
        if stat.S_ISREG(status.st_mode):
            inputs.add((status.st_dev, status.st_ino))


def require_not_input(path: Path, status: os.stat_result) -> None:
    """Raise `XonncError` if the file at `path` was recorded as input."""
    if (status.st_dev, status.st_ino) in (_INPUTS.get() or ()):
        raise XonncError(f"{path}: is an input of this command, which would be lost; name another output")
