"""
onnxruntime in a child process, for inputs that may crash it.

Some of its kernels divide by a dimension of 0, or read past a buffer. Then the signal ends the child process
only, and the parent raises an `XonncError`. The child starts at the first call, and again after a crash.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from xonnc.errors import XonncError
from xonnc.executors.child_process import ChildProcess, connection_of
from xonnc.runtime.reference import Array, ModelParameter, ReferenceModel


class ReferenceProcess:
    """A child process that runs models in onnxruntime; a context manager that ends it."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id of the child; `None` if none is running."""
        return None if self._child is None else self._child.pid

    def open(self, path: Path, is_optimized: bool = False) -> IsolatedReference:
        """Open a model, with onnxruntime's graph optimisations off unless `is_optimized`."""
        if not path.is_file():
            raise XonncError(f"{path}: no such file")
        return IsolatedReference(self, path, is_optimized)

    def call(self, path: Path, is_optimized: bool, method: str, *arguments: object) -> Any:
        """Call a method of `ReferenceModel` in the child; raise `XonncError` if it fails or crashes."""
        child = self._child = self._child or ChildProcess(__name__)
        try:
            child.connection.send((path, is_optimized, method, arguments))
            is_good, value = child.connection.recv()
        except (EOFError, OSError):
            self._child = None
            raise XonncError(f"{path}: onnxruntime {child.end()}") from None
        if not is_good:
            raise XonncError(value)
        return value

    def close(self) -> None:
        """Kill the child process, which has no state to save."""
        if self._child is not None:
            self._child.kill()
        self._child = None


class IsolatedReference:
    """A `ReferenceModel` in the child process, with the same methods."""

    def __init__(self, process: ReferenceProcess, path: Path, is_optimized: bool) -> None:
        self._call: Callable[..., Any] = lambda *arguments: process.call(path, is_optimized, *arguments)

    def inputs(self) -> list[ModelParameter]:
        """The inputs that must be fed, in the model's order."""
        return self._call("inputs")

    def output_names(self) -> list[str]:
        """The names of the outputs, of whatever type, in the model's order."""
        return self._call("output_names")

    def run(self, feeds: Mapping[str, Array]) -> list[Array]:
        """Return the outputs, in the model's order, for arrays by input name; `XonncError` on failure."""
        return self._call("run", feeds)


def main() -> None:
    """Serve requests on the connection with the file descriptor `argv[1]` until it is closed."""
    connection = connection_of(sys.argv[1])
    opened: dict[tuple[Path, bool], ReferenceModel] = {}
    with suppress(EOFError, BrokenPipeError):
        while True:
            path, is_optimized, method, arguments = connection.recv()
            key = path, is_optimized
            try:
                reference = opened[key] = opened.get(key) or ReferenceModel(path, is_optimized)
                answer = True, getattr(reference, method)(*arguments)
            except XonncError as error:
                answer = False, str(error)
            except Exception as error:
                answer = False, f"{path}: onnxruntime does not run it: {type(error).__name__}: {error}"
            connection.send(answer)


if __name__ == "__main__":
    main()
