"""Arithmetic and decisions on the integers in small tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xonnc.transforms.dims.dim_context import Element, Elements, Node, elements_of, integer
from xonnc.transforms.dims.expressions import ONE, ZERO, Form, Symbols

Compute: TypeAlias = "Callable[[Element, Element], Element | None]"


def _pairwise(node: Node, compute: Compute) -> Sequence[Elements | None]:
    """One computation for each place of operands that broadcast."""
    return _together(node, 2, lambda given: compute(*given))


def _together(
    node: Node, count: int, compute: Callable[[Sequence[Element]], Element | None]
) -> Sequence[Elements | None]:
    operands = [node.elements(place) for place in range(count)]
    known = [operand for operand in operands if operand is not None]
    lengths = {len(operand) for operand in known} - {1}
    if len(known) < count or len(lengths) > 1:
        return []
    length = lengths.pop() if lengths else 1
    made: list[Element] = []
    for place in range(length):
        found = compute([operand[place % len(operand)] for operand in known])
        made.append(node.unknown(place) if found is None else found)
    return [tuple(made)]


@elements_of("Add")
def add(node: Node) -> Sequence[Elements | None]:
    """a + b"""
    return _pairwise(node, lambda a, b: integer(a.form + b.form, a.is_size and b.is_size))


@elements_of("Sub")
def sub(node: Node) -> Sequence[Elements | None]:
    """a - b"""
    return _pairwise(node, lambda a, b: integer(a.form - b.form, False))


@elements_of("Mul")
def mul(node: Node) -> Sequence[Elements | None]:
    """a b"""
    product = node.symbols.product
    return _pairwise(node, lambda a, b: integer(product([a.form, b.form]), a.is_size and b.is_size))


@elements_of("Neg")
def neg(node: Node) -> Sequence[Elements | None]:
    """-a"""
    return _together(node, 1, lambda given: integer(ZERO - given[0].form, False))


@elements_of("Abs", "Relu")
def positive(node: Node) -> Sequence[Elements | None]:
    """A size as it is"""

    def of(given: Sequence[Element]) -> Element | None:
        number = given[0].form.number
        if given[0].is_size:
            return given[0]
        if number is None:
            return None
        return integer(Form(abs(number) if node.site.name == "Abs" else 0), True)

    return _together(node, 1, of)


@elements_of("Div")
def div(node: Node) -> Sequence[Elements | None]:
    """a / b rounded to zero: down for sizes; numbers, quotients without rest, sizes by positive numbers"""

    def quotient(a: Element, b: Element) -> Element | None:
        dividend, divisor = a.form.number, b.form.number
        if divisor is None:
            exact = a.form.divided_by(b.form) if a.is_size and b.is_size else None
            return None if exact is None else integer(exact, True)
        if divisor == 0:
            return None
        if dividend is not None:
            size = abs(dividend) // abs(divisor)
            return integer(Form(size if (dividend < 0) == (divisor < 0) else -size), False)
        if not a.is_size or divisor < 0:
            return None
        return Element(node.symbols.floor(a.form, divisor), True)

    return _pairwise(node, quotient)


@elements_of("Mod")
def mod(node: Node) -> Sequence[Elements | None]:
    """a - b floor(a / b), for sizes by positive numbers"""

    def rest(a: Element, b: Element) -> Element | None:
        divisor = b.form.number
        if divisor is None or divisor <= 0 or not a.is_size:
            return None
        whole = node.symbols.floor(a.form, divisor)
        return Element(a.form - whole * Form(divisor), True)

    return _pairwise(node, rest)


@elements_of("Min")
def minimum(node: Node) -> Sequence[Elements | None]:
    """The smallest"""
    return _extreme(node, node.symbols.minimum, every=True)


@elements_of("Max")
def maximum(node: Node) -> Sequence[Elements | None]:
    """The largest; of what may be negative and a size it is one"""
    return _extreme(node, node.symbols.maximum, every=False)


def _extreme(node: Node, pick: Callable[[Form, Form], Form], every: bool) -> Sequence[Elements | None]:
    def of(given: Sequence[Element]) -> Element | None:
        found = given[0].form
        for element in given[1:]:
            found = pick(found, element.form)
        sizes = [element.is_size for element in given]
        return integer(found, all(sizes) if every else any(sizes))

    return _together(node, len(node.op.operands), of)


def _truth(known: bool | None) -> Element | None:
    return None if known is None else Element(ONE if known else ZERO, True)


def compare(symbols: Symbols, a: Element, b: Element) -> int | None:
    """-1, 0 or 1 as the first is smaller, equal or larger; `None` if that is not known."""
    difference = (a.form - b.form).number
    if difference is not None:
        return (difference > 0) - (difference < 0)
    if a.is_size and b.form.number is not None and b.form.number < 0:
        return 1
    if b.is_size and a.form.number is not None and a.form.number < 0:
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
def comparing(node: Node) -> Sequence[Elements | None]:
    """Whether a is as large as b, larger, smaller"""
    accepted = _TRUE_FOR[node.site.name]

    def of(a: Element, b: Element) -> Element | None:
        order = compare(node.symbols, a, b)
        return None if order is None else _truth(order in accepted)

    return _pairwise(node, of)


@elements_of("Not")
def negation(node: Node) -> Sequence[Elements | None]:
    """1 - a"""
    return _together(node, 1, lambda given: Element(ONE - given[0].form, True))


@elements_of("And", "Or")
def both(node: Node) -> Sequence[Elements | None]:
    """Decided by the one that is known, or by both"""
    deciding = ZERO if node.site.name == "And" else ONE

    def of(a: Element, b: Element) -> Element | None:
        if deciding in (a.form, b.form):
            return Element(deciding, True)
        return Element(ONE - deciding, True) if a.form == b.form == ONE - deciding else None

    return _pairwise(node, of)


@elements_of("Where")
def where(node: Node) -> Sequence[Elements | None]:
    """The one that the condition takes, or what both are"""

    def of(given: Sequence[Element]) -> Element | None:
        condition, yes, no = given
        if condition.form.number is not None:
            return yes if condition.form.number else no
        return yes if yes == no else None

    return _together(node, 3, of)


@elements_of("ReduceProd", "ReduceProdV13")
def product(node: Node) -> Sequence[Elements | None]:
    """The product of all: a vector has one axis to reduce."""
    return _reduced(node, node.symbols.product)


@elements_of("ReduceSum", "ReduceSumV11")
def total(node: Node) -> Sequence[Elements | None]:
    """The sum of all."""

    def of(forms: Sequence[Form]) -> Form:
        found = ZERO
        for form in forms:
            found += form
        return found

    return _reduced(node, of)


@elements_of("ReduceMax", "ReduceMaxV13", "ReduceMaxV18")
def largest(node: Node) -> Sequence[Elements | None]:
    """The largest of all."""
    return _reduced(node, lambda forms: _folded(node.symbols.maximum, forms))


@elements_of("ReduceMin", "ReduceMinV13", "ReduceMinV18")
def smallest(node: Node) -> Sequence[Elements | None]:
    """The smallest of all."""
    return _reduced(node, lambda forms: _folded(node.symbols.minimum, forms))


def _folded(pick: Callable[[Form, Form], Form], forms: Sequence[Form]) -> Form | None:
    found = forms[0] if forms else None
    for form in forms[1:]:
        found = form if found is None else pick(found, form)
    return found


def _reduced(node: Node, compute: Callable[[Sequence[Form]], Form | None]) -> Sequence[Elements | None]:
    data = node.elements(0)
    if data is None or len(node.sizes(0) or ()) != 1 or node.site.integer("noop_with_empty_axes"):
        return []
    found = compute([form for form, _ in data])
    return [] if found is None else [(integer(found, all(is_size for _, is_size in data)),)]
