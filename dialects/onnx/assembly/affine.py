"""Affine maps and sets as MLIR writes them: `(d0)[s0] -> (d0 * 2 + s0)`, with no parenthesis too many."""

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
    """The text between the brackets of `affine_map<…>`."""
    results = ", ".join(expression_text(result) for result in map_.results)
    return f"{_space(map_.num_dims, map_.num_symbols)} -> ({results})"


def set_text(set_: AffineSet) -> str:
    """The text between the brackets of `affine_set<…>`."""
    constraints = ", ".join(
        f"{expression_text(constraint.lhs)} {constraint.kind.value} {expression_text(constraint.rhs)}"
        for constraint in set_.constraints
    )
    return f"{_space(set_.num_dims, set_.num_symbols)} : ({constraints})"


def expression_text(expression: AffineExpr, enclosed: bool = False) -> str:
    """One expression; `enclosed` ones stand beside `*`, `mod`, `floordiv` or `ceildiv`."""
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
    left, right = expression_text(expression.lhs), expression.rhs
    if isinstance(right, AffineConstantExpr) and right.value < 0:
        return f"{left} - {-right.value}"
    if isinstance(right, AffineBinaryOpExpr) and right.kind == AffineBinaryOpKind.Mul:
        factor = right.rhs
        if factor == AffineConstantExpr(-1):
            # A subtracted sum needs its parentheses, anything else not.
            is_sum = isinstance(right.lhs, AffineBinaryOpExpr) and right.lhs.kind == AffineBinaryOpKind.Add
            return f"{left} - {expression_text(right.lhs, is_sum)}"
        if isinstance(factor, AffineConstantExpr) and factor.value < -1:
            return f"{left} - {expression_text(right.lhs, True)} * {-factor.value}"
    return f"{left} + {expression_text(right)}"


def _space(dims: int, symbols: int) -> str:
    text = f"({', '.join(f'd{i}' for i in range(dims))})"
    return text + (f"[{', '.join(f's{i}' for i in range(symbols))}]" if symbols else "")
