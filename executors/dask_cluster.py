"""Tasks on the workers of a Dask cluster (https://distributed.dask.org)."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol
from uuid import uuid4

from xonnc.errors import XonncError
from xonnc.executors.executor import Answer, Executor, Outcome, Result, Task, answer

CONNECT_SECONDS = 30.0
"""Time in which the scheduler has to answer, and a worker to register."""


class _Future(Protocol):
    """The future of Dask, as far as it is used here."""

    status: str

    def result(self) -> Any: ...

    def exception(self) -> BaseException | None: ...


class _Client(Protocol):
    """The client of Dask, as far as it is used here."""

    loop: Any

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str, pure: bool) -> _Future: ...

    def scheduler_info(self) -> Mapping[str, Any]: ...

    def close(self) -> None: ...


class DaskCluster(Executor):
    """
    Runs tasks on the workers that a Dask scheduler knows, which need the same version of xonnc.

    Dask gives the tasks of a lost worker to another one. After `distributed.scheduler.allowed-failures`
    losses it gives up a task, and those that waited on the same workers. These suspects run again, one at a
    time, so that only a task that kills its workers by itself is reported.
    """

    def __init__(self, scheduler: str) -> None:
        """Connect; raise `XonncError` if there is no scheduler at the address, or no worker."""
        try:
            self._dask: Any = import_module("distributed")
        except ImportError:
            raise XonncError("--scheduler needs Dask: pip install 'xonnc[cluster]'") from None
        try:
            self._client: _Client = self._dask.Client(
                scheduler, timeout=CONNECT_SECONDS, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise XonncError(f"{scheduler}: no scheduler: {error}") from None
        deadline = time.monotonic() + CONNECT_SECONDS
        while not self._client.scheduler_info()["workers"]:
            if time.monotonic() > deadline:
                self.close()
                raise XonncError(
                    f"{scheduler}: a scheduler without workers; start one: dask worker {scheduler}"
                )
            time.sleep(0.1)

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Outcome[Result]]:
        """Run a function on each task; yield the outcomes as they complete."""
        run = uuid4().hex
        # A task of its own: Dask computes it again if the workers that hold it are lost.
        loaded = self._client.submit(pickle.loads, pickle.dumps(function), key=f"function-{run}", pure=False)

        def submitted(index: int, attempt: int) -> _Future:
            key = f"task-{run}-{index}-{attempt}"
            return self._client.submit(answer, loaded, pickle.dumps(tasks[index]), key=key, pure=False)

        indices = {submitted(index, 1): index for index in range(len(tasks))}
        suspects: list[int] = []
        for future in self._as_completed(list(indices)):
            index = indices.pop(future)
            if isinstance(future.exception(), self._dask.KilledWorker):
                suspects.append(index)
            else:
                yield _outcome(future, index, 1)
        for index in suspects:
            yield _outcome(submitted(index, 2), index, 2)

    def _as_completed(self, futures: Sequence[_Future]) -> Iterable[_Future]:
        return self._dask.as_completed(futures, loop=self._client.loop) if futures else ()

    def close(self) -> None:
        """Disconnect; the workers are not ended."""
        self._client.close()


def _outcome(future: _Future, index: int, attempts: int) -> Outcome[Any]:
    error = future.exception()
    if error is not None:
        return Outcome[Any](index, None, f"given up by Dask: {error}", attempts, is_lost=True)
    found: Answer = future.result()
    return found.outcome(index, attempts)
