"""Problems of loadables, and rules that find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ParamSpec

from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.tasks import DlaTask, Operation
from xonnc.targets import NvdlaTarget

P = ParamSpec("P")


class Severity(StrEnum):
    """Errors are what the target cannot run or computes wrong; warnings may fail on some hardware or runs."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """A violated rule and its location; `rule` is a stable name."""

    place: str
    rule: str
    reason: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class OperationContext:
    """One operation and its surroundings."""

    loadable: Loadable
    task: DlaTask
    operation: Operation
    target: NvdlaTarget

    @property
    def place(self) -> str:
        """The operation's name in messages."""
        return f"{self.task.name} operation {self.operation.index} ({self.operation.engine.name})"


def apply(
    rules: Iterable[Callable[P, Iterator[str]]], place: str, *args: P.args, **kwargs: P.kwargs
) -> Iterator[Violation]:
    """
    Yield the findings of the rules. A rule is a generator function: its name is the rule's, its docstring the
    documentation, and each string a finding (field, value, what is allowed).
    """
    for rule in rules:
        name = getattr(rule, "__name__", "")
        for reason in rule(*args, **kwargs):
            yield Violation(place, name.replace("_", "-"), reason)


def outside(field: str, value: int, low: int, high: int) -> Iterator[str]:
    """Yield a finding if a value is not within `low` to `high`."""
    if not low <= value <= high:
        allowed = f"{low} to {high}" if low != high else f"{low}"
        yield f"{field} {value}; it is {allowed}"
