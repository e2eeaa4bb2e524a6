"""`--debug-rules`: print for each op whether rules match, and the reasons if not."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from xdsl.ir import Operation

from xonnc.errors import suggest
from xonnc.rewriting.remarks import remark, warn
from xonnc.rewriting.statistics import tracing_rules


@dataclass
class RuleNameFilter:
    """The rules whose names match one of the patterns; records the names queried."""

    patterns: tuple[str, ...]
    asked: dict[str, bool] = field(default_factory=dict[str, bool])
    """Each name, and whether it matches."""
    reported: set[tuple[str, Operation, str]] = field(default_factory=set[tuple[str, Operation, str]])

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self.asked:
            self.asked[name] = any(fnmatchcase(name, pattern) for pattern in self.patterns)
        return self.asked[name]

    def tell(self, name: str, op: Operation, refusal: str) -> None:
        """Print a remark on an attempt, once per outcome."""
        if (name, op, refusal) not in self.reported:
            self.reported.add((name, op, refusal))
            remark(f"{name} does not apply: {refusal}" if refusal else f"{name} applies", op)

    def untried(self) -> list[str]:
        """Return the patterns that matched no queried rule."""
        return [
            pattern for pattern in self.patterns if not any(fnmatchcase(name, pattern) for name in self.asked)
        ]


@contextmanager
def trace_rules(asked: Sequence[str], warns: bool = True) -> Generator[None]:
    """
    Print a remark on every attempt of the named rules (`A,B`, `Recompose*`) inside the block.

    Names of rules that were never tried are a warning, if `warns`.
    """
    if not asked:
        yield
        return
    watched = RuleNameFilter(tuple(name for names in asked for name in names.split(",")))
    with tracing_rules(watched, watched.tell):
        yield
    for pattern in watched.untried() if warns else ():
        warn(
            f"--debug-rules: no rule called '{pattern}' was tried on any op{suggest(pattern, watched.asked)}"
        )
