"""
Matrix multiplication with weights that are dequantized in registers (`krnl.dequantize_gemm`).

A lane holds one column: a vector load gets a word of packed weights, 8 of 4 bits or 4 of 8, for each of its
columns. A field q of a word, at bit p, becomes a float by two bit operations: the mask `ones << p` keeps it,
and with the exponent of 2^(23 - p) in the upper bits this is the float32 `2^(23 - p) + q`, since the last
place of the mantissa then stands for 2^-p. Subtracting `2^(23 - p) + zero point` is exact and leaves
`q - zero point`. Only fields that reach beyond the 23 bits of the mantissa are shifted first.

With one row the sum of a block is multiplied by its scale; with more rows each weight is, which takes fewer
registers, and the cost is shared by the rows of the tile. From `unpack` rows on, weights are stored as
floats, a piece of a panel at a time, which all rows read (docs/internals/cpu-kernels.md §4.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.quantized_tiles import WORD_BITS, DequantizeGemmOp
from xonnc.lowering.krnl_to_llvm.fixed_point_gemv import emit_row
from xonnc.lowering.krnl_to_llvm.gemm import (
    REMAINDER_ROWS,
    IterationRange,
    emit_steps,
    step_range,
    step_sizes,
)
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of
from xonnc.lowering.krnl_to_llvm.narrow_weights import if_any, split_rows

MANTISSA_BITS = 23
EXPONENT_BIAS = 127

MAX_SUMS = 16
"""
Sums of a tile at most: more rows take fewer vectors of a panel at a time.

