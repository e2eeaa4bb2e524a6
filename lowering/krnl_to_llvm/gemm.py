"""
Matrix multiplication with register blocking: a tile of C stays in registers over all of k (`krnl.gemm`).

Per step of k, a tile of m x n loads n / lanes vectors of a row of B, broadcasts m elements of a column of A,
and issues m * n / lanes FMAs. B may be prepacked into panels as wide as a tile, with contiguous rows
(docs/internals/cpu-kernels.md §4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase, StringAttr, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import GemmOp, batch_axes
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of
from xonnc.lowering.krnl_to_llvm.next_panel import (
    ahead_of,
    dynamic_step,
    prefetch_share,
    share_of_next_panel,
)


@dataclass(frozen=True)
class _GemmLowering:
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
        gemm = _GemmLowering(
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
            builder.address(b, start_b, element),
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
    gemm: _GemmLowering, m: int | SSAValue, panels: IterationRange, tiles: IterationRange
) -> None:
    builder, (rows, columns) = gemm.builder, gemm.tile

    def for_rows(body: Body) -> None:
        emit_steps(builder, tiles, m, step_sizes(rows, *REMAINDER_ROWS), body)

    def for_panels(body: Body) -> None:
        emit_steps(builder, panels, gemm.n, narrower, body)

    # At most one step of each power of two is left of a dynamic number of columns.
    narrower = step_sizes(columns, *(gemm.lanes >> shift for shift in range(gemm.lanes.bit_length())))
    if gemm.op.rows_first is not None:
        for_rows(
            lambda row, height: for_panels(lambda column, width: _emit_tile(gemm, row, column, height, width))
        )
        return

    def emit_panel(column: SSAValue, width: int) -> None:
        for_rows(lambda row, height: _emit_tile(gemm, row, column, height, width))

    if isinstance(gemm.n, int):
        for_panels(emit_panel)
        return
    # Rows of A stay in the cache over the steps of the last panel, which are narrow.
    start, end = _elements(builder, panels, gemm.n, columns)
    rest = _emit_interval(builder, (start, end), narrower[:1], emit_panel), end
    for_rows(
        lambda row, height: _emit_interval(
            builder, rest, narrower[1:], lambda column, width: _emit_tile(gemm, row, column, height, width)
        )
    )


def step_sizes(step: int, *smaller: int) -> list[int]:
    """Return step sizes in decreasing order: the main one, those for a dynamic remainder, and 1."""
    return sorted({step, *(min(step, each) for each in smaller), 1}, reverse=True)


def _emit_tile(gemm: _GemmLowering, row: SSAValue, column: SSAValue, height: int, width: int) -> None:
    """Emit one tile: its elements stay in vector registers during the loop over `k`."""
    if gemm.op.transposed_b is not None:
        _emit_tile_of_dot_products(gemm, row, column, height, width)
        return
    builder, op, k, element, lanes = gemm.builder, gemm.op, gemm.k, gemm.element, gemm.lanes
    widths = [min(lanes, width - start) for start in range(0, width, lanes)]
    # Pairs of bfloat16 values are loaded as one i32; B and the sums are padded to whole vectors then.
    terms, stored = op.terms, element_of(op.a)
    word = element if op.products is None else i32
    loaded = widths if op.products is None else [lanes] * len(widths)
    # A(i, k) is at `i K + k`, or at `k M + i` if A is transposed.
    is_transposed = op.transposed_a is not None
    a_row = builder.address(gemm.a, row if is_transposed else builder.imul(row, k), stored)
    packed = op.packed is not None
    stride = builder.mul_sizes(gemm.tile[1] if packed else gemm.n, terms)
    first = _packed_panel_offset(gemm, column) if packed else column
    b_column = builder.address(gemm.b, first, stored)
    ahead = _share_of_next_panel(gemm, b_column, row) if width == gemm.tile[1] else None
    if op.write_prefetch is not None:
        _prefetch_result(gemm, _result_address(gemm, row, column), height, width)
    starts = [
        widened(builder, start, count)
        for start, count in zip(
            _initial_sums(gemm, row, column, height, widths), loaded * height, strict=True
        )
    ]

    def step(index: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        b_row = builder.address(b_column, builder.imul(index, stride), stored)
        if op.prefetch is not None:
            distance = op.prefetch.value.data
            for start in range(len(widths)):
                builder.prefetch(b_row, (start * lanes) * size_of(word) + distance)
        if ahead is not None:
            pointer, step_bytes = ahead
            prefetch_share(
                builder, ahead_of(builder, pointer, builder.mul_sizes(index, step_bytes)), step_bytes
            )
        columns = [
            builder.load(builder.address(b_row, start * lanes * terms, stored), word, count)
            for start, count in enumerate(loaded)
        ]
        a_offset = builder.mul_sizes(gemm.m, index) if is_transposed else builder.imul(index, terms)
        a_address = builder.address(a_row, a_offset, stored)
        results: list[SSAValue] = []
        for line in range(height):
            offset = line if is_transposed else builder.mul_sizes(k, line)
            factor = builder.load(builder.address(a_address, offset, stored), word)
            own = sums[line * len(widths) : (line + 1) * len(widths)]
            results += multiply_add(builder, op.products, factor, columns, own)
        return results

    sums = builder.loop(builder.constant(0), builder.size(steps_of(k, terms)), 1, starts, step)
    c_tile = _result_address(gemm, row, column)
    for index, total in enumerate(sums):
        line, number = divmod(index, len(widths))
        start, lane_offset = builder.mul_sizes(gemm.n, line), number * lanes
        index = (
            start + lane_offset
            if isinstance(start, int)
            else builder.iadd(start, builder.constant(lane_offset))
        )
        pointer = builder.address(c_tile, index, element)
        total = _apply_activation(gemm, total)
        if widths[number] < loaded[number]:
            total = builder.shuffle(total, range(widths[number]))
        builder.store(total, pointer)


def _emit_tile_of_dot_products(
    gemm: _GemmLowering, row: SSAValue, column: SSAValue, height: int, width: int
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
    gemm: _GemmLowering, panel: SSAValue, row: SSAValue
) -> tuple[SSAValue, int | SSAValue] | None:
    """Return where a tile that begins at a row prefetches the next panel of B, and how many bytes a step."""
    builder, op, (rows, columns), k = gemm.builder, gemm.op, gemm.tile, gemm.k
    if op.next_panel_prefetch is None or not isinstance(k, int):
        return None
    row_bytes = columns * size_of(element_of(op.b))
    step_bytes: int | SSAValue = op.next_panel_prefetch.value.data
    if step_bytes == DYNAMIC_INDEX:
        step_bytes = dynamic_step(builder, row_bytes * op.terms, builder.ceil_div(gemm.m, rows))
    tile = builder.add(llvm.UDivOp(row, builder.constant(rows)))
    share = builder.mul_sizes(step_bytes, k // op.terms)
    return share_of_next_panel(builder, panel, k * row_bytes, tile, share), step_bytes


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


def _result_address(gemm: _GemmLowering, row: SSAValue, column: SSAValue) -> SSAValue:
    c_row = gemm.builder.address(gemm.c, gemm.builder.imul(row, gemm.n), gemm.element)
    return gemm.builder.address(c_row, column, gemm.element)


def _prefetch_result(gemm: _GemmLowering, tile: SSAValue, height: int, width: int) -> None:
    """Prefetch the cache lines that a tile will store, which arrive during its loop over `k`."""
    builder, n = gemm.builder, gemm.n
    assert isinstance(n, int)
    for line in range(height):
        for start in range(0, width, gemm.lanes):
            builder.prefetch(builder.address(tile, line * n + start, gemm.element), 0, is_written=True)


def _packed_panel_offset(gemm: _GemmLowering, column: SSAValue) -> SSAValue:
    """Return the offset of a column in prepacked B: consecutive panels of k rows, as wide as a tile."""
    builder, width = gemm.builder, gemm.tile[1]
    if isinstance(gemm.n, int):
        return builder.imul(column, gemm.k)
    # A tile of a dynamic remainder may start inside of a panel.
    panel, inside = builder.delinearize(column, width)
    return builder.iadd(builder.imul(builder.imul(panel, width), gemm.k), inside)


def _initial_sums(
    gemm: _GemmLowering, row: SSAValue, column: SSAValue, height: int, widths: Sequence[int]
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


def _apply_activation(gemm: _GemmLowering, total: SSAValue) -> SSAValue:
    activation = gemm.op.activation
    if activation is None or activation.data == "none":
        return total
    # An ordered comparison with NaN is false, so that a NaN is kept.
    zero = gemm.builder.constant(0.0, total.type)
    return gemm.builder.select(gemm.builder.fcmp("olt", total, zero), zero, total)
