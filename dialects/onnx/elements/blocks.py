"""Iteration over the elements of a tensor by blocks that fit the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from xonnc.dialects.onnx.elements.buffers import Array

BLOCK = 64 * 1024
"""Elements in a block: a few operands of one block fit the second-level cache."""


def block_indices(shape: Sequence[int], limit: int = BLOCK) -> Iterator[tuple[slice, ...]]:
    """
    Iterate over slices that cut a tensor into blocks of at most `limit` elements, in row-major order.

    Concatenating the blocks' elements gives the tensor's: inner axes are taken whole, one axis is cut,
    outer axes are walked.
    """
    if 0 in shape:
        return
    cut, inner = len(shape), 1
    while cut and inner * shape[cut - 1] <= limit:
        cut -= 1
        inner *= shape[cut]
    full_slices = (slice(None),) * (len(shape) - cut)
    if cut == 0:
        yield full_slices
        return
    rows = max(1, limit // inner)
    for outer in np.ndindex(*shape[: cut - 1]):
        walked = tuple(slice(index, index + 1) for index in outer)
        for start in range(0, shape[cut - 1], rows):
            yield (*walked, slice(start, start + rows), *full_slices)


def narrow(array: Array, rank: int) -> Array:
    """Return `array` with `rank` axes, of size 1 where it is broadcast (stride 0)."""
    aligned = array.reshape((1,) * (rank - array.ndim) + array.shape) if rank > array.ndim else array
    repeated = (stride == 0 and size > 1 for size, stride in zip(aligned.shape, aligned.strides, strict=True))
    return aligned[(*(slice(0, 1) if repeats else slice(None) for repeats in repeated), ...)]


def block_of(array: Array, index: tuple[slice, ...]) -> Array:
    """Return the block of a narrowed operand for the block `index` of the result."""
    pairs = zip(array.shape, index, strict=True)
    return array[(*(slice(None) if size == 1 else cut for size, cut in pairs), ...)]


def is_structural_splat(array: Array) -> bool:
    """Return whether all elements are one element in memory (strides 0); empty arrays are not splats."""
    if array.size <= 1:
        return array.size == 1
    return all(size == 1 or stride == 0 for size, stride in zip(array.shape, array.strides, strict=True))


def same_elements(block: Array, element: Array) -> bool:
    """Return whether every element of `block` has the bits of `element` (NaN is NaN, -0 is not 0)."""
    if block.dtype == np.object_ or block.dtype.itemsize == 1:
        return bool(np.all(_comparable(block) == _comparable(element)))
    words = np.ascontiguousarray(block).reshape(-1).view(np.uint8).reshape(-1, block.dtype.itemsize)
    return bool(np.all(words == element.reshape(-1).view(np.uint8)))


def _comparable(array: Array) -> Array:
    # Sub-byte integers leave the upper bits of their byte undefined, so only their values compare.
    return array.view(np.uint8) if array.dtype.name.startswith("float") else array
