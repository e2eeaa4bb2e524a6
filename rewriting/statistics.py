"""
What the rules of each pass have done, for whoever asks.

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
    """How often each rule fired, by pass and rule name."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, "Counter[str]"])

    def add(self, pass_name: str, fired: Counter[str]) -> None:
        """Adds the counts of one run of a pass."""
        self.counts.setdefault(pass_name, Counter()).update(fired)

    def rows(self) -> list[tuple[str, str, int]]:
        """Pass, rule and count, the passes in the order of their first run, the busiest rules first."""
        return [
            (name, rule, count) for name, fired in self.counts.items() for rule, count in fired.most_common()
        ]


_LEDGER: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def collecting() -> Generator[Ledger]:
    """A ledger that hears of every rule fired inside the block."""
    ledger = Ledger()
    token = _LEDGER.set(ledger)
    try:
        yield ledger
    finally:
        _LEDGER.reset(token)


def record(pass_name: str, fired: Counter[str]) -> None:
    """Tells the ledger in force, if any, what the rules of a pass have done."""
    if (ledger := _LEDGER.get()) is not None and fired:
        ledger.add(pass_name, fired)


AttemptCallback = Callable[[str, Operation, str], None]
"""Told the name of a rule, the op it was tried on, and why it did not apply (empty: it fired)."""


@dataclass(frozen=True)
class RuleTrace:
    """Which rules somebody watches, and who."""

    rules: Container[str]
    tell: AttemptCallback


_RULE_TRACE: ContextVar[RuleTrace | None] = ContextVar("current_trace", default=None)


@contextmanager
def tracing_rules(rules: Container[str], tell: AttemptCallback) -> Generator[None]:
    """Tells `tell` of every attempt of the rules named, inside the block."""
    token = _RULE_TRACE.set(RuleTrace(rules, tell))
    try:
        yield
    finally:
        _RULE_TRACE.reset(token)


def current_trace() -> RuleTrace | None:
    """The current_trace in force."""
    return _RULE_TRACE.get()
