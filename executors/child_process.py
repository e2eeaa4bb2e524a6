"""A child process that runs a module of this package, with a connection to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection


class ChildProcess:
    """
    A Python process that runs a module with the file descriptor of a connection as its argument.

    Unlike the processes of `multiprocessing`, it does not import the main module of its parent.
    """

    def __init__(self, module: str) -> None:
        own, other = socket.socketpair()
        with other:
            command = [sys.executable, "-P", "-m", module, str(other.fileno())]
            paths = os.pathsep.join(os.path.abspath(folder) for folder in sys.path if folder)
            environment = os.environ | {"PYTHONPATH": paths}
            self._process = subprocess.Popen(
                command, env=environment, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL
            )
        self.connection = Connection(own.detach())

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def end(self) -> str:
        """Wait for the process that closed its connection, and return how it ended."""
        code = self._process.wait()
        self.connection.close()
        return f"crashes with {signal.Signals(-code).name}" if code < 0 else f"exits with code {code}"

    def kill(self) -> None:
        """Kill the process."""
        self.connection.close()
        self._process.kill()
        self._process.wait()


def connection_of(argument: str) -> Connection:
    """Return the connection to the parent, in the child."""
    descriptor = int(argument)
    os.set_inheritable(descriptor, False)
    return Connection(descriptor)
