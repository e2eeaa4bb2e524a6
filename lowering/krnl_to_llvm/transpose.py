"""Squares of numbers in vectors, turned by exchanging halves, quarters and so on (`krnl.transpose`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter


def transposed(to: Emitter, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The columns of as many rows as each has lanes, a power of two.

    In each step two rows that differ in one bit of their number exchange the lanes that differ in it.
    """
    held = list(rows)
    lanes = range(len(held))
    step = 1
    while step < len(held):
        # Lanes of both rows, those of the second counted on.
        first = [len(held) + lane - step if lane & step else lane for lane in lanes]
        second = [len(held) + lane if lane & step else lane + step for lane in lanes]
        for number in lanes:
            if not number & step:
                pair = held[number], held[number + step]
                held[number], held[number + step] = to.merge(*pair, first), to.merge(*pair, second)
        step *= 2
    return held
