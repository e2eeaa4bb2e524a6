"""Machine code in a shared library, loaded in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ctypes import CDLL, CFUNCTYPE, c_int, c_void_p
from pathlib import Path
from weakref import finalize

from xonnc.errors import XonncError
from xonnc.runtime.native.jit import Entry, Threads


class LinkedCode:
    """Functions of a shared library, with its thread pool."""

    def __init__(self, path: Path, known: str, names: Mapping[str, object], threads: Threads) -> None:
        """Load the library, which has the function `known`, and start its threads."""
        try:
            library = CDLL(str(path.resolve()))
        except OSError as error:
            raise XonncError(f"{path}: cannot be loaded: {error}") from None
        if not hasattr(library, known):
            raise XonncError(f"{path}: not the code that was built with this graph")
        kind = CFUNCTYPE(None, c_void_p)
        self.entries: dict[str, Entry] = {name: kind((name, library)) for name in names}
        self._threads = threads
        self._library = library
        self.start()
        if threads.compiled > 1:
            finalize(self, _stop, library, os.getpid())

    def start(self) -> None:
        """Start the threads; again in a forked child, which has none of its parent's."""
        if self._threads.compiled > 1:
            start = CFUNCTYPE(c_int, c_int)(("pool_start", self._library))
            started = start(self._threads.started)
            if started != self._threads.started:
                raise XonncError(
                    f"threads: the system gives {started}, {self._threads.started} were asked for"
                )


def _stop(library: CDLL, process: int) -> None:
    if os.getpid() == process:
        CFUNCTYPE(None)(("pool_stop", library))()
