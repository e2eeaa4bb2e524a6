"""
Winograd's minimal filtering: 3x3 convolutions with fewer multiplications.

A tile of 2x2 results is 16 products of transformed pixels and transformed weights instead of 36, one of 4x4
36 instead of 144. A transformation evaluates polynomials at 0, plus and minus some magnitudes, and infinity
(Cook-Toom). It holds for real numbers: floats lose some accuracy, and an infinite pixel makes results of its
tile NaN (docs/internals/cpu-kernels.md §4.11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

WINDOW = 3
"""Rows and columns of the weights."""

MAGNITUDES: dict[int, tuple[float, ...]] = {2: (1.0,), 4: (0.75, 1.5)}
"""
By tile, the points other than 0 and infinity, each with its negative.

Polynomials of these are exact. With 1 and 2, or 1/2 and 1, tiles of 4 have twice the error.
"""

ValueT = TypeVar("ValueT")

MultiplyAdd: TypeAlias = Callable[[ValueT, float, ValueT | None], ValueT]
"""The product of a value and a number, plus another value if there is one."""


def transformed_size(tile: int) -> int:
    """Return the rows and columns of a transformed tile: of its pixels, and of weights."""
    return tile + WINDOW - 1


def weight_matrix(tile: int) -> Array:
    """Return the matrix G of `G g Gᵀ`, the transformed weights: a row for each point."""
    points = [0.0, *(sign * each for each in MAGNITUDES[tile] for sign in (1.0, -1.0))]
    rows = [
        [point**power / prod(point - other for other in points if other != point) for power in range(WINDOW)]
        for point in points
    ]
    return np.array([*rows, [0.0] * (WINDOW - 1) + [1.0]])


def transform_weights(weights: Array, tile: int) -> Array:
    """Return `[points][I][O]` transformed weights of OIHW weights, rounded once."""
    matrix = weight_matrix(tile)
    filters, channels = weights.shape[:2]
    by_place = weights.reshape(filters, channels, -1).transpose(2, 1, 0).astype(np.float64)
    transformed = np.kron(matrix, matrix) @ by_place.reshape(WINDOW**2, -1)
    return transformed.astype(weights.dtype).reshape(-1, channels, filters)


def transform_pixels(values: Sequence[ValueT], multiply_add: MultiplyAdd[ValueT]) -> list[ValueT]:
    """Transform a row or column of the pixels of a tile: multiply by Bᵀ."""
    squares = [each * each for each in MAGNITUDES[len(values) - WINDOW + 1]]
    factors = _from_roots(squares)
    results = [_combined(values[0::2], factors, multiply_add)]
    for index, magnitude in enumerate(MAGNITUDES[len(values) - WINDOW + 1]):
        others = _from_roots(squares[:index] + squares[index + 1 :])
        even = _combined(values[2::2], others, multiply_add)
        odd = _combined(values[1:-1:2], others, multiply_add)
        results += [multiply_add(odd, magnitude, even), multiply_add(odd, -magnitude, even)]
    return [*results, _combined(values[1::2], factors, multiply_add)]


def transform_products(values: Sequence[ValueT], multiply_add: MultiplyAdd[ValueT]) -> list[ValueT]:
    """Transform a row or column of the products of a tile to results: multiply by Aᵀ."""
    tile = len(values) - WINDOW + 1
    magnitudes = MAGNITUDES[tile]
    pairs = list(zip(values[1:-1:2], values[2:-1:2], strict=True))
    sums = [multiply_add(negative, 1.0, positive) for positive, negative in pairs]
    differences = [multiply_add(negative, -1.0, positive) for positive, negative in pairs]
    results: list[ValueT] = []
    for power in range(tile):
        terms = differences if power % 2 else sums
        factors = [each**power for each in magnitudes]
        # The product at 0 has a share of the first result, that at infinity of the last.
        end = {0: values[0], tile - 1: values[-1]}.get(power)
        results.append(_combined([*terms, *([] if end is None else [end])], [*factors, 1.0], multiply_add))
    return results


def _from_roots(roots: Sequence[float]) -> list[float]:
    """Return the coefficients, lowest first, of the polynomial with leading coefficient 1 and these roots."""
    return [float(each) for each in np.atleast_1d(np.poly(roots))[::-1]] if roots else [1.0]


def _combined(
    values: Sequence[ValueT], factors: Sequence[float], multiply_add: MultiplyAdd[ValueT]
) -> ValueT:
    """Return the sum of as many values, times their factors, as there are factors."""
    scaled = list(zip(values, factors, strict=False))
    # A value times 1 starts the sum if there is one, so that every other value is a multiply-add.
    first = next((index for index, (_, factor) in enumerate(scaled) if factor == 1.0), None)
    total = None if first is None else scaled.pop(first)[0]
    for value, factor in scaled:
        total = multiply_add(value, factor, total)
    assert total is not None
    return total
