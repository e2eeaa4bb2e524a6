"""The functions of terms in Z3: of integers as bit vectors, of floats as real or IEEE numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Function: TypeAlias = Callable[[Any, list[Any]], Any]
"""From the module `z3` and arguments to an expression."""

BOOLEANS: Mapping[str, Function] = {
    "and": lambda z3, x: z3.And(*x),
    "or": lambda z3, x: z3.Or(*x),
    "xor": lambda z3, x: z3.Xor(*x),
    "not": lambda z3, x: z3.Not(*x),
    "equal": lambda z3, x: x[0] == x[1],
}

_ARITHMETIC: Mapping[str, Function] = {
    "add": lambda z3, x: x[0] + x[1],
    "sum": lambda z3, x: sum(x[1:], x[0]),
    "sub": lambda z3, x: x[0] - x[1],
    "mul": lambda z3, x: x[0] * x[1],
    "div": lambda z3, x: x[0] / x[1],
    "neg": lambda z3, x: -x[0],
    "equal": lambda z3, x: x[0] == x[1],
}

_ORDERED: Mapping[str, Function] = {
    "abs": lambda z3, x: z3.If(x[0] < 0, -x[0], x[0]),
    "max": lambda z3, x: z3.If(x[0] < x[1], x[1], x[0]),
    "min": lambda z3, x: z3.If(x[0] < x[1], x[0], x[1]),
    "less": lambda z3, x: x[0] < x[1],
    "greater": lambda z3, x: x[0] > x[1],
    "lessorequal": lambda z3, x: x[0] <= x[1],
    "greaterorequal": lambda z3, x: x[0] >= x[1],
}

_BITWISE: Mapping[str, Function] = {
    "bitwiseand": lambda z3, x: x[0] & x[1],
    "bitwiseor": lambda z3, x: x[0] | x[1],
    "bitwisexor": lambda z3, x: x[0] ^ x[1],
    "bitwisenot": lambda z3, x: ~x[0],
}

SIGNED: Mapping[str, Function] = {**_ARITHMETIC, **_ORDERED, **_BITWISE}

UNSIGNED: Mapping[str, Function] = {
    **_ARITHMETIC,
    **_BITWISE,
    "div": lambda z3, x: z3.UDiv(*x),
    "abs": lambda z3, x: x[0],
    "max": lambda z3, x: z3.If(z3.ULT(*x), x[1], x[0]),
    "min": lambda z3, x: z3.If(z3.ULT(*x), x[0], x[1]),
    "less": lambda z3, x: z3.ULT(*x),
    "greater": lambda z3, x: z3.UGT(*x),
    "lessorequal": lambda z3, x: z3.ULE(*x),
    "greaterorequal": lambda z3, x: z3.UGE(*x),
}

REALS: Mapping[str, Function] = {
    **_ARITHMETIC,
    **_ORDERED,
    "sign": lambda z3, x: z3.If(x[0] > 0, z3.Q(1, 1), z3.If(x[0] < 0, z3.Q(-1, 1), z3.Q(0, 1))),
    "isnan": lambda z3, x: z3.BoolVal(False),
}


def _sign(z3: Any, x: list[Any]) -> Any:
    one, zero = z3.FPVal(1.0, x[0].sort()), z3.fpPlusZero(x[0].sort())
    signed = z3.If(z3.fpIsNegative(x[0]), z3.fpNeg(one), one)
    return z3.If(z3.fpIsNaN(x[0]), x[0], z3.If(z3.fpIsZero(x[0]), zero, signed))


def _extremum(largest: bool) -> Function:
    """Maximum or minimum of IEEE 754-2019: NaN propagates, 0 is larger than -0."""

    def choose(z3: Any, x: list[Any]) -> Any:
        a, b = x
        negative = z3.fpIsNegative(a)
        first = z3.Not(negative) if largest else negative
        ordered = z3.fpGT(a, b) if largest else z3.fpLT(a, b)
        zeros = z3.And(z3.fpIsZero(a), z3.fpIsZero(b))
        found = z3.If(z3.If(zeros, first, ordered), a, b)
        return z3.If(z3.Or(z3.fpIsNaN(a), z3.fpIsNaN(b)), z3.fpNaN(a.sort()), found)

    return choose


IEEE: Mapping[str, Function] = {
    "add": lambda z3, x: z3.fpAdd(z3.RNE(), *x),
    "sub": lambda z3, x: z3.fpSub(z3.RNE(), *x),
    "mul": lambda z3, x: z3.fpMul(z3.RNE(), *x),
    "div": lambda z3, x: z3.fpDiv(z3.RNE(), *x),
    "sqrt": lambda z3, x: z3.fpSqrt(z3.RNE(), *x),
    "neg": lambda z3, x: z3.fpNeg(*x),
    "abs": lambda z3, x: z3.fpAbs(*x),
    "sign": _sign,
    "max": _extremum(True),
    "min": _extremum(False),
    "equal": lambda z3, x: z3.fpEQ(*x),
    "less": lambda z3, x: z3.fpLT(*x),
    "greater": lambda z3, x: z3.fpGT(*x),
    "lessorequal": lambda z3, x: z3.fpLEQ(*x),
    "greaterorequal": lambda z3, x: z3.fpGEQ(*x),
    "isnan": lambda z3, x: z3.fpIsNaN(*x),
    "round": lambda z3, x: z3.fpRoundToIntegral(z3.RNE(), *x),
    "floor": lambda z3, x: z3.fpRoundToIntegral(z3.RTN(), *x),
    "ceil": lambda z3, x: z3.fpRoundToIntegral(z3.RTP(), *x),
}
