"""Equivalent mutants: changes that no test of behaviour can see, by rule or by a reasoned entry of a list."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from bench.mutation_testing.mutants import Mutant, spans

LIST = Path(__file__).with_name("equivalents.toml")

DATACLASS_FLAGS = frozenset({"frozen", "kw_only", "repr", "slots"})
"""Arguments of `dataclass` that the type checker verifies, or that only debugging output shows."""

COPYING = frozenset({"array", "astype", "reshape"})
"""NumPy functions whose `copy=False` saves time and changes no result."""


def equivalence(mutant: Mutant, source: str) -> str:
    """Why a mutant behaves like the original, or an empty string if no rule says so."""
    span = spans(source)
    for node, parents in _with_parents(ast.parse(source), ()):
        if not isinstance(node, ast.expr) or node.lineno != mutant.line:
            continue
        if span(node) == (mutant.start, mutant.end) and (reason := _reason(node, parents, mutant)):
            return reason
    return _listed().get((mutant.path, mutant.before, mutant.after), "")


def _reason(node: ast.expr, parents: tuple[ast.AST, ...], mutant: Mutant) -> str:
    match (node, *parents[-2:]):
        case (ast.Constant(True), ast.Call(ast.Name("zip")), ast.keyword("strict")):
            return "asserts that sequences of one length are of one length"
        case (ast.Constant(bool()), ast.Call(ast.Name("dataclass")), ast.keyword(str(name))) if (
            name in DATACLASS_FLAGS
        ):
            return "the type checker holds it"
        case (ast.Constant(False), ast.Call(ast.Attribute(_, name)), ast.keyword("copy")) if name in COPYING:
            return "costs a copy"
        case (ast.Compare(left, [_], [right]), *_) if _is_extremum(left, right, parents[-1]) and (
            mutant.after
            in (f"({ast.unparse(left)} {sign} {ast.unparse(right)})" for sign in ("<=", ">=", "<", ">"))
        ):
            return "either of two equal values"
        case _:
            return ""


def _is_extremum(left: ast.expr, right: ast.expr, parent: ast.AST) -> bool:
    """Whether the parent is `left if left < right else right` or the like."""
    return isinstance(parent, ast.IfExp) and {ast.unparse(parent.body), ast.unparse(parent.orelse)} == {
        ast.unparse(left),
        ast.unparse(right),
    }


def _listed() -> dict[tuple[str, str, str], str]:
    """Reasons by path and change."""
    entries = tomllib.loads(LIST.read_text())["mutant"]
    return {(entry["path"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


def _with_parents(
    node: ast.AST, parents: tuple[ast.AST, ...]
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    yield node, parents
    for child in ast.iter_child_nodes(node):
        yield from _with_parents(child, (*parents, node))
