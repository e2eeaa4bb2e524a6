"""
Arrays that begin at a cache line.

NumPy aligns to 16 bytes, so that most vectors of 64 bytes would lie in two lines: loading or storing one
takes twice the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
from importlib import import_module
from math import prod
from sys import getrefcount
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

LINE_BYTES = 64
"""A multiple of the cache line and of the widest vector of each processor that is compiled for."""

_Element = TypeVar("_Element", bound=np.generic)


class _Char(Protocol):
    """The part of `ctypes.c_char` in use; its type stubs do not accept arrays before Python 3.12."""

    def from_buffer(self, source: npt.NDArray[np.generic], /) -> c_char: ...


_char: _Char = import_module("ctypes").c_char


def address_of(array: npt.NDArray[np.generic]) -> int:
    """
    Return the address of a contiguous array.

    Parameters:
        array: the array.
    """
    try:
        # Twice as fast as `ctypes.data`, which matters for models that run for microseconds.
        return addressof(_char.from_buffer(array))
    except (TypeError, ValueError):  # read-only, empty, or of a dtype without buffer protocol
        return array.ctypes.data


def aligned_empty(size: int) -> npt.NDArray[np.uint8]:
    """
    Return uninitialised bytes that begin at a cache line.

    Parameters:
        size: their number.
    """
    return aligned_array((size,), np.dtype(np.uint8))


def aligned_array(shape: Sequence[int], dtype: np.dtype[_Element]) -> npt.NDArray[_Element]:
    """
    Return an uninitialised array that begins at a cache line.

    Parameters:
        shape: its shape.
        dtype: its type, not that of Python objects.
    """
    return aligned_array_at(shape, dtype, prod(shape) * dtype.itemsize)[0]


def aligned_array_at(
    shape: Sequence[int], dtype: np.dtype[_Element], size: int
) -> tuple[npt.NDArray[_Element], int]:
    """
    Return an `aligned_array` of so many bytes, and its address.

    Parameters:
        shape: its shape.
        dtype: its type, not that of Python objects.
        size: the bytes of its elements.
    """
    memory = np.empty(size + LINE_BYTES, np.uint8)
    address = address_of(memory)
    skipped = -address % LINE_BYTES
    return np.ndarray(shape, dtype, memory, skipped), address + skipped


MAX_HELD = 2
"""Arrays of one kind whose memory is held: a caller may keep one result until it has the next."""


class ReusedMemory:
    """
    Memory of large arrays of one kind, which is used again once nothing refers to it.

    New memory costs a page fault for each page, which may take as long as computing what is stored there.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._held: list[npt.NDArray[np.uint8]] = []

    def array_at(
        self, shape: Sequence[int], dtype: np.dtype[_Element], size: int
    ) -> tuple[npt.NDArray[_Element], int]:
        """
        Return an uninitialised array of so many bytes that begins at a cache line, and its address.

        Parameters:
            shape: its shape.
            dtype: its type, not that of Python objects.
            size: the bytes of its elements.
        """
        needed = size + LINE_BYTES
        self._held = [each for each in self._held if each.nbytes == needed]
        for number in range(len(self._held)):
            # Arrays, and what is made of them without a copy, refer to the memory that they lie in.
            if _references(self._held, number) == _ONLY_HELD:
                memory = self._held[number]
                break
        else:
            memory = np.empty(needed, np.uint8)
            self._held = [*self._held, memory][-MAX_HELD:]
        address = address_of(memory)
        skipped = -address % LINE_BYTES
        return np.ndarray(shape, dtype, memory, skipped), address + skipped


def _references(held: Sequence[object], number: int) -> int:
    return getrefcount(held[number])


_ONLY_HELD = _references([np.empty(0, np.uint8)], 0)
"""References to what only a list refers to."""


def at_a_line(array: npt.NDArray[_Element]) -> npt.NDArray[_Element]:
    """
    Return the array itself if it begins at a cache line or has objects; else a copy that does.

    Parameters:
        array: a contiguous array.
    """
    if array.dtype.hasobject or address_of(array) % LINE_BYTES == 0:
        return array
    copy = aligned_array(array.shape, array.dtype)
    copy[...] = array
    return copy
