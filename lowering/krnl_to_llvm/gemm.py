"""
Matrix multiplication with register blocking: a tile of C stays in registers over all of k (`krnl.gemm`).

Per step of k, a tile of m x n loads n / lanes vectors of a row of B, broadcasts m elements of a column of A,
and issues m * n / lanes FMAs. B may be prepacked into panels as wide as a tile, with contiguous rows
(docs/internals/cpu-kernels.md §4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import GemmOp, batch_axes
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.gemm_tile import GemmLowering, emit_tile, packed_panel_offset
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.narrow_weights import (
    Piece,
    if_any,
    split_rows,
    widen_rows,
)

IterationRange = tuple[SSAValue, SSAValue]
"""Begin and end of a range of iterations."""


def emit_gemm(
    builder: LLVMBuilder,
    op: GemmOp,
    buffers: Sequence[SSAValue],
    iterations: IterationRange,
    vector_bytes: int,
    dynamic_sizes: Sequence[SSAValue] = (),
) -> None:
    """
    Emit a `krnl.gemm`: for each panel of columns, tiles of rows; or the reverse (`rows_first`).

    Remainders of static size are tiles of exactly that size; LLVM legalises vectors of any number of lanes.
    Remainders of dynamic size are covered by tiles of decreasing size. `iterations` is the range of the axis
    that the operation is parallelised over: batch, panels or rows.
    """
    c, a, b, *bias = buffers
    element = element_of(op.c)
    rows, columns = (int(size) for size in op.tile.get_values())
    given = iter(dynamic_sizes)
    m, n, k = (next(given) if size == DYNAMIC_INDEX else size for size in op.sizes)
    lanes = max(1, vector_bytes // size_of(element))
    all_panels, all_rows = step_range(builder, n, columns), step_range(builder, m, rows)
    parallel, count = op.iteration_space

    def emit_matrix(start_c: SSAValue | int, start_a: SSAValue | int, start_b: SSAValue | int) -> None:
        gemm = GemmLowering(
            builder,
            op,
            element,
            lanes,
            m,
            n,
            k,
            (rows, columns),
            builder.address(c, start_c, element),
            builder.address(a, start_a, element),
            builder.address(b, start_b, element_of(op.b)),
            bias[0] if bias else None,
        )
        panels = iterations if parallel == "panels" else all_panels
        _emit_panels(gemm, m, panels, iterations if parallel == "rows" and count > 1 else all_rows)

    if parallel == "products":
        step, batches = builder.mul_sizes(m, n), _batches(builder, op, m, n, k)

        def body_of_loop(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            emit_matrix(
                builder.mul_sizes(step, number), *(_batch_start(builder, axes, number) for axes in batches)
            )
            return []

        builder.loop(*iterations, 1, [], body_of_loop)
        return
    for number, starts in enumerate(zip(_batch_offsets(op.batch_a), _batch_offsets(op.batch_b), strict=True)):
        emit_matrix(builder.mul_sizes(builder.mul_sizes(m, n), number), *starts)


def step_range(builder: LLVMBuilder, size: int | SSAValue, step: int) -> IterationRange:
    """Return the range of all steps that cover a size."""
    return builder.constant(0), builder.size(builder.ceil_div(size, step))


Axis: TypeAlias = tuple[int, int | SSAValue]
"""An axis of a batch: the number of its matrices, and the elements from one to the next."""


def _batches(
    builder: LLVMBuilder, op: GemmOp, m: int | SSAValue, n: int | SSAValue, k: int | SSAValue
) -> tuple[Sequence[Axis], Sequence[Axis]]:
    """Return the axes of the batches of A and of B, innermost first; the count of the last is not read."""
    if op.dynamic_batch is None:
        return _static_batch(op.batch_a), _static_batch(op.batch_b)
    width = int(op.tile.get_values()[1])
    columns = n
    if op.packed is not None:
        _, panels = step_range(builder, n, width)
        columns = -(-n // width) * width if isinstance(n, int) else builder.imul(panels, width)
    has_a, has_b = (int(each) for each in op.dynamic_batch.get_values())
    distances = (
        builder.mul_sizes(builder.mul_sizes(m, k), has_a),
        builder.mul_sizes(builder.mul_sizes(k, columns), has_b),
    )
    return [(0, distances[0])], [(0, distances[1])]


def _static_batch(starts: DenseArrayBase[I64] | None) -> Sequence[Axis]:
    axes = batch_axes(_batch_offsets(starts))
    assert axes is not None, "the iterations are products"
    return axes


def _batch_start(builder: LLVMBuilder, axes: Sequence[Axis], number: SSAValue) -> SSAValue | int:
    """Return where the matrix of a product begins, in elements."""
    start: SSAValue | int = 0
    for axis, (count, distance) in enumerate(axes):
        index = number
        if axis < len(axes) - 1:
            number, index = builder.delinearize(number, count)
        offset = builder.mul_sizes(distance, index)
        # A number is 0: the matrices of this axis are broadcast.
        if not isinstance(offset, int):
            start = offset if isinstance(start, int) else builder.iadd(start, offset)
    return start


def _batch_offsets(attribute: DenseArrayBase[I64] | None) -> list[int]:
    return [int(start) for start in attribute.get_values()] if attribute else [0]


REMAINDER_ROWS = (4, 2)
"""Tile heights for a remainder of dynamic size, before single rows."""

Body = Callable[[SSAValue, int], object]
"""Emit the code for a step: start and number of elements."""


def emit_steps(
    builder: LLVMBuilder, iterations: IterationRange, size: int | SSAValue, steps: Sequence[int], body: Body
) -> None:
    """
    Emit steps of `steps[0]` elements over a size, for a range of iterations.

    A remainder of static size is one more iteration with code of its own. A dynamic remainder is covered by
    the other steps in decreasing order, the last of which is 1.
    """
    if not isinstance(size, int):
        _emit_dynamic_steps(builder, iterations, size, steps, body)
        return
    step = steps[0]
    full_steps, rest = divmod(size, step)

    def body_of_loop(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        body(builder.imul(number, step), step)
        return []

    def last(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        body(builder.constant(full_steps * step), rest)
        return []

    first, end = iterations
    if full_steps:
        builder.loop(
            first,
            builder.intrinsic("smin", end, builder.constant(full_steps)) if rest else end,
            1,
            [],
            body_of_loop,
        )
    if rest:
        builder.loop(builder.intrinsic("smax", first, builder.constant(full_steps)), end, 1, [], last)


def _emit_dynamic_steps(
    builder: LLVMBuilder, iterations: IterationRange, size: SSAValue, steps: Sequence[int], body: Body
) -> None:
    _emit_interval(builder, _elements(builder, iterations, size, steps[0]), steps, body)


def _elements(
    builder: LLVMBuilder, iterations: IterationRange, size: SSAValue, step: int
) -> tuple[SSAValue, SSAValue]:
    """Return begin and end of the elements of iterations; an empty range may end before it begins."""
    start, end = (builder.imul(each, step) for each in iterations)
    return start, builder.intrinsic("smin", end, size)


def _emit_interval(
    builder: LLVMBuilder, interval: tuple[SSAValue, SSAValue], steps: Sequence[int], body: Body
) -> SSAValue:
    """Emit steps over an interval, each size as often as it fits; return the end of the last step."""
    start, end = interval
    for step in steps:

        def body_of_loop(index: SSAValue, _: Sequence[SSAValue], step: int = step) -> Sequence[SSAValue]:
            body(index, step)
            return []

        # For an empty range the end may be less than the start: the division rounds to a count of 0 or less.
        count = builder.add(llvm.SDivOp(builder.add(llvm.SubOp(end, start)), builder.constant(step)))
        full_end = builder.iadd(start, builder.imul(count, step))
        builder.loop(start, full_end, step, [], body_of_loop)
        start = full_end
    return start


def _emit_panels(
    gemm: GemmLowering, m: int | SSAValue, panels: IterationRange, tiles: IterationRange
) -> None:
    builder, (rows, columns) = gemm.builder, gemm.tile
    if gemm.op.unpack is not None:
        _emit_widened_panels(gemm, m, panels)
        return

    def for_rows(body: Body) -> None:
        emit_steps(builder, tiles, m, step_sizes(rows, *REMAINDER_ROWS), body)

    def for_panels(body: Body) -> None:
        emit_steps(builder, panels, gemm.n, narrower, body)

    # At most one step of each power of two is left of a dynamic number of columns.
    narrower = step_sizes(columns, *(gemm.lanes >> shift for shift in range(gemm.lanes.bit_length())))
    if gemm.op.rows_first is not None:
        for_rows(
            lambda row, height: for_panels(lambda column, width: emit_tile(gemm, row, column, height, width))
        )
        return

    def emit_panel(column: SSAValue, width: int) -> None:
        def of_piece(piece: Piece | None) -> None:
            for_rows(lambda row, height: emit_tile(gemm, row, column, height, width, piece))

        if gemm.op.depth_piece is None:
            of_piece(None)
            return
        panel = builder.address(gemm.b, packed_panel_offset(gemm, column), element_of(gemm.op.b))
        _emit_pieces(gemm, panel, gemm.op.depth_piece.value.data, of_piece)

    if isinstance(gemm.n, int):
        for_panels(emit_panel)
        return
    # Rows of A stay in the cache over the steps of the last panel, which are narrow.
    start, end = _elements(builder, panels, gemm.n, columns)
    rest = _emit_interval(builder, (start, end), narrower[:1], emit_panel), end
    for_rows(
        lambda row, height: _emit_interval(
            builder, rest, narrower[1:], lambda column, width: emit_tile(gemm, row, column, height, width)
        )
    )


def _emit_pieces(gemm: GemmLowering, panel: SSAValue, depth: int, body: Callable[[Piece], None]) -> None:
    """Emit a loop over the pieces of a packed panel, of `depth` rows each but the last."""
    builder, columns = gemm.builder, gemm.tile[1]
    assert isinstance(gemm.k, int)
    k = builder.constant(gemm.k)

    def of_piece(first: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        end = builder.intrinsic("smin", builder.iadd(first, builder.constant(depth)), k)
        pointer = builder.address(panel, builder.imul(first, columns), element_of(gemm.op.b))
        ends = builder.icmp("eq", first, builder.constant(0)), builder.icmp("eq", end, k)
        body(Piece(pointer, None, first, builder.add(llvm.SubOp(end, first)), *ends))
        return []

    builder.loop(builder.constant(0), k, depth, [], of_piece)


def _emit_widened_panels(gemm: GemmLowering, m: int | SSAValue, panels: IterationRange) -> None:
    """Emit panels of weights that few rows widen in registers, and more rows in pieces on the stack."""
    builder, op, (rows, columns) = gemm.builder, gemm.op, gemm.tile
    assert op.unpack is not None
    assert isinstance(gemm.k, int)
    least, depth = (int(each) for each in op.unpack.get_values())
    k, stored, heights = builder.constant(gemm.k), element_of(op.b), step_sizes(rows, *REMAINDER_ROWS)
    few, many = split_rows(builder, m, least)
    tiles = [step_range(builder, each, rows) for each in (few, many)]
    scratch = builder.stack_space(depth * columns, gemm.element)
    count = if_any(builder, many, builder.constant(-(-gemm.k // depth)))

    def emit_panel(column: SSAValue, width: int) -> None:
        emit_steps(
            builder, tiles[0], few, heights, lambda row, height: emit_tile(gemm, row, column, height, width)
        )
        panel = builder.address(gemm.b, packed_panel_offset(gemm, column), stored)

        def of_piece(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = builder.imul(number, depth)
            end = builder.intrinsic("smin", builder.iadd(first, builder.constant(depth)), k)
            size = builder.add(llvm.SubOp(end, first))
            source = builder.address(panel, builder.imul(first, columns), stored)
            widen_rows(builder, (source, scratch), (stored, gemm.element), size, (columns, gemm.lanes))
            ends = builder.icmp("eq", first, builder.constant(0)), builder.icmp("eq", end, k)
            piece = Piece(scratch, panel, first, size, *ends)
            emit_steps(
                builder,
                tiles[1],
                many,
                heights,
                lambda row, height: emit_tile(gemm, row, column, height, width, piece),
            )
            return []

        builder.loop(builder.constant(0), count, 1, [], of_piece)

    emit_steps(builder, panels, gemm.n, [columns], emit_panel)


def step_sizes(step: int, *smaller: int) -> list[int]:
    """Return step sizes in decreasing order: the main one, those for a dynamic remainder, and 1."""
    return sorted({step, *(min(step, each) for each in smaller), 1}, reverse=True)
