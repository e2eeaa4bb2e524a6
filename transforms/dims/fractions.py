"""
Integers that models compute from sizes with floats: ceil(size / 2.0), as torch's first exporter writes them.

A float is followed as an exact fraction of integers as long as rounding it up or down gives what rounding the
fraction gives. That holds for sizes up to `LARGEST`, which programs check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd, isfinite
from typing import TypeAlias

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.transforms.dims.dim_context import DimContext, Element, Elements
from xonnc.transforms.dims.expressions import ZERO, DimExpr
from xonnc.transforms.shapes.inference_context import constant_array

LARGEST = 1 << 22
"""Largest size that is followed as a float."""

_EXACT = 1 << 24
"""Up to this magnitude float32 has all integers."""

_MAX_DEPTH = 24
"""Limit of operators between integers."""

_MAX_ELEMENTS = 8
"""Larger vectors are data."""


@dataclass(frozen=True)
class _Fraction:
    """
    numerator / denominator, of which the model has a float.

    If the denominator is a power of two, the float is the fraction. Else it was rounded, at first in the
    division: where the fraction is an integer, the float is that all the same. Otherwise it is between the
    same integers: the fraction is at least 1 / denominator away from them, and each rounding moves it by at
    most 2**-24 of its magnitude.
    """

    numerator: DimExpr
    denominator: int
    bound: int
    """Largest magnitude of the numerator; of a rounded fraction, the sum of those at each rounding."""
    is_size: bool
    """Whether it is not negative."""

    @property
    def is_exact(self) -> bool:
        return self.denominator & (self.denominator - 1) == 0

    @property
    def is_whole(self) -> bool:
        return self.denominator == 1

    @property
    def number(self) -> int | None:
        """The numerator if it is constant."""
        return self.numerator.number

    def reduced(self) -> _Fraction | None:
        """Return the fraction in lowest terms; None if the float may be another number."""
        factor = gcd(self.denominator, self.numerator.constant, *(each for _, each in self.numerator.terms))
        numerator = self.numerator.divided_by(DimExpr(factor))
        assert numerator is not None
        bound, denominator = -(-self.bound // factor), self.denominator // factor
        return (
            _Fraction(numerator, denominator, bound, self.is_size)
            if max(bound, denominator) < _EXACT
            else None
        )


_Fractions: TypeAlias = tuple[_Fraction, ...]
_Known: TypeAlias = "dict[SSAValue, _Fractions | None]"


def whole_elements(ctx: DimContext) -> Elements | None:
    """Return the integers that a Cast makes of floats that are computed from sizes."""
    found = _fractions(ctx, ctx.op.operands[0], {}, _MAX_DEPTH)
    if found is None:
        return None
    rounded = [_rounded_to_zero(ctx, each) for each in found]
    return tuple(ctx.unknown(index) if each is None else each for index, each in enumerate(rounded))


def _rounded_to_zero(ctx: DimContext, given: _Fraction) -> Element | None:
    if given.is_whole:
        return Element(given.numerator, given.is_size)
    if not given.is_size and not ctx.symbols.assume_size(given.numerator):
        return None
    return Element(ctx.symbols.floor(given.numerator, given.denominator), True)


def _fractions(ctx: DimContext, value: SSAValue, known: _Known, depth: int) -> _Fractions | None:
    """Return the elements of a float scalar or short vector, those of `known` values from there."""
    if value not in known:
        shape, owner = static_shape(value.type), value.owner
        is_followed = (
            element_type(value.type) in (f32, f64)
            and shape in ((), *((count,) for count in range(1, _MAX_ELEMENTS + 1)))
            and isinstance(owner, Operation)
            and depth > 0
        )
        known[value] = _of_op(replace(ctx, op=owner), known, depth - 1) if is_followed else None
    return known[value]


def _of_op(ctx: DimContext, known: _Known, depth: int) -> _Fractions | None:
    if ctx.name == "Constant":
        return _constants(ctx)
    if ctx.name == "Cast" and element_type(ctx.op.operands[0].type) not in (f32, f64):
        return _sizes(ctx)
    values = [value for index, value in enumerate(ctx.op.operands) if ctx.has(index)]
    compute = _COMPUTE.get(ctx.name)
    if compute is None and ctx.name not in _MOVES:
        return None
    read = values if compute or ctx.name == "Concat" else values[:1]
    given = [_fractions(ctx, value, known, depth) for value in read]
    operands = [each for each in given if each is not None]
    if len(operands) < len(given):
        return None
    if compute is None:
        return tuple(each for operand in operands for each in operand)
    lengths = {len(operand) for operand in operands} - {1}
    if len(lengths) > 1:
        return None
    length = lengths.pop() if lengths else 1
    return _followed(
        [compute(ctx, [each[index % len(each)] for each in operands]) for index in range(length)]
    )


def _followed(made: Sequence[_Fraction | None]) -> _Fractions | None:
    """Return fractions in lowest terms; None if one is unknown."""
    found = [each.reduced() for each in made if each is not None]
    known = [each for each in found if each is not None]
    return tuple(known) if len(known) == len(made) else None


def _constants(ctx: DimContext) -> _Fractions | None:
    array = constant_array(ctx.op.results[0])
    numbers = [] if array is None else [float(number) for number in array.reshape(-1)]
    if array is None or not all(map(isfinite, numbers)):
        return None
    ratios = [number.as_integer_ratio() for number in numbers]
    return _followed([_Fraction(DimExpr(over), under, abs(over), over >= 0) for over, under in ratios])


def _sizes(ctx: DimContext) -> _Fractions | None:
    """The integers that a Cast makes floats, if they are small enough: of unknown ones this is assumed."""
    found = ctx.elements(0)
    if found is None or not all(_is_small(ctx, each) for each in found):
        return None
    return tuple(_Fraction(expr, 1, LARGEST, expr.number is None or expr.number >= 0) for expr, _ in found)


def _is_small(ctx: DimContext, element: Element) -> bool:
    number = element.expr.number
    if number is not None:
        return abs(number) <= LARGEST
    is_positive = element.is_size or ctx.symbols.assume_size(element.expr)
    return is_positive and ctx.symbols.assume_size(DimExpr(LARGEST) - element.expr)


def _sum(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """a + b, of which at most one was rounded, and then the other is an integer."""
    a, b = given
    if ctx.name == "Sub":
        b = replace(b, numerator=ZERO - b.numerator, is_size=b.number is not None and b.number <= 0)
    if not a.is_exact or not b.is_exact:
        rounded, other = (b, a) if a.is_exact else (a, b)
        if not other.is_whole:
            return None
        bound = 2 * rounded.bound + other.bound * rounded.denominator
    else:
        bound = a.bound * b.denominator + b.bound * a.denominator
    numerator = a.numerator * DimExpr(b.denominator) + b.numerator * DimExpr(a.denominator)
    return _Fraction(numerator, a.denominator * b.denominator, bound, a.is_size and b.is_size)


def _product(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """a b, of exact fractions."""
    a, b = given
    if not a.is_exact or not b.is_exact:
        return None
    numerator = ctx.symbols.product([a.numerator, b.numerator])
    bound, is_size = a.bound * b.bound, a.is_size and b.is_size
    return _Fraction(numerator, a.denominator * b.denominator, bound, is_size)


def _quotient(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """a / b for an exact fraction and a positive constant."""
    a, b = given
    if not a.is_exact or not b.is_exact or b.number is None or b.number <= 0:
        return None
    numerator = a.numerator * DimExpr(b.denominator)
    return _Fraction(numerator, a.denominator * b.number, a.bound * b.denominator, a.is_size)


def _rounded(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """The integer at most, or at least, a fraction."""
    (a,) = given
    added = DimExpr(a.denominator - 1 if ctx.name == "Ceil" else 0)
    whole = ctx.symbols.floor(a.numerator + added, a.denominator)
    return _Fraction(whole, 1, a.bound // a.denominator + 1, a.is_size)


def _relu(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    return _maximum(ctx, [*given, _Fraction(ZERO, 1, 0, True)])


def _clipped(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """The minimum of an upper bound and the maximum of an integer and a lower one, if they are there."""
    lower, upper = given[1 : 1 + ctx.has(1)], given[1 + ctx.has(1) :]
    found = _maximum(ctx, [given[0], *lower])
    return None if found is None else _minimum(ctx, [found, *upper])


def _maximum(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """The maximum of integers, not negative if one is not."""
    return _extreme(given, ctx.symbols.maximum, any)


def _minimum(ctx: DimContext, given: Sequence[_Fraction]) -> _Fraction | None:
    """The minimum of integers, not negative if none is."""
    return _extreme(given, ctx.symbols.minimum, all)


def _extreme(
    given: Sequence[_Fraction],
    pick: Callable[[DimExpr, DimExpr], DimExpr],
    are_sizes: Callable[[Sequence[bool]], bool],
) -> _Fraction | None:
    if not all(each.is_whole for each in given):
        return None
    found = reduce(pick, [each.numerator for each in given])
    return _Fraction(found, 1, max(each.bound for each in given), are_sizes([each.is_size for each in given]))


_MOVES = (
    "Cast",
    "Concat",
    "Identity",
    "Reshape",
    "Squeeze",
    "SqueezeV11",
    "Unsqueeze",
    "UnsqueezeV11",
)
"""Operators whose elements are those of the first operand, or of all for Concat, in order."""

_COMPUTE: dict[str, Callable[[DimContext, Sequence[_Fraction]], _Fraction | None]] = {
    "Add": _sum,
    "Sub": _sum,
    "Mul": _product,
    "Div": _quotient,
    "Ceil": _rounded,
    "Floor": _rounded,
    "Relu": _relu,
    "Clip": _clipped,
    "Max": _maximum,
    "Min": _minimum,
}
"""What operators compute, by name without the dialect."""
