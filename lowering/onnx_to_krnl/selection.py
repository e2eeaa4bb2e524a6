"""Operators that keep some elements: how many, only a run knows (`data_dependent_results.py`)."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.along_axis import Rows
from xonnc.lowering.onnx_to_krnl.checks import index_in
from xonnc.lowering.onnx_to_krnl.data_dependent_results import Found, tell
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import FINDS, Lowering, lowers, moves
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar


def _listed(source: SSAValue, element: Attribute, size: int, found: Found, to: Lowering) -> SSAValue:
    """A buffer that begins with the places of what is not 0, of `size` elements."""
    places = to.allocate([found.size + 1], i64)
    kernel = Kernel([buffer_type([found.size + 1], i64), buffer_type([2], i64), buffer_type([size], element)])
    out, cell, read = kernel.buffers
    with kernel.reducing([size], [kernel.number(0, i64)]) as ((index,), held, results):
        # What is not kept is overwritten by what comes next, in the end in a place of its own.
        at = index_in(kernel, held[0], found.size + 1, wraps=False)
        kernel.store(kernel.add(arith.IndexCastOp(index, i64)), out, [at])
        is_kept = _is_not_zero(kernel, kernel.read(read, [index], element))
        results.append(kernel.add(arith.AddiOp(held[0], kernel.add(arith.ExtUIOp(is_kept, i64)))))
    tell(kernel, results[0], cell)
    to.call("listed", kernel, [places, found.cell], [source])
    return places


def _is_not_zero(kernel: Kernel, number: SSAValue) -> SSAValue:
    if number.type == i1:
        return number
    zero = kernel.number(0, number.type)
    if is_integer(number.type):
        return kernel.add(arith.CmpiOp(number, zero, "ne"))
    return kernel.add(arith.CmpfOp(number, zero, "une"))


@lowers(tensor.NonZeroOp)
def non_zero(op: tensor.NonZeroOp, to: Lowering) -> str | None:
    """The indices of what is not 0, an axis a row."""
    shape = to.shape(op.X)
    source = to.buffer(op.X)
    found = Found(op, [(op.Y, 1)], prod(shape), to)
    places = _listed(source, to.element(op.X), prod(shape), found, to)
    count = found.size
    sizes = [len(shape), count]
    kernel = Kernel([buffer_type(sizes, i64), buffer_type([2], i64), buffer_type([count + 1], i64)])
    out, cell, held = kernel.buffers
    with kernel.loops([_as_many(kernel, cell, count)]) as (index,):
        rest = kernel.load(held, [index])
        for axis, size in reversed(list(enumerate(shape))):
            number = kernel.number(size, i64)
            kernel.store(kernel.add(arith.RemUIOp(rest, number)), out, [kernel.index(axis), index])
            rest = kernel.add(arith.DivUIOp(rest, number))
    to.call("nonzero", kernel, [found.result(op.Y, sizes, 1)], [found.cell, places])
    found.cut()
    return None


def _as_many(kernel: Kernel, cell: SSAValue, most: int) -> SSAValue:
    """How many elements a run has found, an index; not more than there is room for."""
    count = Scalar(kernel, kernel.load(cell, [kernel.index(0)]))
    return count.at_most(most).to(INDEX).value


@moves(tensor.CompressOp)
def compress(op: tensor.CompressOp, to: Lowering) -> str | None:
    """What lies along `axis` (or in a row) where the condition holds."""
    shape, element = to.shape(op.input), to.element(op.input)
    axis = 0 if op.axis is None else op.axis.value.data % len(shape)
    rows = Rows(1, prod(shape), 1) if op.axis is None else Rows.of(shape, axis)
    (length,) = to.shape(op.condition)
    if 0 in shape or length > rows.size:
        return "an operand is empty" if op.axis is None or 0 in shape else "a condition longer than the axis"
    source = to.buffer(op.input)
    found = Found(op, [(op.output, axis)], length, to)
    places = _listed(to.buffer(op.condition), to.element(op.condition), length, found, to)
    count = found.size
    kernel = Kernel(
        [
            buffer_type([rows.before, count, rows.after], element),
            buffer_type(rows.sizes, element),
            buffer_type([2], i64),
            buffer_type([count + 1], i64),
        ]
    )
    out, read, cell, held = kernel.buffers
    with kernel.loops([rows.before]) as (before,), kernel.loops([_as_many(kernel, cell, count)]) as (index,):
        place = index_in(kernel, kernel.load(held, [index]), rows.size, wraps=False)
        with kernel.loops([rows.after]) as (after,):
            kernel.store(kernel.load(read, [before, place, after]), out, [before, index, after])
    sizes = [count] if op.axis is None else [*shape[:axis], count, *shape[axis + 1 :]]
    to.call("compress", kernel, [found.result(op.output, sizes, axis)], [source, found.cell, places])
    found.cut()
    return None


FINDS.update((tensor.CompressOp, tensor.NonZeroOp))
