"""Terms of elements: what one element of a tensor is computed from, each distinct term stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

TermArray: TypeAlias = npt.NDArray[Any]
"""The terms of a tensor's elements."""

Scalar: TypeAlias = "bool | int | float | complex | bytes | str"


@dataclass(frozen=True, eq=False)
class Term:
    """
    One element: a literal, a symbol, or a function of other terms.

    Equal terms are the same object, so that comparing them takes no time. Functions without a meaning here
    (`exp`, a recurrent layer) are uninterpreted: equal for equal arguments.
    """

    function: str
    dtype: str
    arguments: tuple[Term, ...] = ()
    value: Scalar | None = None
    number: int = 0
    size: int = 1
    """The number of nodes as a tree, at most `LARGEST`."""

    @property
    def is_literal(self) -> bool:
        """Return whether the value is known."""
        return self.function == "literal"

    @property
    def is_float(self) -> bool:
        """Return whether the element type is a float type."""
        return "float" in self.dtype


LARGEST = 1 << 20


class Terms:
    """All terms of one proof."""

    def __init__(self) -> None:
        self._known: dict[object, Term] = {}

    def literal(self, value: Scalar, dtype: str) -> Term:
        """Return a known element; 0 and -0 differ."""
        return self._interned(("literal", dtype, repr(value)), "literal", dtype, (), value)

    def symbol(self, name: str, dtype: str) -> Term:
        """Return an unknown element."""
        return self._interned(("symbol", dtype, name), f"symbol {name}", dtype, (), None)

    def apply(self, function: str, dtype: str, *arguments: Term) -> Term:
        """Return a function of terms."""
        key = (function, dtype, tuple(argument.number for argument in arguments))
        return self._interned(key, function, dtype, arguments, None)

    def literals(self, array: npt.NDArray[Any]) -> TermArray:
        """Return the terms of a known tensor."""
        dtype = array.dtype.name
        made = np.empty(array.size, np.object_)
        made[:] = [self.literal(_scalar(element), dtype) for element in array.reshape(-1)]
        return made.reshape(array.shape)

    def symbols(self, name: str, shape: Sequence[int], dtype: str) -> TermArray:
        """Return the terms of an unknown tensor."""
        count = int(np.prod(shape, dtype=np.int64))
        made = np.empty(count, np.object_)
        made[:] = [self.symbol(f"{name}[{index}]", dtype) for index in range(count)]
        return made.reshape(tuple(shape))

    def _interned(
        self, key: object, function: str, dtype: str, arguments: tuple[Term, ...], value: Scalar | None
    ) -> Term:
        known = self._known.get(key)
        if known is None:
            size = min(LARGEST, 1 + sum(argument.size for argument in arguments))
            known = Term(function, dtype, arguments, value, len(self._known), size)
            self._known[key] = known
        return known


def _scalar(element: Any) -> Scalar:
    if isinstance(element, bytes | str):
        return element
    if hasattr(element, "dtype") and element.dtype.kind not in "biufc":
        # A type of ml_dtypes: a narrow float or integer.
        return int(element) if "int" in element.dtype.name else float(element)
    return element.item() if hasattr(element, "item") else element


def is_known(array: TermArray) -> bool:
    """Return whether all elements are literals."""
    return all(term.is_literal for term in array.reshape(-1))


def known_array(array: TermArray, dtype: np.dtype[np.generic]) -> npt.NDArray[Any]:
    """Return the elements of a tensor of literals."""
    values = [term.value for term in array.reshape(-1)]
    if dtype == np.object_:
        made = np.empty(len(values), np.object_)
        made[:] = values
        return made.reshape(array.shape)
    with np.errstate(all="ignore"):
        return (
            np.array(values, np.float64 if "float" in dtype.name else None).astype(dtype).reshape(array.shape)
        )


def renamed(pair: tuple[Term, Term]) -> object:
    """
    Return a key that is equal for pairs of terms which differ in the names of symbols only.

    All elements of an elementwise rule have one key, so that one proof serves for all.
    """
    symbols: dict[int, int] = {}
    seen: dict[int, int] = {}
    lines: list[object] = []

    def visit(term: Term) -> int:
        if term.number in seen:
            return seen[term.number]
        below = tuple(visit(argument) for argument in term.arguments)
        name: object = term.function
        if term.function.startswith("symbol "):
            name = ("symbol", symbols.setdefault(term.number, len(symbols)))
        elif term.is_literal:
            name = ("literal", repr(term.value))
        lines.append((name, term.dtype, below))
        seen[term.number] = len(lines)
        return len(lines)

    ends = visit(pair[0]), visit(pair[1])
    return tuple(lines), ends


Attributes: TypeAlias = Mapping[str, object]
