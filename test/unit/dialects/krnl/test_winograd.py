"""Winograd's transformations, in float64, against the convolution that they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.dialects.krnl.winograd import (
    MAGNITUDES,
    WINDOW,
    transform_pixels,
    transform_products,
    transform_weights,
    transformed_size,
)

Array = npt.NDArray[Any]


def multiply_add(value: Array, factor: float, addend: Array | None) -> Array:
    return value * factor if addend is None else value * factor + addend


def on_both_axes(values: Array, transform: Any) -> Array:
    rows = np.array(transform(list(values), multiply_add))
    return np.array(transform(list(rows.T), multiply_add)).T


@pytest.mark.parametrize("tile", MAGNITUDES)
def test_a_tile_of_results(tile: int):
    random = np.random.default_rng(tile)
    size = transformed_size(tile)
    pixels, weights = random.standard_normal((size, size)), random.standard_normal((1, 1, WINDOW, WINDOW))
    products = on_both_axes(pixels, transform_pixels) * transform_weights(weights, tile).reshape(size, size)
    expected = [
        [
            np.sum(pixels[row : row + WINDOW, column : column + WINDOW] * weights[0, 0])
            for column in range(tile)
        ]
        for row in range(tile)
    ]
    np.testing.assert_allclose(on_both_axes(products, transform_products), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tile", MAGNITUDES)
def test_weights_are_rounded_once(tile: int):
    weights = np.random.default_rng(1).standard_normal((5, 3, WINDOW, WINDOW)).astype(np.float32)
    found = transform_weights(weights, tile)
    assert found.shape == (transformed_size(tile) ** 2, 3, 5)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(
        found, transform_weights(weights.astype(np.float64), tile).astype(np.float32)
    )
