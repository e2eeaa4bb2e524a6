"""
Matrix multiplication of int8 activations and weights of 4 or 8 bits (`krnl.quantized_gemm`).

A lane holds one column. An instruction adds the products of four bytes of its word of weights, unsigned, with
four activations, which are broadcast. The sum of the activations themselves, multiplied by the zero point, is
subtracted from the sum of a block before both scales apply (docs/internals/cpu-kernels.md §4.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.quantized_tiles import QuantizedGemmOp
from xonnc.lowering.krnl_to_llvm.gemm import (
    REMAINDER_ROWS,
    IterationRange,
    emit_steps,
    step_range,
    step_sizes,
)
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

MAX_SUMS = 8
"""Vectors of a tile at most: each takes a register of integer sums, and one of floats."""

LOWER_FOUR_BITS = 0x0F0F0F0F
"""The lower four bits of each byte of a word."""

ONES = 0x01010101


@dataclass(frozen=True)
class _QuantizedGemm:
    """The state that all tiles of a product share."""

    builder: LLVMBuilder
    op: QuantizedGemmOp
    pointers: Sequence[SSAValue]
    """C, A, the weights, scales, perhaps zero points, and the scales of A."""
    lanes: int

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return int(self.op.tile.get_values()[1])

    @property
    def panel_of(self) -> tuple[int, int]:
        """Words and blocks of a column."""
        k = self.op.k.value.data
        return k // self.op.per_word, k // self.op.block.value.data


@dataclass(frozen=True)
class _Tile:
    """A tile of C: its first row and column, and its height and vectors."""

    row: SSAValue
    column: SSAValue
    height: int
    vectors: int


def emit_quantized_gemm(
    builder: LLVMBuilder,
    op: QuantizedGemmOp,
    pointers: Sequence[SSAValue],
    iterations: IterationRange,
    dynamic_sizes: Sequence[SSAValue],
) -> None:
    """Emit a `krnl.quantized_gemm` for a range of panels: for each, tiles of rows."""
    rows, columns = map(int, op.tile.get_values())
    m = dynamic_sizes[0] if op.m.value.data == DYNAMIC_INDEX else op.m.value.data
    # The intrinsic is named by the bits of its vectors.
    lanes = int(op.products.data.rpartition(".")[2]) // 32
    product = _QuantizedGemm(builder, op, pointers, lanes)
    all_rows = step_range(builder, m, rows)

    def panel(column: SSAValue, width: int) -> None:
        def tile(row: SSAValue, height: int) -> None:
            step = max(1, MAX_SUMS // height) * lanes
            for start in range(0, width, step):
                part = min(width - start, step)
                _emit_tile(product, _Tile(row, column, height, -(-part // lanes)), start, part)

        emit_steps(builder, all_rows, m, step_sizes(rows, *REMAINDER_ROWS), tile)

    emit_steps(builder, iterations, op.n.value.data, [columns], panel)


def _emit_tile(product: _QuantizedGemm, tile: _Tile, column: int, width: int) -> None:
    """Emit one tile, from column `beside` of a panel on; its sums stay in registers over all blocks."""
    builder, op, lanes = product.builder, product.op, product.lanes
    words_of, blocks = product.panel_of
    c, a, b, scales, *zero_points, a_scales = product.pointers
    k, block = op.k.value.data, op.block.value.data
    words = builder.address(builder.address(b, builder.imul(tile.column, words_of), i32), column, i32)
    offset = builder.iadd(builder.imul(tile.column, blocks), builder.constant(column))
    zeros = [builder.constant(0.0, vector_of(f32, lanes))] * (tile.height * tile.vectors)
    row = builder.address(a, builder.imul(tile.row, k), i8)
    factors = builder.address(a_scales, builder.imul(tile.row, blocks), f32)

    def of_block(number: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first = builder.imul(number, block // op.per_word * product.columns)
        activations = builder.address(row, builder.imul(number, block), i8)
        dots, totals = _block_sums(product, tile, builder.address(words, first, i32), activations)
        here = builder.iadd(offset, builder.imul(number, product.columns))
        carried = [
            builder.load(
                builder.address(scales, builder.iadd(here, builder.constant(each * lanes)), f32), f32, lanes
            )
            for each in range(tile.vectors)
        ]
        offsets = _zero_points(product, zero_points, here, tile.vectors)
        found: list[SSAValue] = []
        for index, dot in enumerate(dots):
            line, each = divmod(index, tile.vectors)
            real = builder.fsub(
                _real(builder, dot), builder.fmul(offsets[each], _real(builder, totals[line]))
            )
            scale = builder.load(
                builder.address(builder.address(factors, number, f32), line * blocks, f32), f32
            )
            scaled = builder.fmul(real, carried[each])
            found.append(builder.fma(scaled, builder.splat(scale, lanes), sums[index]))
        return found

    sums = builder.loop(builder.constant(0), builder.constant(blocks), 1, zeros, of_block)
    n = op.n.value.data
    corner = builder.address(builder.address(c, builder.imul(tile.row, n), f32), tile.column, f32)
    for index, total in enumerate(sums):
        line, each = divmod(index, tile.vectors)
        active = min(lanes, width - each * lanes)
        part = total if active == lanes else builder.shuffle(total, range(active))
        builder.store(part, builder.address(corner, line * n + column + each * lanes, f32))


def _real(builder: LLVMBuilder, integers: SSAValue) -> SSAValue:
    return builder.add(llvm.SIToFPOp(integers, vector_of(f32, lanes_of(integers))))


def _zero_points(
    product: _QuantizedGemm, pointers: Sequence[SSAValue], offset: SSAValue, vectors: int
) -> list[SSAValue]:
    """Return the zero points of a block as floats."""
    builder, lanes = product.builder, product.lanes
    if product.op.zero_point is not None:
        return [builder.constant(float(product.op.zero_point.value.data), vector_of(f32, lanes))] * vectors
    pointer = builder.address(pointers[0], offset, i8)
    loaded = [builder.load(builder.address(pointer, each * lanes, i8), i8, lanes) for each in range(vectors)]
    return [_real(builder, builder.add(llvm.ZExtOp(each, vector_of(i32, lanes)))) for each in loaded]


def _block_sums(
    product: _QuantizedGemm, tile: _Tile, words: SSAValue, activations: SSAValue
) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the sums of a block: of products, line by line, and of the activations of each line."""
    builder, op, lanes = product.builder, product.op, product.lanes
    count, k = tile.height * tile.vectors, op.k.value.data
    bytes_ = vector_of(i8, 4 * lanes)
    ones = builder.add(llvm.BitcastOp(builder.constant(ONES, vector_of(i32, lanes)), bytes_))

    def of_word(index: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        source = builder.address(words, builder.imul(index, product.columns), i32)
        terms = builder.address(activations, builder.imul(index, op.per_word), i8)
        weights = [
            _bytes_of_word(product, builder.load(builder.address(source, each * lanes, i32), i32, lanes))
            for each in range(tile.vectors)
        ]
        found = list(sums)
        for line in range(tile.height):
            for group in range(op.per_word // 4):
                # Four bytes are loaded as one unaligned i32 and broadcast.
                pointer = builder.address(terms, line * k + 4 * group, i8)
                four = builder.splat(builder.add(llvm.LoadOp(pointer, i32, alignment=1)), lanes)
                signed = builder.add(llvm.BitcastOp(four, bytes_))
                unsigned = [builder.add(llvm.BitcastOp(each[group], bytes_)) for each in weights]
                slots = [*range(line * tile.vectors, (line + 1) * tile.vectors), count + line]
                for offset, factor in zip(slots, [*unsigned, ones], strict=True):
                    call = llvm.CallIntrinsicOp(
                        op.products.data, [found[offset], factor, signed], [found[offset].type]
                    )
                    found[offset] = builder.add(call)
        return found

    none = builder.constant(0, vector_of(i32, lanes))
    steps = builder.constant(op.block.value.data // op.per_word)
    sums = builder.loop(builder.constant(0), steps, 1, [none] * (count + tile.height), of_word)
    return sums[:count], sums[count:]


def _bytes_of_word(product: _QuantizedGemm, word: SSAValue) -> list[SSAValue]:
    """Return the weights of words as bytes: four of each, or twice four of 4 bits."""
    builder = product.builder
    if product.op.bits.value.data == 8:
        return [word]
    mask = builder.constant(LOWER_FOUR_BITS, word.type)
    upper = builder.add(llvm.LShrOp(word, builder.constant(4, word.type)))
    return [builder.add(llvm.AndOp(each, mask)) for each in (word, upper)]
