"""
The interface of executors, and the one that runs tasks in this process.

    with LocalProcesses(4) as executor:
        for outcome in executor.run(function, tasks):
            print(outcome.index, outcome.value())
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, cast

from xonnc.errors import XonncError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_ATTEMPTS = 3
"""Workers that a task may lose before it is reported as failed."""


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """The result of a task, or why it has none."""

    index: int
    """The index of the task among those given."""
    result: Result | None
    error: str = ""
    """The message of the exception, or how the workers ended; empty if there is a result."""
    attempts: int = 1
    """Workers that the task was given to: above 1 if some were lost."""
    is_lost: bool = False
    """Whether the task was given up because its workers died."""

    def value(self) -> Result:
        """Return the result; raise `XonncError` if the task failed."""
        if self.error:
            raise XonncError(self.error)
        return cast("Result", self.result)


class Executor(ABC):
    """Runs a function on independent tasks; a context manager that ends its workers."""

    @abstractmethod
    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Outcome[Result]]:
        """
        Run a function on each task; yield the outcomes as they complete, in any order.

        The function and the tasks are pickled for workers in other processes: functions must be importable
        there. A worker unpickles the function once for all its tasks, so that an instance of a class with
        `__call__` can keep state between tasks. A task whose worker dies is given to another one, at most
        `MAX_ATTEMPTS` times.
        """

    @abstractmethod
    def close(self) -> None:
        """End the workers, if there are any."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class InProcess(Executor):
    """Runs the tasks one after another in this process, in order."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Outcome[Result]]:
        """Run a function on each task and yield the outcomes in order."""
        for index, task in enumerate(tasks):
            try:
                outcome = Outcome(index, function(task))
            except Exception as error:
                outcome = Outcome[Result](index, None, error_text(error))
            yield outcome

    def close(self) -> None:
        """Do nothing: there are no workers."""


def error_text(error: Exception) -> str:
    """Return the message of an exception, with its type unless it is an error of the user's."""
    if isinstance(error, XonncError):
        return str(error)
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Answer:
    """The pickled result of a task, or the text of its exception."""

    content: bytes
    error: str = ""

    def outcome(self, index: int, attempts: int) -> Outcome[Any]:
        """Return the outcome of the task with a given index."""
        if self.error:
            return Outcome[Any](index, None, self.error, attempts)
        return Outcome(index, pickle.loads(self.content), "", attempts)


def answer(function: Callable[[Any], Any], task: bytes) -> Answer:
    """Run a function on a pickled task in a worker."""
    try:
        return Answer(pickle.dumps(function(pickle.loads(task))))
    except Exception as error:
        return Answer(b"", error_text(error))
