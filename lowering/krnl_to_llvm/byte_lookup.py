"""Elements of a table of 256 for bytes: by a load, or for a vector by permutations of the table."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i8, i64
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of

TABLE = 256
PART = 16
"""Bytes of the table that `pshufb` reads, the same ones in each 128 bits."""


def look_up(builder: LLVMBuilder, table: SSAValue, byte: SSAValue, shuffle: str) -> SSAValue:
    """Return the elements of a table for a byte or a vector of bytes."""
    lanes = lanes_of(byte)
    if not lanes:
        index = builder.add(llvm.ZExtOp(byte, i64))
        return builder.load(builder.address(table, index, i8), i8)
    width = 32 if "avx2" in shuffle else 64
    assert lanes <= width
    wide = byte if lanes == width else builder.shuffle(byte, [*range(lanes), *[0] * (width - lanes)])
    found = (_permuted if "vpermi2var" in shuffle else _shuffled)(builder, table, wide, shuffle)
    return found if lanes == width else builder.shuffle(found, range(lanes))


def _part(builder: LLVMBuilder, table: SSAValue, start: int, size: int) -> SSAValue:
    return builder.load(builder.address(table, builder.constant(start), i8), i8, size)


def _permuted(builder: LLVMBuilder, table: SSAValue, byte: SSAValue, shuffle: str) -> SSAValue:
    """Permute the first and the last two vectors of the table by the low seven bits; select by the sign."""
    width = lanes_of(byte)
    low, high = (
        builder.add(
            llvm_ops.intrinsic(
                shuffle,
                [
                    _part(builder, table, start, width),
                    byte,
                    _part(builder, table, start + width, width),
                ],
                [byte.type],
            )
        )
        for start in (0, 2 * width)
    )
    return builder.select(builder.icmp("slt", byte, builder.constant(0, byte.type)), high, low)


def _shuffled(builder: LLVMBuilder, table: SSAValue, byte: SSAValue, shuffle: str) -> SSAValue:
    """
    Combine the shuffles of all parts of the table, each by the low four bits.

    `pshufb` gives 0 where bit 7 of a byte is set: the saturating addition sets it unless the high four bits,
    less those of the part, are 0.
    """
    width, total = lanes_of(byte), None
    for start in range(0, TABLE, PART):
        part = _part(builder, table, start, PART)
        repeated = builder.shuffle(part, [*range(PART)] * (width // PART))
        moved = builder.add(llvm.XOrOp(byte, builder.constant(start, byte.type)))
        index = builder.intrinsic("uadd.sat", moved, builder.constant(0x80 - PART, byte.type))
        found = builder.add(llvm_ops.intrinsic(shuffle, [repeated, index], [byte.type]))
        total = found if total is None else builder.add(llvm.OrOp(total, found))
    assert total is not None
    return total
