"""
The payload of a constant: a view of a shared buffer, or deferred operations.

A pending expression consists of elementwise functions and views of other payloads, or is any function without
operands. The first read evaluates it, elementwise functions block by block and into one output. Then the
payload is a plain view and no longer refers to its operands. Operands that would make an expression longer
than `MAX_STEPS` are evaluated first.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from xonnc.dialects.onnx.elements.blocks import (
    block_indices,
    block_of,
    is_structural_splat,
    narrow,
    same_elements,
)
from xonnc.dialects.onnx.elements.buffers import Array, Buffer, Buffers, owned_bytes, owner_of
from xonnc.dialects.onnx.elements.loop import DType, Elementwise, ElementwiseFunction, IndexArray, Loop

MAX_STEPS = 16
"""Maximum number of functions and views in one pending expression."""

EAGER_ELEMENTS = 1024
"""Results up to this size are computed eagerly: an expression would cost more."""

WAITING_KEEPS_AT_MOST = 1.25
"""Limit of operand bytes that a pending expression keeps alive, relative to its result or largest operand."""

SMALL_VIEW_BYTES = 4 * 1024
LARGE_BUFFER_BYTES = 1024 * 1024


@dataclass(frozen=True, eq=False)
class Seen:
    """A view of a pending payload by a NumPy function (a copy if NumPy gives no view)."""

    source: Payload
    view: Callable[[Array], Array]
    steps: int

    def indices(self) -> IndexArray:
        """The flat row-major index in the source of each element."""
        size = prod(self.source.shape)
        numbers = np.arange(size, dtype=np.int32 if size < 1 << 31 else np.int64)
        return self.view(numbers.reshape(self.source.shape))


@dataclass(frozen=True, eq=False)
class Made:
    """A payload that a function computes as a whole."""

    make: Callable[[], Array]
    steps: int = 1


class Payload:
    """The elements of a constant, shared by the attributes and pending expressions that refer to them."""

    __slots__ = ("_array", "_buffer", "_buffers", "_lent", "_pending", "_splat", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: DType, buffers: Buffers):
        self.shape = shape
        self.dtype = dtype
        self._buffers = buffers
        self._array: Array | None = None
        self._buffer: Buffer | None = None
        self._pending: Elementwise | Seen | Made | None = None
        self._lent = False
        self._splat: bool | None = None

    @staticmethod
    def of(array: Array, buffers: Buffers) -> Payload:
        """Return a payload that is a view of `array`, which must not be written to afterwards."""
        payload = Payload(array.shape, array.dtype, buffers)
        payload._settle(array)
        return payload

    @staticmethod
    def elementwise(
        function: ElementwiseFunction, operands: Sequence[Payload], dtype: DType | None, buffers: Buffers
    ) -> Payload:
        """
        Apply `function` to `operands` broadcast together; `dtype`: NumPy's by default.

        Evaluation is deferred until a read, except if the result is small, is a splat, or takes less memory
        than the operands that an expression would keep alive. Raises `ValueError` if the shapes do not
        broadcast.
        """
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
        if dtype is None:
            with np.errstate(all="ignore"):
                dtype = function(*(np.empty(0, operand.dtype) for operand in operands)).dtype
        if sum(operand.steps for operand in operands) >= MAX_STEPS:
            for operand in operands:
                operand.array()
        steps = 1 + sum(operand.steps for operand in operands)
        payload = Payload(shape, dtype, buffers)
        payload._pending = Elementwise(function, tuple(operands), dtype, steps)
        splat = all(operand.is_structural_splat() for operand in operands)
        if splat or prod(shape) <= EAGER_ELEMENTS or payload._keeps_too_much():
            payload.array()
        return payload

    @staticmethod
    def made(shape: tuple[int, ...], dtype: DType, make: Callable[[], Array], buffers: Buffers) -> Payload:
        """Return a payload that the first read computes by `make`, with elements of that shape and type."""
        payload = Payload(shape, dtype, buffers)
        payload._pending = Made(make)
        return payload

    @property
    def is_pending(self) -> bool:
        """Return whether a read evaluates an expression."""
        return self._array is None

    @property
    def steps(self) -> int:
        """The length of the pending expression, 0 without one."""
        return self._pending.steps if self._pending else 0

    def array(self) -> Array:
        """Return the elements, read-only; evaluates a pending expression once."""
        return self._settle(self._evaluate()) if self._array is None else self._array

    def blocks(self) -> Iterator[Array]:
        """Iterate over flat blocks in row-major order; results of a pending expression are not cached."""
        if isinstance(self._pending, Elementwise):
            yield from Loop(self._pending, self.shape).blocks()
            return
        array = self.array()
        flat = array.reshape(-1) if array.flags.c_contiguous else None
        for index in block_indices(self.shape if flat is None else flat.shape):
            yield array[index].reshape(-1) if flat is None else flat[index]

    def sample(self, index: tuple[slice, ...]) -> Array:
        """
        Return the elements at `index`, a slice per axis; elementwise functions run only for these.

        An axis of size 1 is broadcast: its slice is ignored.
        """
        if isinstance(self._pending, Seen):
            return self._pending.source.pick(self._pending.indices()[index])
        if not isinstance(self._pending, Elementwise):
            return block_of(self.array(), index)
        operands = self._pending.operands
        return self._computed(
            operand.sample(index[len(index) - len(operand.shape) :]) for operand in operands
        )

    def pick(self, indices: IndexArray) -> Array:
        """Return the elements at flat row-major indices; elementwise functions run only for these."""
        if isinstance(self._pending, Seen):
            return self._pending.source.pick(self._pending.indices().reshape(-1)[indices])
        if not isinstance(self._pending, Elementwise):
            return self.array()[np.unravel_index(indices, self.shape)]
        operands = self._pending.operands
        coordinates = np.unravel_index(indices, self.shape)
        parts = (operand.pick(_clipped_indices(coordinates, operand.shape)) for operand in operands)
        return self._computed(parts)

    def _computed(self, operands: Iterable[Array]) -> Array:
        assert isinstance(self._pending, Elementwise)
        with np.errstate(all="ignore"):
            return np.asarray(self._pending.function(*operands)).astype(self.dtype, copy=False)

    def is_splat(self) -> bool:
        """Return whether all elements have the same bits; if so, only one stays in memory."""
        if self._splat is None:
            self._splat = self._find_splat()
        return self._splat

    def is_structural_splat(self) -> bool:
        """Return whether one element is stored with strides 0; reads no elements."""
        return self._array is not None and is_structural_splat(self._array)

    def seen(self, view: Callable[[Array], Array], shape: tuple[int, ...]) -> Payload:
        """Return a payload of `shape` that applies `view`, a NumPy function that returns a view or a copy."""
        if self._array is not None or self.steps >= MAX_STEPS:
            return Payload.of(view(self.array()), self._buffers)
        payload = Payload(shape, self.dtype, self._buffers)
        payload._pending = Seen(self, view, self.steps + 1)
        return payload

    def lent(self) -> Elementwise | None:
        """
        Return the elementwise expression that a reader may evaluate in its own loop; `None`: read `array()`.

        At the second request the expression is evaluated and cached instead.
        """
        if self._lent or not isinstance(self._pending, Elementwise):
            self.array()
            return None
        self._lent = True
        return self._pending

    def buffers(self) -> Iterator[Buffer]:
        """The buffers that this payload or its expression keeps alive; shared ones may repeat."""
        if self._buffer is not None:
            yield self._buffer
        elif isinstance(self._pending, Seen):
            yield from self._pending.source.buffers()
        elif isinstance(self._pending, Elementwise):
            for operand in self._pending.operands:
                yield from operand.buffers()

    def _keeps_too_much(self) -> bool:
        sizes = [buffer.nbytes for buffer in set(self.buffers()) if not buffer.mapped]
        return sum(sizes) > WAITING_KEEPS_AT_MOST * max(*sizes, prod(self.shape) * self.dtype.itemsize, 0)

    def _evaluate(self) -> Array:
        if isinstance(self._pending, Elementwise):
            return Loop(self._pending, self.shape).run()
        if isinstance(self._pending, Made):
            array = self._pending.make()
            assert (array.shape, array.dtype) == (self.shape, self.dtype), (
                "a payload is what it was said to be"
            )
            return array
        assert self._pending is not None
        return self._pending.view(self._pending.source.array())

    def _settle(self, array: Array) -> Array:
        array = _cut_loose(array)
        self._buffer = self._buffers.holding(array)
        self._array = settled = array.view()
        settled.flags.writeable = False
        self._pending = None
        return settled

    def _find_splat(self) -> bool:
        array = self.array()
        if is_structural_splat(array) or array.size == 0:
            return array.size > 0
        first = array[(slice(0, 1),) * array.ndim].copy()
        stored = narrow(array, array.ndim)
        if not all(same_elements(stored[index], first) for index in block_indices(stored.shape)):
            return False
        self._settle(np.broadcast_to(first, array.shape))
        return True


def _clipped_indices(indices: Sequence[IndexArray], shape: tuple[int, ...]) -> IndexArray:
    """Return flat indices into an operand that is broadcast to the shape whose indices are given."""
    last = indices[len(indices) - len(shape) :]
    return np.ravel_multi_index([one * (size > 1) for one, size in zip(last, shape, strict=True)], shape)


def _cut_loose(array: Array) -> Array:
    # A few elements must not keep a large tensor in memory; keeping a mapped file costs nothing.
    if array.nbytes > SMALL_VIEW_BYTES or array.base is None or owned_bytes(array) <= LARGE_BUFFER_BYTES:
        return array
    if is_structural_splat(array):
        return np.broadcast_to(narrow(array, array.ndim).copy(), array.shape)
    return array if isinstance(owner_of(array), mmap.mmap) else array.copy()
