"""Mutation operators: replace one arithmetic, comparison or boolean operator, condition or flag."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

BOOLEAN: dict[type[ast.boolop], type[ast.boolop]] = {ast.And: ast.Or, ast.Or: ast.And}


@dataclass(frozen=True)
class Mutant:
    """A mutant: one replaced expression of a file."""

    path: str
    line: int
    start: int
    """Offset of the expression's first character in the file."""
    end: int
    before: str
    after: str

    def applied(self, source: str) -> str:
        """The source text of the mutant."""
        return source[: self.start] + self.after + source[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"


def mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a file, in source order."""
    span = spans(source)
    found: list[Mutant] = []
    for node, changed in _changes(ast.parse(source)):
        start, end = span(node)
        text = f"({ast.unparse(changed)})"
        found.append(Mutant(path, node.lineno, start, end, _in_one_line(source[start:end]), text))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.after))


def spans(source: str) -> Callable[[ast.expr], tuple[int, int]]:
    """Return the function from an expression of `source` to the offsets of its first and last character."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        # `ast` counts columns in bytes of UTF-8, slices of a text count characters.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    return span


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pairs of an expression and its mutation."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += [child for child in ast.iter_child_nodes(node) if not _is_left_alone(node, child)]
        if isinstance(node, ast.expr):
            yield from ((node, changed) for changed in _mutations(node))
        if isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_mutated_whole(node.test):
            yield node.test, ast.UnaryOp(ast.Not(), node.test)


def _is_left_alone(parent: ast.AST, child: ast.AST) -> bool:
    """Skip annotations, which are not evaluated, and f-strings, whose offsets Python 3.11 reports wrongly."""
    annotations = (getattr(parent, "annotation", None), getattr(parent, "returns", None))
    return child in annotations or isinstance(child, ast.JoinedStr)


def _is_mutated_whole(test: ast.expr) -> bool:
    """Whether the negated condition is already among the mutants, or is never evaluated."""
    match test:
        case ast.Name("TYPE_CHECKING") | ast.UnaryOp(ast.Not()):
            return True
        case ast.Compare(_, [ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return True
        case _:
            return False


def _mutations(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, operators, right):
            for position, operator in enumerate(operators):
                if flipped := COMPARISONS.get(type(operator)):
                    yield ast.Compare(
                        left, [*operators[:position], flipped(), *operators[position + 1 :]], right
                    )
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(BOOLEAN[type(operator)](), values)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC and not _joins_texts(node):
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case _:
            return


def _joins_texts(node: ast.BinOp) -> bool:
    """Whether `+` concatenates strings: messages are not arithmetic."""
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )
