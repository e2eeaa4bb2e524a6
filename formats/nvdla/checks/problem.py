"""Problems of loadables, and rules that find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ParamSpec

from xonnc.formats.nvdla.enumerations import MemoryType
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

    location: str
    rule: str
    reason: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.location}: {self.reason}"


@dataclass(frozen=True)
class OperationContext:
    """One operation and its surroundings."""

    loadable: Loadable
    task: DlaTask
    operation: Operation
    target: NvdlaTarget

    @property
    def location(self) -> str:
        """The operation's name in messages."""
        return f"{self.task.name} operation {self.operation.index} ({self.operation.engine.name})"


def apply(
    rules: Iterable[Callable[P, Iterator[str]]], location: str, *args: P.args, **kwargs: P.kwargs
) -> Iterator[Violation]:
    """
    Yield the findings of the rules. A rule is a generator function: its name is the rule's, its docstring the
    documentation, and each string a finding (field, value, what is allowed).
    """
    for rule in rules:
        name = getattr(rule, "__name__", "")
        for reason in rule(*args, **kwargs):
            yield Violation(location, name.replace("_", "-"), reason)


def not_in_memory(field: str, type_: int, target: NvdlaTarget) -> Iterator[str]:
    """Yield a finding if the type of a cube is neither DRAM nor the on-chip memory of `target`."""
    allowed = memory_types(target)
    yield from outside(field, type_, allowed[0], allowed[-1])


def memory_types(target: NvdlaTarget, *others: MemoryType) -> tuple[MemoryType, ...]:
    """Return the types of cubes in memory on `target`, and `others`."""
    return (MemoryType.MC, *((MemoryType.CV,) if target.cvsram_bytes else ()), *others)


def outside(field: str, value: int, low: int, high: int) -> Iterator[str]:
    """Yield a finding if a value is not within `low` to `high`."""
    if not low <= value <= high:
        allowed = f"{low} to {high}" if low != high else f"{low}"
        yield f"{field} {value}; it is {allowed}"
