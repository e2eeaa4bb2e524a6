"""Products of matrices: a tile of the result in vector registers, along the whole inner dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, vector_of


@dataclass(frozen=True)
class _Product:
    """What the tiles of one product share."""

    to: Emitter
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


Turns = tuple[SSAValue, SSAValue]
"""The first iteration, and the one behind the last."""


def emit_gemm(
    to: Emitter,
    op: GemmOp,
    buffers: Sequence[SSAValue],
    turns: Turns,
    vector_bytes: int,
    open_sizes: Sequence[SSAValue] = (),
) -> None:
    """
    Writes a `krnl.gemm`: for each panel of columns, tiles of rows (docs/internals/cpu-kernels.md §4).

    Rows and columns that fill no tile are tiles of their own sizes; a vector may have any number of lanes.
    Where only a run tells how many are left, tiles of few rows, and of few columns, take them.
    """
    c, a, b, *bias = buffers
    element = element_of(op.c)
    rows, columns = (int(size) for size in op.tile.get_values())
    given = iter(open_sizes)
    m, n, k = (next(given) if size == DYNAMIC_INDEX else size for size in op.sizes)
    lanes = max(1, vector_bytes // size_of(element))
    all_panels, all_rows = _steps(to, n, columns), _steps(to, m, rows)
    along, count = op.iteration_space

    def one(start_c: SSAValue | int, start_a: SSAValue | int, start_b: SSAValue | int) -> None:
        product = _Product(
            to,
            op,
            element,
            lanes,
            m,
            n,
            k,
            (rows, columns),
            to.address(c, start_c, element),
            to.address(a, start_a, element),
            to.address(b, start_b, element),
            bias[0] if bias else None,
        )
        panels = turns if along == "panels" else all_panels
        _panels(product, m, panels, turns if along == "rows" and count > 1 else all_rows)

    if along == "products":
        steps = [to.times(m, n), *_batch_steps(to, op, m, n, k)]

        def turn(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            one(*(to.times(step, number) for step in steps))
            return []

        to.loop(*turns, 1, [], turn)
        return
    for number, starts in enumerate(zip(_starts(op.batch_a), _starts(op.batch_b), strict=True)):
        one(to.times(to.times(m, n), number), *starts)


def _steps(to: Emitter, size: int | SSAValue, step: int) -> Turns:
    """All steps that a size is done in."""
    if isinstance(size, int):
        return to.number(0), to.number(-(-size // step))
    return to.number(0), to.add(llvm.SDivOp(to.plus(size, to.number(step - 1)), to.number(step)))


def _batch_steps(
    to: Emitter, op: GemmOp, m: int | SSAValue, n: int | SSAValue, k: int | SSAValue
) -> Sequence[int | SSAValue]:
    """How far the matrices of A, and of B, of one product and the next lie apart."""
    if op.open_batch is None:
        return _starts(op.batch_a)[1], _starts(op.batch_b)[1]
    width = int(op.tile.get_values()[1])
    columns = n
    if op.packed is not None:
        _, panels = _steps(to, n, width)
        columns = -(-n // width) * width if isinstance(n, int) else to.scaled(panels, width)
    has_a, has_b = (int(each) for each in op.open_batch.get_values())
    return to.times(to.times(m, k), has_a), to.times(to.times(k, columns), has_b)


def _starts(attribute: DenseArrayBase[I64] | None) -> list[int]:
    return [int(start) for start in attribute.get_values()] if attribute else [0]


FEW_ROWS = (4, 2)
"""Rows of tiles for what is left of a number that only a run tells, before one by one."""

Body = Callable[[SSAValue, int], None]
"""Writes what is done from a place on for a number of elements."""


def _in_steps(to: Emitter, turns: Turns, size: int | SSAValue, steps: Sequence[int], body: Body) -> None:
    """
    `size` elements, the first of `steps` in an iteration; what is left in the last one is code of its own.

    If only a run tells the size, what is left is done in the other steps, the last of which is 1.
    """
    if not isinstance(size, int):
        _in_open_steps(to, turns, size, steps, body)
        return
    step = steps[0]
    whole, rest = divmod(size, step)

    def turn(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        body(to.scaled(number, step), step)
        return []

    def last(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        body(to.number(whole * step), rest)
        return []

    first, end = turns
    if whole:
        to.loop(first, to.intrinsic("smin", end, to.number(whole)) if rest else end, 1, [], turn)
    if rest:
        to.loop(to.intrinsic("smax", first, to.number(whole)), end, 1, [], last)


def _in_open_steps(to: Emitter, turns: Turns, size: SSAValue, steps: Sequence[int], body: Body) -> None:
    start = to.scaled(turns[0], steps[0])
    end = to.intrinsic("smin", to.scaled(turns[1], steps[0]), size)
    for step in steps:

        def turn(place: SSAValue, _: Sequence[SSAValue], step: int = step) -> Sequence[SSAValue]:
            body(place, step)
            return []

        # Without iterations the end may lie before the start.
        count = to.add(llvm.SDivOp(to.add(llvm.SubOp(end, start)), to.number(step)))
        whole = to.plus(start, to.scaled(count, step))
        to.loop(start, whole, step, [], turn)
        start = whole


def _panels(product: _Product, m: int | SSAValue, panels: Turns, tiles: Turns) -> None:
    to, (rows, columns) = product.to, product.tile

    def panel(column: SSAValue, width: int) -> None:
        def tile(row: SSAValue, height: int) -> None:
            _tile(product, row, column, height, width)

        _in_steps(to, tiles, m, _falling(rows, *FEW_ROWS), tile)

    _in_steps(to, panels, product.n, _falling(columns, product.lanes), panel)


def _falling(step: int, *smaller: int) -> list[int]:
    """A step, and those for what is left of a size that only a run tells."""
    return sorted({step, *(min(step, each) for each in smaller), 1}, reverse=True)


def _tile(product: _Product, row: SSAValue, column: SSAValue, height: int, width: int) -> None:
    """One tile: every element of it is a lane of a register while the loop along `k` runs."""
    to, k, element = product.to, product.k, product.element
    widths = [min(product.lanes, width - start) for start in range(0, width, product.lanes)]
    a_row = to.address(product.a, to.scaled(row, k), element)
    packed = product.op.packed is not None
    stride = product.tile[1] if packed else product.n
    first = _panel_start(product, column) if packed else column
    b_column = to.address(product.b, first, element)
    starts = _starting(product, row, column, height, widths)

    def step(place: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        b_row = to.address(b_column, to.scaled(place, stride), element)
        if product.op.prefetch is not None:
            ahead = product.op.prefetch.value.data
            for start in range(len(widths)):
                to.prefetch(b_row, (start * product.lanes) * size_of(element) + ahead)
        columns = [
            to.load(to.address(b_row, start * product.lanes, element), element, lanes)
            for start, lanes in enumerate(widths)
        ]
        a_place = to.address(a_row, place, element)
        results: list[SSAValue] = []
        for line in range(height):
            factor = to.load(to.address(a_place, to.times(k, line), element), element)
            for number, lanes in enumerate(widths):
                total = sums[line * len(widths) + number]
                results.append(to.fma(to.splat(factor, lanes), columns[number], total))
        return results

    sums = to.loop(to.number(0), to.size(k), 1, starts, step)
    c_row = to.address(product.c, to.scaled(row, product.n), element)
    c_tile = to.address(c_row, column, element)
    for place, total in enumerate(sums):
        line, number = divmod(place, len(widths))
        start, beside = to.times(product.n, line), number * product.lanes
        place = start + beside if isinstance(start, int) else to.plus(start, to.number(beside))
        pointer = to.address(c_tile, place, element)
        to.store(_activated(product, total), pointer)


def _panel_start(product: _Product, column: SSAValue) -> SSAValue:
    """Where in B a column begins: panels lie one behind the other, in each of them rows as wide as a tile."""
    to, width = product.to, product.tile[1]
    if isinstance(product.n, int):
        return to.scaled(column, product.k)
    # A tile of few columns may begin inside of a panel.
    panel, inside = to.parts(column, width)
    return to.plus(to.scaled(to.scaled(panel, width), product.k), inside)


def _starting(
    product: _Product, row: SSAValue, column: SSAValue, height: int, widths: Sequence[int]
) -> list[SSAValue]:
    """What the sums start as: the bias of each, or zero."""
    to, element = product.to, product.element
    if product.bias is None:
        return [to.number(0.0, vector_of(element, lanes)) for _ in range(height) for lanes in widths]
    if product.op.bias_of_rows is not None:
        pointer = to.address(product.bias, row, element)
        numbers = [to.load(to.address(pointer, line, element), element) for line in range(height)]
        return [to.splat(number, lanes) for number in numbers for lanes in widths]
    pointer = to.address(product.bias, column, element)
    vectors = [
        to.load(to.address(pointer, start * product.lanes, element), element, lanes)
        for start, lanes in enumerate(widths)
    ]
    return vectors * height


def _activated(product: _Product, total: SSAValue) -> SSAValue:
    activation = product.op.activation
    if activation is None or activation.data == "none":
        return total
    # NaN compares false, so it stays.
    zero = product.to.number(0.0, total.type)
    return product.to.select(product.to.fcmp("olt", total, zero), zero, total)
