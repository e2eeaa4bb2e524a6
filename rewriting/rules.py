"""
Rewrite rules: a pattern, its replacement, and constraints.

    RULES = rules(
        AddConstProp=rule(Add(c, d), fold(np.add)),                             # c + d
        AddAssociative=rule(Add(one_use(Add(x, c)), d), Add(x, Add(c, d))),     # (x + c) + d = x + (c + d)
    )

A replacement that no pattern can express is a function: `@rule(pattern)` passes it the matched values named
by its parameters. It returns a pattern of values and arrays, or `MatchFailure("reason")`. Each rule is
checked against the op definitions when its table is built; an error raises `RuleError` with the name of the
rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OpDef, VariadicDef

from xonnc.errors import XonncError, suggest
from xonnc.rewriting.patterns import (
    AttrName,
    Bound,
    DialectInterface,
    MaybeConst,
    Native,
    Node,
    OperandSpec,
    Rest,
    RewriteResult,
    Template,
    all_uses,
    const,
    show,
)
from xonnc.rewriting.plans import PlanCheck

Condition = Callable[..., str | None]
"""
Constraint on a match: return the reason for a match failure, or `None`. The parameters are names of the
pattern.
"""

ROOT = "root"
"""Parameter name by which functions and conditions receive the matched root op."""


class RuleError(Exception):
    """
    A rule contradicts the op definitions or itself: a bug of the rule table, raised when the table is built.
    """


@dataclass(frozen=True, eq=False)
class Rule:
    """A rewrite rule. `rules` sets `name` to its key in the table."""

    root: Node
    result: OperandSpec | Native | tuple[OperandSpec | Native, ...]
    where: tuple[Condition, ...] = ()
    benefit: int = 0
    """The benefit, higher first: ops in the pattern plus a bonus (docs/internals/onnx-rules.md §1.1)."""
    doc: str = ""
    name: str = ""
    guards: tuple[Condition, ...] = field(default=())
    """Further conditions added by the options of a pass (`RuleSet.guarded`)."""
    checks: tuple[PlanCheck, ...] = field(default=())
    """Checks of the rewrite plan, added by the pass (`RuleSet.checked`)."""

    def __str__(self) -> str:
        results = self.result if isinstance(self.result, tuple) else (self.result,)
        return f"{self.root} -> {', '.join(show(result) for result in results)}"


@overload
def rule(
    root: Node,
    result: OperandSpec | Native | tuple[OperandSpec | Native, ...],
    /,
    *,
    where: Condition | Sequence[Condition] = (),
    bonus: int = 0,
) -> Rule: ...


@overload
def rule(
    root: Node, /, *, where: Condition | Sequence[Condition] = (), bonus: int = 0
) -> Callable[[Callable[..., RewriteResult]], Rule]: ...


def rule(
    root: Node,
    /,
    *result: OperandSpec | Native | tuple[OperandSpec | Native, ...],
    where: Condition | Sequence[Condition] = (),
    bonus: int = 0,
) -> Rule | Callable[[Callable[..., RewriteResult]], Rule]:
    """
    A rule that replaces `root` by `result`, or a decorator for the function that computes the result.

    `where` is a condition or several; `bonus` is added to the benefit.
    """
    conditions = (where,) if callable(where) else tuple(where)
    benefit = _size(root) + bonus
    if result:
        return Rule(root, result[0], conditions, benefit)

    def decorate(function: Callable[..., RewriteResult]) -> Rule:
        native = Native(function, tuple(inspect.signature(function).parameters), arrays=False)
        return Rule(root, native, conditions, benefit, inspect.getdoc(function) or "")

    return decorate


def _size(part: OperandSpec | Native) -> int:
    """Return the number of ops in a pattern, constants included."""
    if isinstance(part, Node):
        return 1 + sum(_size(operand) for operand in part.operands)
    return 1 if isinstance(part, type(const.c) | MaybeConst) else 0


@dataclass(frozen=True)
class RuleSet(Mapping[str, Rule]):
    """Rules by name; rules of equal benefit are tried in this order."""

    rules: dict[str, Rule]

    def __getitem__(self, name: str) -> Rule:
        return self.rules[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def by_root(self) -> Mapping[type[Operation], Sequence[Rule]]:
        """Map each root op class to its rules, highest benefit first."""
        found: dict[type[Operation], list[Rule]] = {}
        for known in self.rules.values():
            op_class = known.root.template.dialect.op_class(known.root.template.name)
            if op_class is not None:
                found.setdefault(op_class, []).append(known)
        for alike in found.values():
            alike.sort(key=lambda known: -known.benefit)
        return found

    @cached_property
    def dialects(self) -> Sequence[DialectInterface]:
        """Return the dialects of the root ops, without duplicates."""
        return list(
            {
                id(found): found for known in self.rules.values() for found in [known.root.template.dialect]
            }.values()
        )

    def __or__(self, other: Mapping[str, Rule]) -> RuleSet:
        """Return the union, these rules first; raise `RuleError` if one name stands for two rules."""
        for name in sorted(self.rules.keys() & other.keys()):
            if self.rules[name] is not other[name]:
                raise RuleError(f"{name}: two rules have this name")
        return RuleSet({**self.rules, **other})

    def alphabetical(self) -> RuleSet:
        """
        The same rules in the order of their names, as the peer's const-prop tries them
        (docs/internals/onnx-rules.md §1.1).
        """
        return RuleSet(dict(sorted(self.rules.items())))

    def without(self, names: Sequence[str]) -> RuleSet:
        """Return the rules except those named; an unknown name raises `XonncError` with a suggestion."""
        for name in names:
            if name not in self.rules:
                raise XonncError(f"no rule is called '{name}'{suggest(name, self.rules)}")
        return RuleSet({name: rule for name, rule in self.rules.items() if name not in names})

    def guarded(self, names: Collection[str], *guards: Condition) -> RuleSet:
        """Return the same rules with further conditions on the root op of those named."""
        return RuleSet(
            {
                name: replace(known, guards=(*known.guards, *guards)) if name in names else known
                for name, known in self.rules.items()
            }
        )

    def checked(self, *checks: PlanCheck, except_for: Collection[str] = ()) -> RuleSet:
        """Return the same rules with checks of the rewrite plan; a check that fails is a match failure."""
        return RuleSet(
            {
                name: known if name in except_for else replace(known, checks=(*known.checks, *checks))
                for name, known in self.rules.items()
            }
        )


def rules(**named: Rule) -> RuleSet:
    """Build a rule table: check each rule against the op definitions and name it by its keyword."""
    for name, given in named.items():
        _RuleChecker(name).rule(given)
    return RuleSet({name: replace(given, name=name) for name, given in named.items()})


def definition_of(template: Template) -> OpDef | None:
    """Return the op definition of a template, or `None` if no such op exists."""
    op_class = template.dialect.op_class(template.name)
    return op_class.get_irdl_definition() if op_class and issubclass(op_class, IRDLOperation) else None


@dataclass
class _RuleChecker:
    """Check one rule against the op definitions."""

    name: str
    bound: dict[str, Bound | Node] = field(default_factory=dict[str, "Bound | Node"])

    def fail(self, problem: str) -> RuleError:
        return RuleError(f"{self.name}: {problem}")

    def rule(self, given: Rule) -> None:
        self.node(given.root)
        for node in all_uses(given.root):
            self.bind(node)
        for condition in given.where:
            self.names(inspect.signature(condition).parameters, f"condition {condition.__name__}")
        results = given.result if isinstance(given.result, tuple) else (given.result,)
        for result in results:
            self.result(result, all_uses(given.root))
        definition = self.definition(given.root)
        is_native = len(results) == 1 and isinstance(results[0], Native)
        variadic = any(isinstance(constraint, VariadicDef) for _, constraint in definition.results)
        if not is_native and not variadic and len(results) not in (1, len(definition.results)):
            raise self.fail(
                f"{given.root.template} has {len(definition.results)} results, not {len(results)}"
            )

    def definition(self, node: Node) -> OpDef:
        definition = definition_of(node.template)
        if definition is None:
            raise self.fail(f"no op is called {node.template}")
        return definition

    def node(self, node: Node) -> None:
        definition = self.definition(node)
        for name in node.properties:
            if name not in definition.properties and name not in definition.accessor_names:
                raise self.fail(f"{node.template} has no property {name!r}")
        variadic = any(isinstance(constraint, VariadicDef) for _, constraint in definition.operands)
        spread = any(isinstance(operand, Rest) for operand in node.operands)
        if spread and (not variadic or not isinstance(node.operands[-1], Rest)):
            raise self.fail(f"{node.template} takes no {show(node.operands[-1])}")
        if not variadic and len(node.operands) != len(definition.operands):
            names = ", ".join(operand for operand, _ in definition.operands)
            raise self.fail(
                f"{node.template} takes {len(definition.operands)} operands ({names}),"
                f" not {len(node.operands)}"
            )
        for operand in node.operands:
            if isinstance(operand, Node):
                self.node(operand)

    def bind(self, node: Node) -> None:
        parts = [part for part in (*node.operands, *node.properties.values()) if isinstance(part, Bound)]
        for part in parts:
            known = self.bound.setdefault(part.name, part)
            if type(known) is not type(part):
                raise self.fail(f"{part.name!r} is bound in two ways")
        if node.name:
            if node.name in self.bound or node.name == ROOT:
                raise self.fail(f"{node.name!r} is bound twice")
            self.bound[node.name] = node

    def names(self, parameters: Mapping[str, inspect.Parameter], where: str) -> None:
        for name in parameters:
            if name not in self.bound and name != ROOT:
                raise self.fail(f"{where} asks for {name!r}, which the pattern does not bind")

    def result(self, part: OperandSpec | Native, matched: tuple[Node, ...]) -> None:
        match part:
            case Native(arguments=arguments):
                for name in arguments:
                    if name not in self.bound and name != ROOT:
                        raise self.fail(f"{part} asks for {name!r}, which the pattern does not bind")
            case Node():
                self.result_node(part, matched)
            case Bound(name=name):
                if name not in self.bound or isinstance(self.bound[name], AttrName):
                    raise self.fail(f"the result uses {name!r}, which the pattern does not bind to a value")
            case _:
                pass

    def result_node(self, node: Node, matched: tuple[Node, ...]) -> None:
        if any(node is known for known in matched):
            return
        definition = self.definition(node)
        for name in node.properties:
            if name not in definition.properties and name not in definition.accessor_names:
                raise self.fail(f"{node.template} has no property {name!r}")
        if isinstance(node.like, Node) and not any(node.like is known for known in matched):
            raise self.fail(f"the result copies properties of {node.like}, which is not in the pattern")
        variadic = any(isinstance(constraint, VariadicDef) for _, constraint in definition.operands)
        if not variadic and len(node.operands) != len(definition.operands):
            raise self.fail(
                f"{node.template} takes {len(definition.operands)} operands, not {len(node.operands)}"
            )
        for given in (*node.operands, *node.properties.values(), *node.types):
            if isinstance(given, AttrName) and given.name not in self.bound:
                raise self.fail(f"the result uses {given.name!r}, which the pattern does not bind")
            if isinstance(given, Node | Native) or (
                isinstance(given, Bound) and not isinstance(given, AttrName)
            ):
                self.result(given, matched)
