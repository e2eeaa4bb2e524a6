"""
Statistics and traces of rewrite rules by pass.

    with collecting() as ledger:
        pipeline.apply(…)
    ledger.counts["constprop-onnx"]["AddConstProp"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation


@dataclass
class Ledger:
    """Number of rewrites by pass and rule."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])

    def add(self, pass_name: str, fired: Counter[str]) -> None:
        """Add the counts of one run of a pass."""
        self.counts.setdefault(pass_name, Counter()).update(fired)

    def rows(self) -> list[tuple[str, str, int]]:
        """Return pass, rule and count; passes in the order of their first run, rules by falling count."""
        return [
            (name, rule, count) for name, fired in self.counts.items() for rule, count in fired.most_common()
        ]


_LEDGER: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def collecting() -> Generator[Ledger]:
    """Count the rewrites inside the block."""
    ledger = Ledger()
    token = _LEDGER.set(ledger)
    try:
        yield ledger
    finally:
        _LEDGER.reset(token)


def record(pass_name: str, fired: Counter[str]) -> None:
    """Add the counts of a pass to the current ledger, if any."""
    if (ledger := _LEDGER.get()) is not None and fired:
        ledger.add(pass_name, fired)


AttemptCallback = Callable[[str, Operation, str], None]
"""
Called with the name of a rule, the op it was tried on, and the reason of the match failure (empty: it fired).
"""


@dataclass(frozen=True)
class RuleTrace:
    """The traced rules and the callback for their attempts."""

    rules: Container[str]
    tell: AttemptCallback


_RULE_TRACE: ContextVar[RuleTrace | None] = ContextVar("current_trace", default=None)


@contextmanager
def tracing_rules(rules: Container[str], tell: AttemptCallback) -> Generator[None]:
    """Call `tell` for each attempt of the rules named, inside the block."""
    token = _RULE_TRACE.set(RuleTrace(rules, tell))
    try:
        yield
    finally:
        _RULE_TRACE.reset(token)


def current_trace() -> RuleTrace | None:
    """Return the active trace, or `None`."""
    return _RULE_TRACE.get()
