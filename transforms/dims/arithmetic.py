"""Symbolic arithmetic on elements of small integer tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xonnc.transforms.dims.dim_context import DimContext, Element, Elements, elements_of, integer
from xonnc.transforms.dims.expressions import ONE, ZERO, DimExpr, DimSymbols

Compute: TypeAlias = "Callable[[Element, Element], Element | None]"


def _pairwise(ctx: DimContext, compute: Compute) -> Sequence[Elements | None]:
    """Apply a computation to each pair of broadcast elements."""
    return _together(ctx, 2, lambda given: compute(*given))


def _together(
    ctx: DimContext, count: int, compute: Callable[[Sequence[Element]], Element | None]
) -> Sequence[Elements | None]:
    operands = [ctx.elements(index) for index in range(count)]
    known = [operand for operand in operands if operand is not None]
    lengths = {len(operand) for operand in known} - {1}
    if len(known) < count or len(lengths) > 1:
        return []
    length = lengths.pop() if lengths else 1
    made: list[Element] = []
    for index in range(length):
        found = compute([operand[index % len(operand)] for operand in known])
        made.append(ctx.unknown(index) if found is None else found)
    return [tuple(made)]


@elements_of("Add")
def add(ctx: DimContext) -> Sequence[Elements | None]:
    """a + b"""
    return _pairwise(ctx, lambda a, b: integer(a.expr + b.expr, a.is_size and b.is_size))


@elements_of("Sub")
def sub(ctx: DimContext) -> Sequence[Elements | None]:
    """a - b"""
    return _pairwise(ctx, lambda a, b: integer(a.expr - b.expr, False))


@elements_of("Mul")
def mul(ctx: DimContext) -> Sequence[Elements | None]:
    """a b"""
    product = ctx.symbols.product
    return _pairwise(ctx, lambda a, b: integer(product([a.expr, b.expr]), a.is_size and b.is_size))


@elements_of("Neg")
def neg(ctx: DimContext) -> Sequence[Elements | None]:
    """-a"""
    return _together(ctx, 1, lambda given: integer(ZERO - given[0].expr, False))


@elements_of("Abs", "Relu")
def positive(ctx: DimContext) -> Sequence[Elements | None]:
    """|a| = a for a dimension."""

    def of(given: Sequence[Element]) -> Element | None:
        number = given[0].expr.number
        if given[0].is_size:
            return given[0]
        if number is None:
            return None
        return integer(DimExpr(abs(number) if ctx.name == "Abs" else 0), True)

    return _together(ctx, 1, of)


@elements_of("Div")
def div(ctx: DimContext) -> Sequence[Elements | None]:
    """
    a / b towards zero: floor division of what is not negative by positive constants, exact quotients,
    constants.
    """

    def quotient(a: Element, b: Element) -> Element | None:
        dividend, divisor = a.expr.number, b.expr.number
        if divisor is None:
            exact = a.expr.divided_by(b.expr) if a.is_size and b.is_size else None
            return None if exact is None else integer(exact, True)
        if divisor == 0:
            return None
        if dividend is not None:
            size = abs(dividend) // abs(divisor)
            return integer(DimExpr(size if (dividend < 0) == (divisor < 0) else -size), False)
        if divisor < 0 or not _is_size(ctx, a):
            return None
        return Element(ctx.symbols.floor(a.expr, divisor), True)

    return _pairwise(ctx, quotient)


def _is_size(ctx: DimContext, element: Element) -> bool:
    """Whether an element is not negative, perhaps by assumption, as H - 1 where torch rounds up."""
    return element.is_size or (element.expr.number is None and ctx.symbols.assume_size(element.expr))


@elements_of("Mod")
def mod(ctx: DimContext) -> Sequence[Elements | None]:
    """
    a - b floor(a / b) for a positive constant b, and 0 for multiples of a dimension b.

    With `fmod`, which rounds towards zero, only for a that is not negative.
    """

    def rest(a: Element, b: Element) -> Element | None:
        divisor = b.expr.number
        if divisor is None and b.is_size and a.expr.divided_by(b.expr) is not None:
            return Element(ZERO, True)
        if divisor is None or divisor <= 0 or (ctx.integer("fmod") and not _is_size(ctx, a)):
            return None
        quotient = ctx.symbols.floor(a.expr, divisor)
        return Element(a.expr - quotient * DimExpr(divisor), True)

    return _pairwise(ctx, rest)


@elements_of("Min")
def minimum(ctx: DimContext) -> Sequence[Elements | None]:
    """min; a dimension bound stays symbolic."""
    return _extreme(ctx, ctx.symbols.minimum, every=True)


@elements_of("Max")
def maximum(ctx: DimContext) -> Sequence[Elements | None]:
    """max; it is a dimension if one operand is."""
    return _extreme(ctx, ctx.symbols.maximum, every=False)


def _extreme(
    ctx: DimContext, pick: Callable[[DimExpr, DimExpr], DimExpr], every: bool
) -> Sequence[Elements | None]:
    def of(given: Sequence[Element]) -> Element | None:
        found = given[0].expr
        for element in given[1:]:
            found = pick(found, element.expr)
        sizes = [element.is_size for element in given]
        return integer(found, all(sizes) if every else any(sizes))

    return _together(ctx, len(ctx.op.operands), of)


def _truth(known: bool | None) -> Element | None:
    return None if known is None else Element(ONE if known else ZERO, True)


def compare(symbols: DimSymbols, a: Element, b: Element) -> int | None:
    """Return -1, 0 or 1 for a smaller, equal or larger first operand; `None` if unknown."""
    difference = (a.expr - b.expr).number
    if difference is not None:
        return (difference > 0) - (difference < 0)
    if a.is_size and b.expr.number is not None and b.expr.number < 0:
        return 1
    if b.is_size and a.expr.number is not None and a.expr.number < 0:
        return -1
    return None


_TRUE_FOR = {
    "Equal": (0,),
    "Greater": (1,),
    "GreaterOrEqual": (0, 1),
    "Less": (-1,),
    "LessOrEqual": (-1, 0),
}


@elements_of(*_TRUE_FOR)
def comparing(ctx: DimContext) -> Sequence[Elements | None]:
    """Equal, Greater, Less and their variants, where the order is known."""
    accepted = _TRUE_FOR[ctx.name]

    def of(a: Element, b: Element) -> Element | None:
        order = compare(ctx.symbols, a, b)
        return None if order is None else _truth(order in accepted)

    return _pairwise(ctx, of)


@elements_of("Not")
def negation(ctx: DimContext) -> Sequence[Elements | None]:
    """Not: 1 - a."""
    return _together(ctx, 1, lambda given: Element(ONE - given[0].expr, True))


@elements_of("And", "Or")
def both(ctx: DimContext) -> Sequence[Elements | None]:
    """And, Or: decided by one known operand, or by both."""
    deciding = ZERO if ctx.name == "And" else ONE

    def of(a: Element, b: Element) -> Element | None:
        if deciding in (a.expr, b.expr):
            return Element(deciding, True)
        return Element(ONE - deciding, True) if a.expr == b.expr == ONE - deciding else None

    return _pairwise(ctx, of)


@elements_of("Where")
def where(ctx: DimContext) -> Sequence[Elements | None]:
    """The selected branch, or the common value of both."""

    def of(given: Sequence[Element]) -> Element | None:
        condition, yes, no = given
        if condition.expr.number is not None:
            return yes if condition.expr.number else no
        return yes if yes == no else None

    return _together(ctx, 3, of)


@elements_of("ReduceProd", "ReduceProdV13")
def product(ctx: DimContext) -> Sequence[Elements | None]:
    """ReduceProd of a vector."""
    return _reduced(ctx, ctx.symbols.product)


@elements_of("ReduceSum", "ReduceSumV11")
def total(ctx: DimContext) -> Sequence[Elements | None]:
    """ReduceSum of a vector."""

    def of(exprs: Sequence[DimExpr]) -> DimExpr:
        found = ZERO
        for expr in exprs:
            found += expr
        return found

    return _reduced(ctx, of)


@elements_of("ReduceMax", "ReduceMaxV13", "ReduceMaxV18")
def largest(ctx: DimContext) -> Sequence[Elements | None]:
    """ReduceMax of a vector."""
    return _reduced(ctx, lambda exprs: _folded(ctx.symbols.maximum, exprs))


@elements_of("ReduceMin", "ReduceMinV13", "ReduceMinV18")
def smallest(ctx: DimContext) -> Sequence[Elements | None]:
    """ReduceMin of a vector."""
    return _reduced(ctx, lambda exprs: _folded(ctx.symbols.minimum, exprs))


def _folded(pick: Callable[[DimExpr, DimExpr], DimExpr], exprs: Sequence[DimExpr]) -> DimExpr | None:
    found = exprs[0] if exprs else None
    for expr in exprs[1:]:
        found = expr if found is None else pick(found, expr)
    return found


def _reduced(
    ctx: DimContext, compute: Callable[[Sequence[DimExpr]], DimExpr | None]
) -> Sequence[Elements | None]:
    data = ctx.elements(0)
    if data is None or len(ctx.sizes(0) or ()) != 1 or ctx.integer("noop_with_empty_axes"):
        return []
    found = compute([expr for expr, _ in data])
    return [] if found is None else [(integer(found, all(is_size for _, is_size in data)),)]
