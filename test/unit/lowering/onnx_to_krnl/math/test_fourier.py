"""Fourier transforms, determinants and steps of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Node, check, opened

from xonnc.native import compile_native

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
    requested = np.fft.fft(signal, n=length, axis=1)
    if onesided:
        requested = requested[:, : requested.shape[1] // 2 + 1]
    inputs = [x, None if length is None else np.array(length), np.array(1)]
    attributes = {"onesided": int(onesided)}
    check(Node("DFT", inputs, attributes, constant=[1, 2], expected=[complex_pairs(requested)], rtol=1e-4))


@pytest.mark.parametrize("axis", [1, 2, -2])
def test_the_inverse(axis: int):
    x = floats(2, 5, 6, 2)
    requested = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=axis + 1 if axis < 0 else axis)
    inputs = [x, None, np.array(axis)]
    check(Node("DFT", inputs, {"inverse": 1}, constant=[2], expected=[complex_pairs(requested)], rtol=1e-4))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("step", [2, 3])
def test_transforms_of_windows(is_complex: bool, step: int):
    signal, window = floats(2, 20, 2 if is_complex else 1), floats(6)
    numbers = signal[..., 0] + 1j * signal[..., 1] if is_complex else signal[..., 0]
    starts = range(0, 20 - 6 + 1, step)
    frames = np.stack([numbers[:, start : start + 6] * window for start in starts], axis=1)
    requested = np.fft.fft(frames, axis=2)
    requested = requested if is_complex else requested[..., :4]
    inputs = [signal, np.array(step), window]
    attributes = {"onesided": int(not is_complex)}
    check(Node("STFT", inputs, attributes, expected=[complex_pairs(requested)], rtol=1e-4))


def spectrum(
    x: Array, length: int | None = None, axis: int = -2, *, inverse: bool = False
) -> npt.NDArray[np.float64]:
    """The transform of the parts in the last axis, in doubles."""
    parts = np.asarray(x, np.float64)
    numbers = parts[..., 0] + (1j * parts[..., 1] if parts.shape[-1] == 2 else 0)
    along = axis + 1 if axis < 0 else axis
    made = (np.fft.ifft if inverse else np.fft.fft)(numbers, n=length, axis=along)
    return np.stack([made.real, made.imag], axis=-1)


@pytest.mark.parametrize("length", [1024, 1031, 1200, 2048, 4096])
@pytest.mark.parametrize("parts", [1, 2])
def test_long_transforms_are_exact_to_the_size_of_their_results(length: int, parts: int):
    x = floats(2, length - 5, parts)
    requested = spectrum(x, length)
    node = Node("DFT", [x, np.array(length)], constant=[1], expected=[requested.astype(np.float32)])
    (made,) = compile_native(node.model()).run(None, node.feeds)
    assert np.abs(np.asarray(made, np.float64) - requested).max() <= 3e-6 * np.abs(requested).max()


@pytest.mark.parametrize("length", [2048, 2050])
def test_long_onesided_and_inverse_transforms(length: int):
    x = floats(1, length, 2)
    requested = spectrum(x, inverse=True).astype(np.float32)
    check(Node("DFT", [x], {"inverse": 1}, expected=[requested], rtol=1e-4))
    half = spectrum(x[..., :1])[:, : length // 2 + 1].astype(np.float32)
    check(Node("DFT", [x[..., :1]], {"onesided": 1}, expected=[half], rtol=1e-3))


@pytest.mark.parametrize(
    ("dtype", "rtol"), [(np.float64, 1e-12), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)]
)
def test_transforms_of_other_element_types(dtype: npt.DTypeLike, rtol: float):
    x = floats(2, 6, 1).astype(dtype)
    requested = np.asarray(spectrum(x), dtype)
    check(Node("DFT", [x], expected=[requested], opset=20, rtol=rtol))


def test_axis_and_length_of_old_opsets():
    x = floats(2, 5, 3, 1)
    requested = spectrum(x, 7, 1).astype(np.float32)
    node = Node("DFT", [x, np.array(7)], {"axis": 1}, constant=[1], opset=17, expected=[requested], rtol=1e-4)
    check(node)
    short = spectrum(x, 2, 2).astype(np.float32)
    check(Node("DFT", [x, np.array(2)], {"axis": 2}, constant=[1], opset=17, expected=[short], rtol=1e-4))


def test_elements_behind_the_length_are_not_read():
    x = floats(1, 6, 1)
    requested = spectrum(x, 4).astype(np.float32)
    x[0, 4:, 0] = np.nan, np.inf
    check(Node("DFT", [x, np.array(4)], constant=[1], expected=[requested], rtol=1e-4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("terms", "length"), [(5, None), (5, 8), (5, 9), (3, 8), (3, 7), (5, 5), (5, 4), (2, 1), (2, None)]
)
def test_onesided_inverse_transforms(terms: int, length: int | None, dtype: type[np.floating[Any]]):
    """Half of a spectrum, with more or fewer terms than the length needs; the result is real."""
    x = RANDOM.normal(size=(2, terms, 3, 2)).astype(dtype)
    requested = np.fft.irfft(x[..., 0] + 1j * x[..., 1].astype(np.float64), n=length, axis=1)
    inputs = [x, None if length is None else np.array(length), np.array(1)]
    node = Node(
        "DFT",
        inputs,
        {"inverse": 1, "onesided": 1},
        constant=[1, 2],
        expected=[requested[..., None].astype(dtype)],
        rtol=1e-4 if dtype is np.float32 else 1e-9,
    )
    check(node)


@pytest.mark.parametrize(
    ("terms", "length"), [(701, None), (701, 1400), (701, 1401), (650, 1400), (701, 1399), (1400, 1400)]
)
def test_long_onesided_inverse_transforms(terms: int, length: int | None):
    """These are too long for a product with a matrix."""
    x = RANDOM.normal(size=(1, terms, 2))
    requested = np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=length, axis=1)
    node = Node(
        "DFT",
        [x, None if length is None else np.array(length), np.array(1)],
        {"inverse": 1, "onesided": 1},
        constant=[1, 2],
        expected=[requested[..., None]],
        rtol=1e-9,
    )
    (made,) = compile_native(node.model()).run(None, node.feeds)
    np.testing.assert_allclose(np.asarray(made), requested[..., None], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("length", [None, 1031, 1033])
def test_transforms_of_prime_lengths(length: int | None, inverse: bool):
    """No factorization saves work; missing elements are zeros."""
    x = RANDOM.normal(size=(2, 1031, 2))
    requested = spectrum(x, length, 1, inverse=inverse)
    node = Node(
        "DFT",
        [x, None if length is None else np.array(length), np.array(1)],
        {"inverse": int(inverse)},
        constant=[1, 2],
        expected=[requested],
    )
    (made,) = compile_native(node.model()).run(None, node.feeds)
    np.testing.assert_allclose(np.asarray(made), requested, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_transforms_with_a_dynamic_batch(batch: int):
    x = floats(batch, 8, 1)
    node = Node("DFT", [x], expected=[spectrum(x).astype(np.float32)])
    model = opened(node.model())
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    session = compile_native(model)
    (made,) = session.run(None, node.feeds)
    np.testing.assert_allclose(np.asarray(made, np.float64), spectrum(x), rtol=1e-4, atol=1e-5)
    assert not session.host_calls()


@pytest.mark.parametrize("form", ["rank 2", "fed window", "no window", "float16"])
def test_windows_of_signals_as_the_field_writes_them(form: str):
    signal, window = floats(2, 23), floats(6)
    if form == "float16":
        signal, window = signal.astype(np.float16), window.astype(np.float16)
    weights = np.ones(6) if form == "no window" else window.astype(np.float64)
    starts = range(0, 23 - 6 + 1, 4)
    frames = np.stack([signal[:, start : start + 6] * weights for start in starts], axis=1)
    requested = complex_pairs(np.fft.rfft(frames.astype(np.float64))).astype(signal.dtype)
    given = signal if form == "rank 2" else signal[..., None]
    inputs: list[Array | None] = [given, np.array(4), None if form == "no window" else window]
    inputs += [np.array(6)] if form == "no window" else []
    constant = [1] if form == "fed window" else [1, 2, 3]
    rtol = 5e-3 if form == "float16" else 1e-4
    node = Node("STFT", inputs, {"onesided": 1}, constant=constant, expected=[requested], rtol=rtol)
    session = compile_native(node.model())
    (made,) = session.run(None, node.feeds)
    np.testing.assert_allclose(
        np.asarray(made, np.float64), np.asarray(requested, np.float64), rtol=rtol, atol=rtol
    )
    assert not session.host_calls()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (2, 3, 4, 4)])
def test_determinants(shape: Sequence[int]):
    x = floats(*shape)
    check(Node("Det", [x], expected=[np.asarray(np.linalg.det(x), np.float32)], rtol=1e-4))


def test_determinants_with_zeros_for_pivots():
    x = np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[1, 2, 3], [2, 4, 6], [0, 1, 1]]], np.float32)
    check(Node("Det", [x], expected=[np.array([-1, 0], np.float32)]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 3, 4, 4)])
def test_determinants_of_narrow_floats(shape: Sequence[int], dtype: type[np.generic]):
    """The reference has none of float16, and gives doubles for bfloat16."""
    x = floats(*shape).astype(dtype)
    requested = np.asarray(np.linalg.det(x.astype(np.float64))).astype(dtype)
    check(Node("Det", [x], expected=[requested], rtol=1e-2))
