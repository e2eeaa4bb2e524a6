"""One tile of a matrix product (`krnl.gemm`), whose sums stay in registers over all of k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of
from xonnc.lowering.krnl_to_llvm.narrow_weights import Piece, load_widened
from xonnc.lowering.krnl_to_llvm.next_panel import (
    ahead_of,
    dynamic_step,
    prefetch_share,
    share_of_next_panel,
)


@dataclass(frozen=True)
class GemmLowering:
    """The state that all tiles of a matrix multiplication share."""

    builder: LLVMBuilder
    op: GemmOp
    element: Attribute
    lanes: int
    m: int | SSAValue
    n: int | SSAValue
    k: int | SSAValue
    tile: tuple[int, int]
    c: SSAValue
    a: SSAValue
    b: SSAValue
    bias: SSAValue | None


@dataclass(frozen=True)
class _Columns:
    """The rows of B that a tile reads, from its first column on."""

    pointer: SSAValue
    stored: Attribute
    stride: int | SSAValue
    ahead: tuple[SSAValue, int | SSAValue] | None
    """Where a tile prefetches the next panel, and how many bytes a step."""


def _columns_of_tile(
    gemm: GemmLowering, row: SSAValue, column: SSAValue, width: int, piece: Piece | None
) -> _Columns:
    builder, op = gemm.builder, gemm.op
    packed = op.packed is not None
    stride = builder.mul_sizes(gemm.tile[1] if packed else gemm.n, op.terms)
    stored = element_of(op.b)
    if piece is None:
        pointer = builder.address(gemm.b, packed_panel_offset(gemm, column) if packed else column, stored)
    else:
        pointer = piece.pointer
    ahead = None
    if width == gemm.tile[1] and isinstance(gemm.k, int):
        # A piece that is part of B is followed by the next one.
        rows = gemm.k if op.depth_piece is None else op.depth_piece.value.data
        ahead = _share_of_next_panel(gemm, (piece and piece.panel) or pointer, rows, row)
    if piece is not None and piece.panel is not None:
        stored = gemm.element
        if ahead is not None:
            start, step_bytes = ahead
            ahead = ahead_of(builder, start, builder.mul_sizes(piece.first, step_bytes)), step_bytes
    return _Columns(pointer, stored, stride, ahead)


def _load_columns(
    gemm: GemmLowering, columns: _Columns, index: SSAValue, loaded: Sequence[int], is_far: bool
) -> list[SSAValue]:
    """Emit the loads of a row of B, and prefetches of rows after it if they are far."""
    builder, op, lanes, stored = gemm.builder, gemm.op, gemm.lanes, columns.stored
    row = builder.address(columns.pointer, builder.imul(index, columns.stride), stored)
    if op.prefetch is not None and is_far:
        line, distance = lanes * op.terms * size_of(stored), op.prefetch.value.data
        for start in range(len(loaded)):
            builder.prefetch(row, start * line + distance)
    if columns.ahead is not None:
        pointer, step_bytes = columns.ahead
        prefetch_share(builder, ahead_of(builder, pointer, builder.mul_sizes(index, step_bytes)), step_bytes)
    found: list[SSAValue] = []
    for number, count in enumerate(loaded):
        start = builder.address(row, number * lanes * op.terms, stored)
        # Pairs of bfloat16 values are loaded as one i32.
        is_pair = op.products is not None
        found.append(
            builder.load(start, i32, count)
            if is_pair
            else load_widened(builder, start, stored, gemm.element, count)
        )
    return found


def emit_tile(
    gemm: GemmLowering,
    row: SSAValue,
    column: SSAValue,
    height: int,
    width: int,
    piece: Piece | None = None,
) -> None:
    """
    Emit one tile: its elements stay in vector registers during the loop over `k`, or over a `piece` of it.
    """
    if gemm.op.transposed_b is not None:
        _emit_tile_of_dot_products(gemm, row, column, height, width)
        return
    builder, op, k, element, lanes = gemm.builder, gemm.op, gemm.k, gemm.element, gemm.lanes
    widths = [min(lanes, width - start) for start in range(0, width, lanes)]
    # With products of bfloat16, B and the sums are padded to whole vectors.
    terms, stored = op.terms, element_of(op.a)
    word = element if op.products is None else i32
    loaded = widths if op.products is None else [lanes] * len(widths)
    # A(i, k) is at `i K + k`, or at `k M + i` if A is transposed.
    is_transposed = op.transposed_a is not None
    a_row = builder.address(gemm.a, row if is_transposed else builder.imul(row, k), stored)
    if piece is not None:
        a_row = builder.address(a_row, piece.first, stored)
    b_columns = _columns_of_tile(gemm, row, column, width, piece)
    if height > 1:
        # Many addresses, so that the analysis takes a third of the time of code generation.
        a_row = builder.opaque(a_row)
        b_columns = replace(b_columns, pointer=builder.opaque(b_columns.pointer))
    if op.write_prefetch is not None:
        _prefetch_result(gemm, _result_address(gemm, row, column), height, width)
    starts = _initial_sums(gemm, row, column, height, widths)
    if piece is not None:
        addresses = _result_addresses(gemm, row, column, height, widths)
        starts = [
            builder.select(piece.is_first, start, builder.load(address, element, lanes_of(start)))
            for start, address in zip(starts, addresses, strict=True)
        ]
    starts = [widened(builder, *each) for each in zip(starts, loaded * height, strict=True)]

    def step(index: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_far = piece is None or piece.panel is None
        columns = _load_columns(gemm, b_columns, index, loaded, is_far)
        a_offset = builder.mul_sizes(gemm.m, index) if is_transposed else builder.imul(index, terms)
        a_address = builder.address(a_row, a_offset, stored)
        results: list[SSAValue] = []
        for line in range(height):
            offset = line if is_transposed else builder.mul_sizes(k, line)
            factor = builder.load(builder.address(a_address, offset, stored), word)
            own = sums[line * len(widths) : (line + 1) * len(widths)]
            results += multiply_add(builder, op.products, factor, columns, own)
        return results

    steps = builder.size(steps_of(k, terms)) if piece is None else piece.count
    sums = builder.loop(builder.constant(0), steps, 1, starts, step)
    for index, address in enumerate(_result_addresses(gemm, row, column, height, widths)):
        active = _apply_activation(gemm, sums[index])
        # Only whole sums have a sign.
        total = active if piece is None else builder.select(piece.is_last, active, sums[index])
        if (count := widths[index % len(widths)]) < lanes_of(total):
            total = builder.shuffle(total, range(count))
        builder.store(total, address)


def _emit_tile_of_dot_products(
    gemm: GemmLowering, row: SSAValue, column: SSAValue, height: int, width: int
) -> None:
    """Emit one tile of dot products of rows of A and rows of B; each has a vector of partial sums."""
    builder, k, element, lanes = gemm.builder, gemm.k, gemm.element, gemm.lanes
    assert isinstance(k, int)
    a_row, b_row = (
        builder.address(matrix, builder.imul(start, k), element)
        for matrix, start in ((gemm.a, row), (gemm.b, column))
    )

    def step(index: SSAValue, sums: Sequence[SSAValue], count: int = lanes) -> Sequence[SSAValue]:
        def vectors(start: SSAValue, rows: int) -> list[SSAValue]:
            pointer = builder.address(start, index, element)
            return [
                _zero_extended(
                    builder, builder.load(builder.address(pointer, each * k, element), element, count), lanes
                )
                for each in range(rows)
            ]

        lines, columns = vectors(a_row, height), vectors(b_row, width)
        pairs = ((line, each) for line in lines for each in columns)
        return [builder.fma(*pair, total) for pair, total in zip(pairs, sums, strict=True)]

    sums: Sequence[SSAValue] = [builder.constant(0.0, vector_of(element, lanes))] * (height * width)
    whole = k // lanes * lanes
    if whole:
        sums = builder.loop(builder.constant(0), builder.constant(whole), lanes, sums, step)
    if k > whole:
        sums = step(builder.constant(whole), sums, k - whole)
    tile = _result_address(gemm, row, column)
    for line in range(height):
        pointer = builder.address(tile, builder.mul_sizes(gemm.n, line), element)
        own = sums[line * width : (line + 1) * width]
        for first in range(0, width, lanes):
            total = _apply_activation(gemm, _lane_sums(builder, own[first : first + lanes]))
            builder.store(total, builder.address(pointer, first, element))


def _zero_extended(builder: LLVMBuilder, vector: SSAValue, lanes: int) -> SSAValue:
    """Pad a vector to a number of lanes with 0."""
    count = lanes_of(vector)
    if count == lanes:
        return vector
    zero = builder.constant(0.0, vector.type)
    return builder.shuffle_pair(vector, zero, [min(lane, count) for lane in range(lanes)])


def _lane_sums(builder: LLVMBuilder, vectors: Sequence[SSAValue]) -> SSAValue:
    """
    Return a vector whose lane i is the sum of all lanes of vector i; there are at most as many as lanes.

    A round adds the even and the odd lanes of two vectors next to each other: each then has half as many.
    """
    count = len(vectors)
    # The number of vectors becomes a power of two, as that of lanes is.
    padded = 1 << (count - 1).bit_length()
    found: list[SSAValue] = [*vectors, *([vectors[-1]] * (padded - count))]
    while len(found) > 1 or lanes_of(found[0]) > padded:
        # The last vector is paired with itself.
        others = found[1::2] or found
        end = lanes_of(found[0]) * min(len(found), 2)
        found = [
            builder.fadd(*(builder.shuffle_pair(one, other, range(first, end, 2)) for first in (0, 1)))
            for one, other in zip(found[::2], others, strict=True)
        ]
    return found[0] if padded == count else builder.shuffle(found[0], range(count))


def _share_of_next_panel(
    gemm: GemmLowering, panel: SSAValue, depth: int, row: SSAValue
) -> tuple[SSAValue, int | SSAValue] | None:
    """
    Return where a tile that begins at a row of A prefetches what follows `depth` rows of B, and how many
    bytes a step.
    """
    builder, op, (rows, columns) = gemm.builder, gemm.op, gemm.tile
    if op.next_panel_prefetch is None:
        return None
    row_bytes = columns * size_of(element_of(op.b))
    step_bytes: int | SSAValue = op.next_panel_prefetch.value.data
    if step_bytes == DYNAMIC_INDEX:
        step_bytes = dynamic_step(builder, row_bytes * op.terms, builder.ceil_div(gemm.m, rows))
    tile = builder.add(llvm.UDivOp(row, builder.constant(rows)))
    share = builder.mul_sizes(step_bytes, depth // op.terms)
    return share_of_next_panel(builder, panel, depth * row_bytes, tile, share), step_bytes


def steps_of(size: int | SSAValue, terms: int) -> int | SSAValue:
    """Return the number of steps that multiply `terms` elements each; dynamic sizes have steps of one."""
    return size // terms if isinstance(size, int) else size


def widened(builder: LLVMBuilder, vector: SSAValue, lanes: int) -> SSAValue:
    """Pad a vector to a number of lanes with its last element."""
    last = lanes_of(vector) - 1
    return (
        vector if last + 1 == lanes else builder.shuffle(vector, [min(lane, last) for lane in range(lanes)])
    )


def multiply_add(
    builder: LLVMBuilder,
    products: StringAttr | None,
    factor: SSAValue,
    columns: Sequence[SSAValue],
    sums: Sequence[SSAValue],
) -> list[SSAValue]:
    """
    Add `factor` times a vector to each sum: FMAs, or the intrinsic `products`.

    That takes pairs of bfloat16 values as i32, and adds both products.
    """
    if products is None:
        splats = {lanes: builder.splat(factor, lanes) for lanes in dict.fromkeys(map(lanes_of, sums))}
        return [
            builder.fma(splats[lanes_of(total)], column, total)
            for column, total in zip(columns, sums, strict=True)
        ]
    # Pairs stay i32, the operand type that the intrinsic had at first and LLVM still reads: xDSL's LLVM IR
    # has no bfloat16.
    splat = builder.splat(factor, lanes_of(sums[0]))
    return [
        builder.add(llvm.CallIntrinsicOp(products.data, [total, splat, column], [total.type]))
        for column, total in zip(columns, sums, strict=True)
    ]


def _result_address(gemm: GemmLowering, row: SSAValue, column: SSAValue) -> SSAValue:
    c_row = gemm.builder.address(gemm.c, gemm.builder.imul(row, gemm.n), gemm.element)
    return gemm.builder.address(c_row, column, gemm.element)


def _result_addresses(
    gemm: GemmLowering, row: SSAValue, column: SSAValue, height: int, widths: Sequence[int]
) -> Iterator[SSAValue]:
    """Emit the address of each vector of a tile of C, one by one."""
    builder, tile = gemm.builder, _result_address(gemm, row, column)
    for line in range(height):
        for number in range(len(widths)):
            start, lane_offset = builder.mul_sizes(gemm.n, line), number * gemm.lanes
            index = (
                start + lane_offset
                if isinstance(start, int)
                else builder.iadd(start, builder.constant(lane_offset))
            )
            yield builder.address(tile, index, gemm.element)


def _prefetch_result(gemm: GemmLowering, tile: SSAValue, height: int, width: int) -> None:
    """Prefetch the cache lines that a tile will store, which arrive during its loop over `k`."""
    builder, n = gemm.builder, gemm.n
    assert isinstance(n, int)
    for line in range(height):
        for start in range(0, width, gemm.lanes):
            builder.prefetch(builder.address(tile, line * n + start, gemm.element), 0, is_written=True)


def packed_panel_offset(gemm: GemmLowering, column: SSAValue) -> SSAValue:
    """Return the offset of a column in prepacked B: consecutive panels of k rows, as wide as a tile."""
    builder, width = gemm.builder, gemm.tile[1]
    if isinstance(gemm.n, int):
        return builder.imul(column, gemm.k)
    # A tile of a dynamic remainder may start inside of a panel.
    panel, inside = builder.delinearize(column, width)
    return builder.iadd(builder.imul(builder.imul(panel, width), gemm.k), inside)


def _initial_sums(
    gemm: GemmLowering, row: SSAValue, column: SSAValue, height: int, widths: Sequence[int]
) -> list[SSAValue]:
    """Return the initial accumulators: the bias, or zero."""
    builder, element = gemm.builder, gemm.element
    if gemm.bias is None:
        return [builder.constant(0.0, vector_of(element, lanes)) for _ in range(height) for lanes in widths]
    if gemm.op.bias_of_rows is not None:
        pointer = builder.address(gemm.bias, row, element)
        numbers = [builder.load(builder.address(pointer, line, element), element) for line in range(height)]
        return [builder.splat(number, lanes) for number in numbers for lanes in widths]
    pointer = builder.address(gemm.bias, column, element)
    vectors = [
        builder.load(builder.address(pointer, start * gemm.lanes, element), element, lanes)
        for start, lanes in enumerate(widths)
    ]
    return vectors * height


def _apply_activation(gemm: GemmLowering, total: SSAValue) -> SSAValue:
    activation = gemm.op.activation
    if activation is None or activation.data == "none":
        return total
    # An ordered comparison with NaN is false, so that a NaN is kept.
    zero = gemm.builder.constant(0.0, total.type)
    return gemm.builder.select(gemm.builder.fcmp("olt", total, zero), zero, total)
