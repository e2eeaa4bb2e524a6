"""Print affine maps and sets as MLIR: `(d0)[s0] -> (d0 * 2 + s0)`, with minimal parentheses."""

from __future__ import annotations

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
    AffineSet,
)

_SPELLING = {
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}


def map_text(map_: AffineMap) -> str:
    """Return the text between the brackets of `affine_map<…>`."""
    results = ", ".join(expression_text(result) for result in map_.results)
    return f"{_space(map_.num_dims, map_.num_symbols)} -> ({results})"


def set_text(set_: AffineSet) -> str:
    """Return the text between the brackets of `affine_set<…>`."""
    constraints = ", ".join(
        f"{expression_text(constraint.lhs)} {constraint.kind.value} {expression_text(constraint.rhs)}"
        for constraint in set_.constraints
    )
    return f"{_space(set_.num_dims, set_.num_symbols)} : ({constraints})"


def expression_text(expression: AffineExpr, enclosed: bool = False) -> str:
    """Return the text of an expression; `enclosed`: an operand of `*`, `mod`, `floordiv` or `ceildiv`."""
    if not isinstance(expression, AffineBinaryOpExpr):
        return str(expression)
    if expression.kind == AffineBinaryOpKind.Add:
        text = _sum(expression)
    elif expression.kind == AffineBinaryOpKind.Mul and expression.rhs == AffineConstantExpr(-1):
        text = f"-{expression_text(expression.lhs, True)}"
    else:
        left, right = expression_text(expression.lhs, True), expression_text(expression.rhs, True)
        text = f"{left} {_SPELLING[expression.kind]} {right}"
    return f"({text})" if enclosed else text


def _sum(expression: AffineBinaryOpExpr) -> str:
    """Print the terms of nested sums flat, so that a parsed expression prints the same."""
    first, *others = _terms(expression)
    return expression_text(first) + "".join(map(_added, others))


def _terms(expression: AffineExpr) -> list[AffineExpr]:
    if isinstance(expression, AffineBinaryOpExpr) and expression.kind == AffineBinaryOpKind.Add:
        return [*_terms(expression.lhs), *_terms(expression.rhs)]
    return [expression]


def _added(term: AffineExpr) -> str:
    """Return ` + term`, or ` - term` without its sign."""
    if isinstance(term, AffineConstantExpr) and term.value < 0:
        return f" - {-term.value}"
    if isinstance(term, AffineBinaryOpExpr) and term.kind == AffineBinaryOpKind.Mul:
        factor = term.rhs
        if isinstance(factor, AffineConstantExpr) and factor.value < 0:
            scale = f" * {-factor.value}" if factor.value < -1 else ""
            return f" - {expression_text(term.lhs, True)}{scale}"
    return f" + {expression_text(term)}"


def _space(dims: int, symbols: int) -> str:
    text = f"({', '.join(f'd{i}' for i in range(dims))})"
    return text + (f"[{', '.join(f's{i}' for i in range(symbols))}]" if symbols else "")
