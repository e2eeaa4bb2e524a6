"""
Build the ops of a rule's replacement.

`ReplacementBuilder.plan` first computes the whole replacement: native functions run and may report a match
failure while the IR is still unchanged. Only then are ops created, depth first and left to right, operands
before their user (docs/internals/onnx-rules.md §1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from typing_extensions import TypeIs
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.fused_locations import fused_location, inherited_attributes
from xonnc.rewriting.matcher import Match, Matcher, Slot, property_name, reader_of
from xonnc.rewriting.patterns import (
    Absent,
    AttrName,
    Bound,
    Const,
    ConstRest,
    DialectInterface,
    ImperativeRewrite,
    MatchFailure,
    MaybeConst,
    Native,
    Node,
    OperandSpec,
    Pattern,
    RewriteResult,
    elements_type,
)
from xonnc.rewriting.plans import NewConstant, NewNone, NewOp, PlannedValue, RewritePlan
from xonnc.rewriting.rules import definition_of

Getter = Callable[[Match], object]


@dataclass
class ReplacementBuilder:
    """Builds the replacements of one rule."""

    matcher: Matcher
    pool: DisposablePool
    natives: dict[int, tuple[Getter, ...]] = field(default_factory=dict[int, tuple[Getter, ...]])
    planned: dict[int, NewOp] = field(default_factory=dict[int, "NewOp"])
    """Ops planned for the current match by pattern node: a node that occurs twice becomes one op."""

    @property
    def dialect(self) -> DialectInterface:
        return self.matcher.rule.root.template.dialect

    def plan(self, match: Match) -> RewritePlan | MatchFailure:
        """Compute the replacement for a match without changing the IR."""
        plan = self.computed(match)
        if type(plan) is tuple:
            for check in self.matcher.rule.checks:
                reason = check(self.matcher.ops(match)[0], plan)
                if reason is not None:
                    return MatchFailure(reason)
        return plan

    def computed(self, match: Match) -> RewritePlan | MatchFailure:
        """Compute the plan before the checks of the pass."""
        self.planned.clear()
        result = self.matcher.rule.result
        parts: list[PlannedValue] = []
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, Native) and not isinstance(result, tuple):
                return self.as_plan(self.call(part, match), match)
            planned = self.part(part, match)
            if isinstance(planned, MatchFailure):
                return planned
            parts.append(planned)
        return tuple(parts)

    def as_plan(self, outcome: RewriteResult, match: Match) -> RewritePlan | MatchFailure:
        """Plan the outcome of a native function that computes all results of the root."""
        if isinstance(outcome, MatchFailure | ImperativeRewrite):
            return outcome
        parts: list[PlannedValue] = []
        for part in (outcome,) if _is_part(outcome) else outcome:
            planned = self.part(part, match)
            if isinstance(planned, MatchFailure):
                return planned
            parts.append(planned)
        return tuple(parts)

    def call(self, native: Native, match: Match) -> RewriteResult:
        getters = self.natives.get(id(native))
        if getters is None:
            getters = self.natives[id(native)] = self.getters(native)
        return native.call(*(getter(match) for getter in getters))

    def getters(self, native: Native) -> tuple[Getter, ...]:
        names = native.arguments
        if not names:
            names = tuple(
                name
                for name, kind in self.matcher.kinds.items()
                if isinstance(kind, Const | MaybeConst | ConstRest)
            )
        return tuple(self.getter(name, native.arrays) for name in names)

    def getter(self, name: str, arrays: bool) -> Getter:
        slot = self.matcher.slots[name]
        kind = self.matcher.kinds.get(name)
        read = reader_of(self.dialect, kind, arrays, self.pool) if kind else None
        if read is None:
            return lambda match: match[slot]
        return lambda match: read(match[slot])

    def part(self, part: RewriteResult, match: Match) -> PlannedValue | MatchFailure:
        # xDSL's own classes last: to say that something is none of theirs takes the longest.
        match part:
            case Absent() | None:
                return NewNone()
            case Node():
                return self.node(part, match)
            case Native():
                return self.native(part, match)
            case Bound(name=name):
                return self.bound(match[self.matcher.slots[name]])
            case MatchFailure():
                return part
            case SSAValue():
                return part
            case Attribute():
                return NewConstant(part)
            case _:
                return NewConstant(self.pool.create(np.asarray(part)))

    def bound(self, slot: Slot) -> PlannedValue:
        if isinstance(slot, tuple | SSAValue):
            return slot
        return NewNone()

    def native(self, native: Native, match: Match) -> PlannedValue | MatchFailure:
        return self.part(self.call(native, match), match)

    def node(self, node: Node, match: Match) -> PlannedValue | MatchFailure:
        for index, known in enumerate(self.matcher.nodes):
            if node is known:
                return self.matcher.ops(match)[index].results[node.result]
        if (again := self.planned.get(id(node))) is not None:
            return again
        operands: list[PlannedValue] = []
        for operand in node.operands:
            planned = self.part(operand, match)
            if isinstance(planned, MatchFailure):
                return planned
            operands.append(planned)
        made = self.planned[id(node)] = NewOp(node, tuple(operands))
        return made

    def build(self, planned: Sequence[PlannedValue], match: Match) -> BuiltOps:
        """Create the ops of a plan, to be inserted before the root, which still exists."""
        root, *inner = self.matcher.ops(match)
        maker = _OpBuilder(self, match, root, fused_location(root, inner))
        parts = [maker.top(part, len(planned) == 1) for part in planned]
        self.planned.clear()
        return BuiltOps(maker.ops, [value for part in parts for value in part])


def _is_part(outcome: RewriteResult) -> TypeIs[OperandSpec]:
    return outcome is None or isinstance(outcome, Pattern | SSAValue | Attribute | np.ndarray | np.generic)


@dataclass(frozen=True)
class BuiltOps:
    """The new ops, and the values that replace the results of the root."""

    ops: list[Operation]
    results: list[SSAValue]


@dataclass
class _OpBuilder:
    """Creates the ops of one match."""

    builder: ReplacementBuilder
    match: Match
    root: Operation
    location: LocationAttr
    ops: list[Operation] = field(default_factory=list[Operation])
    made: dict[int, Operation] = field(default_factory=dict[int, Operation])

    def top(self, planned: PlannedValue, alone: bool) -> Sequence[SSAValue]:
        """Return the values that replace results of the root."""
        match planned:
            case NewOp():
                types = self.types(planned.node) or (tuple(self.root.result_types) if alone else ())
                made = self.op(planned, self.location, types)
                made.attributes.update(inherited_attributes(type(made), self.builder.matcher.ops(self.match)))
                return made.results
            case NewConstant():
                return self.constant(planned.value, self.location).results
            case _:
                return self.operand(planned)

    def operand(self, planned: PlannedValue) -> Sequence[SSAValue]:
        match planned:
            case NewOp(node=node):
                return (self.op(planned, derived(self.location), self.types(node)).results[node.result],)
            case NewConstant(value=value):
                return self.constant(value, derived(self.location)).results
            case NewNone():
                made = self.builder.dialect.absent(derived(self.location))
                self.ops.append(made)
                return made.results
            case tuple():
                return planned
            case _:
                return (planned,)

    def constant(self, elements: Attribute, location: LocationAttr) -> Operation:
        dialect = self.builder.dialect
        type_ = elements_type(elements)
        made = dialect.constant.create(
            result_types=[type_], properties={"value": elements}, location=location
        )
        self.ops.append(made)
        return made

    def op(self, planned: NewOp, location: LocationAttr, types: Sequence[Attribute]) -> Operation:
        if (again := self.made.get(id(planned))) is not None:
            return again
        operands = [value for operand in planned.operands for value in self.operand(operand)]
        template = planned.node.template
        op_class = template.dialect.op_class(template.name)
        assert op_class is not None
        properties = self.properties(planned.node, op_class)
        types = types or template.dialect.result_types(op_class, operands, properties)
        made = op_class.create(
            operands=operands, result_types=types, properties=properties, location=location
        )
        self.ops.append(made)
        self.made[id(planned)] = made
        return made

    def types(self, node: Node) -> tuple[Attribute, ...]:
        return tuple(self.type(type_spec) for type_spec in node.types)

    def type(self, type_spec: Attribute | SSAValue | Bound) -> Attribute:
        if isinstance(type_spec, Bound):
            slot = self.match[self.builder.matcher.slots[type_spec.name]]
            assert isinstance(slot, SSAValue)
            return slot.type
        return type_spec.type if isinstance(type_spec, SSAValue) else type_spec

    def properties(self, node: Node, op_class: type[Operation]) -> dict[str, Attribute]:
        definition = definition_of(node.template)
        assert definition is not None
        properties = dict(self.liked(node.like))
        properties = {name: value for name, value in properties.items() if name in definition.properties}
        for name, given in node.properties.items():
            if isinstance(given, AttrName):
                slot = self.match[self.builder.matcher.slots[given.name]]
                made = slot if isinstance(slot, Attribute) else None
            else:
                made = encode(given)
            if made is not None:
                properties[property_name(definition, name)] = made
        return properties

    def liked(self, like: Node | Operation | None) -> dict[str, Attribute]:
        match like:
            case None:
                return {}
            case Operation():
                return like.properties
            case Node():
                ops = self.builder.matcher.ops(self.match)
                return next(
                    op.properties
                    for node, op in zip(self.builder.matcher.nodes, ops, strict=True)
                    if node is like
                )
