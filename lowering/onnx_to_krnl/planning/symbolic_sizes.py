"""Sizes of tensors: static integers, or symbolic expressions over the dynamic dimensions of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard, overload

from xdsl.dialects.builtin import DYNAMIC_INDEX

from xonnc.transforms.dims.expressions import ONE, ZERO, DimExpr, DimSymbols


@dataclass(frozen=True)
class SymbolicSize:
    """
    A symbolic size, such as `batch · 12`.

    It supports arithmetic and equality, but no ordering: what depends on its magnitude must be decided at run
    time.
    """

    form: DimExpr
    symbols: DimSymbols = field(compare=False, repr=False)

    def __mul__(self, other: Size) -> Size:
        return self._made(self.symbols.product([self.form, _form_of(other)]))

    __rmul__ = __mul__

    def __add__(self, other: Size) -> Size:
        return self._made(self.form + _form_of(other))

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return self._made(self.form - _form_of(other))

    def __rsub__(self, other: Size) -> Size:
        return self._made(_form_of(other) - self.form)

    def __floordiv__(self, divisor: int) -> Size:
        return self._made(self.symbols.floor(self.form, divisor))

    def _made(self, form: DimExpr) -> Size:
        return size_of_form(form, self.symbols)


Size: TypeAlias = int | SymbolicSize


def size_of_form(form: DimExpr, symbols: DimSymbols) -> Size:
    """Return an expression as a size: an integer if it is constant."""
    return SymbolicSize(form, symbols) if form.number is None else form.number


def is_static(size: Size) -> TypeGuard[int]:
    """Whether a size is a static integer."""
    return isinstance(size, int)


def are_static(sizes: Iterable[Size]) -> bool:
    """Whether all sizes are static."""
    return all(isinstance(size, int) for size in sizes)


def static_or_dynamic(size: Size) -> int:
    """Return a size as types and attributes have it: `DYNAMIC_INDEX` for a symbolic one."""
    return size if is_static(size) else DYNAMIC_INDEX


def static_sizes(sizes: Iterable[Size]) -> list[int]:
    """Return the static ones of some sizes."""
    return [size for size in sizes if isinstance(size, int)]


@overload
def volume(sizes: Iterable[int]) -> int: ...
@overload
def volume(sizes: Iterable[Size]) -> Size: ...
def volume(sizes: Iterable[Size]) -> Size:
    """Return the product of sizes."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def min_size(a: Size, b: Size) -> Size:
    """Return the smaller of two sizes."""
    match a, b:
        case int(), int():
            return min(a, b)
        case SymbolicSize(form, symbols), _:
            return size_of_form(symbols.minimum(form, _form_of(b)), symbols)
        case _, SymbolicSize():
            return min_size(b, a)


def max_size(a: Size, b: Size) -> Size:
    """Return the larger of two sizes."""
    match a, b:
        case int(), int():
            return max(a, b)
        case SymbolicSize(form, symbols), _:
            return size_of_form(symbols.maximum(form, _form_of(b)), symbols)
        case _, SymbolicSize():
            return max_size(b, a)


def _form_of(size: Size) -> DimExpr:
    if isinstance(size, SymbolicSize):
        return size.form
    return ZERO if size == 0 else ONE if size == 1 else DimExpr(size)
