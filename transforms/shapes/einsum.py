"""Equations of Einsum, and the shape of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.transforms.shapes.inference_context import (
    Dim,
    Dims,
    InferenceContext,
    Types,
    any_shape,
    infers_dims,
    typed,
)

ELLIPSIS = "..."
DIGITS = "0123456789"
"""Subscripts for the axes of an ellipsis; it is right-aligned, so the last axis has the last digit in use."""


@dataclass(frozen=True)
class Equation:
    """Subscripts, one letter for each axis, of the operands and the result."""

    operands: tuple[str, ...]
    result: str


def parsed(text: str, ranks: Sequence[int]) -> Equation | None:
    """Parse an equation and expand its ellipses; return `None` if it does not match the operands."""
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        return None
    counts = [
        rank - len(term) + len(ELLIPSIS) if ELLIPSIS in term else 0
        for term, rank in zip(terms, ranks, strict=True)
    ]
    most = max(counts)
    if not 0 <= min(counts) <= most <= len(DIGITS):
        return None
    digits = DIGITS[:most]
    operands = tuple(
        term.replace(ELLIPSIS, digits[most - count :]) for term, count in zip(terms, counts, strict=True)
    )
    if any(len(term) != rank for term, rank in zip(operands, ranks, strict=True)):
        return None
    letters = "".join(operands)
    once = sorted(letter for letter in set(letters) if letter.isalpha() and letters.count(letter) == 1)
    result = right.replace(ELLIPSIS, digits) if arrow else digits + "".join(once)
    fits = set(result) <= set(letters) and len(set(result)) == len(result)
    return Equation(operands, result) if fits else None


@infers_dims("Einsum")
def einsum(ctx: InferenceContext) -> Types:
    """A dimension for each subscript of the result: the broadcast of the axes with that subscript."""
    shapes = ctx.all_dims()
    if shapes is None:
        return any_shape(ctx.element())
    equation = parsed(ctx.text("equation"), [len(shape) for shape in shapes])
    if equation is None:
        return any_shape(ctx.element())
    terms = [*zip(equation.operands, shapes, strict=True)]

    def size(subscript: str) -> Dim:
        axes: list[Dims] = [
            (shape[term.index(subscript)],) if subscript in term else () for term, shape in terms
        ]
        return ctx.broadcast(axes, ctx.operands)[0]

    return typed(tuple(map(size, equation.result)), ctx.element())
