"""
Greedy rewrite driver: apply rules to a fixed point.

The worklist holds ops; rules are found by op class, highest benefit first. Dead ops are erased at once, with
their attributes. Each sweep starts by hoisting and merging constants as MLIR's greedy driver does
(docs/internals/onnx-rules.md §1.3); sweeps repeat while something changes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, Pure
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.worklist import Worklist

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived, describe
from xonnc.errors import XonncError
from xonnc.rewriting.building import ReplacementBuilder, RewritePlan
from xonnc.rewriting.constant_hoisting import hoist_constants
from xonnc.rewriting.decision_limit import REFUSAL, may_decide
from xonnc.rewriting.editing import erase, insert_before, replace_uses, retype_function, transfer_results
from xonnc.rewriting.extensions import rules_joining
from xonnc.rewriting.matcher import Match, Matcher, compile_rule
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.statistics import current_trace, record

REWRITES_PER_OP = 100
"""Rewrites allowed per op of the module. More mean that rules undo each other."""
MIN_REWRITE_LIMIT = 2_000
"""Rewrites allowed at least, however small the module is."""

WIDE_OPERAND_COUNT = 64
"""
Ops with more operands get them replaced in one batch, since xDSL rebuilds the operand tuple at each
replacement (quadratic cost).
"""


class MatcherTable:
    """Matchers by class of their root op, highest benefit first."""

    def __init__(self, rules: RuleSet, joined: RuleSet | None = None) -> None:
        """`joined` are rules from outside of the pass, tried after its own."""
        self.rules = rules
        self.joined = joined
        self.matchers: dict[type[Operation], tuple[Matcher, ...]] = {}

    def find(self, kind: type[Operation]) -> tuple[Matcher, ...]:
        """Return the matchers for an op class in the order in which they are tried."""
        rules = [*self.rules.by_root.get(kind, ())]
        if self.joined is not None:
            rules += self.joined.by_root.get(kind, ())
        found = self.matchers[kind] = tuple(compile_rule(rule) for rule in rules)
        return found


@dataclass
class RewriteReport:
    """Statistics of a run of the driver."""

    fired: Counter[str] = field(default_factory=Counter[str])
    attempts: int = 0
    """Number of rules tried on an op."""
    visits: int = 0
    """Number of ops visited."""
    sweeps: int = 0
    unfinished: tuple[str, ...] = ()
    """Names of the last rules that fired, if the run stopped at the rewrite limit."""

    @property
    def changed(self) -> bool:
        """Whether a rule fired."""
        return bool(self.fired)


def apply_rules(
    root: Operation,
    context: Context,
    rules: RuleSet,
    *,
    pass_name: str,
    max_rewrites: int | None = None,
) -> RewriteReport:
    """
    Apply `rules` inside `root` to a fixed point.

    Ops are visited in textual order, so that constants fold in the order of computation. More than
    `max_rewrites` rewrites (default: a multiple of the number of ops) raise `XonncError` with the names of
    the rules at work. Counts are recorded in `statistics`.
    """
    table = MatcherTable(rules, rules_joining(pass_name))
    driver = _Driver(root, DisposablePool.of(context), table, pass_name)
    driver.run(max_rewrites)
    record(pass_name, driver.report.fired)
    return driver.report


VisitCallback = Callable[[Operation], Sequence[Operation]]
"""Called with an op before its rules are tried; returns the ops whose result types changed."""


def apply_rules_within(
    root: Operation,
    context: Context,
    rules: RuleSet,
    *,
    pass_name: str,
    max_rewrites: int,
    visit: VisitCallback,
) -> RewriteReport:
    """
    Apply `rules` inside `root` to a fixed point, or for `max_rewrites` rewrites.

    `visit` is called with each op before its rules. Reaching the limit is no error: the report names the
    rules at work (`unfinished`).
    """
    table = MatcherTable(rules, rules_joining(pass_name))
    driver = _Driver(root, DisposablePool.of(context), table, pass_name, visit=visit)
    driver.run(max_rewrites)
    record(pass_name, driver.report.fired)
    return driver.report


@dataclass
class _Driver:
    """One run over one module."""

    root: Operation
    pool: DisposablePool
    rules: MatcherTable
    pass_name: str
    report: RewriteReport = field(default_factory=RewriteReport)
    worklist: Worklist = field(default_factory=Worklist)
    last: deque[tuple[str, str]] = field(default_factory=lambda: deque[tuple[str, str]](maxlen=12))
    builders: dict[int, ReplacementBuilder] = field(default_factory=dict[int, ReplacementBuilder])
    removed: int = 0
    postponed: dict[Operation, dict[Operation, None]] = field(
        default_factory=dict[Operation, "dict[Operation, None]"]
    )
    """Ops that are to be replaced by existing values, by the wide op that reads them."""
    joining: dict[SSAValue, SSAValue] | None = None
    """Replacement of each value while the operands of a wide op are replaced in one batch, else `None`."""
    sure_pure: dict[type[Operation], bool] = field(default_factory=dict[type[Operation], bool])
    visit: VisitCallback | None = None
    """
    Called before the rules of an op. If set, the rewrite limit ends the run; else exceeding it is an error.
    """

    def run(self, max_rewrites: int | None) -> None:
        # Folding an overflow that the model itself computes is correct: suppress numpy's warnings.
        with np.errstate(all="ignore"):
            self.run_to_end(max_rewrites)
        if self.report.changed:
            self.retype_functions()

    def retype_functions(self) -> None:
        """
        Update function types to the returned types: `func.return` requires them to be equal, `onnx.Return`
        does not.
        """
        inside = (op for region in self.root.regions for block in region.blocks for op in block.ops)
        for function in (self.root, *inside):
            if isinstance(function, func.FuncOp) and isinstance(_end(function), func.ReturnOp):
                retype_function(function)

    def run_to_end(self, max_rewrites: int | None) -> None:
        changes = -1
        limit = max_rewrites
        # The left operand is read before the assignment: it is the count after the last hoisting, since ops
        # that hoisting merged are no reason for another sweep.
        while changes != (changes := self.report.fired.total() + self.removed):
            for dialect in self.rules.rules.dialects:
                hoist_constants(self.root, dialect, self.drop)
            changes = self.report.fired.total() + self.removed
            size = self.fill()
            if limit is None:
                limit = max(MIN_REWRITE_LIMIT, REWRITES_PER_OP * size)
            if self.visit is None:
                self.sweep(limit)
            else:
                self.sweep_within(limit, self.visit)
                if self.report.unfinished:
                    return
            self.report.sweeps += 1

    def fill(self) -> int:
        """Push all ops in reverse order, since ops are popped from the end; return their number."""
        self.postponed.clear()
        ops = [op for op in self.root.walk() if op is not self.root]
        for op in reversed(ops):
            self.worklist.push(op)
        return len(ops)

    def sweep(self, limit: int) -> None:
        worklist, matchers, report = self.worklist, self.rules.matchers, self.report
        while worklist:
            op = worklist.pop()
            report.visits += 1
            if self.is_dead(op):
                self.drop(op)
                continue
            if op in self.postponed:
                self.join(op)
            kind = type(op)
            found = matchers[kind] if kind in matchers else self.rules.find(kind)
            if found and self.rewrite(op, found) and report.fired.total() > limit:
                raise XonncError(self.endless(limit))

    def sweep_within(self, limit: int, visit: VisitCallback) -> None:
        while self.worklist:
            op = self.worklist.pop()
            self.report.visits += 1
            if self.is_dead(op):
                self.drop(op)
                continue
            if op in self.postponed:
                self.join(op)
            for retyped in visit(op):
                for result in retyped.results:
                    for use in result.uses:
                        self.worklist.push(use.operation)
            found = self.rules.matchers.get(type(op)) or self.rules.find(type(op))
            if self.rewrite(op, found) and self.report.fired.total() >= limit:
                self.report.unfinished = tuple(dict.fromkeys(name for name, _ in self.last))
                return

    def rewrite(self, op: Operation, matchers: Sequence[Matcher]) -> bool:
        """Apply the first rule that matches; return whether one did."""
        seen = current_trace()
        for matcher in matchers:
            self.report.attempts += 1
            match = matcher.run(op)
            if type(match) is tuple:
                refusal = self.apply(op, matcher, match)
            elif seen is None or matcher.rule.name not in seen.rules:
                continue
            else:
                refusal = matcher.failure_reason(op) or ""
            if seen is not None and matcher.rule.name in seen.rules:
                seen.tell(matcher.rule.name, op, refusal)
            if not refusal:
                return True
        return False

    def apply(self, op: Operation, matcher: Matcher, match: Match) -> str:
        """Replace the op; return the reason of a match failure, or an empty string."""
        builder = self.builders.get(id(matcher))
        if builder is None:
            builder = self.builders[id(matcher)] = ReplacementBuilder(matcher, self.pool)
        plan = builder.plan(match)
        if isinstance(plan, MatchFailure):
            return plan.reason
        if not may_decide(self.pass_name, matcher.rule.name, op):
            return REFUSAL
        if self.postpone(op, plan):
            return ""
        self.report.fired[matcher.rule.name] += 1
        self.last.append((matcher.rule.name, describe(op)))
        self.replace(op, builder, plan, match)
        return ""

    def replace(self, op: Operation, builder: ReplacementBuilder, plan: RewritePlan, match: Match) -> None:
        if isinstance(plan, ImperativeRewrite):
            before = op.prev_op
            results = list(plan.apply(op))
            new = _between(before, op)
        else:
            built = builder.build(plan, match)
            new, results = built.ops, built.results
            insert_before(op, new)
        absent = self.absent_results(op, results, builder)
        insert_before(op, absent)
        new += absent
        users = dict.fromkeys(use.operation for result in op.results for use in result.uses)
        maker = new[-1] if new else None
        if (
            maker is not None
            and len(results) == len(maker.results)
            and all(result is made for result, made in zip(results, maker.results, strict=True))
            and not any(result.uses for result in results)
        ):
            transfer_results(op, maker)
        else:
            for old, result in zip(op.results, results, strict=True):
                self.redirect(old, result)
        for user in users:
            self.worklist.push(user)
        for made in new:
            self.worklist.push(made)
        if self.joining is None:
            self.drop(op)

    def absent_results(
        self, op: Operation, results: list[SSAValue], builder: ReplacementBuilder
    ) -> list[Operation]:
        """
        Replace entries of `results` by `none` values where `op` has an absent result; return the ops created.

        A user of such a result relies on its type to tell an absent operand.
        """
        made: list[Operation] = []
        for index, old in enumerate(op.results):
            if type(old.type) is NoneType and type(results[index].type) is not NoneType and old.first_use:
                absent = builder.dialect.absent(derived(op.location))
                made.append(absent)
                results[index] = absent.results[0]
        return made

    def redirect(self, old: SSAValue, new: SSAValue) -> None:
        """Replace the uses of `old` by `new`, at once or with the batch of a wide op."""
        if self.joining is None:
            replace_uses(old, new)
        else:
            self.joining[old] = new

    def postpone(self, op: Operation, plan: RewritePlan) -> bool:
        """
        Return whether the replacement of `op` by existing values is deferred to the visit of its wide user.
        """
        if self.joining is not None or isinstance(plan, ImperativeRewrite):
            return False
        if not all(isinstance(part, SSAValue) for part in plan):
            return False
        readers = dict.fromkeys(use.operation for result in op.results for use in result.uses)
        wide = next((reader for reader in readers if len(reader.operands) > WIDE_OPERAND_COUNT), None)
        if wide is None:
            return False
        self.postponed.setdefault(wide, {})[op] = None
        self.worklist.push(wide)
        return True

    def join(self, wide: Operation) -> None:
        """Apply the replacements deferred for a wide op: its operands are rebuilt once."""
        self.joining = {}
        waiting = [op for op in self.postponed.pop(wide) if op.parent is not None]
        for op in waiting:
            self.rewrite(op, self.rules.find(type(op)))
        joined, self.joining = self.joining, None
        wide.operands = [_final(operand, joined) for operand in wide.operands]
        for old, new in joined.items():
            replace_uses(old, _final(new, joined))
        for op in waiting:
            if op.parent is not None and self.is_dead(op):
                self.drop(op)

    def is_dead(self, op: Operation) -> bool:
        for result in op.results:
            if result.first_use is not None:
                return False
        kind = type(op)
        # Called for every visited op: the trait is looked up once per class, and the general test of effects
        # runs only for classes without it.
        sure = self.sure_pure.get(kind)
        if sure is None:
            sure = self.sure_pure[kind] = op.has_trait(Pure) and not op.has_trait(IsTerminator)
        return sure or is_trivially_dead(op)

    def drop(self, op: Operation) -> None:
        """Erase an op and all ops that become dead."""
        doomed = [op]
        while doomed:
            dead = doomed.pop()
            if dead.parent is None:
                continue
            operands = list(dict.fromkeys(_operands(dead)))
            for inner in dead.walk() if dead.regions else (dead,):
                self.worklist.remove(inner)
            erase(dead)
            self.removed += 1
            for operand in operands:
                if isinstance(operand, OpResult):
                    maker = operand.op
                    if operand.first_use is None and self.is_dead(maker):
                        doomed.append(maker)
                    else:
                        self.worklist.push(maker)

    def endless(self, limit: int) -> str:
        names = list(dict.fromkeys(name for name, _ in self.last))
        where = self.last[-1][1]
        return (
            f"{where}: rules undo each other without end ({', '.join(names)};"
            f" stopped after {limit} rewrites); disable one of them"
        )


def _end(function: func.FuncOp) -> Operation | None:
    last = function.body.blocks.last
    return None if last is None else last.last_op


def _final(value: SSAValue, redirected: Mapping[SSAValue, SSAValue]) -> SSAValue:
    """Follow the replacements of a value to the last one."""
    while value in redirected:
        value = redirected[value]
    return value


def _operands(op: Operation) -> list[SSAValue]:
    """Return the operands of an op and of the ops nested in it."""
    if not op.regions:
        return list(op.operands)
    return [operand for inner in op.walk() for operand in inner.operands]


def _between(before: Operation | None, op: Operation) -> list[Operation]:
    """Return the ops between two ops of a block, or from its start to `op`."""
    block: Block | None = op.parent
    found: list[Operation] = []
    each = before.next_op if before is not None else (block.first_op if block is not None else None)
    while each is not None and each is not op:
        found.append(each)
        each = each.next_op
    return found
