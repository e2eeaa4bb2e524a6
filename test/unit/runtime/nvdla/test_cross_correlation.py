from __future__ import annotations

import numpy as np
import pytest

from xonnc.runtime.nvdla.conv_fp16 import convolve_exactly
from xonnc.runtime.nvdla.cross_correlation import WindowMap, correlate, correlate_integers
from xonnc.runtime.nvdla.winograd import assemble, multiply, reduce_outputs, tiles, transform_integers


def naive(image: np.ndarray, weights: np.ndarray, w: WindowMap) -> np.ndarray:
    out = np.zeros((w.out_height, w.out_width, len(weights)), object)
    for y in range(w.out_height):
        for x in range(w.out_width):
            for r in range(w.rows):
                for s in range(w.columns):
                    pixel = image[y * w.stride_y + r * w.dilation_y, x * w.stride_x + s * w.dilation_x]
                    out[y, x] += weights[:, r, s].astype(object) @ pixel.astype(object)
    return out


WINDOWS = [
    WindowMap(4, 5, 1, 1, 1, 1, 1, 1),
    WindowMap(4, 5, 1, 1, 2, 3, 1, 1),
    WindowMap(3, 4, 3, 2, 1, 1, 1, 1),
    WindowMap(3, 2, 2, 3, 2, 1, 2, 3),
]


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("reach", [127, 32767])
def test_integers_are_exact(windows: WindowMap, reach: int):
    rng = np.random.default_rng(0)
    image = rng.integers(-reach - 1, reach + 1, (windows.height, windows.width, 19)).astype(np.int16)
    weights = rng.integers(-reach - 1, reach + 1, (7, windows.rows, windows.columns, 19)).astype(np.int16)
    assert correlate_integers(image, weights, windows).tolist() == naive(image, weights, windows).tolist()


def test_sums_beyond_single_precision_stay_exact():
    windows = WindowMap(1, 1, 1, 1, 1, 1, 1, 1)
    image = np.full((1, 1, 1026), 127, np.int16)
    weights = np.full((1, 1, 1, 1026), 127, np.int16)
    weights[..., 0] = 126
    assert correlate_integers(image, weights, windows).item() == 1026 * 127 * 127 - 127


@pytest.mark.parametrize("windows", WINDOWS)
def test_singles(windows: WindowMap):
    rng = np.random.default_rng(0)
    image = rng.integers(-9, 9, (windows.height, windows.width, 19)).astype(np.float32)
    weights = rng.integers(-9, 9, (7, windows.rows, windows.columns, 19)).astype(np.float32)
    assert correlate(image, weights, windows).tolist() == naive(image, weights, windows).tolist()


def test_the_exact_sums_of_small_integers_are_the_plain_ones():
    windows = WINDOWS[2]
    rng = np.random.default_rng(0)
    image = rng.integers(1, 4, (windows.height, windows.width, 70)).astype(np.float16)
    weights = rng.integers(-3, 4, (5, windows.rows, windows.columns, 70)).astype(np.float16)
    exact = convolve_exactly(image.view(np.uint16), weights.view(np.uint16), windows, 64, 1)
    assert exact.tolist() == naive(image, weights, windows).tolist()


def test_a_nan_passes_the_exact_sums_with_its_payload():
    windows = WindowMap(1, 2, 1, 1, 1, 1, 1, 1)
    image = np.ones((1, 2, 3), np.float16).view(np.uint16)
    image[0, 1, 1] = 0x7E21
    weights = np.ones((2, 1, 1, 3), np.float16).view(np.uint16)
    weights[1, 0, 0, 2] = 0xFC01
    bits = convolve_exactly(image, weights, windows, 64, 1).view(np.uint32)
    assert bits[0, 0, 0] == np.float32(3).view(np.uint32)
    assert bits[0, 1, 0] == 0x7FC42000
    assert bits[0, :, 1].tolist() == [0xFF802000, 0xFF802000]


def test_winograd_sums_are_those_of_the_direct_convolution():
    rng = np.random.default_rng(0)
    image = rng.integers(-50, 50, (6, 10, 4)).astype(np.int16)
    kernel = 2 * rng.integers(-20, 20, (3, 3, 3, 4))
    g = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    transformed = np.einsum("ir,krsc,js->kijc", g, 2 * kernel, g)
    data = transform_integers(tiles(image, 4, 8), 0, 16).astype(np.float64)
    result = assemble(reduce_outputs(multiply(data, transformed)), 4, 8)
    expected = naive(image, 2 * kernel, WindowMap(4, 8, 3, 3, 1, 1, 1, 1))
    assert result.tolist() == expected.tolist()
