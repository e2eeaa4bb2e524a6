"""Plans of replacements: what a rule is about to create."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike

from xonnc.rewriting.patterns import ImperativeRewrite, Node


@dataclass(frozen=True)
class NewOp:
    """An op to be created."""

    node: Node
    operands: tuple[PlannedValue, ...]

    @property
    def op_class(self) -> type[Operation]:
        """Return the class of the op."""
        found = self.node.template.dialect.op_class(self.node.template.name)
        assert found is not None
        return found


@dataclass(frozen=True)
class NewConstant:
    """A constant to be created."""

    value: Attribute


@dataclass(frozen=True)
class NewNone:
    """A `none` value to be created."""


PlannedValue: TypeAlias = "SSAValue | NewOp | NewConstant | NewNone | tuple[SSAValue, ...]"
RewritePlan: TypeAlias = "tuple[PlannedValue, ...] | ImperativeRewrite"

PlanCheck = Callable[[Operation, "tuple[PlannedValue, ...]"], "str | None"]
"""Check of a planned replacement of an op: return the reason of a match failure, or `None`."""


def non_constant_ops(plan: tuple[PlannedValue, ...]) -> list[NewOp]:
    """Return the planned ops that will not fold: those with an operand that is no constant."""
    found: dict[int, NewOp] = {}
    for part in plan:
        _collect(part, found)
    return list(found.values())


def _collect(part: PlannedValue, found: dict[int, NewOp]) -> bool:
    """Return whether a value will be a constant; add ops that will not be to `found`."""
    match part:
        case NewOp():
            # A list, not a generator: every operand must be visited, since each may have ops below it.
            constant = all([_collect(operand, found) for operand in part.operands]) and bool(part.operands)
            if not constant:
                found[id(part)] = part
            return constant
        case tuple():
            return all(is_constant_or_none(value) for value in part)
        case NewConstant() | NewNone():
            return True
        case _:
            return is_constant_or_none(part)


def is_constant_or_none(value: SSAValue) -> bool:
    """Return whether a value is a constant, or of type `none`."""
    if type(value.type) is NoneType:
        return True
    return isinstance(value, OpResult) and _is_constant(type(value.op))


@cache
def _is_constant(kind: type[Operation]) -> bool:
    return kind.has_trait(ConstantLike)


def existing_values(plan: tuple[PlannedValue, ...]) -> Iterator[SSAValue]:
    """Yield the values of the IR that a plan reads, or that replace the results of the root."""
    for part in plan:
        match part:
            case NewOp(operands=operands):
                yield from existing_values(operands)
            case tuple():
                yield from part
            case SSAValue():
                yield part
            case _:
                pass


def no_more_ops(root: Operation, plan: tuple[PlannedValue, ...]) -> str | None:
    """
    Check that a plan does not increase the number of ops: no more are created than become dead.

    Constants and ops on constants alone do not count.
    """
    made = len(non_constant_ops(plan))
    if made <= 1:
        return None
    freed = _freed(root, frozenset(existing_values(plan)), made)
    return None if made <= freed else f"{made} ops would take the place of {freed}"


def _freed(root: Operation, live: frozenset[SSAValue], enough: int) -> int:
    """Count the ops that become dead with `root`, up to `enough`."""
    removed = {root}
    waiting = list(root.operands)
    while waiting and len(removed) < enough:
        value = waiting.pop()
        if not isinstance(value, OpResult) or is_constant_or_none(value) or value.op in removed:
            continue
        maker = value.op
        if any(
            result in live or any(use.operation not in removed for use in result.uses)
            for result in maker.results
        ):
            continue
        removed.add(maker)
        waiting.extend(maker.operands)
    return len(removed)
