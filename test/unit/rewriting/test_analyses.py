"""Analyses that passes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.rewriting.analyses import analysis_for, sharing_analyses


class OpCount:
    """An analysis: the number of ops."""

    runs: ClassVar[int] = 0

    def __init__(self, root: Operation) -> None:
        type(self).runs += 1
        self.number = sum(1 for _ in root.walk())


@dataclass(frozen=True)
class Reading(ModulePass):
    """Needs the count, and changes nothing."""

    name = "reading"
    needs: ClassVar = (OpCount,)
    keeps: ClassVar = (OpCount,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert analysis_for(self, OpCount, op).number == sum(1 for _ in op.walk())


@dataclass(frozen=True)
class Adding(ModulePass):
    """Adds an op, and keeps nothing."""

    name = "adding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_op(ModuleOp([]))


@dataclass(frozen=True)
class Undeclared(ModulePass):
    """Uses an analysis without a declaration."""

    name = "undeclared"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        analysis_for(self, OpCount, op)


def run(*passes: ModulePass) -> int:
    """Return how often the analysis was computed in a pipeline."""
    module, before = ModuleOp([]), OpCount.runs
    with sharing_analyses() as shared:
        for each in passes:
            each.apply(Context(), module)
            shared.finish(each)
    assert shared.computed == [OpCount] * (OpCount.runs - before)
    return OpCount.runs - before


def test_an_analysis_is_computed_once_while_it_is_kept():
    assert run(Reading(), Reading(), Reading()) == 1


def test_it_is_computed_again_after_a_change():
    assert run(Reading(), Adding(), Reading(), Reading(), Adding()) == 2


def test_nothing_is_computed_that_no_pass_asks_for():
    assert run(Adding()) == 0


def test_results_are_of_one_module():
    with sharing_analyses() as shared:
        for module in (ModuleOp([]), ModuleOp([ModuleOp([])])):
            Reading().apply(Context(), module)
    assert len(shared.computed) == 2


def test_each_request_computes_outside_of_a_pipeline():
    before = OpCount.runs
    module = ModuleOp([])
    Reading().apply(Context(), module)
    Adding().apply(Context(), module)
    Reading().apply(Context(), module)
    assert OpCount.runs - before == 2


def test_an_analysis_must_be_declared():
    with pytest.raises(AssertionError, match="pass undeclared uses OpCount, which it does not declare"):
        Undeclared().apply(Context(), ModuleOp([]))
