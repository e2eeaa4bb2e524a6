"""
One row times weights of 4 bits in integers (`krnl.dequantize_gemm` with `products`).

Unpacking weights to floats takes longer than loading them. So 32 activations at a time become integers of 23
bits with one exponent, which is exact to half a unit of the largest one's last place, and each integer three
signed bytes: `v = 65536 d2 + 256 d1 + d0`. An instruction adds the products of four bytes with four weights
(docs/internals/cpu-kernels.md §4.9). The sum over 32 products is exact: `15 · 32 · 2^22 < 2^31`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.quantized_tiles import FIXED_POINT_TERMS, DequantizeGemmOp
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

LIMIT = float(1 << 22)
"""The largest magnitude of an integer."""

MIN_EXPONENT = 22
"""The least biased exponent that is told apart: smaller activations have the factor of it."""

ROUNDING = 3 << 22
"""Adding this float rounds one of a magnitude up to `LIMIT` to an integer, in the lower bits of the sum."""

ROUNDING_BITS = 0x4B400000
MAGNITUDE_BITS = 0x7FFFFFFF
INFINITY_BITS = 0x7F800000
LOWER_FOUR_BITS = 0x0F0F0F0F


@dataclass(frozen=True)
class _Terms:
    """Activations as integers."""

    digits: Sequence[SSAValue]
    """The bytes, lowest first, as words: of each eight, those at even indices and those at odd ones."""
    total: SSAValue
    """The sum of the integers."""
    factor: SSAValue
    """What a unit stands for; infinite or NaN if an activation is."""


def emit_row(
    builder: LLVMBuilder,
    op: DequantizeGemmOp,
    pointers: Sequence[SSAValue],
    row: SSAValue,
    column: SSAValue,
    width: int,
) -> None:
    """Emit the product of one row and a panel, of which `width` columns are stored."""
    assert op.products is not None
    lanes = int(op.products.data.rpartition(".")[2]) // 32
    columns = int(op.tile.get_values()[1])
    k, block, vectors = op.k.value.data, op.block.value.data, -(-width // lanes)
    c, a, b, scales = pointers[:4]
    a = builder.address(a, builder.imul(row, k), f32)
    words = builder.address(b, builder.imul(column, k // op.per_word), i32)
    factors = builder.address(scales, builder.imul(column, k // block), f32)
    zeros = [builder.constant(0.0, vector_of(f32, lanes))] * vectors
    parts, step = block // FIXED_POINT_TERMS, FIXED_POINT_TERMS // op.per_word * columns

    def of_block(number: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def of_part(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            part = builder.iadd(builder.imul(number, parts), index)
            terms = _terms(builder, builder.address(a, builder.imul(part, FIXED_POINT_TERMS), f32))
            found = _products(
                builder, op, terms, builder.address(words, builder.imul(part, step), i32), vectors
            )
            factor = builder.splat(terms.factor, lanes)
            return [
                builder.fma(builder.add(llvm.SIToFPOp(each, vector_of(f32, lanes))), factor, total)
                for each, total in zip(found, carried, strict=True)
            ]

        carried = builder.loop(builder.constant(0), builder.constant(parts), 1, zeros, of_part)
        own = builder.address(factors, builder.imul(number, columns), f32)
        return [
            builder.fma(each, builder.load(builder.address(own, index * lanes, f32), f32, lanes), total)
            for index, (each, total) in enumerate(zip(carried, sums, strict=True))
        ]

    sums = builder.loop(builder.constant(0), builder.constant(k // block), 1, zeros, of_block)
    corner = builder.address(builder.address(c, builder.imul(row, op.n.value.data), f32), column, f32)
    for index, total in enumerate(sums):
        active = min(lanes, width - index * lanes)
        stored = total if active == lanes else builder.shuffle(total, range(active))
        builder.store(stored, builder.address(corner, index * lanes, f32))


def _terms(builder: LLVMBuilder, pointer: SSAValue) -> _Terms:
    """Emit the conversion of activations to integers and their bytes."""
    count = FIXED_POINT_TERMS
    integers, reals = vector_of(i32, count), vector_of(f32, count)
    given = builder.load(pointer, f32, count)
    magnitudes = builder.add(
        llvm.AndOp(builder.add(llvm.BitcastOp(given, integers)), builder.constant(MAGNITUDE_BITS, integers))
    )
    # The bits of an infinity are above those of all numbers, and those of NaN above them.
    largest = _reduced(builder, _maximum, magnitudes)
    exponent = builder.add(llvm.LShrOp(largest, builder.constant(23, i32)))
    exponent = _maximum(builder, exponent, builder.constant(MIN_EXPONENT, i32))
    inverse = _power(builder, builder.add(llvm.SubOp(builder.constant(275, i32), exponent)))
    unit = _power(builder, builder.add(llvm.SubOp(exponent, builder.constant(21, i32))))
    is_finite = builder.icmp("ult", largest, builder.constant(INFINITY_BITS, i32))
    factor = builder.select(is_finite, unit, builder.add(llvm.BitcastOp(largest, f32)))
    value = builder.fmul(given, builder.splat(inverse, count))
    for predicate, limit in (("olt", LIMIT), ("ogt", -LIMIT)):
        bound = builder.constant(limit, reals)
        value = builder.select(builder.fcmp(predicate, value, bound), value, bound)
    rounded = builder.fadd(value, builder.constant(ROUNDING, reals))
    numbers = builder.add(
        llvm.SubOp(builder.add(llvm.BitcastOp(rounded, integers)), builder.constant(ROUNDING_BITS, integers))
    )
    digits: list[SSAValue] = []
    words = range(count // 4)
    parts = [
        builder.shuffle(numbers, [word // 2 * 8 + 2 * byte + word % 2 for word in words]) for byte in range(4)
    ]
    for _ in range(3):
        digits.append(_packed(builder, parts))
        # Bytes are signed: what is left over is rounded to the nearest.
        parts = [_shifted(builder, each) for each in parts]
    return _Terms(digits, _reduced(builder, LLVMBuilder.iadd, numbers), factor)


def _packed(builder: LLVMBuilder, parts: Sequence[SSAValue]) -> SSAValue:
    """Return words of the lowest bytes of integers."""
    type_ = parts[0].type
    words = builder.constant(0, type_)
    for byte, each in enumerate(parts):
        low = builder.add(llvm.AndOp(each, builder.constant(255, type_)))
        words = builder.add(llvm.OrOp(words, builder.add(llvm.ShlOp(low, builder.constant(8 * byte, type_)))))
    return words


def _shifted(builder: LLVMBuilder, numbers: SSAValue) -> SSAValue:
    """Return what is left of integers without their lowest signed byte."""
    raised = builder.iadd(numbers, builder.constant(128, numbers.type))
    return builder.add(llvm.AShrOp(raised, builder.constant(8, numbers.type)))


def _power(builder: LLVMBuilder, exponent: SSAValue) -> SSAValue:
    """Return the float with a biased exponent."""
    return builder.add(llvm.BitcastOp(builder.add(llvm.ShlOp(exponent, builder.constant(23, i32))), f32))


def _maximum(builder: LLVMBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return builder.select(builder.icmp("ult", a, b), b, a)


def _reduced(
    builder: LLVMBuilder, combine: Callable[[LLVMBuilder, SSAValue, SSAValue], SSAValue], vector: SSAValue
) -> SSAValue:
    """Combine all lanes: the lower with the upper ones, until one is left."""
    lanes = FIXED_POINT_TERMS
    while lanes > 2:
        lanes //= 2
        upper = builder.shuffle(vector, range(lanes, 2 * lanes))
        vector = combine(builder, builder.shuffle(vector, range(lanes)), upper)
    return combine(builder, builder.lane(vector, 0), builder.lane(vector, 1))


def _products(
    builder: LLVMBuilder, op: DequantizeGemmOp, terms: _Terms, words: SSAValue, vectors: int
) -> list[SSAValue]:
    """Return the exact sums of products of integers and weights, less their zero point, in each column."""
    assert op.products is not None
    assert op.zero_point is not None
    lanes = int(op.products.data.rpartition(".")[2]) // 32
    columns = int(op.tile.get_values()[1])
    type_, bytes_ = vector_of(i32, lanes), vector_of(i8, 4 * lanes)
    correction = builder.add(llvm.MulOp(terms.total, builder.constant(-op.zero_point.value.data, i32)))
    starts = [builder.splat(correction, lanes), *[builder.constant(0, type_)] * 2]
    sums = [list(starts) for _ in range(vectors)]
    mask = builder.constant(LOWER_FOUR_BITS, type_)
    for word in range(FIXED_POINT_TERMS // op.per_word):
        factors = [
            [
                builder.add(llvm.BitcastOp(builder.shuffle(each, [2 * word + odd] * lanes), bytes_))
                for each in terms.digits
            ]
            for odd in (0, 1)
        ]
        for number, found in enumerate(sums):
            packed = builder.load(builder.address(words, word * columns + number * lanes, i32), i32, lanes)
            upper = builder.add(llvm.LShrOp(packed, builder.constant(4, type_)))
            for half, of_half in zip((packed, upper), factors, strict=True):
                weights = builder.add(llvm.BitcastOp(builder.add(llvm.AndOp(half, mask)), bytes_))
                for digit, factor in enumerate(of_half):
                    call = llvm.CallIntrinsicOp(op.products.data, [found[digit], weights, factor], [type_])
                    found[digit] = builder.add(call)
    results: list[SSAValue] = []
    for low, middle, high in sums:
        total = builder.add(llvm.ShlOp(high, builder.constant(8, type_)))
        total = builder.add(llvm.ShlOp(builder.add(llvm.AddOp(total, middle)), builder.constant(8, type_)))
        results.append(builder.add(llvm.AddOp(total, low)))
    return results
