"""
A limit on the optional decisions of the compiler, for bisection (as LLVM's `-opt-bisect-limit`).

A decision is one rewrite by a rule, one merge of equal nodes, one fusion group, the layouts of a function,
or a choice of a pass for NVDLA: layers that are fused, or a cube that shares memory with others.

    with limiting_decisions(40) as decisions:
        simplify(model)
    decisions.made[-1]          # the 40th decision
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import describe

REFUSAL = "the limit of decisions is reached"
"""The reason of a match failure after the limit."""


class Decision(NamedTuple):
    """One optional change of the program."""

    pass_name: str
    what: str
    """The rule, or the kind of the change."""
    node: str
    """The node that is changed, by name or place."""


@dataclass
class Decisions:
    """The decisions made so far, and how many may be made."""

    limit: int | None
    made: list[Decision] = field(default_factory=list[Decision])


_CURRENT: ContextVar[Decisions | None] = ContextVar("decisions", default=None)


@contextmanager
def limiting_decisions(limit: int | None) -> Generator[Decisions]:
    """Record the decisions inside the block and allow the first `limit` of them (`None`: all)."""
    decisions = Decisions(limit)
    token = _CURRENT.set(decisions)
    try:
        yield decisions
    finally:
        _CURRENT.reset(token)


def may_decide(pass_name: str, what: str, op: Operation) -> bool:
    """Whether a decision may be made; if so it counts as made."""
    decisions = _CURRENT.get()
    if decisions is None:
        return True
    if decisions.limit is not None and len(decisions.made) >= decisions.limit:
        return False
    decisions.made.append(Decision(pass_name, what, describe(op)))
    return True
