"""
Normal forms of terms: polynomials over the reals, or over the integers modulo 2^n.

Two terms with one normal form are equal for all values of their symbols: of floats as real numbers, without
rounding and where no denominator is 0; of integers exactly. Functions that are no polynomials (`exp`, `max`)
are unknowns, equal where their arguments have one normal form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction
from math import isfinite, sqrt
from typing import TypeAlias

from xonnc.fuzzing.certification.tensor_semantics import NoMeaningError
from xonnc.fuzzing.certification.terms import Term

Monomial: TypeAlias = frozenset[tuple[Hashable, int]]
"""Unknowns with their powers."""
Polynomial: TypeAlias = Mapping[Monomial, Fraction]

MAX_MONOMIALS = 4000
MAX_POWER = 6
ONE: Monomial = frozenset()
EPSILONS = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-2, "bfloat16": 1e-1}
"""The largest difference of coefficients that rounding of constants explains, relative to the largest one."""


class NormalForms:
    """Normal forms of terms, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, Polynomial] = {}

    def are_equal(self, a: Term, b: Term) -> bool:
        """Return whether two terms have one normal form, up to the rounding of constants."""
        left, right = self.of(a), self.of(b)
        if not a.is_float:
            return left == right
        largest = max((abs(number) for number in (*left.values(), *right.values())), default=Fraction(0))
        allowed = largest * Fraction(EPSILONS.get(a.dtype, 0))
        return all(abs(left.get(each, 0) - right.get(each, 0)) <= allowed for each in {*left, *right})

    def of(self, term: Term) -> Polynomial:
        """Return the normal form of a term."""
        known = self._known.get(term.number)
        if known is None:
            known = self._known[term.number] = self._computed(term)
            if len(known) > MAX_MONOMIALS:
                raise NoMeaningError("a polynomial is too large")
        return known

    def _computed(self, term: Term) -> Polynomial:
        parts = [self.of(argument) for argument in term.arguments]
        match term.function, parts:
            case "literal", _:
                return self._literal(term)
            case (("add" | "sum"), _):
                return _reduced(term, _sum(parts))
            case "sub", [a, b]:
                return _reduced(term, _sum([a, _times(b, {ONE: Fraction(-1)})]))
            case "neg", [a]:
                return _reduced(term, _times(a, {ONE: Fraction(-1)}))
            case "mul", [a, b]:
                return _reduced(term, _times(a, b))
            case "div", [a, b] if term.is_float:
                return _times(a, _inverse(b))
            case "pow", [a, b]:
                return _reduced(term, self._power(a, b, term.is_float))
            case "sqrt", [a] if term.is_float:
                return _root(a)
            case "cast", [a] if term.is_float and term.arguments[0].is_float:
                # Casts between float types only round.
                return a
            case ("max" | "min") as function, _:
                return self._lattice(function, term)
            case _:
                return _unknown((term.function, term.dtype, *map(_key, parts)))

    def _literal(self, term: Term) -> Polynomial:
        value = term.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _unknown(("literal", term.dtype, repr(value)))
        if not isfinite(value):
            raise NoMeaningError("a constant is not finite")
        return _reduced(term, {ONE: Fraction(value)}) if value else {}

    def _power(self, base: Polynomial, exponent: Polynomial, is_float: bool) -> Polynomial:
        if set(exponent) <= {ONE}:
            number = exponent.get(ONE, Fraction(0))
            if number == Fraction(1, 2) and is_float:
                return _root(base)
            if number.denominator == 1 and (0 if not is_float else -MAX_POWER) <= number <= MAX_POWER:
                made: Polynomial = {ONE: Fraction(1)}
                for _ in range(abs(int(number))):
                    made = _times(made, base)
                return made if number >= 0 else _inverse(made)
        return _unknown(("pow", _key(base), _key(exponent)))

    def _lattice(self, function: str, term: Term) -> Polynomial:
        """The maximum of a set: in any order, of each value once."""
        found: set[Hashable] = set()
        forms: list[Polynomial] = []
        waiting = list(term.arguments)
        while waiting:
            part = waiting.pop()
            if part.function == function:
                waiting += part.arguments
                continue
            form = self.of(part)
            if _key(form) not in found:
                found.add(_key(form))
                forms.append(form)
        return forms[0] if len(forms) == 1 else _unknown((function, term.dtype, frozenset(found)))


def _unknown(key: Hashable) -> Polynomial:
    return {frozenset({(key, 1)}): Fraction(1)}


def _reduced(term: Term, form: Polynomial) -> Polynomial:
    """Return coefficients modulo 2^n for integers."""
    if "int" not in term.dtype:
        return form
    modulus = 1 << int(term.dtype.rpartition("int")[2])
    made = {each: Fraction(int(number) % modulus) for each, number in form.items()}
    return {each: number for each, number in made.items() if number}


def _sum(parts: list[Polynomial]) -> Polynomial:
    total: dict[Monomial, Fraction] = {}
    for part in parts:
        for each, number in part.items():
            total[each] = total.get(each, Fraction(0)) + number
    return {each: number for each, number in total.items() if number}


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > MAX_MONOMIALS:
        raise NoMeaningError("a polynomial is too large")
    total: dict[Monomial, Fraction] = {}
    for left, one in a.items():
        for right, other in b.items():
            powers = Counter[Hashable](dict(left))
            for unknown, power in right:
                powers[unknown] += power
            key = frozenset((unknown, power) for unknown, power in powers.items() if power)
            total[key] = total.get(key, Fraction(0)) + one * other
    return {each: number for each, number in total.items() if number}


def _inverse(form: Polynomial) -> Polynomial:
    if not form:
        raise NoMeaningError("a division by 0")
    if len(form) == 1:
        [(only, number)] = form.items()
        return {frozenset((unknown, -power) for unknown, power in only): 1 / number}
    # With 1 as the largest coefficient, multiples of one denominator have one name.
    largest = max(form.values(), key=abs)
    scaled = {each: number / largest for each, number in form.items()}
    return {frozenset({(("polynomial", _key(scaled)), -1)}): 1 / largest}


def _root(form: Polynomial) -> Polynomial:
    if set(form) <= {ONE}:
        number = float(form.get(ONE, Fraction(0)))
        if number < 0:
            raise NoMeaningError("the root of a negative number")
        return {ONE: Fraction(sqrt(number))} if number else {}
    return _unknown(("sqrt", _key(form)))


def _key(form: Polynomial) -> Hashable:
    """Return a name of a polynomial; coefficients that differ by rounding have one."""
    return frozenset((each, f"{float(number):.4g}") for each, number in form.items())
