"""Transpose a square of elements in vector registers by log2(n) rounds of shuffles (`krnl.transpose`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, element_of, lanes_of

SEGMENT_BYTES = 16
"""Bytes within which processors interleave two registers by one instruction."""


def transpose(builder: LLVMBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    Return the columns of n rows of n lanes, n a power of two.

    First the squares that segments of registers form are transposed, then segments change places.
    """
    segment = min(len(rows), SEGMENT_BYTES // size_of(element_of(rows[0])))
    vectors = [
        column
        for start in range(0, len(rows), segment)
        for column in _transposed_segments(builder, rows[start : start + segment])
    ]
    step = segment
    while step < len(vectors):
        _exchange(builder, vectors, step)
        step *= 2
    return vectors


def _transposed_segments(builder: LLVMBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    Return the columns of segments, which have as many lanes as there are rows.

    A round puts the lanes of rows i and i + n/2 side by side, in rows 2i and 2i + 1: the highest bit of the
    row's index becomes the lowest one of the lane's, and the highest one of the lane's that of the row's.
    """
    vectors, half = list(rows), len(rows) // 2
    lanes = lanes_of(rows[0])
    # Lanes of the second row count from `lanes`.
    masks = [
        [
            start + first + lane + side
            for start in range(0, lanes, len(rows))
            for lane in range(half)
            for side in (0, lanes)
        ]
        for first in (0, half)
    ]
    for _ in range(len(rows).bit_length() - 1):
        vectors = [
            builder.shuffle_pair(one, other, mask)
            for one, other in zip(vectors[:half], vectors[half:], strict=True)
            for mask in masks
        ]
    return vectors


def _exchange(builder: LLVMBuilder, vectors: list[SSAValue], step: int) -> None:
    """Exchange a bit of row and lane indices: rows i and i + step swap the lanes of which it differs."""
    lanes = range(len(vectors))
    # Lanes of the second row count from n.
    first = [len(vectors) + lane - step if lane & step else lane for lane in lanes]
    second = [len(vectors) + lane if lane & step else lane + step for lane in lanes]
    for number in lanes:
        if not number & step:
            pair = vectors[number], vectors[number + step]
            vectors[number], vectors[number + step] = (
                builder.shuffle_pair(*pair, first),
                builder.shuffle_pair(*pair, second),
            )
