"""Ownership and accounting of the memory of a context's constants."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

Array: TypeAlias = npt.NDArray[Any]
"""A numpy array of any of the element types of `xonnc.dialects.onnx.types`."""


@dataclass
class Account:
    """
    Bytes referenced by the constants of one pool; a buffer with several views counts once.

    A file mapped into memory belongs to the page cache, so its bytes count in `mapped` alone. An array
    of strings counts its references, not the text.
    """

    live: int = 0
    peak: int = 0
    freed: int = 0
    mapped: int = 0


LARGE = 1 << 20
"""Smaller ranges of a mapped file are not released: the system call would cost more."""


class Buffer:
    """A memory owner (array, mapped file, bytes of a dense attribute), counted while referenced."""

    __slots__ = ("__weakref__", "account", "mapped", "nbytes", "owner")

    def __init__(self, owner: object, nbytes: int, account: Account):
        self.owner = owner
        self.nbytes = nbytes
        self.mapped = isinstance(owner, mmap.mmap)
        self.account = account
        if self.mapped:
            account.mapped += self.nbytes
        else:
            account.live += self.nbytes
            account.peak = max(account.peak, account.live)

    def __del__(self) -> None:
        if self.mapped:
            self.account.mapped -= self.nbytes
        else:
            self.account.live -= self.nbytes
            self.account.freed += self.nbytes


class Buffers:
    """The live buffers of one pool by owner, so that two views of one array count once."""

    def __init__(self) -> None:
        self.account = Account()
        self._by_owner: WeakValueDictionary[int, Buffer] = WeakValueDictionary()

    def holding(self, array: Array) -> Buffer:
        """Return the buffer that `array` is a view of."""
        owner = owner_of(array)
        # A buffer holds its owner, so the identity of an owner found here cannot have been reused.
        buffer = self._by_owner.get(id(owner))
        if buffer is None:
            buffer = Buffer(owner, owned_bytes(array), self.account)
            self._by_owner[id(owner)] = buffer
        return buffer


def owner_of(array: Array) -> object:
    """Return the object that owns the memory of `array`, at the end of the chain of `base`s."""
    owner: object = array
    while (below := _seen_by(owner)) is not None:
        owner = below
    return owner


def owned_bytes(array: Array) -> int:
    """Return the bytes that `array` keeps alive: those of its owner, not only of the view."""
    owner = owner_of(array)
    if isinstance(owner, np.ndarray):
        return owner.nbytes
    return len(owner) if isinstance(owner, bytes | bytearray | mmap.mmap) else array.nbytes


def let_go(array: Array) -> None:
    """
    Release the pages of a mapped file under `array` (`madvise`).

    They count as this process's memory once they were read; reading them again fetches them from the cache.
    """
    owner = owner_of(array)
    if not isinstance(owner, mmap.mmap) or array.nbytes < LARGE or not hasattr(owner, "madvise"):
        return
    low, high = byte_bounds(array)
    base = byte_bounds(np.frombuffer(owner, np.uint8))[0]
    first = -(-(low - base) // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (high - base) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)


def _seen_by(view: object) -> object:
    if isinstance(view, memoryview):
        return view.obj
    # Not only arrays: `as_strided` puts an object of its own, with a `base`, between two arrays.
    return getattr(view, "base", None)