Besides them, registers hold weights, scales, and the masks, exponents and offsets of fields.
"""

MAX_ROWS_OF_BLOCK_SUMS = 1
"""Up to this height of a tile, scales are multiplied with the sum of a block."""


@dataclass(frozen=True)
class _Field:
    """A field of packed weights in a word: by how much the word is shifted, and its lowest bit after that."""

    shift: int
    bit: int

    @property
    def exponent_bits(self) -> int:
        """The bits of the float 2^(23 - bit), whose mantissa holds the field as an integer."""
        return EXPONENT_BIAS + MANTISSA_BITS - self.bit << MANTISSA_BITS

    @property
    def offset(self) -> float:
        """The float with these bits."""
        return float(1 << MANTISSA_BITS - self.bit)


def fields_of(bits: int) -> list[_Field]:
    """Return the fields of a word, lowest bits first; those beyond the mantissa share one shift."""
    shifts = range(0, WORD_BITS, bits)
    shift = WORD_BITS - MANTISSA_BITS // bits * bits
    return [
        _Field(0, offset) if offset + bits <= MANTISSA_BITS else _Field(shift, offset - shift)
        for offset in shifts
    ]


@dataclass(frozen=True)
class _BlockGemm:
    """The state that all tiles of a product share."""

    builder: LLVMBuilder
    op: DequantizeGemmOp
    pointers: Sequence[SSAValue]
    """C, A, the weights, scales, and perhaps zero points."""
    lanes: int

    @property
    def sizes(self) -> tuple[int, int]:
        """N and K."""
        return self.op.n.value.data, self.op.k.value.data

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return int(self.op.tile.get_values()[1])


def emit_dequantize_gemm(
    builder: LLVMBuilder,
    op: DequantizeGemmOp,
    pointers: Sequence[SSAValue],
    iterations: IterationRange,
    vector_bytes: int,
    dynamic_sizes: Sequence[SSAValue],
) -> None:
    """Emit a `krnl.dequantize_gemm` for a range of panels: for each, tiles of rows."""
    rows, columns = map(int, op.tile.get_values())
    m = dynamic_sizes[0] if op.m.value.data == DYNAMIC_INDEX else op.m.value.data
    product = _BlockGemm(builder, op, pointers, vector_bytes // 4)
    few, many = (m, 0) if op.unpack is None else split_rows(builder, m, int(op.unpack.get_values()[0]))
    few_rows = step_range(builder, few, rows)

    def panel(column: SSAValue, width: int) -> None:
        def tile(row: SSAValue, height: int) -> None:
            if op.products is not None and height == 1:
                emit_row(builder, op, pointers, row, column, width)
                return
            step = max(1, MAX_SUMS // height) * product.lanes
            for start in range(0, width, step):
                _emit_tile(product, row, column, height, (start, min(width, start + step)))

        emit_steps(builder, few_rows, few, step_sizes(rows, *REMAINDER_ROWS), tile)
        if op.unpack is not None:
            _emit_unpacked_panel(product, column, width, many)

    emit_steps(builder, iterations, op.n.value.data, [columns], panel)


def _emit_tile(
    product: _BlockGemm, row: SSAValue, column: SSAValue, height: int, part: tuple[int, int]
) -> None:
    """Emit one tile, of some columns of a panel; its sums stay in vector registers over all blocks."""
    builder, op, lanes = product.builder, product.op, product.lanes
    (n, k), block = product.sizes, op.block.value.data
    lane_offset, end = part
    widths = [min(lanes, end - start) for start in range(lane_offset, end, lanes)]
    c, a, b, *parameters = product.pointers
    a_row = builder.address(a, builder.imul(row, k), f32)
    # Panels of all operands have as many elements in each row as the panel has columns.
    words = builder.address(builder.address(b, builder.imul(column, k // op.per_word), i32), lane_offset, i32)
    per_panel = k // block
    starts = [
        builder.address(builder.address(each, builder.imul(column, per_panel), type_), lane_offset, type_)
        for each, type_ in zip(parameters, (f32, i8), strict=False)
    ]
    has_block_sums = height <= MAX_ROWS_OF_BLOCK_SUMS
    zeros = [builder.constant(0.0, vector_of(f32, each)) for each in widths] * height

    def of_block(number: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        offset = builder.imul(number, product.columns)
        scales = _vectors(product, builder.address(starts[0], offset, f32), widths)
        offsets = _offsets(product, starts[1:], offset, widths)
        first = builder.imul(number, block)
        inner = (
            builder.address(a_row, first, f32),
            builder.address(words, builder.imul(number, block // op.per_word * product.columns), i32),
        )

        def of_word(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return _add_word(
                product, inner, index, carried, (offsets, [] if has_block_sums else scales), widths
            )

        carried = builder.loop(
            builder.constant(0),
            builder.constant(block // op.per_word),
            1,
            zeros if has_block_sums else sums,
            of_word,
        )
        if not has_block_sums:
            return carried
        return [
            builder.fma(each, scales[index % len(widths)], total)
            for index, (each, total) in enumerate(zip(carried, sums, strict=True))
        ]

    sums = builder.loop(builder.constant(0), builder.constant(per_panel), 1, zeros, of_block)
    corner = builder.address(builder.address(c, builder.imul(row, n), f32), column, f32)
    for index, total in enumerate(sums):
        line, number = divmod(index, len(widths))
        builder.store(total, builder.address(corner, line * n + lane_offset + number * lanes, f32))


def _vectors(product: _BlockGemm, pointer: SSAValue, widths: Sequence[int]) -> list[SSAValue]:
    builder = product.builder
    return [
        builder.load(builder.address(pointer, number * product.lanes, f32), f32, lanes)
        for number, lanes in enumerate(widths)
    ]


def _offsets(
    product: _BlockGemm, zero_points: Sequence[SSAValue], offset: SSAValue, widths: Sequence[int]
) -> list[list[SSAValue]]:
    """Return, for each field of a word and each vector, `2^(23 - p) + zero point`."""
    builder, op = product.builder, product.op
    fields = fields_of(op.bits.value.data)
    if op.zero_point is not None:
        zero = op.zero_point.value.data
        return [
            [builder.constant(field.offset + zero, vector_of(f32, lanes)) for lanes in widths]
            for field in fields
        ]
    pointer = builder.address(zero_points[0], offset, i8)
    found: list[SSAValue] = []
    for number, lanes in enumerate(widths):
        loaded = builder.load(builder.address(pointer, number * product.lanes, i8), i8, lanes)
        wide = builder.add(llvm.ZExtOp(loaded, vector_of(i32, lanes)))
        found.append(builder.add(llvm.SIToFPOp(wide, vector_of(f32, lanes))))
    distinct = {
        field.offset: [builder.fadd(each, builder.constant(field.offset, each.type)) for each in found]
        for field in fields
    }
    return [distinct[field.offset] for field in fields]


def _add_word(
    product: _BlockGemm,
    pointers: tuple[SSAValue, SSAValue],
    index: SSAValue,
    sums: Sequence[SSAValue],
    parameters: tuple[Sequence[Sequence[SSAValue]], Sequence[SSAValue]],
    widths: Sequence[int],
) -> list[SSAValue]:
    """Add the products of one word of each column; without scales, weights are not multiplied by them."""
    builder, op = product.builder, product.op
    (a, words), k = pointers, product.sizes[1]
    words = builder.address(words, builder.imul(index, product.columns), i32)
    terms = builder.address(a, builder.imul(index, op.per_word), f32)
    found = list(sums)
    for step, weights in enumerate(_unpacked_word(product, words, parameters, widths)):
        for line in range(len(sums) // len(widths)):
            factor = builder.load(builder.address(terms, line * k + step, f32), f32)
            for number, lanes in enumerate(widths):
                offset = line * len(widths) + number
                found[offset] = builder.fma(builder.splat(factor, lanes), weights[number], found[offset])
    return found


def _unpacked_word(
    product: _BlockGemm,
    words: SSAValue,
    parameters: tuple[Sequence[Sequence[SSAValue]], Sequence[SSAValue]],
    widths: Sequence[int],
) -> Iterator[list[SSAValue]]:
    """Emit the weights of one word of each column, field by field."""
    builder, bits = product.builder, product.op.bits.value.data
    offsets, scales = parameters
    loaded = [
        builder.load(builder.address(words, number * product.lanes, i32), i32, lanes)
        for number, lanes in enumerate(widths)
    ]
    # All fields beyond the mantissa have the same shift.
    amount = fields_of(bits)[-1].shift
    shifted = [builder.add(llvm.LShrOp(each, builder.constant(amount, each.type))) for each in loaded]
    for step, field in enumerate(fields_of(bits)):
        weights: list[SSAValue] = []
        for number, word in enumerate(shifted if field.shift else loaded):
            masked = builder.add(llvm.AndOp(word, builder.constant((1 << bits) - 1 << field.bit, word.type)))
            raised = builder.add(llvm.OrOp(masked, builder.constant(field.exponent_bits, word.type)))
            real = builder.add(llvm.BitcastOp(raised, vector_of(f32, widths[number])))
            weight = builder.fsub(real, offsets[step][number])
            weights.append(builder.fmul(weight, scales[number]) if scales else weight)
        yield weights


def _emit_unpacked_panel(product: _BlockGemm, column: SSAValue, width: int, rows: int | SSAValue) -> None:
    """Emit the product of all rows and a panel, which is dequantized a part of K at a time."""
    builder, op = product.builder, product.op
    assert op.unpack is not None
    _, depth, height = map(int, op.unpack.get_values())
    piece = builder.stack_space(depth * product.columns, f32)
    all_tiles = step_range(builder, rows, height)

    def of_piece(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first = builder.imul(number, depth)
        _unpack(product, piece, column, first)
        is_first = builder.icmp("eq", number, builder.constant(0))

        def tile(row: SSAValue, count: int) -> None:
            _emit_unpacked_tile(product, piece, (row, count), (column, width), (first, is_first))

        emit_steps(builder, all_tiles, rows, step_sizes(height, *REMAINDER_ROWS), tile)
        return []

    if rows == 0:
        return
    pieces = if_any(builder, rows, builder.constant(product.sizes[1] // depth))
    builder.loop(builder.constant(0), pieces, 1, [], of_piece)


def _unpack(product: _BlockGemm, piece: SSAValue, column: SSAValue, first: SSAValue) -> None:
    """Emit the dequantization of rows of a panel from `first` on, as many as `piece` holds."""
    builder, op = product.builder, product.op
    assert op.unpack is not None
    (_, k), block, depth = product.sizes, op.block.value.data, int(op.unpack.get_values()[1])
    widths = [product.lanes] * (product.columns // product.lanes)
    _, _, b, *parameters = product.pointers
    part = min(block, depth)

    def of_block(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        start = builder.imul(number, part)
        row = builder.iadd(first, start)
        line = builder.add(llvm.UDivOp(row, builder.constant(block)))
        offset = builder.imul(line, product.columns)
        starts = [
            builder.address(each, builder.imul(column, k // block), type_)
            for each, type_ in zip(parameters, (f32, i8), strict=False)
        ]
        scales = _vectors(product, builder.address(starts[0], offset, f32), widths)
        offsets = _offsets(product, starts[1:], offset, widths)
        word = builder.add(llvm.UDivOp(row, builder.constant(op.per_word)))
        panel = builder.address(b, builder.imul(column, k // op.per_word), i32)
        words = builder.address(panel, builder.imul(word, product.columns), i32)
        out = builder.address(piece, builder.imul(start, product.columns), f32)

        def of_word(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            source = builder.address(words, builder.imul(index, product.columns), i32)
            target = builder.address(out, builder.imul(index, op.per_word * product.columns), f32)
            for step, weights in enumerate(_unpacked_word(product, source, (offsets, scales), widths)):
                for vector, weight in enumerate(weights):
                    start = step * product.columns + vector * product.lanes
                    builder.store(weight, builder.address(target, start, f32))
            return []

        builder.loop(builder.constant(0), builder.constant(part // op.per_word), 1, [], of_word)
        return []

    builder.loop(builder.constant(0), builder.constant(depth // part), 1, [], of_block)


def _emit_unpacked_tile(
    product: _BlockGemm,
    piece: SSAValue,
    rows: tuple[SSAValue, int],
    columns: tuple[SSAValue, int],
    start: tuple[SSAValue, SSAValue],
) -> None:
    """Emit the sums of a tile over one piece, added to those of the pieces before."""
    builder, op, lanes = product.builder, product.op, product.lanes
    assert op.unpack is not None
    (n, k), depth = product.sizes, int(op.unpack.get_values()[1])
    (row, height), (column, width), (first, is_first) = rows, columns, start
    widths = [min(lanes, width - begin) for begin in range(0, width, lanes)]
    c, a, *_ = product.pointers
    corner = builder.address(builder.address(c, builder.imul(row, n), f32), column, f32)
    slots = [
        builder.address(corner, line * n + number * lanes, f32)
        for line in range(height)
        for number in range(len(widths))
    ]
    # The first piece finds no sums yet.
    sums = [
        builder.select(is_first, builder.constant(0.0, vector_of(f32, each)), builder.load(offset, f32, each))
        for offset, each in zip(slots, widths * height, strict=True)
    ]
    terms = builder.address(builder.address(a, builder.imul(row, k), f32), first, f32)

    def step(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        weights = _vectors(product, builder.address(piece, builder.imul(index, product.columns), f32), widths)
        term = builder.address(terms, index, f32)
        found: list[SSAValue] = []
        for line in range(height):
            factor = builder.load(builder.address(term, line * k, f32), f32)
            for number, weight in enumerate(weights):
                total = carried[line * len(widths) + number]
                found.append(builder.fma(builder.splat(factor, widths[number]), weight, total))
        return found

    sums = builder.loop(builder.constant(0), builder.constant(depth), 1, sums, step)
    for total, offset in zip(sums, slots, strict=True):
        builder.store(total, offset)
