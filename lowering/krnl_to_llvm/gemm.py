"""Products of matrices: a tile of the result in vector registers, along the whole inner dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.lowering.krnl_to_llvm.emitter import Emitter, size_of, vector_of


@dataclass(frozen=True)
class _Product:
    """What the tiles of one product share."""

    to: Emitter
    op: GemmOp
    element: Attribute
    lanes: int
    n: int
    k: int
    tile: tuple[int, int]
    c: SSAValue
    a: SSAValue
    b: SSAValue
    bias: SSAValue | None


def emit_gemm(to: Emitter, op: GemmOp, buffers: Sequence[SSAValue], vector_bytes: int) -> None:
    """
    Writes a `krnl.gemm`: for each panel of columns, tiles of rows (spec/cpu-performance.md §4).

    Rows and columns that fill no tile are tiles of their own sizes; a vector may have any number of lanes.
    """
    c, a, b, *bias = buffers
    element = element_of(op.c)
    rows, columns = (int(size) for size in op.tile.get_values())
    m, n, k = (attribute.value.data for attribute in (op.m, op.n, op.k))
    lanes = vector_bytes // size_of(element)
    starts_a, starts_b = _starts(op.batch_a), _starts(op.batch_b)

    def one(start_c: SSAValue | int, start_a: SSAValue | int, start_b: SSAValue | int) -> None:
        product = _Product(
            to,
            op,
            element,
            lanes,
            n,
            k,
            (rows, columns),
            to.address(c, start_c, element),
            to.address(a, start_a, element),
            to.address(b, start_b, element),
            bias[0] if bias else None,
        )
        _panels(product, m, n // columns * columns, columns)
        if n % columns:
            _panel(product, m, to.number(n // columns * columns), n % columns)

    if len(starts_a) > 1 and is_regular(starts_a) and is_regular(starts_b):

        def turn(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            steps = (m * n, starts_a[1], starts_b[1])
            one(*(to.add(llvm.MulOp(number, to.number(step))) for step in steps))
            return []

        to.loop(to.number(0), to.number(len(starts_a)), 1, [], turn)
        return
    for number, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
        one(number * m * n, start_a, start_b)


def is_regular(starts: Sequence[int]) -> bool:
    """Whether matrices lie at equal distances, the first at 0."""
    return len(starts) < 2 or all(place == number * starts[1] for number, place in enumerate(starts))


def _starts(attribute: DenseArrayBase[I64] | None) -> list[int]:
    return [int(start) for start in attribute.get_values()] if attribute else [0]


def _panels(product: _Product, m: int, end: int, width: int) -> None:
    to = product.to
    if end == width:
        _panel(product, m, to.number(0), width)
    elif end:

        def panel(column: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _panel(product, m, column, width)
            return []

        to.loop(to.number(0), to.number(end), width, [], panel)


def _panel(product: _Product, m: int, column: SSAValue, width: int) -> None:
    """The columns from `column`, `width` of them."""
    to, rows = product.to, product.tile[0]
    whole = m // rows * rows
    if whole == rows:
        _tile(product, to.number(0), column, rows, width)
    elif whole:

        def tile(row: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _tile(product, row, column, rows, width)
            return []

        to.loop(to.number(0), to.number(whole), rows, [], tile)
    if m > whole:
        _tile(product, to.number(whole), column, m - whole, width)


def _tile(product: _Product, row: SSAValue, column: SSAValue, height: int, width: int) -> None:
    """One tile: every element of it is a lane of a register while the loop along `k` runs."""
    to, k, element = product.to, product.k, product.element
    widths = [min(product.lanes, width - start) for start in range(0, width, product.lanes)]
    a_row = to.address(product.a, to.add(llvm.MulOp(row, to.number(k))), element)
    packed = product.op.packed is not None
    stride = product.tile[1] if packed else product.n
    first = to.add(llvm.MulOp(column, to.number(k))) if packed else column
    b_column = to.address(product.b, first, element)
    starts = _starting(product, row, column, height, widths)

    def step(place: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
        b_row = to.address(b_column, to.add(llvm.MulOp(place, to.number(stride))), element)
        columns = [
            to.load(to.address(b_row, start * product.lanes, element), element, lanes)
            for start, lanes in enumerate(widths)
        ]
        a_place = to.address(a_row, place, element)
        results: list[SSAValue] = []
        for line in range(height):
            factor = to.load(to.address(a_place, line * k, element), element)
            for number, lanes in enumerate(widths):
                total = sums[line * len(widths) + number]
                results.append(to.fma(to.splat(factor, lanes), columns[number], total))
        return results

    sums = to.loop(to.number(0), to.number(k), 1, starts, step)
    c_row = to.address(product.c, to.add(llvm.MulOp(row, to.number(product.n))), element)
    c_tile = to.address(c_row, column, element)
    for place, total in enumerate(sums):
        line, number = divmod(place, len(widths))
        pointer = to.address(c_tile, line * product.n + number * product.lanes, element)
        to.store(_activated(product, total), pointer)


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
