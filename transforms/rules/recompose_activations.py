"""Recompose Gelu, exact or tanh-approximated (docs/internals/onnx-rules.md §6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, sqrt

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.math.arithmetic import AddOp, DivOp, MulOp, PowOp
from xonnc.dialects.onnx.ops.math.elementwise import ErfOp
from xonnc.dialects.onnx.ops.math.trigonometry import TanhOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.onnx import Gelu, Mul
from xonnc.rewriting.patterns import MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.recompose_matchers import either_way, exact_type, holds, made_by

Argument = Callable[[SSAValue, SSAValue], bool]
"""Predicate of (argument of an Erf or Tanh, x): whether the argument is the one in the Gelu of x."""

CUBIC = 0.044715


def over_root(found: SSAValue, x: SSAValue) -> bool:
    """x / √2"""
    quotient = made_by(found, DivOp)
    return quotient is not None and quotient.A is x and holds(quotient.B, sqrt(2), x)


def times_inverse_root(found: SSAValue, x: SSAValue) -> bool:
    """x (1 / √2)"""
    return is_multiple(found, sqrt(0.5), lambda other: other is x, x)


def cube(found: SSAValue, x: SSAValue) -> bool:
    """x ^ 3"""
    power = made_by(found, PowOp)
    return power is not None and power.X is x and holds(power.Y, 3, x)


def product_of_three(found: SSAValue, x: SSAValue) -> bool:
    """x x x"""
    product = made_by(found, MulOp)
    return product is not None and any(a is x and is_square(b, x) for a, b in either_way(product))


def is_square(found: SSAValue, x: SSAValue) -> bool:
    """x x, or x ^ 2"""
    product, power = made_by(found, MulOp), made_by(found, PowOp)
    if product is not None:
        return product.A is x and product.B is x
    return power is not None and power.X is x and holds(power.Y, 2, x)


def is_multiple(found: SSAValue, factor: float, of: Callable[[SSAValue], bool], x: SSAValue) -> bool:
    """Return whether `found` is the constant `factor` times a value for which `of` holds."""
    product = made_by(found, MulOp)
    return product is not None and any(of(a) and holds(b, factor, x) for a, b in either_way(product))


def is_sum(found: SSAValue, one: Callable[[SSAValue], bool], other: Callable[[SSAValue], bool]) -> bool:
    """Return whether `found` is the sum of values for which `one` and `other` hold, in either order."""
    total = made_by(found, AddOp)
    return total is not None and any(one(a) and other(b) for a, b in either_way(total))


def polynomial(third: Argument) -> Argument:
    """√(2/π) (x + 0.044715 x³)"""

    def matches(found: SSAValue, x: SSAValue) -> bool:
        def small(part: SSAValue) -> bool:
            return is_multiple(part, CUBIC, lambda power: third(power, x), x)

        return is_multiple(found, sqrt(2 / pi), lambda part: is_sum(part, lambda term: term is x, small), x)

    return matches


def factored(found: SSAValue, x: SSAValue) -> bool:
    """√(2/π) x (1 + 0.044715 x²), the factors in any order"""
    product = made_by(found, MulOp)
    if product is None:
        return False

    def bracket(part: SSAValue) -> bool:
        def small(term: SSAValue) -> bool:
            return is_multiple(term, CUBIC, lambda power: is_square(power, x), x)

        return is_sum(part, lambda term: holds(term, 1, x), small)

    def scaled(part: SSAValue) -> bool:
        return is_multiple(part, sqrt(2 / pi), lambda term: term is x, x)

    def times_bracket(part: SSAValue) -> bool:
        inner = made_by(part, MulOp)
        return inner is not None and any(a is x and bracket(b) for a, b in either_way(inner))

    def scaled_bracket(part: SSAValue) -> bool:
        def small(term: SSAValue) -> bool:
            return is_multiple(term, sqrt(2 / pi) * CUBIC, lambda power: is_square(power, x), x)

        # Constant folding may have multiplied the terms.
        distributed = is_sum(part, lambda term: holds(term, sqrt(2 / pi), x), small)
        return distributed or is_multiple(part, sqrt(2 / pi), bracket, x)

    return any(
        (scaled(a) and bracket(b))
        or (times_bracket(a) and holds(b, sqrt(2 / pi), x))
        or (a is x and scaled_bracket(b))
        for a, b in either_way(product)
    )


def half_and_factors(root: Operation) -> Iterator[tuple[SSAValue, SSAValue, SSAValue]]:
    """Yield all ways to read `root` as the product of three factors, the candidate for 0.5 first."""
    for half, product in either_way(root):
        inner = made_by(product, MulOp)
        if inner is not None:
            yield half, inner.A, inner.B
    for nested, other in either_way(root):
        inner = made_by(nested, MulOp)
        if inner is not None:
            for half, part in either_way(inner):
                yield half, part, other


def approximation(found: SSAValue, x: SSAValue, erf: tuple[Argument, ...], tanh: tuple[Argument, ...]) -> str:
    """Return `approximate` of the Gelu of x that has the factor `found`; an empty string if it is none."""
    total = made_by(found, AddOp)
    if total is None:
        return ""
    for one, curve in either_way(total):
        exact, rough = made_by(curve, ErfOp), made_by(curve, TanhOp)
        if (exact is None and rough is None) or not holds(one, 1, x):
            continue
        if exact is not None:
            return "none" if any(argument(exact.input, x) for argument in erf) else ""
        if rough is not None:
            return "tanh" if any(argument(rough.input, x) for argument in tanh) else ""
    return ""


def gelu(erf: tuple[Argument, ...], tanh: tuple[Argument, ...]) -> Rule:
    """Return the rule that recomposes Gelu, for the given forms of the arguments of erf and tanh."""

    @rule(Mul(value.a, value.b))
    def recompose(root: Operation) -> RewriteResult:
        """x (1 + erf(x / √2)) / 2 and x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2 are the Gelu of x"""
        element = element_type(root.results[0].type)
        if element is None or not is_float(numpy_dtype(element)):
            return MatchFailure("elements are not floats")
        for half, first, second in half_and_factors(root):
            for x, found in ((second, first), (first, second)):
                kind = approximation(found, x, erf, tanh)
                if kind and holds(half, 0.5, x):
                    return Gelu(x, approximate=kind).typed(exact_type(root.results[0], x))
        return MatchFailure("it is not 0.5 x (1 + erf(…)) or x (1 + tanh(…))")

    return recompose


RULES = rules(RecomposeGeluFromMulPattern=gelu((over_root,), (polynomial(cube),)))

STANDARD = rules(
    RecomposeGelu=gelu(
        (over_root, times_inverse_root),
        (polynomial(cube), polynomial(product_of_three), factored),
    )
)
"""Rules for models whose opset has Gelu, for all accepted decompositions."""
