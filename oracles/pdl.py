"""
Structural rewrite rules as textual PDL, which xDSL's `apply-pdl` runs.

xDSL's PDL has no native rewrites and no operand ranges, so only rules without functions, conditions and
variadic parts can be expressed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO

from xdsl.ir import Attribute
from xdsl.printer import Printer

from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.matcher import property_name
from xonnc.rewriting.patterns import AnyValue, AttrName, Bound, Const, Native, Node, NonConstant, OperandSpec
from xonnc.rewriting.rules import Rule, definition_of


class NotStructuralError(Exception):
    """The rule cannot be expressed in PDL."""


def to_pdl(rule: Rule) -> str:
    """
    Return the rule as a module with one `pdl.pattern` of the same name and benefit.

    Raises `NotStructuralError` if the rule computes, has conditions, or uses variadic or constant operands.
    """
    return _Writer(rule).text()


def is_structural(rule: Rule) -> bool:
    """Whether `to_pdl` supports the rule."""
    try:
        to_pdl(rule)
    except NotStructuralError:
        return False
    return True


def _attribute_text(attribute: Attribute) -> str:
    out = StringIO()
    Printer(out).print_attribute(attribute)
    return out.getvalue()


@dataclass
class _Writer:
    rule: Rule
    lines: list[str] = field(default_factory=list[str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    ops: list[tuple[Node, str]] = field(default_factory=list[tuple[Node, str]])
    made: int = 0

    def text(self) -> str:
        rule = self.rule
        if rule.where or rule.guards:
            raise NotStructuralError(f"{rule.name}: PDL has no conditions")
        root = self.match(rule.root)
        self.lines.append(f"  pdl.rewrite {root} {{")
        if isinstance(rule.result, tuple):
            raise NotStructuralError(f"{rule.name}: several results")
        self.rewrite(rule.result, root)
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"pdl.pattern @{rule.name} : benefit({rule.benefit}) {{\n{body}\n      }}\n}}\n"

    def fresh(self, prefix: str) -> str:
        self.made += 1
        return f"%{prefix}{self.made}"

    def line(self, prefix: str, text: str) -> str:
        name = self.fresh(prefix)
        self.lines.append(f"{name} = {text}")
        return name

    def match(self, node: Node) -> str:
        if node.single:
            raise NotStructuralError(f"{self.rule.name}: PDL does not count readers")
        operands = [self.operand(part) for part in node.operands]
        attributes = self.properties(node, matching=True)
        definition = definition_of(node.template)
        assert definition is not None
        types = [self.line("type", "pdl.type") for _ in definition.results]
        op = self.line("op", self.operation(definition.name, operands, attributes, types))
        self.ops.append((node, op))
        return op

    def operand(self, part: OperandSpec) -> str:
        match part:
            case Node():
                op = self.match(part)
                return self.line("value", f"pdl.result {part.result} of {op}")
            case AnyValue(name=name):
                if name not in self.values:
                    self.values[name] = self.line("value", "pdl.operand")
                return self.values[name]
            case NonConstant() | Const():
                raise NotStructuralError(f"{self.rule.name}: PDL does not know what is constant")
            case _:
                raise NotStructuralError(f"{self.rule.name}: PDL has no variadic or absent operands")

    def properties(self, node: Node, matching: bool) -> list[str]:
        definition = definition_of(node.template)
        assert definition is not None
        if node.like is not None:
            raise NotStructuralError(f"{self.rule.name}: PDL cannot copy all properties of an op")
        written: list[str] = []
        for name, given in node.properties.items():
            if isinstance(given, AttrName):
                if matching and given.name not in self.values:
                    self.values[given.name] = self.line("attribute", "pdl.attribute")
                found = self.values[given.name]
            else:
                found = self.line("attribute", f"pdl.attribute = {_attribute_text(encode(given))}")
            written.append(f'"{property_name(definition, name)}" = {found}')
        return written

    def operation(self, name: str, operands: list[str], attributes: list[str], types: list[str]) -> str:
        text = f'pdl.operation "{name}"'
        if operands:
            text += f" ({', '.join(operands)} : {', '.join(['!pdl.value'] * len(operands))})"
        if attributes:
            text += f" {{{', '.join(attributes)}}}"
        if types:
            text += f" -> ({', '.join(types)} : {', '.join(['!pdl.type'] * len(types))})"
        return text

    def rewrite(self, result: OperandSpec | Native, root: str) -> None:
        match result:
            case Node():
                if (known := self.known(result)) is not None:
                    value = self.line("value", f"pdl.result {result.result} of {known}")
                    self.lines.append(f"pdl.replace {root} with ({value} : !pdl.value)")
                    return
                types = self.root_types()
                self.lines.append(f"pdl.replace {root} with {self.build(result, types)}")
            case Bound(name=name) if name in self.values:
                self.lines.append(f"pdl.replace {root} with ({self.values[name]} : !pdl.value)")
            case _:
                raise NotStructuralError(f"{self.rule.name}: the result is computed")

    def known(self, node: Node) -> str | None:
        return next((op for matched, op in self.ops if matched is node), None)

    def root_types(self) -> list[str]:
        """The result types of the root, as they were bound last but one line before it."""
        root = next(op for node, op in self.ops if node is self.rule.root)
        line = next(line for line in self.lines if line.startswith(f"{root} = "))
        _, _, types = line.partition(" -> (")
        return types.partition(" : ")[0].split(", ") if types else []

    def build(self, node: Node, types: list[str]) -> str:
        operands = [self.built_operand(part) for part in node.operands]
        attributes = self.properties(node, matching=False)
        definition = definition_of(node.template)
        assert definition is not None
        return self.line("op", self.operation(definition.name, operands, attributes, types))

    def built_operand(self, part: OperandSpec) -> str:
        match part:
            case Node() if (known := self.known(part)) is not None:
                return self.line("value", f"pdl.result {part.result} of {known}")
            case Node():
                op = self.build(part, self.root_types())
                return self.line("value", f"pdl.result {part.result} of {op}")
            case Bound(name=name) if name in self.values:
                return self.values[name]
            case _:
                raise NotStructuralError(f"{self.rule.name}: the result is computed")
