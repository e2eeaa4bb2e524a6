"""The largest or smallest along an axis, in order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import Rows, is_before
from xonnc.lowering.onnx_to_krnl.kernel import INDEX, Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, lowers


def sorted_places(source: SSAValue, rows: Rows, element: Attribute, largest: bool, to: Lowering) -> SSAValue:
    """
    The places along the axis in the order of their elements, of equal ones the lower first.

    A buffer i64[2, before, after, size], whose first half or (the other pass wrote last) second holds them:
    the half is the number of passes modulo 2.
    """
    places = to.allocate([2, rows.before, rows.after, rows.size], i64)
    kernel = Kernel(
        [buffer_type([2, rows.before, rows.after, rows.size], i64), buffer_type(rows.sizes, element)]
    )
    held, read = kernel.buffers
    with kernel.loops([rows.before, rows.after]) as outer:
        with kernel.loops([rows.size]) as (index,):
            start = kernel.add(arith.IndexCastOp(index, i64))
            kernel.store(start, held, [kernel.index(0), *outer, index])
        with kernel.reducing([passes(rows.size)], [kernel.number(1, i64)]) as ((turn,), width, grown):
            _merge(kernel, (held, read), (turn, width[0]), outer, rows, element, largest)
            grown.append(kernel.add(arith.AddiOp(width[0], width[0])))
    to.call("sort", kernel, [places], [source])
    return places


def passes(size: int) -> int:
    """How often runs of twice the length are merged."""
    return max(size - 1, 0).bit_length()


def _merge(
    kernel: Kernel,
    buffers: tuple[SSAValue, SSAValue],
    at: tuple[SSAValue, SSAValue],
    outer: Sequence[SSAValue],
    rows: Rows,
    element: Attribute,
    largest: bool,
) -> None:
    """One pass over a row: neighbouring runs of a width become one each, from one half to the other."""
    held, read = buffers
    turn, width = at
    one, zero, size = (kernel.number(each, i64) for each in (1, 0, rows.size))
    parity = kernel.add(arith.AndIOp(kernel.add(arith.IndexCastOp(turn, i64)), one))
    source = kernel.add(arith.IndexCastOp(parity, INDEX))
    target = kernel.add(arith.IndexCastOp(kernel.add(arith.XOrIOp(parity, one)), INDEX))
    last = kernel.number(rows.size - 1, i64)

    def least(a: SSAValue, b: SSAValue) -> SSAValue:
        return kernel.add(arith.MinSIOp(a, b))

    def place_at(number: SSAValue) -> SSAValue:
        index = kernel.add(arith.IndexCastOp(least(number, last), INDEX))
        return kernel.load(held, [source, *outer, index])

    with kernel.reducing([rows.size], [zero, zero, zero]) as ((index,), carried, results):
        # `middle` is where the right run of a pair begins; both runs are read on from `left` and `right`.
        left, right, middle = carried
        place = kernel.add(arith.IndexCastOp(index, i64))
        is_new = kernel.add(arith.CmpiOp(place, kernel.add(arith.AddiOp(middle, width)), "sge"))
        is_first = kernel.add(arith.CmpiOp(place, zero, "eq"))
        is_new = kernel.add(arith.OrIOp(is_new, is_first))
        fresh = least(kernel.add(arith.AddiOp(place, width)), size)
        left = kernel.add(arith.SelectOp(is_new, place, left))
        right = kernel.add(arith.SelectOp(is_new, fresh, right))
        middle = kernel.add(arith.SelectOp(is_new, fresh, middle))
        end = least(kernel.add(arith.AddiOp(middle, width)), size)
        a, b = place_at(left), place_at(right)
        numbers = [
            kernel.read(read, [outer[0], kernel.add(arith.IndexCastOp(each, INDEX)), outer[1]], element)
            for each in (a, b)
        ]
        has_right = kernel.add(arith.CmpiOp(right, end, "slt"))
        is_right = kernel.add(
            arith.AndIOp(has_right, is_before(kernel, element, largest, numbers[1], numbers[0]))
        )
        no_left = kernel.add(arith.CmpiOp(left, middle, "sge"))
        is_right = kernel.add(arith.OrIOp(is_right, no_left))
        kernel.store(kernel.add(arith.SelectOp(is_right, b, a)), held, [target, *outer, index])
        results.append(kernel.add(arith.SelectOp(is_right, left, kernel.add(arith.AddiOp(left, one)))))
        results.append(kernel.add(arith.SelectOp(is_right, kernel.add(arith.AddiOp(right, one)), right)))
        results.append(middle)


@lowers(math.TopKOp)
def top_k(op: math.TopKOp, to: Lowering) -> str | None:
    """The K largest (or smallest) along `axis`, in order, and where they were."""
    if to.constant(op.K) is None:
        return "a K that is no constant"
    rows, element = Rows.of(to.shape(op.X), op.axis.value.data), to.element(op.X)
    known = op.Indices if op.Values.type == NONE else op.Values
    count = Rows.of(to.shape(known), op.axis.value.data).size
    source = to.buffer(op.X)
    places = sorted_places(source, rows, element, bool(op.largest.value.data), to)
    sizes = [rows.before, count, rows.after]
    kernel = Kernel(
        [
            buffer_type(sizes, element),
            buffer_type(sizes, i64),
            buffer_type(rows.sizes, element),
            buffer_type([2, rows.before, rows.after, rows.size], i64),
        ]
    )
    values, indices, read, held = kernel.buffers
    half = kernel.index(passes(rows.size) % 2)
    with kernel.loops(sizes) as (before, index, after):
        place = kernel.load(held, [half, before, after, index])
        at = kernel.add(arith.IndexCastOp(place, INDEX))
        kernel.store(kernel.load(read, [before, at, after]), values, [before, index, after])
        kernel.store(place, indices, [before, index, after])
    # Either may be left out.
    made = [
        to.allocate(sizes, kind) if result.type == NONE else to.result(result)
        for result, kind in ((op.Values, element), (op.Indices, i64))
    ]
    to.call("topk", kernel, made, [source, places])
    return None
