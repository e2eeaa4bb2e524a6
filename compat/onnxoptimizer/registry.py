"""The passes by name, with what ONNX-optimizer tells of each: its type, efficiency and purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node

Rewrite: TypeAlias = Callable[[Graph, Node], bool]
"""Rewrites at one node; whether it did."""


class PassType(Enum):
    """The kind of a pass; those of `FUSE` and `NOP` are the default ones."""

    FUSE = 0
    NOP = 1
    SEPARATE = 2
    IMMUTABLE = 3
    REPLACE = 4
    OTHER = 5


class PassEfficiency(Enum):
    """Whether one run of a pass does all that it can."""

    PARTIAL = 0
    COMPLETE = 1


class PassOptimizationType(Enum):
    """The resource that a pass saves."""

    NONE = 0
    COMPUTE = 1
    MEMORY = 2
    COMPUTE_MEMORY = 3
    STABILITY = 4


class PassAnalysisType(Enum):
    """What a pass tells of its run: nothing, or the number of its rewrites."""

    EMPTY = 0
    COUNT_BASED = 1


WITHOUT_COUNT = frozenset(
    (
        "eliminate_unused_initializer",
        "lift_lexical_references",
        "nop",
        "rename_input_output",
        "rewrite_input_dtype",
        "split_init",
        "split_predict",
    )
)
"""Passes of which ONNX-optimizer does not count the rewrites; here all are counted."""


@dataclass(frozen=True)
class Pass:
    """A pass: a function on a graph that returns the number of its rewrites."""

    name: str
    kind: PassType
    run: Callable[[Graph], int]
    summary: str
    efficiency: PassEfficiency = PassEfficiency.COMPLETE
    optimizes: PassOptimizationType = PassOptimizationType.COMPUTE
    differs: str = ""
    """The difference from ONNX-optimizer's pass of that name."""

    @property
    def analysis(self) -> PassAnalysisType:
        """Return what ONNX-optimizer's pass tells of its run."""
        return PassAnalysisType.EMPTY if self.name in WITHOUT_COUNT else PassAnalysisType.COUNT_BASED

    def metadata(self) -> dict[str, str]:
        """Return what there is to know of the pass, as text."""
        return {
            "name": self.name,
            "type": _words(self.kind),
            "efficiency": _words(self.efficiency),
            "optimizes": _words(self.optimizes),
            "analysis": _words(self.analysis),
            "does": self.summary,
            "differs": self.differs,
        }


def _words(member: Enum) -> str:
    return member.name.lower().replace("_", " ")


PASSES: dict[str, Pass] = {}
"""All passes, in the order in which the default ones run."""

COMPUTE, MEMORY = PassOptimizationType.COMPUTE, PassOptimizationType.MEMORY
NONE, STABILITY = PassOptimizationType.NONE, PassOptimizationType.STABILITY
COMPLETE, PARTIAL = PassEfficiency.COMPLETE, PassEfficiency.PARTIAL


def graph_pass(
    kind: PassType,
    optimizes: PassOptimizationType = COMPUTE,
    efficiency: PassEfficiency = COMPLETE,
    differs: str = "",
) -> Callable[[Callable[[Graph], int]], Callable[[Graph], int]]:
    """Register a function on the main graph as the pass of its name."""

    def register(run: Callable[[Graph], int]) -> Callable[[Graph], int]:
        summary = " ".join((run.__doc__ or "").split())
        PASSES[run.__name__] = Pass(run.__name__, kind, run, summary, efficiency, optimizes, differs)
        return run

    return register


def node_pass(
    kind: PassType,
    optimizes: PassOptimizationType = COMPUTE,
    efficiency: PassEfficiency = COMPLETE,
    differs: str = "",
) -> Callable[[Rewrite], Rewrite]:
    """Register a rewrite of nodes, those of subgraphs included, as the pass of its name."""

    def register(rewrite: Rewrite) -> Rewrite:
        def run(graph: Graph) -> int:
            return visit(graph, rewrite)

        run.__name__, run.__doc__ = rewrite.__name__, rewrite.__doc__
        graph_pass(kind, optimizes, efficiency, differs)(run)
        return rewrite

    return register


def visit(graph: Graph, rewrite: Rewrite) -> int:
    """Apply a rewrite at each node in order, subgraphs first; return how often it applied."""
    count = 0
    for node in graph.nodes():
        for child in graph.subgraphs(node):
            count += visit(child, rewrite)
        count += rewrite(graph, node)
    return count
