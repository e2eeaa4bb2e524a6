"""
Analyses that passes share: computed when a pass asks, and again after a pass that does not keep them.

    class RemoveSameOnnxDim(ModulePass):
        needs = (DimAnalysis,)

        def apply(self, ctx, op):
            analysis = analysis_for(self, DimAnalysis, op)

A pass declares the analyses that it `needs`, and those that it `keeps`: their results hold for the module
that it leaves. Inside `sharing_analyses` a result is kept until a pass ends that does not keep it. Elsewhere
each request computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.ir import Operation
from xdsl.passes import ModulePass

AnalysisT = TypeVar("AnalysisT")


@dataclass
class SharedAnalyses:
    """The analyses of the running pipeline, by their class and the op that they are of."""

    results: dict[tuple[type, Operation], Any] = field(default_factory=dict[tuple[type, Operation], Any])
    computed: list[type] = field(default_factory=list[type])
    """The analyses that were computed, in order."""

    def get(self, kind: type, root: Operation, compute: Callable[[], Any]) -> Any:
        """Return an analysis, which is computed if no result of it is kept."""
        if (kind, root) not in self.results:
            self.computed.append(kind)
            self.results[kind, root] = compute()
        return self.results[kind, root]

    def finish(self, pass_: ModulePass) -> list[type]:
        """Drop what a pass that has ended does not keep; return the analyses dropped."""
        kept = kept_by(pass_)
        dropped = [each for each in self.results if each[0] not in kept]
        for each in dropped:
            del self.results[each]
        return list(dict.fromkeys(kind for kind, _ in dropped))


_SHARED: ContextVar[SharedAnalyses | None] = ContextVar("analyses", default=None)


@contextmanager
def sharing_analyses() -> Generator[SharedAnalyses]:
    """Share the analyses of the passes that run inside the block."""
    shared = SharedAnalyses()
    token = _SHARED.set(shared)
    try:
        yield shared
    finally:
        _SHARED.reset(token)


def analysis_for(pass_: ModulePass, kind: Callable[[Operation], AnalysisT], root: Operation) -> AnalysisT:
    """Return an analysis of `root` for a pass that declares that it needs it."""
    assert isinstance(kind, type)
    assert kind in needed_by(pass_), f"pass {pass_.name} uses {kind.__name__}, which it does not declare"
    shared = _SHARED.get()
    return kind(root) if shared is None else shared.get(kind, root, lambda: kind(root))


def needed_by(pass_: ModulePass | type[ModulePass]) -> Sequence[type]:
    """Return the analyses that a pass declares to need."""
    return getattr(pass_, "needs", ())


def kept_by(pass_: ModulePass | type[ModulePass]) -> Sequence[type]:
    """Return the analyses that a pass declares to keep."""
    return getattr(pass_, "keeps", ())
