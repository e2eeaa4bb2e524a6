"""Element types of the shared test of all rules, and random elements of them."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np

from xonnc.rewriting.patterns import Array

Kind = type[np.generic]

KINDS: tuple[Kind, ...] = (
    np.float32,
    np.int64,
    np.float16,
    np.bool_,
    np.float64,
    np.int32,
    ml_dtypes.bfloat16,
    np.uint8,
    np.int8,
    np.uint64,
    np.int16,
    np.uint32,
    np.uint16,
    np.complex64,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.int4,
    np.object_,
    ml_dtypes.float8_e5m2,
    np.complex128,
    ml_dtypes.uint4,
)
"""All element types as NumPy types, the most widely supported first; strings are `object_`."""

FLOATING = frozenset({np.float16, np.float32, np.float64, ml_dtypes.bfloat16})

WORDS = (b"", b"a", b"-7", "ü".encode(), b"longer text", b"NaN")


def is_float(dtype: np.dtype[np.generic]) -> bool:
    """Whether a type is a real float type, of eight bits or more."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def is_integer(dtype: np.dtype[np.generic]) -> bool:
    """Whether a type is an integer type, of four bits or more; `bool` is not."""
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


def as_kind(array: Array, dtype: np.dtype[np.generic]) -> Array:
    """Convert an array to another element type; for strings, numbers select one of `WORDS`."""
    if dtype != np.object_ or array.dtype == np.object_:
        return array.astype(dtype)
    words = np.empty(array.size, np.object_)
    words[:] = [WORDS[int(abs(number)) % len(WORDS)] for number in array.reshape(-1).tolist()]
    return words.reshape(array.shape)


def elements(
    random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.generic], special: bool
) -> Array:
    """
    Random elements, negative ones among them.

    `special` puts some infinities, NaN and -0.0 among floats, and the limits of the type among integers.
    """
    count = prod(shape)
    if dtype == np.object_:
        found = np.empty(count, np.object_)
        found[:] = [WORDS[index] for index in random.integers(0, len(WORDS), count)]
        return found.reshape(shape)
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(np.bool_)
    if is_integer(dtype):
        return _integers(random, shape, dtype, special)
    if dtype.kind == "c":
        parts = random.normal(0, 2, (2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
    array = np.asarray(random.normal(0, 2, shape)).astype(dtype)
    if special and count:
        positions = random.integers(0, count, min(3, 1 + count // 4))
        odd = np.array([np.nan, -np.inf, -0.0, np.inf, 0.0])
        array.reshape(-1)[positions] = random.choice(odd, len(positions)).astype(dtype)
    return array


def _integers(
    random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.generic], special: bool
) -> Array:
    limits = ml_dtypes.iinfo(dtype)
    low, high = max(-6, int(limits.min)), min(6, int(limits.max))
    array = random.integers(low, high + 1, shape).astype(dtype)
    if special and array.size:
        index = int(random.integers(0, array.size))
        limit = limits.max if random.integers(0, 2) else limits.min
        array.reshape(-1)[index] = np.array(int(limit)).astype(dtype)
    return np.asarray(array)
