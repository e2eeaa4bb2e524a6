"""
Operators that keep some elements: how many, only a run knows.

Where the model says how many there are, a kernel lists their places, and the run fails if there are more or
fewer.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.along_axis import Rows
from xonnc.lowering.onnx_to_krnl.checks import checked, index_in
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, lowers, moves


def _listed(
    op: Operation, source: SSAValue, element: Attribute, size: int, count: int, to: Lowering
) -> SSAValue:
    """A buffer whose first `count` numbers are the places of what is not 0, of `size` elements."""
    places = to.allocate([count + 1], i64)
    cell = checked(op, count, count, f"keeps {{}} elements, the model says {count}", to)
    kernel = Kernel([buffer_type([count + 1], i64), buffer_type([2], i64), buffer_type([size], element)])
    out, found, read = kernel.buffers
    with kernel.reducing([size], [kernel.number(0, i64)]) as ((index,), held, results):
        # What is not kept is overwritten by what comes next, in the end in a place of its own.
        at = index_in(kernel, held[0], count + 1, wraps=False)
        kernel.store(kernel.add(arith.IndexCastOp(index, i64)), out, [at])
        is_kept = _is_not_zero(kernel, kernel.read(read, [index], element))
        results.append(kernel.add(arith.AddiOp(held[0], kernel.add(arith.ExtUIOp(is_kept, i64)))))
    for place in range(2):
        kernel.store(results[0], found, [kernel.index(place)])
    to.call("listed", kernel, [places, cell], [source])
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
    """The indices of what is not 0, an axis a row; where the model says how many there are."""
    shape, count = to.shape(op.X), to.shape(op.Y)[1]
    source = to.buffer(op.X)
    places = _listed(op, source, to.element(op.X), prod(shape), count, to)
    kernel = Kernel([buffer_type([len(shape), count], i64), buffer_type([count + 1], i64)])
    out, held = kernel.buffers
    with kernel.loops([count]) as (index,):
        rest = kernel.load(held, [index])
        for axis, size in reversed(list(enumerate(shape))):
            number = kernel.number(size, i64)
            kernel.store(kernel.add(arith.RemUIOp(rest, number)), out, [kernel.index(axis), index])
            rest = kernel.add(arith.DivUIOp(rest, number))
    to.call("nonzero", kernel, [to.result(op.Y)], [places])
    return None


@moves(tensor.CompressOp)
def compress(op: tensor.CompressOp, to: Lowering) -> str | None:
    """What lies along `axis` (or in a row) where the condition holds; where the model says how much."""
    shape, out_shape, element = to.shape(op.input), to.shape(op.output), to.element(op.input)
    is_flat = op.axis is None
    rows = Rows(1, prod(shape), 1) if op.axis is None else Rows.of(shape, op.axis.value.data)
    kept = Rows(1, prod(out_shape), 1) if op.axis is None else Rows.of(out_shape, op.axis.value.data)
    (length,) = to.shape(op.condition)
    if 0 in shape or length > rows.size:
        return "an operand is empty" if is_flat or 0 in shape else "a condition longer than the axis"
    source = to.buffer(op.input)
    places = _listed(op, to.buffer(op.condition), to.element(op.condition), length, kept.size, to)
    kernel = Kernel(
        [
            buffer_type(kept.sizes, element),
            buffer_type(rows.sizes, element),
            buffer_type([kept.size + 1], i64),
        ]
    )
    out, read, held = kernel.buffers
    with kernel.loops([rows.before, kept.size]) as (before, index):
        place = index_in(kernel, kernel.load(held, [index]), rows.size, wraps=False)
        with kernel.loops([rows.after]) as (after,):
            kernel.store(kernel.load(read, [before, place, after]), out, [before, index, after])
    to.call("compress", kernel, [to.result(op.output)], [source, places])
    return None
