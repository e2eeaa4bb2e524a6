"""
Partial conversion: apply rules to every op that matches and leave other ops unchanged.

As in MLIR's partial dialect conversion, ops are visited in textual order and new ops are visited in turn.
Constants are not hoisted and unused ops are not erased. `rewriting.driver` is the greedy driver with folding
and dead-code elimination.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import describe
from xonnc.errors import XonncError
from xonnc.rewriting.building import ReplacementBuilder, RewritePlan
from xonnc.rewriting.decision_limit import REFUSAL, may_decide
from xonnc.rewriting.driver import MatcherTable
from xonnc.rewriting.editing import erase, insert_before, replace_uses
from xonnc.rewriting.extensions import rules_joining
from xonnc.rewriting.matcher import Match, Matcher
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.statistics import current_trace, record

MAX_GENERATIONS = 16
"""An op that is still replaced after this many generations belongs to a cycle of rules."""


def convert(root: Operation, context: Context, rules: RuleSet, *, pass_name: str) -> Counter[str]:
    """
    Apply `rules` inside `root`, also to new ops; return how often each rule fired.

    Counts are recorded in `statistics`. A cycle of rules raises `XonncError` with the op.
    """
    table = MatcherTable(rules, rules_joining(pass_name))
    conversion = _Conversion(DisposablePool.of(context), table, pass_name)
    conversion.run(root)
    record(pass_name, conversion.fired)
    return conversion.fired


@dataclass
class _Conversion:
    """One run over one module."""

    pool: DisposablePool
    rules: MatcherTable
    pass_name: str
    fired: Counter[str] = field(default_factory=Counter[str])
    builders: dict[int, ReplacementBuilder] = field(default_factory=dict[int, ReplacementBuilder])

    def run(self, root: Operation) -> None:
        pending = deque((op, 0) for op in root.walk() if op is not root)
        while pending:
            op, step = pending.popleft()
            if op.parent is None:
                continue
            made = self.rewrite(op)
            if made and step == MAX_GENERATIONS:
                raise XonncError(
                    f"{describe(made[0])}: rules replace {op.name} without end; disable one", made[0]
                )
            pending.extendleft((new, step + 1) for new in reversed(made))

    def rewrite(self, op: Operation) -> Sequence[Operation]:
        """Apply the first rule that matches; return the ops that it created."""
        kind, seen = type(op), current_trace()
        matchers = self.rules.matchers
        for matcher in matchers[kind] if kind in matchers else self.rules.find(kind):
            watched = seen is not None and matcher.rule.name in seen.rules
            plan, refusal = self.plan(op, matcher, watched)
            if seen is not None and watched:
                seen.tell(matcher.rule.name, op, refusal)
            if plan is not None:
                self.fired[matcher.rule.name] += 1
                return self.replace(op, *plan)
        return ()

    def plan(
        self, op: Operation, matcher: Matcher, watched: bool
    ) -> tuple[tuple[ReplacementBuilder, RewritePlan, Match] | None, str]:
        match = matcher.run(op)
        if type(match) is not tuple:
            return None, (matcher.failure_reason(op) or "") if watched else ""
        builder = self.builders.setdefault(id(matcher), ReplacementBuilder(matcher, self.pool))
        plan = builder.plan(match)
        if isinstance(plan, MatchFailure):
            return None, plan.reason
        if not may_decide(self.pass_name, matcher.rule.name, op):
            return None, REFUSAL
        return (builder, plan, match), ""

    def replace(
        self, op: Operation, builder: ReplacementBuilder, plan: RewritePlan, match: Match
    ) -> Sequence[Operation]:
        results: Sequence[SSAValue]
        if isinstance(plan, ImperativeRewrite):
            before = op.prev_op
            results = plan.apply(op)
            new = _made(before, op)
        else:
            built = builder.build(plan, match)
            new, results = built.ops, built.results
            insert_before(op, new)
        for old, result in zip(op.results, results, strict=True):
            replace_uses(old, result)
        erase(op)
        return new


def _made(before: Operation | None, op: Operation) -> list[Operation]:
    """Return the ops that an imperative rewrite inserted before `op`."""
    found: list[Operation] = []
    block = op.parent
    each = before.next_op if before is not None else (block.first_op if block is not None else None)
    while each is not None and each is not op:
        found.append(each)
        each = each.next_op
    return found
