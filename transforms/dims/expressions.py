"""
Symbolic integer expressions of tensor dimensions, with known equalities.

    2 + 3 batch + batch seq

A `DimExpr` is a polynomial with integer coefficients. A symbol stands for an unknown input dimension, or for
a term that is not polynomial, such as a floor division. Equal symbols are merged by union-find; `resolve`
replaces each symbol by its representative.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

Monomial: TypeAlias = tuple[int, ...]
"""Symbols of a product in ascending order, repeated by multiplicity."""

MAX_TERMS = 32
"""A longer sum is replaced by one symbol, since products of sums grow exponentially."""


@dataclass(frozen=True)
class DimExpr:
    """`constant + Σ coefficient · symbol · symbol …`, terms ascending, no coefficient 0."""

    constant: int
    terms: tuple[tuple[Monomial, int], ...] = ()

    @property
    def number(self) -> int | None:
        """Return the constant value, or `None` if the expression has symbols."""
        return None if self.terms else self.constant

    @cached_property
    def symbol(self) -> int | None:
        """Return the symbol if the expression is a single one, else `None`."""
        if self.constant or len(self.terms) != 1:
            return None
        monomial, coefficient = self.terms[0]
        return monomial[0] if coefficient == 1 and len(monomial) == 1 else None

    @cached_property
    def symbols(self) -> frozenset[int]:
        """Return all symbols."""
        return frozenset(symbol for monomial, _ in self.terms for symbol in monomial)

    def __add__(self, other: DimExpr) -> DimExpr:
        if not self.terms and not self.constant:
            return other
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return _dim_expr(self.constant + other.constant, terms)

    def __sub__(self, other: DimExpr) -> DimExpr:
        return self + other * DimExpr(-1)

    def __mul__(self, other: DimExpr) -> DimExpr:
        terms: dict[Monomial, int] = {}
        for left, a in ((), self.constant), *self.terms:
            for right, b in ((), other.constant), *other.terms:
                monomial = tuple(sorted(left + right))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return _dim_expr(terms.pop(()), terms)

    def divided_by(self, divisor: DimExpr) -> DimExpr | None:
        """Return the exact quotient by a monomial or by the same expression, else `None`."""
        if divisor == ZERO:
            return None
        terms = divisor.terms if not divisor.constant else (((), divisor.constant), *divisor.terms)
        if len(terms) != 1:
            return ONE if self == divisor else None
        factors, number = terms[0]
        quotient: dict[Monomial, int] = {}
        for monomial, coefficient in ((), self.constant), *self.terms:
            if not coefficient:
                continue
            left = list(monomial)
            for factor in factors:
                if factor not in left:
                    return None
                left.remove(factor)
            if coefficient % number:
                return None
            quotient[tuple(left)] = coefficient // number
        return _dim_expr(quotient.pop((), 0), quotient)


def _dim_expr(constant: int, terms: dict[Monomial, int]) -> DimExpr:
    return DimExpr(constant, tuple(sorted(term for term in terms.items() if term[1])))


@lru_cache(4096)
def number(value: int) -> DimExpr:
    """Return a constant expression; cached, since few dimensions are common."""
    return DimExpr(value)


ONE = DimExpr(1)
ZERO = DimExpr(0)


@dataclass(frozen=True)
class FloorDiv:
    """Meaning of a symbol: floor(expr / divisor)."""

    expr: DimExpr
    divisor: int


@dataclass(frozen=True)
class MinMax:
    """Meaning of a symbol: the minimum or maximum of some expressions."""

    is_min: bool
    of: frozenset[DimExpr]


@dataclass(frozen=True)
class BroadcastDim:
    """Meaning of a symbol: the broadcast of some dimensions."""

    of: frozenset[DimExpr]


class DimSymbols:
    """Symbols of an analysis, and their known equalities (union-find)."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._equal: dict[int, DimExpr] = {}
        self._broadcasts: dict[int, frozenset[DimExpr]] = {}
        self.equated: list[tuple[DimExpr, DimExpr]] = []
        """Pairs that were equated, as given."""
        self.may_assume = False
        """Whether the analysis may assume what a run can check."""
        self.assumed_sizes: dict[DimExpr, None] = {}
        """Expressions that were assumed not to be negative, in order."""

    def symbol(self, key: Hashable) -> DimExpr:
        """Return the symbol of `key`."""
        number = self._numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
        return self.resolve(DimExpr(0, (((number,), 1),)))

    def resolve(self, expr: DimExpr) -> DimExpr:
        """Replace each symbol by its representative."""
        if not self._equal or not expr.terms:
            return expr
        while True:
            replaced = [symbol for symbol in expr.symbols if symbol in self._equal]
            if not replaced:
                return expr
            lone = expr.symbol
            expr = self._substituted(expr) if lone is None else self._root(lone)

    def _root(self, symbol: int) -> DimExpr:
        """Return the representative of a symbol, with path compression."""
        chain: list[int] = []
        expr = DimExpr(0, (((symbol,), 1),))
        while (lone := expr.symbol) is not None and lone in self._equal:
            chain.append(lone)
            expr = self._equal[lone]
        for passed in chain:
            self._equal[passed] = expr
        return expr

    def _substituted(self, expr: DimExpr) -> DimExpr:
        total = DimExpr(expr.constant)
        for monomial, coefficient in expr.terms:
            factors = (self._equal.get(each, DimExpr(0, (((each,), 1),))) for each in monomial)
            total += self.product([DimExpr(coefficient), *factors])
        return self._bounded(total)

    def product(self, factors: Iterable[DimExpr]) -> DimExpr:
        """Return the product; one with too many terms becomes a symbol."""
        result = ONE
        for factor in factors:
            result = self._bounded(result * factor)
        return result

    def _bounded(self, expr: DimExpr) -> DimExpr:
        return expr if len(expr.terms) <= MAX_TERMS else self.symbol(("sum", expr))

    def minimum(self, left: DimExpr, right: DimExpr) -> DimExpr:
        """Return the minimum of two expressions."""
        difference = (left - right).number
        if difference is not None:
            return left if difference < 0 else right
        return self.symbol(MinMax(True, frozenset((left, right))))

    def maximum(self, left: DimExpr, right: DimExpr) -> DimExpr:
        """Return the maximum of two expressions."""
        difference = (left - right).number
        if difference is not None:
            return left if difference > 0 else right
        return self.symbol(MinMax(False, frozenset((left, right))))

    def key(self, symbol: int) -> Hashable:
        """Return the meaning of a symbol."""
        return self._keys[symbol]

    def floor(self, expr: DimExpr, divisor: int) -> DimExpr:
        """
        Return floor(expr / divisor) for a positive divisor.

        Terms that the divisor divides are taken out: floor((d a + r) / d) = a + floor(r / d).
        """
        quotients = {
            monomial: coefficient // divisor
            for monomial, coefficient in expr.terms
            if coefficient % divisor == 0
        }
        terms = tuple(term for term in expr.terms if term[0] not in quotients)
        taken = _dim_expr(expr.constant // divisor, quotients)
        if not terms:
            return taken
        rest = DimExpr(expr.constant % divisor, terms)
        inner = self._rounded(rest)
        if inner is not None:
            # floor(floor(a / m) / d) = floor(a / (m d)) for positive integers m and d.
            return taken + self.floor(self.resolve(inner.expr), inner.divisor * divisor)
        return taken + self.symbol(FloorDiv(rest, divisor))

    def _rounded(self, expr: DimExpr) -> FloorDiv | None:
        """Rewrite `floor(a / m) + c` as `floor((a + c m) / m)`, so that nested floor divisions become one."""
        if len(expr.terms) != 1:
            return None
        monomial, coefficient = expr.terms[0]
        key = self._keys[monomial[0]] if coefficient == 1 and len(monomial) == 1 else None
        if not isinstance(key, FloorDiv):
            return None
        return FloorDiv(key.expr + DimExpr(expr.constant * key.divisor), key.divisor)

    def broadcast(self, sizes: Iterable[DimExpr]) -> DimExpr:
        """
        Return the broadcast of dimensions.

        If all but one are known to be 1, it is that one; else one symbol for each set of dimensions. Of s and
        min(s, k) with k > 1 it is s: for s > k the two would not broadcast.
        """
        different: set[DimExpr] = set()
        for size in sizes:
            different |= self._broadcasts.get(size.symbol, {size}) if size.symbol is not None else {size}
        different.discard(ONE)
        # Constants other than 1 are equal in a valid model, and a symbol beside them is 1 or the same; the
        # minimum makes the result of an invalid model independent of the order of the set.
        fixed = [size.constant for size in different if not size.terms]
        if fixed:
            return DimExpr(min(fixed))
        different -= {size for size in different if self._is_cut(size, different)}
        if len(different) <= 1:
            return different.pop() if different else ONE
        parts = frozenset(different)
        made = self.symbol(BroadcastDim(parts))
        if made.symbol is not None:
            self._broadcasts.setdefault(made.symbol, parts)
        return made

    def _is_cut(self, size: DimExpr, others: set[DimExpr]) -> bool:
        """Return whether a dimension is min(s, k) for some s in `others` and a constant k > 1."""
        key = None if size.symbol is None else self._keys[size.symbol]
        if not isinstance(key, MinMax) or not key.is_min:
            return False
        numbers = [bound.constant for bound in key.of if not bound.terms]
        return bool(numbers) and min(numbers) > 1 and any(self.resolve(bound) in others for bound in key.of)

    def depends(self, expr: DimExpr, on: frozenset[int]) -> bool:
        """Return whether an expression depends on one of some symbols, also through meanings of symbols."""
        waiting, seen = [expr], set[int]()
        while waiting:
            symbols = self.resolve(waiting.pop()).symbols
            if not on.isdisjoint(symbols):
                return True
            for each in symbols - seen:
                seen.add(each)
                match self._keys[each]:
                    case FloorDiv(inner, _):
                        waiting.append(inner)
                    case MinMax(_, bounds):
                        waiting.extend(bounds)
                    case _:
                        pass
        return False

    def assume_size(self, expr: DimExpr) -> bool:
        """Assume that an expression is not negative if the analysis may assume; whether it does."""
        if self.may_assume:
            self.assumed_sizes[expr] = None
        return self.may_assume

    def assume_equal_broadcasts(self) -> bool:
        """
        Assume that dimensions that broadcast are equal; return whether a symbol was eliminated.

        So H = 2 floor(H / 2) where an image is added to its half, enlarged twice: H is then even, and is
        replaced by twice the symbol of the half.
        """
        learned = False
        for symbol, parts in list(self._broadcasts.items()):
            whole = DimExpr(0, (((symbol,), 1),))
            for part in sorted(parts, key=lambda each: (each.terms, each.constant)):
                if self.resolve(whole) != self.resolve(part):
                    if self.equate(whole, part, is_of_itself=True):
                        learned = True
                    elif (whole, part) not in self.equated:
                        self.equated.append((whole, part))
        return learned

    def equate(self, left: DimExpr, right: DimExpr, is_of_itself: bool = False) -> bool:
        """
        Assume that both are equal; return whether a symbol was eliminated.

        Of two symbols the later is replaced. A single symbol is replaced by an expression unless that depends
        on it (occurs check) or may be negative. With `is_of_itself`, the meanings of symbols in the
        expression may depend on it.
        """
        given = left, right
        left, right = self.resolve(left), self.resolve(right)
        if left == right:
            return False
        a, b = left.symbol, right.symbol
        if a is not None and b is not None:
            # Symbols are numbered as the analysis creates them: the earlier one is nearer to the inputs.
            self._equal[max(a, b)] = left if a < b else right
            self.equated.append(given)
            return True
        for symbol, expr in ((a, right), (b, left)):
            if symbol is None or expr.constant < 0 or symbol in expr.symbols:
                continue
            if is_of_itself or not self.depends(expr, frozenset((symbol,))):
                self._equal[symbol] = expr
                self.equated.append(given)
                return True
        return False
