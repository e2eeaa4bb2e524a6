"""Products of matrices: a tile of the result in vector registers, along the whole inner dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Turns = tuple[SSAValue, SSAValue]
"""The first turn, and the one behind the last."""


def emit_gemm(to: Emitter, op: GemmOp, buffers: Sequence[SSAValue], turns: Turns, vector_bytes: int) -> None:
    """
    Writes a `krnl.gemm`: for each panel of columns, tiles of rows (spec/cpu-performance.md §4).

    Rows and columns that fill no tile are tiles of their own sizes; a vector may have any number of lanes.
    """
    c, a, b, *bias = buffers
    element = element_of(op.c)
    rows, columns = (int(size) for size in op.tile.get_values())
    m, n, k = (attribute.value.data for attribute in (op.m, op.n, op.k))
    lanes = max(1, vector_bytes // size_of(element))
    starts_a, starts_b = _starts(op.batch_a), _starts(op.batch_b)
    all_panels = to.number(0), to.number(-(-n // columns))
    all_rows = to.number(0), to.number(-(-m // rows))
    along, count = op.turns_along

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
        panels = turns if along == "panels" else all_panels
        _panels(product, m, panels, turns if along == "rows" and count > 1 else all_rows)

    if along == "products":

        def turn(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            one(*(to.scaled(number, step) for step in (m * n, starts_a[1], starts_b[1])))
            return []

        to.loop(*turns, 1, [], turn)
        return
    for number, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
        one(number * m * n, start_a, start_b)


def _starts(attribute: DenseArrayBase[I64] | None) -> list[int]:
    return [int(start) for start in attribute.get_values()] if attribute else [0]


Body = Callable[[SSAValue, int], None]
"""Writes what is done from a place on for a number of elements."""


def _in_steps(to: Emitter, turns: Turns, size: int, step: int, body: Body) -> None:
    """`size` elements, `step` in a turn; what is left in the last turn is code of its own."""
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


def _panels(product: _Product, m: int, panels: Turns, tiles: Turns) -> None:
    to, (rows, columns) = product.to, product.tile

    def panel(column: SSAValue, width: int) -> None:
        def tile(row: SSAValue, height: int) -> None:
            _tile(product, row, column, height, width)

        _in_steps(to, tiles, m, rows, tile)

    _in_steps(to, panels, product.n, columns, panel)


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
