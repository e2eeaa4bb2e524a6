"""Fourier transforms, determinants and steps of training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Node, check

RANDOM = np.random.default_rng(18)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def complex_pairs(numbers: npt.NDArray[np.complex128]) -> Array:
    return np.stack([numbers.real, numbers.imag], axis=-1).astype(np.float32)


@pytest.mark.parametrize("length", [None, 5, 8, 11])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("onesided", [False, True])
def test_transforms(length: int | None, parts: int, onesided: bool):
    if onesided and parts == 2:
        parts = 1
    x = floats(2, 8, 3, parts)
    signal = x[..., 0] if parts == 1 else x[..., 0] + 1j * x[..., 1]
    wanted = np.fft.fft(signal, n=length, axis=1)
    if onesided:
        wanted = wanted[:, : wanted.shape[1] // 2 + 1]
    inputs = [x, None if length is None else np.array(length), np.array(1)]
    attributes = {"onesided": int(onesided)}
    check(Node("DFT", inputs, attributes, constant=[1, 2], expected=[complex_pairs(wanted)], rtol=1e-4))


@pytest.mark.parametrize("axis", [1, 2, -2])
def test_the_inverse(axis: int):
    x = floats(2, 5, 6, 2)
    wanted = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=axis + 1 if axis < 0 else axis)
    inputs = [x, None, np.array(axis)]
    check(Node("DFT", inputs, {"inverse": 1}, constant=[2], expected=[complex_pairs(wanted)], rtol=1e-4))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("step", [2, 3])
def test_transforms_of_windows(is_complex: bool, step: int):
    signal, window = floats(2, 20, 2 if is_complex else 1), floats(6)
    numbers = signal[..., 0] + 1j * signal[..., 1] if is_complex else signal[..., 0]
    starts = range(0, 20 - 6 + 1, step)
    frames = np.stack([numbers[:, start : start + 6] * window for start in starts], axis=1)
    wanted = np.fft.fft(frames, axis=2)
    wanted = wanted if is_complex else wanted[..., :4]
    inputs = [signal, np.array(step), window]
    attributes = {"onesided": int(not is_complex)}
    check(Node("STFT", inputs, attributes, expected=[complex_pairs(wanted)], rtol=1e-4))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (2, 3, 4, 4)])
def test_determinants(shape: Sequence[int]):
    x = floats(*shape)
    check(Node("Det", [x], expected=[np.asarray(np.linalg.det(x), np.float32)], rtol=1e-4))


def test_determinants_with_zeros_for_pivots():
    x = np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[1, 2, 3], [2, 4, 6], [0, 1, 1]]], np.float32)
    check(Node("Det", [x], expected=[np.array([-1, 0], np.float32)]))
