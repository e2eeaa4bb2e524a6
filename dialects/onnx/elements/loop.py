"""Evaluate an expression of elementwise functions block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xonnc.dialects.onnx.elements.blocks import block_indices, block_of, narrow
from xonnc.dialects.onnx.elements.buffers import Array, Buffer, let_go

DType: TypeAlias = np.dtype[np.generic]

IndexArray: TypeAlias = npt.NDArray[np.signedinteger[Any]]
ElementwiseFunction: TypeAlias = Callable[..., Array]
"""A function of arrays that broadcast together, elementwise: indices do not interact."""


class Operand(Protocol):
    """The interface of payloads that an expression reads."""

    shape: tuple[int, ...]

    def sample(self, index: tuple[slice, ...]) -> Array:
        """Return the elements at `index`."""
        ...

    def pick(self, indices: IndexArray) -> Array:
        """Return the elements at the flat row-major indices `indices`."""
        ...

    def array(self) -> Array:
        """The elements."""
        ...

    def lent(self) -> Elementwise | None:
        """Return a pending expression to evaluate in the reader's loop; `None`: read `array()`."""
        ...

    def buffers(self) -> Iterator[Buffer]:
        """The buffers that a read needs."""
        ...


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A function of operands that broadcast together, its results converted to `dtype`."""

    function: ElementwiseFunction
    operands: tuple[Operand, ...]
    dtype: DType
    steps: int


@dataclass(frozen=True, eq=False)
class _Step:
    work: Elementwise
    operands: tuple[int, ...]


class Loop:
    """
    The evaluation of an expression: all functions block by block, in the operands' own NumPy types.

    Operands have size 1 along axes where they are broadcast, so broadcasting takes no memory.
    """

    def __init__(self, root: Elementwise, shape: tuple[int, ...]):
        self.shape = shape
        self.dtype = root.dtype
        self._plan: list[Array | _Step] = []
        self._slots: dict[Operand, int] = {}
        self._add_step(root)

    def run(self) -> Array:
        """Compute all elements; axes along which all operands are broadcast are computed once."""
        leaves = (entry.shape for entry in self._plan if not isinstance(entry, _Step))
        computed = np.broadcast_shapes((1,) * len(self.shape), *leaves)
        out = np.empty(computed, self.dtype)
        for index in block_indices(computed):
            out[index] = self._block(index)
        for entry in self._plan:
            if not isinstance(entry, _Step):
                let_go(entry)
        return out if computed == self.shape else np.broadcast_to(out, self.shape)

    def blocks(self) -> Iterator[Array]:
        """Iterate over flat blocks in row-major order; a block is valid until the next."""
        for index in block_indices(self.shape):
            sizes = [len(range(*cut.indices(size))) for cut, size in zip(index, self.shape, strict=True)]
            yield np.broadcast_to(self._block(index), sizes).reshape(-1)

    def _block(self, index: tuple[slice, ...]) -> Array:
        values: list[Array] = []
        with np.errstate(all="ignore"):
            for entry in self._plan:
                if isinstance(entry, _Step):
                    result = entry.work.function(*(values[slot] for slot in entry.operands))
                    values.append(np.asarray(result).astype(entry.work.dtype, copy=False))
                else:
                    values.append(block_of(entry, index))
        return values[-1]

    def _add_step(self, work: Elementwise) -> int:
        operands = tuple(self._slot(operand) for operand in work.operands)
        self._plan.append(_Step(work, operands))
        return len(self._plan) - 1

    def _slot(self, payload: Operand) -> int:
        slot = self._slots.get(payload)
        if slot is None:
            work = payload.lent()
            slot = self._add_leaf(payload.array()) if work is None else self._add_step(work)
            self._slots[payload] = slot
        return slot

    def _add_leaf(self, array: Array) -> int:
        self._plan.append(narrow(array, len(self.shape)))
        return len(self._plan) - 1
