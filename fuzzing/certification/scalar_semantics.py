"""The meaning of elementwise operators, element by element, in a few functions that provers know."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import TypeAlias

from xonnc.fuzzing.certification.terms import Attributes, Term, Terms


class Scalars:
    """Builds terms of one element."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def number(self, value: float, like: Term) -> Term:
        """Return a literal of the element type of a term."""
        return self.terms.literal(float(value) if like.is_float else value, like.dtype)

    def same(self, function: str, *arguments: Term) -> Term:
        """Return a function whose result has the type of its first argument."""
        return self.terms.apply(function, arguments[0].dtype, *arguments)

    def apply_to(self, function: str, arguments: list[Term]) -> Term:
        """Return a function of a list of terms."""
        return self.same(function, *arguments)

    def test(self, function: str, *arguments: Term) -> Term:
        """Return a function whose result is a boolean."""
        return self.terms.apply(function, "bool", *arguments)

    def select(self, condition: Term, then: Term, otherwise: Term) -> Term:
        """Return one of two terms."""
        if condition.is_literal:
            return then if condition.value else otherwise
        return self.terms.apply("select", then.dtype, condition, then, otherwise)

    def total(self, parts: list[Term], like: Term) -> Term:
        """Return the sum of terms in their order."""
        if not parts:
            return self.number(0, like)
        return parts[0] if len(parts) == 1 else self.terms.apply("sum", like.dtype, *parts)

    def chain(self, function: str, parts: list[Term]) -> Term:
        """Return f(… f(f(a, b), c) …)."""
        found = parts[0]
        for part in parts[1:]:
            found = self.same(function, found, part)
        return found

    def clip(self, x: Term, low: Term | None, high: Term | None) -> Term:
        """Return min(max(x, low), high)."""
        x = x if low is None else self.same("max", x, low)
        return x if high is None else self.same("min", x, high)


Scalarwise: TypeAlias = Callable[[Scalars, Attributes, list[Term]], Term]


def _same(function: str) -> Scalarwise:
    return lambda s, _, x: s.same(function, *x)


def _test(function: str) -> Scalarwise:
    return lambda s, _, x: s.test(function, *x)


def _chained(function: str) -> Scalarwise:
    return lambda s, _, x: s.chain(function, x)


def _number(attributes: Attributes, name: str, default: float) -> float:
    found = attributes.get(name)
    return float(found) if isinstance(found, int | float) else default


def _clip(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    low, high = (attributes.get(name) for name in ("min", "max"))
    bounds = [s.number(bound, x[0]) if isinstance(bound, int | float) else None for bound in (low, high)]
    return s.clip(x[0], *bounds)


def _leaky(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    slope = s.number(_number(attributes, "alpha", 0.01), x[0])
    return s.select(s.test("less", x[0], s.number(0, x[0])), s.same("mul", slope, x[0]), x[0])


def _hard_sigmoid(s: Scalars, attributes: Attributes, x: list[Term], alpha: float = 0.2) -> Term:
    scaled = s.same("mul", s.number(_number(attributes, "alpha", alpha), x[0]), x[0])
    moved = s.same("add", scaled, s.number(_number(attributes, "beta", 0.5), x[0]))
    return s.clip(moved, s.number(0, x[0]), s.number(1, x[0]))


def _hard_swish(s: Scalars, _: Attributes, x: list[Term]) -> Term:
    return s.same("mul", x[0], _hard_sigmoid(s, {}, x, 1 / 6))


def _swish(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    alpha = _number(attributes, "alpha", 1.0)
    inner = x[0] if alpha == 1 else s.same("mul", s.number(alpha, x[0]), x[0])
    return s.same("mul", x[0], s.same("sigmoid", inner))


def _gelu(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    one, half, data = s.number(1, x[0]), s.number(0.5, x[0]), x[0]
    if attributes.get("approximate") == "tanh":
        cube = s.same("mul", s.number(0.044715, data), s.same("mul", data, s.same("mul", data, data)))
        inner = s.same("tanh", s.same("mul", s.number(sqrt(2 / pi), data), s.same("add", data, cube)))
    else:
        inner = s.same("erf", s.same("div", data, s.number(sqrt(2), data)))
    return s.same("mul", s.same("mul", half, data), s.same("add", one, inner))


def _cast(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    target = str(attributes["to"])
    if target == x[0].dtype:
        return x[0]
    saturate = "" if attributes.get("saturate", 1) == 1 or not target.startswith("float8") else " unsaturated"
    return s.terms.apply(f"cast{saturate}", target, x[0])


def _modulo(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
    return s.same("fmod" if attributes.get("fmod") == 1 else "mod", *x)


def _mean(s: Scalars, _: Attributes, x: list[Term]) -> Term:
    return s.same("div", s.chain("add", x), s.number(len(x), x[0]))


def _with_attributes(function: str) -> Scalarwise:
    """An uninterpreted function, equal for equal attributes."""

    def apply(s: Scalars, attributes: Attributes, x: list[Term]) -> Term:
        settings = " ".join(f"{name}={found}" for name, found in sorted(attributes.items()))
        return s.same(f"{function} {settings}", *x)

    return apply


ELEMENTWISE: dict[str, Scalarwise] = {
    **{
        name: _same(name.lower())
        for name in (
            "Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Erf Exp Floor Log Mul Neg Pow Round"
            " Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Tan Tanh And Or Xor Not BitwiseAnd BitwiseOr"
            " BitwiseXor BitwiseNot Mish"
        ).split()
    },
    **{name: _test(name.lower()) for name in ("IsNaN", "Equal", "Less", "Greater")},
    "LessOrEqual": _test("lessorequal"),
    "GreaterOrEqual": _test("greaterorequal"),
    "Relu": lambda s, _, x: s.same("max", x[0], s.number(0, x[0])),
    "Reciprocal": lambda s, _, x: s.same("div", s.number(1, x[0]), x[0]),
    "Where": lambda s, _, x: s.select(*x),
    "PRelu": lambda s, _, x: s.select(
        s.test("less", x[0], s.number(0, x[0])), s.same("mul", x[1], x[0]), x[0]
    ),
    **{
        name: _with_attributes(name.lower())
        for name in "Celu Elu Selu Shrink ThresholdedRelu BitShift".split()
    },
    "LeakyRelu": _leaky,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Swish": _swish,
    "Gelu": _gelu,
    "Cast": _cast,
    "Mod": _modulo,
    "ClipV6": _clip,
    "Max": _chained("max"),
    "Min": _chained("min"),
    "Sum": _chained("add"),
    "Mean": _mean,
}
"""Operators whose operands broadcast and whose elements do not interact."""
