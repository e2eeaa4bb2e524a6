"""
Names of symbolic dimensions: `batch`, `seq + 1`, `2*batch*seq`, `floor((h + 1)/2)`, `max(seq - 2, 0)`,
`broadcast(a, b)`.

onnxruntime takes equal names for equal dimensions; its symbolic shape inference spells derived ones in this
way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.ir import Operation

from xonnc.transforms.dims.expressions import BroadcastDim, DimExpr, DimSymbols, FloorDiv, MinMax

MAX_NAME_LENGTH = 200
"""Length limit of names."""

MAX_DEPTH = 6
"""Depth limit of nested floor divisions, minima and maxima."""


@dataclass(frozen=True)
class NamedDimension:
    """Meaning of a symbol: the named dimension of a function."""

    function: Operation
    name: str


def named(expr: DimExpr, symbols: DimSymbols) -> str | None:
    """Return the name of an expression, or `None` if a symbol has none or the name is too long."""
    text = _sum(expr, symbols, MAX_DEPTH)
    return text if text is not None and len(text) <= MAX_NAME_LENGTH else None


def _sum(expr: DimExpr, symbols: DimSymbols, depth: int) -> str | None:
    texts: list[tuple[int, str]] = []
    for monomial, coefficient in expr.terms:
        factors = [_symbol(symbol, symbols, depth) for symbol in monomial]
        known = [factor for factor in factors if factor is not None]
        if len(known) < len(factors):
            return None
        if abs(coefficient) != 1:
            known.insert(0, str(abs(coefficient)))
        texts.append((coefficient, "*".join(known)))
    texts.sort(key=lambda term: (term[0] < 0, term[1]))
    if expr.constant or not texts:
        texts.append((expr.constant, str(abs(expr.constant))))
        texts.sort(key=lambda term: term[0] < 0)
    first, *others = texts
    lead = f"-{first[1]}" if first[0] < 0 else first[1]
    return lead + "".join(f" {'-' if sign < 0 else '+'} {text}" for sign, text in others)


def _symbol(symbol: int, symbols: DimSymbols, depth: int) -> str | None:
    key = symbols.key(symbol)
    if not depth:
        return None
    match key:
        case NamedDimension(_, name):
            return name if _is_factor(name) else f"({name})"
        case FloorDiv(expr, divisor):
            inner = _sum(symbols.resolve(expr), symbols, depth - 1)
            if inner is None:
                return None
            return f"floor({inner}/{divisor})" if _is_factor(inner) else f"floor(({inner})/{divisor})"
        case MinMax(is_min, bounds):
            return _call("min" if is_min else "max", bounds, symbols, depth)
        case BroadcastDim(sizes):
            return _call("broadcast", sizes, symbols, depth)
        case _:
            return None


def _call(name: str, operands: Iterable[DimExpr], symbols: DimSymbols, depth: int) -> str | None:
    """Format a commutative function, constants last."""
    texts = [_sum(symbols.resolve(operand), symbols, depth - 1) for operand in operands]
    known = sorted((text for text in texts if text is not None), key=lambda text: (text.isdigit(), text))
    return f"{name}({', '.join(known)})" if len(known) == len(texts) else None


def _is_factor(text: str) -> bool:
    """Return whether a text needs no parentheses as a factor."""
    return " " not in text and "/" not in text
