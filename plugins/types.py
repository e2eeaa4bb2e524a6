"""Tensor types in the plug-in API: a NumPy element type, and a shape that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from xonnc.errors import XonncError
from xonnc.transforms.dims.expressions import DimExpr, DimSymbols, number


class Dim:
    """
    A dynamic dimension: a symbolic expression of the model's dynamic dimensions.

    Dimensions can be added, subtracted and multiplied with each other and with integers, and divided (`//`)
    by a positive integer. Two compare equal if their expressions are the same, hence equal for every input.
    """

    def __init__(self, form: DimExpr, symbols: DimSymbols) -> None:
        self.form = form
        self._symbols = symbols

    def __add__(self, other: Size) -> Size:
        return self._sized(self.form + form_of(other))

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return self._sized(self.form - form_of(other))

    def __rsub__(self, other: Size) -> Size:
        return self._sized(form_of(other) - self.form)

    def __mul__(self, other: Size) -> Size:
        return self._sized(self._symbols.product([self.form, form_of(other)]))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Size:
        if divisor < 1:
            raise ValueError(f"a dimension is divided by positive integers, not by {divisor}")
        return self._sized(self._symbols.floor(self.form, divisor))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim | int) and self.form == form_of(other)

    def __hash__(self) -> int:
        return hash(self.form)

    def __repr__(self) -> str:
        return "?"

    def broadcast(self, other: Size) -> Size:
        """Return the size of an axis after broadcasting it with another of size `other`."""
        return self._sized(self._symbols.broadcast([self.form, form_of(other)]))

    def _sized(self, form: DimExpr) -> Size:
        return form.constant if not form.terms else Dim(form, self._symbols)


Size: TypeAlias = "int | Dim"
"""The size of an axis: static or symbolic."""


def form_of(size: Size) -> DimExpr:
    """Return a size as a symbolic expression."""
    return size.form if isinstance(size, Dim) else number(int(size))


@dataclass(frozen=True)
class TensorType:
    """A tensor type: element type and shape; the shape is `None` if the rank is unknown."""

    dtype: np.dtype[np.generic]
    shape: tuple[Size, ...] | None

    @property
    def rank(self) -> int | None:
        """The number of axes; `None` if it is unknown."""
        return None if self.shape is None else len(self.shape)

    def with_shape(self, shape: Sequence[Size] | None) -> TensorType:
        """Return a type with the same element type and another shape."""
        return TensorType(self.dtype, None if shape is None else tuple(shape))

    def with_dtype(self, dtype: type[np.generic] | np.dtype[np.generic]) -> TensorType:
        """Return a type with the same shape and another element type."""
        return TensorType(np.dtype(dtype), self.shape)

    def contradicts(self, other: TensorType) -> bool:
        """Whether no tensor is of both types."""
        if np.dtype(self.dtype) != np.dtype(other.dtype):
            return True
        if self.shape is None or other.shape is None:
            return False
        return len(self.shape) != len(other.shape) or any(
            not isinstance(a, Dim) and not isinstance(b, Dim) and a != b
            for a, b in zip(self.shape, other.shape, strict=True)
        )

    def __str__(self) -> str:
        return f"{np.dtype(self.dtype)}{'' if self.shape is None else list(self.shape)}"


def broadcast(*types: TensorType) -> TensorType:
    """
    Return the type of tensors broadcast together by NumPy's rules, with the element type of the first.

    Raises `XonncError` if two sizes are incompatible.
    """
    shapes = [type_.shape for type_ in types]
    ranked = [shape for shape in shapes if shape is not None]
    if not types or len(ranked) < len(shapes):
        return types[0].with_shape(None)
    rank = max(map(len, ranked))
    return types[0].with_shape(
        [_together([s[axis] for s in ranked if len(s) >= -axis]) for axis in range(-rank, 0)]
    )


def _together(sizes: Sequence[Size]) -> Size:
    fixed = {size for size in sizes if isinstance(size, int) and size != 1}
    if len(fixed) > 1:
        raise XonncError(f"sizes {' and '.join(map(str, sorted(fixed)))} do not broadcast")
    if fixed:
        return fixed.pop()
    result: Size = 1
    for size in sizes:
        if isinstance(size, Dim):
            result = size.broadcast(result)
    return result
