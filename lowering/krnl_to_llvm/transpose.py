"""Transpose a square of elements in vector registers by log2(n) rounds of shuffles (`krnl.transpose`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder


def transpose(builder: LLVMBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    Return the columns of n rows of n lanes, n a power of two.

    Round b exchanges bit b of row and lane indices: rows i and i + 2^b swap those lanes for which bit b of
    the lane differs from bit b of the row. After all rounds, row and lane indices are exchanged.
    """
    vectors = list(rows)
    lanes = range(len(vectors))
    step = 1
    while step < len(vectors):
        # Shuffle masks; lanes of the second row count from n.
        first = [len(vectors) + lane - step if lane & step else lane for lane in lanes]
        second = [len(vectors) + lane if lane & step else lane + step for lane in lanes]
        for number in lanes:
            if not number & step:
                pair = vectors[number], vectors[number + step]
                vectors[number], vectors[number + step] = (
                    builder.shuffle_pair(*pair, first),
                    builder.shuffle_pair(*pair, second),
                )
        step *= 2
    return vectors
