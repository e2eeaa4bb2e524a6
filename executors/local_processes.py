"""Tasks in local worker processes, which are replaced when they die."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import wait
from typing import Any

from xonnc.executors.child_process import ChildProcess
from xonnc.executors.executor import MAX_ATTEMPTS, Answer, Executor, Outcome, Result, Task

WORKER = "xonnc.executors.worker"


@dataclass
class _Attempt:
    """A task that waits or runs, and the workers that it has been given to."""

    index: int
    number: int = 0
    deadline: float = inf


class _Worker:
    """A worker process, with the pickled function that it has."""

    def __init__(self) -> None:
        self.process = ChildProcess(WORKER)
        self._function: bytes | None = None

    def send(self, function: bytes, task: bytes) -> None:
        """Send a task, and the function if the worker has another one; raises `OSError` if it is dead."""
        self.process.connection.send((None if function == self._function else function, task))
        self._function = function


class LocalProcesses(Executor):
    """
    Runs tasks in processes of this machine, each one task at a time.

    `seconds` limits the time of a task: its worker is killed, which counts as a lost worker.
    """

    def __init__(self, workers: int, seconds: float = inf, attempts: int = MAX_ATTEMPTS) -> None:
        self._limit = workers
        self._seconds = seconds
        self._attempts = attempts
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, _Attempt] = {}

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Outcome[Result]]:
        """Run a function on each task; yield the outcomes as they complete."""
        payload = pickle.dumps(function)
        waiting = deque(_Attempt(index) for index in range(len(tasks)))
        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self._limit:
                    self._start(waiting.popleft(), payload, tasks)
                for outcome in self._completed():
                    if isinstance(outcome, _Attempt):
                        waiting.append(outcome)
                    else:
                        yield outcome
        finally:
            # If the caller stops early, the answers of these tasks are of no use.
            for worker in self._busy:
                worker.process.kill()
            self._busy.clear()

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker.process.pid for worker in (*self._idle, *self._busy)]

    def close(self) -> None:
        """Kill the workers."""
        for worker in (*self._idle, *self._busy):
            worker.process.kill()
        self._idle.clear()
        self._busy.clear()

    def _start(self, attempt: _Attempt, function: bytes, tasks: Sequence[Any]) -> None:
        task = pickle.dumps(tasks[attempt.index])
        attempt.number += 1
        while True:
            worker = self._idle.pop() if self._idle else _Worker()
            # A worker that died while it was idle has not been given the task.
            with suppress(OSError):
                worker.send(function, task)
                break
            worker.process.kill()
        attempt.deadline = time.monotonic() + self._seconds
        self._busy[worker] = attempt

    def _completed(self) -> Iterator[Outcome[Any] | _Attempt]:
        """Wait; yield outcomes, and the tasks of lost workers that another worker is to try."""
        workers: dict[object, _Worker] = {worker.process.connection: worker for worker in self._busy}
        deadline = min(attempt.deadline for attempt in self._busy.values())
        timeout = None if deadline == inf else max(0.0, deadline - time.monotonic())
        for connection in wait([worker.process.connection for worker in self._busy], timeout):
            worker = workers[connection]
            attempt = self._busy.pop(worker)
            try:
                answer: Answer = worker.process.connection.recv()
            except (EOFError, OSError):
                yield self._lost(attempt, f"its worker {worker.process.end()}")
                continue
            self._idle.append(worker)
            yield answer.outcome(attempt.index, attempt.number)
        late = [worker for worker, attempt in self._busy.items() if attempt.deadline <= time.monotonic()]
        for worker in late:
            worker.process.kill()
            yield self._lost(self._busy.pop(worker), f"over {self._seconds:g} s")

    def _lost(self, attempt: _Attempt, how: str) -> Outcome[Any] | _Attempt:
        if attempt.number < self._attempts:
            return attempt
        times = f", {attempt.number} times" if attempt.number > 1 else ""
        return Outcome[Any](attempt.index, None, f"{how}{times}", attempt.number, is_lost=True)
