"""DimExprs over symbols, and what follows from equalities."""

from __future__ import annotations

from itertools import pairwise

from xonnc.transforms.dims.expressions import MAX_TERMS, ONE, ZERO, DimExpr, DimSymbols


def test_polynomials_multiply_and_divide() -> None:
    symbols = DimSymbols()
    a, b = symbols.symbol("a"), symbols.symbol("b")
    both = a * b * DimExpr(6) + a * DimExpr(4)
    assert both.divided_by(a * DimExpr(2)) == b * DimExpr(3) + DimExpr(2)
    assert both.divided_by(b) is None
    assert both.divided_by(DimExpr(5)) is None
    assert both.divided_by(both) == ONE
    assert ZERO.divided_by(ZERO) is None
    assert (a + ONE) * (a - ONE) == a * a - ONE
    assert a - a == ZERO


def test_floor_takes_out_what_divides() -> None:
    symbols = DimSymbols()
    a, b = symbols.symbol("a"), symbols.symbol("b")
    assert symbols.floor(a * DimExpr(4) + DimExpr(-1), 2) == a * DimExpr(2) - ONE
    assert symbols.floor(a, 2) == symbols.floor(a, 2) != a
    assert symbols.floor(a, 1) == a
    assert symbols.floor(a * DimExpr(6) + b + DimExpr(-5), 3) == a * DimExpr(2) + symbols.floor(
        b + ONE, 3
    ) - DimExpr(2)


def test_rounding_twice_is_rounding_once() -> None:
    symbols = DimSymbols()
    a = symbols.symbol("a")
    halved = symbols.floor(a - ONE, 2) + ONE
    assert symbols.floor(halved - ONE, 3) + ONE == symbols.floor(a - ONE, 6) + ONE
    assert symbols.floor(halved, 2) == symbols.floor(a + ONE, 4)
    for number in range(60):
        assert ((number - 1) // 2 + 1) // 2 == (number + 1) // 4


def test_a_symbol_does_not_become_what_is_made_of_it() -> None:
    symbols = DimSymbols()
    a, b = symbols.symbol("a"), symbols.symbol("b")
    half = symbols.floor(a, 2)
    assert not symbols.equate(a, half * DimExpr(2))
    assert symbols.equate(half, b)
    assert symbols.resolve(a) == a
    least = symbols.minimum(a, b)
    assert not symbols.equate(a, least + ONE)


def test_a_broadcast_knows_what_is_in_it() -> None:
    symbols = DimSymbols()
    a, b, c = (symbols.symbol(name) for name in "abc")
    assert symbols.broadcast([a, ONE, a]) == a
    assert symbols.broadcast([a, DimExpr(3)]) == DimExpr(3)
    assert symbols.broadcast([ONE, ONE]) == ONE
    assert symbols.broadcast([a, symbols.broadcast([b, a])]) == symbols.broadcast([a, b])
    assert symbols.broadcast([a, b]) != symbols.broadcast([a, c])


def test_equal_symbols_become_the_first() -> None:
    symbols = DimSymbols()
    chain = [symbols.symbol(index) for index in range(3000)]
    for left, right in reversed(list(pairwise(chain))):
        assert symbols.equate(left, right)
    assert symbols.resolve(chain[-1] * chain[7]) == chain[0] * chain[0]
    assert not symbols.equate(chain[5], chain[9])


def test_a_symbol_becomes_a_form_without_it() -> None:
    symbols = DimSymbols()
    a, b = symbols.symbol("a"), symbols.symbol("b")
    assert symbols.equate(b, a + a)
    assert symbols.resolve(b + ONE) == a * DimExpr(2) + ONE
    assert not symbols.equate(a, b)
    assert not symbols.equate(a * a, b * b)


def test_long_sums_are_one_symbol() -> None:
    symbols = DimSymbols()
    total = ZERO
    for index in range(MAX_TERMS + 1):
        total += symbols.symbol(index)
    made = symbols.product([total])
    assert made.symbol is not None
    assert symbols.product([total]) == made


def test_dimensions_that_broadcast_are_assumed_equal() -> None:
    symbols = DimSymbols()
    a, b, c = (symbols.symbol(name) for name in "abc")
    half = symbols.floor(a, 2)
    image = symbols.broadcast([a, half * DimExpr(2)])
    other = symbols.broadcast([b * DimExpr(4), c * DimExpr(6)])
    assert symbols.assume_equal_broadcasts()
    assert symbols.resolve(a) == symbols.resolve(image) == half * DimExpr(2)
    assert symbols.resolve(other) in (b * DimExpr(4), c * DimExpr(6))
    assert {(other, b * DimExpr(4)), (other, c * DimExpr(6))} <= set(symbols.equated)
    noted = list(symbols.equated)
    assert not symbols.assume_equal_broadcasts()
    assert symbols.equated == noted
