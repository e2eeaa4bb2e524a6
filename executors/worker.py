"""The program of a local worker process."""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from xonnc.executors.child_process import connection_of
from xonnc.executors.executor import Answer, answer, error_text


def main() -> None:
    """Run tasks until the connection is closed."""
    # An interrupt of the terminal reaches the parent too, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(connection_of(sys.argv[1]))


def serve(connection: Connection) -> None:
    """Answer each task on the connection; a function comes with the first of its tasks."""
    function: Callable[[Any], Any] | Exception = ValueError("no function")
    with suppress(EOFError, BrokenPipeError):
        while True:
            payload, task = connection.recv()
            if payload is not None:
                try:
                    function = pickle.loads(payload)
                except Exception as error:
                    function = error
            if isinstance(function, Exception):
                connection.send(Answer(b"", error_text(function)))
            else:
                connection.send(answer(function, task))


if __name__ == "__main__":
    main()
