"""
Weights of float32 that are stored as floats of 16 bits (`krnl.gemm`): half of the memory is read.

A few rows of A widen each vector of B where they load it. More rows share a widened part of a panel, which
the stack holds: `depth` rows of B, as wide as a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f16, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

BFLOAT16_SHIFT = 16
"""The bits of a float32 below those of a bfloat16."""


@dataclass(frozen=True)
class Piece:
    """A part of a panel of B, by the rows of B that it holds."""

    pointer: SSAValue
    panel: SSAValue | None
    """The address of the panel in 16 bits, if the piece is widened from it; else the piece is part of B."""
    first: SSAValue
    count: SSAValue
    is_first: SSAValue
    """Whether it begins the sums, which else continue those in C."""
    is_last: SSAValue


def load_widened(
    builder: LLVMBuilder, pointer: SSAValue, stored: Attribute, element: Attribute, lanes: int
) -> SSAValue:
    """Load a vector of `element` that is stored as such, as f16, or as i16, the bits of bfloat16."""
    loaded = builder.load(pointer, stored, lanes)
    if stored == element:
        return loaded
    if stored == f16:
        return builder.add(llvm_ops.cast(llvm.FPExtOp, loaded, vector_of(element, lanes)))
    bits = builder.add(llvm_ops.cast(llvm.ZExtOp, loaded, vector_of(i32, lanes)))
    moved = builder.add(llvm.ShlOp(bits, builder.constant(BFLOAT16_SHIFT, bits.type)))
    return builder.add(llvm_ops.cast(llvm.BitcastOp, moved, vector_of(element, lanes)))


def split_rows(builder: LLVMBuilder, m: int | SSAValue, least: int) -> tuple[int | SSAValue, int | SSAValue]:
    """Return the rows of A if they are fewer than `least`, else 0, and the rows if they are not."""
    if isinstance(m, int):
        return (m, 0) if m < least else (0, m)
    is_few = builder.icmp("slt", m, builder.constant(least))
    none = builder.constant(0)
    return builder.select(is_few, m, none), builder.select(is_few, none, m)


def if_any(builder: LLVMBuilder, rows: int | SSAValue, count: SSAValue) -> SSAValue:
    """Return a number of iterations, or 0 for a dynamic number of rows that is 0."""
    if isinstance(rows, int):
        return count
    return builder.select(builder.icmp("eq", rows, builder.constant(0)), builder.constant(0), count)


def widen_rows(
    builder: LLVMBuilder,
    addresses: tuple[SSAValue, SSAValue],
    types: tuple[Attribute, Attribute],
    count: SSAValue,
    shape: tuple[int, int],
) -> None:
    """Widen `count` rows, from the first of two addresses to the second; `shape` is columns and lanes."""
    (source, target), (stored, element), (columns, lanes) = addresses, types, shape

    def of_row(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        start = builder.imul(index, columns)
        read, write = builder.address(source, start, stored), builder.address(target, start, element)
        for first in range(0, columns, lanes):
            width = min(lanes, columns - first)
            vector = load_widened(builder, builder.address(read, first, stored), stored, element, width)
            builder.store(vector, builder.address(write, first, element))
        return []

    builder.loop(builder.constant(0), count, 1, [], of_row)
