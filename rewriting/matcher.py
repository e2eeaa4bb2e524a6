"""
Compile the pattern of a rule to one flat Python function, on first use.

The function takes the root op. It returns the bound values, the index of the structural check that failed, or
the reason of a failed condition. It reads `_operands`, since the public property creates a view object at
each access.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TypeAlias, cast

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import OpDef

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.rewriting.attribute_conversion import decode, encode
from xonnc.rewriting.editing import operands_of
from xonnc.rewriting.patterns import (
    Absent,
    AnyValue,
    AttrName,
    Bound,
    Const,
    Constant,
    ConstRest,
    DialectInterface,
    MaybeConst,
    Node,
    NonConstant,
    OperandSpec,
    Rest,
    all_uses,
    show_literal,
)
from xonnc.rewriting.rules import ROOT, Condition, Rule, definition_of

Slot: TypeAlias = "SSAValue | tuple[SSAValue, ...] | Operation | Attribute | None"
Match: TypeAlias = "tuple[Slot, ...]"
"""Values bound to the names of a pattern, in the order of `Matcher.slots`, followed by the matched ops."""


@dataclass(frozen=True)
class CompiledPattern:
    """The compiled pattern of one rule."""

    match: Callable[[Operation], Match | int | str]
    source: str
    steps: tuple[str, ...]
    slots: dict[str, int]
    """Index of each name in a match."""
    nodes: tuple[Node, ...]
    """Matched nodes, root first; their ops are the last entries of a match in this order."""
    kinds: dict[str, Bound]


NO_MATCH = -1
"""Result of a matcher before compilation, for an op whose operands have other defining ops."""


class Matcher:
    """
    The pattern of one rule, compiled at the first op whose operands are defined by the right op classes.

    A process sees few of the op classes that rules match, and compiling a pattern costs about as much as a
    hundred failed matches.
    """

    run: Callable[[Operation], Match | int | str]
    """The match at an op, or what failed (see the module)."""

    def __init__(self, rule: Rule):
        self.rule = rule
        self.root = class_of(rule.root)
        self._producers = tuple(_producers(rule.root))
        self.run = self._run_first

    def _run_first(self, op: Operation) -> Match | int | str:
        operands = operands_of(op)
        for slot, maker in self._producers:
            if slot >= len(operands):
                return NO_MATCH
            value = operands[slot]
            if not isinstance(value, OpResult) or value.op.__class__ is not maker:
                return NO_MATCH
        return self.compiled.match(op)

    @cached_property
    def compiled(self) -> CompiledPattern:
        """The compiled pattern."""
        compiled = _PatternCompiler(self.rule).compile()
        self.run = compiled.match
        return compiled

    @property
    def slots(self) -> dict[str, int]:
        """Index of each name in a match."""
        return self.compiled.slots

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Matched nodes, root first; their ops are the last entries of a match in this order."""
        return self.compiled.nodes

    @property
    def kinds(self) -> dict[str, Bound]:
        """Pattern variable of each name."""
        return self.compiled.kinds

    def failure_reason(self, op: Operation) -> str | None:
        """Return why the pattern does not match `op`, or `None` if it does."""
        if type(op) is not self.root:
            return f"{op.name} is no {self.root.name}"
        match self.compiled.match(op):
            case int(step):
                return self.compiled.steps[step]
            case str(reason):
                return reason
            case _:
                return None

    def ops(self, match: Match) -> tuple[Operation, ...]:
        """Return the ops of the matched nodes, root first."""
        return cast("tuple[Operation, ...]", match[len(match) - len(self.nodes) :])


@cache
def compile_rule(rule: Rule) -> Matcher:
    """Return the matcher of a checked rule."""
    return Matcher(rule)


def class_of(node: Node) -> type[Operation]:
    """Return the op class that a node matches."""
    op_class = node.template.dialect.op_class(node.template.name)
    assert op_class is not None
    return op_class


def _producers(root: Node) -> Iterator[tuple[int, type[Operation]]]:
    """
    Yield index and op class of the operands that need a defining op; those before a `Rest` have fixed
    indices.
    """
    for index, part in enumerate(root.operands):
        if isinstance(part, Rest):
            return
        if isinstance(part, Node):
            yield index, class_of(part)
        elif isinstance(part, Const):
            yield index, root.template.dialect.constant


