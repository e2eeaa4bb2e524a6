"""
Times of the parts of a simplification, nested, recorded on demand.

    with recording() as spans:
        simplify(model)
    print(spans[0].name, spans[0].seconds)
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter, process_time


@dataclass(frozen=True)
class Span:
    """One run of a part; spans of a list are in the order of their ends."""

    name: str
    start: float
    """In seconds of `perf_counter`."""
    seconds: float
    cpu_seconds: float
    """Processor time of all threads."""
    nodes: int | None
    """Number of nodes afterwards, where it is counted."""


_SPANS: ContextVar[list[Span] | None] = ContextVar("spans", default=None)


@contextmanager
def recording() -> Generator[list[Span]]:
    """Record the parts that run inside the block."""
    spans: list[Span] = []
    token = _SPANS.set(spans)
    try:
        yield spans
    finally:
        _SPANS.reset(token)


@contextmanager
def timed(name: str, nodes: Callable[[], int] | None = None) -> Generator[None]:
    """Time the block, if times are recorded; `nodes` counts the nodes then."""
    spans = _SPANS.get()
    if spans is None:
        yield
        return
    start, cpu = perf_counter(), process_time()
    try:
        yield
    finally:
        seconds, cpu_seconds = perf_counter() - start, process_time() - cpu
        spans.append(Span(name, start, seconds, cpu_seconds, None if nodes is None else nodes()))