def property_name(definition: OpDef, name: str) -> str:
    """Return the property behind an accessor called `name`."""
    known = definition.accessor_names.get(name)
    return known[0] if known else name


def constant_of(
    dialect: DialectInterface, value: SSAValue, pool: DisposablePool | None = None
) -> Constant | None:
    """Return the constant that defines `value`, or `None`."""
    if isinstance(value, OpResult) and isinstance(value.op, dialect.constant):
        elements = value.op.properties.get("value")
        return None if elements is None else Constant(elements, pool)
    return None


@dataclass
class _PatternCompiler:
    """Generates the source of a matcher line by line."""

    rule: Rule
    lines: list[str] = field(default_factory=list[str])
    names: dict[str, object] = field(default_factory=dict[str, object])
    steps: list[str] = field(default_factory=list[str])
    slots: dict[str, str] = field(default_factory=dict[str, str])
    kinds: dict[str, Bound] = field(default_factory=dict[str, Bound])
    ops: list[str] = field(default_factory=list[str])
    fresh: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    @property
    def dialect(self) -> DialectInterface:
        return self.rule.root.template.dialect

    def compile(self) -> CompiledPattern:
        self.names |= {"Result": OpResult, "Constant": self.dialect.constant, "NoneType": NoneType}
        self.node(self.rule.root, "root")
        for number, condition in enumerate((*self.rule.where, *self.rule.guards)):
            self.condition(condition, f"condition{number}")
        nodes = all_uses(self.rule.root)
        self.slots[ROOT] = "root"
        for node, op in zip(nodes, self.ops, strict=True):
            if node.name:
                self.slots[node.name] = op
        bound = ", ".join((*self.slots.values(), *self.ops))
        body = "\n".join(f"    {line}" for line in (*self.lines, f"return ({bound},)"))
        source = f"def match(root):\n{body}\n"
        exec(compile(source, f"<rule {self.rule.name}>", "exec"), self.names)
        slot_indices = {name: index for index, name in enumerate(self.slots)}
        run = cast("Callable[[Operation], Match | int | str]", self.names["match"])
        return CompiledPattern(run, source, tuple(self.steps), slot_indices, nodes, self.kinds)

    def local(self, prefix: str) -> str:
        return f"{prefix}{next(self.fresh)}"

    def known(self, prefix: str, item: object) -> str:
        """Add a global of the generated function; return its name."""
        name = self.local(prefix)
        self.names[name] = item
        return name

    def refuse_if(self, test: str, reason: str) -> None:
        self.lines.append(f"if {test}: return {len(self.steps)}")
        self.steps.append(reason)

    def node(self, node: Node, op: str) -> None:
        self.ops.append(op)
        definition = definition_of(node.template)
        assert definition is not None
        fixed = [part for part in node.operands if not isinstance(part, Rest)]
        spread = next((part for part in node.operands if isinstance(part, Rest)), None)
        operands = self.local("operands")
        if node.operands:
            self.lines.append(f"{operands} = {op}._operands")
            relation = "<" if spread else "!="
            self.refuse_if(f"len({operands}) {relation} {len(fixed)}", f"{node.template} has other operands")
        for name, given in node.properties.items():
            self.property(f"{op}.properties.get({property_name(definition, name)!r})", name, given)
        for index, part in enumerate(fixed):
            self.operand(part, f"{operands}[{index}]")
        if spread:
            self.spread(spread, f"{operands}[{len(fixed)}:]" if fixed else operands)

    def property(self, found: str, name: str, given: object) -> None:
        if isinstance(given, AttrName):
            self.bind(given, found)
            return
        expected = self.known("wanted", encode(cast("int | float | str | Attribute", given)))
        self.refuse_if(f"{found} != {expected}", f"{name} is not {show_literal(cast('str', given))}")

    def bind(self, part: Bound, found: str) -> None:
        if known := self.slots.get(part.name):
            relation = "!=" if isinstance(part, AttrName) else "is not"
            self.refuse_if(f"{found} {relation} {known}", f"{part.name} is not the same everywhere")
            return
        name = self.local("bound")
        self.slots[part.name] = name
        self.kinds[part.name] = part
        self.lines.append(f"{name} = {found}")

    def operand(self, part: OperandSpec, found: str) -> None:
        match part:
            case Absent() | None:
                self.refuse_if(f"{found}.type.__class__ is not NoneType", "an operand is there")
            case AnyValue():
                self.bind(part, found)
            case NonConstant(name=name):
                self.bind(part, found)
                self.refuse_if(self.is_constant(self.slots[name]), f"{name} is a constant")
            case Const(name=name):
                self.bind(part, found)
                self.refuse_if(self.no_elements(self.slots[name]), f"{name} is not a constant")
            case MaybeConst(name=name):
                self.bind(part, found)
                slot = self.slots[name]
                is_present = f"{slot}.type.__class__ is not NoneType"
                self.refuse_if(f"{is_present} and ({self.no_elements(slot)})", f"{name} is not a constant")
            case Node():
                self.inner(part, found)
            case _:
                raise TypeError(f"{self.rule.name}: {part!r} cannot be matched")

    def is_constant(self, slot: str) -> str:
        return f"{slot}.__class__ is Result and {slot}.op.__class__ is Constant"

    def no_elements(self, slot: str) -> str:
        return (
            f"{slot}.__class__ is not Result or {slot}.op.__class__ is not Constant"
            f" or 'value' not in {slot}.op.properties"
        )

    def inner(self, node: Node, found: str) -> None:
        value, op = self.local("value"), self.local("op")
        op_class = self.known("Op", class_of(node))
        self.lines.append(f"{value} = {found}")
        reason = f"operand {found.partition('[')[2][:-1]} is not made by {node.template}"
        self.refuse_if(f"{value}.__class__ is not Result", reason)
        self.lines.append(f"{op} = {value}.op")
        self.refuse_if(f"{op}.__class__ is not {op_class}", reason)
        if self.several_results(node):
            self.refuse_if(f"{value}.index != {node.result}", f"another result of {node.template} is read")
        if node.single:
            self.refuse_if(f"not {value}.has_one_use()", f"{node.template} has other readers")
        self.node(node, op)

    def several_results(self, node: Node) -> bool:
        definition = definition_of(node.template)
        return definition is not None and len(definition.results) > 1

    def spread(self, part: Rest, found: str) -> None:
        self.bind(part, found)
        if isinstance(part, ConstRest):
            values = self.slots[part.name]
            self.lines.append(f"for each in {values}:")
            self.lines.append(f"    if {self.no_elements('each')}: return {len(self.steps)}")
            self.steps.append(f"not every one of {part.name} is a constant")

    def condition(self, condition: Condition, name: str) -> None:
        self.names[name] = condition
        parameters = [self.argument(parameter) for parameter in inspect.signature(condition).parameters]
        self.lines.append(f"reason = {name}({', '.join(parameters)})")
        self.lines.append("if reason is not None: return reason")

    def argument(self, name: str) -> str:
        """Return the expression for a parameter of a condition."""
        if name == ROOT:
            return "root"
        slot = self.slots.get(name)
        if slot is None:
            nodes = all_uses(self.rule.root)
            return next(op for node, op in zip(nodes, self.ops, strict=True) if node.name == name)
        reader = reader_of(self.dialect, self.kinds[name], arrays=False)
        return slot if reader is None else f"{self.known('read', reader)}({slot})"


def reader_of(
    dialect: DialectInterface, kind: Bound, arrays: bool, pool: DisposablePool | None = None
) -> Callable[[Slot], object] | None:
    """
    Return the conversion of a slot to an argument of a native function, or `None` if it is passed unchanged.
    """

    def constant(slot: Slot) -> object:
        found = constant_of(dialect, slot, pool) if isinstance(slot, SSAValue) else None
        return found.array if arrays and found else found

    def all_constants(slot: Slot) -> object:
        return tuple(constant(each) for each in slot) if isinstance(slot, tuple) else ()

    def decoded(slot: Slot) -> object:
        return decode(slot) if isinstance(slot, Attribute) else None

    match kind:
        case Const() | MaybeConst():
            return constant
        case ConstRest():
            return all_constants
        case AttrName():
            return decoded
        case _:
            return None
