"""The largest or smallest along an axis, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import Rows, is_before
from xonnc.lowering.onnx_to_krnl.kernel import INDEX, Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, lowers
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

IsBefore: TypeAlias = Callable[[Scalar, Scalar], SSAValue]
"""Writes whether what is at the first of two places, indices, comes before what is at the second."""


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

        def is_sooner(a: Scalar, b: Scalar) -> SSAValue:
            numbers = [kernel.read(read, [outer[0], at.value, outer[1]], element) for at in (a, b)]
            return is_before(kernel, element, largest, *numbers)

        with kernel.loops([rows.size]) as (index,):
            start = kernel.add(arith.IndexCastOp(index, i64))
            kernel.store(start, held, [kernel.index(0), *outer, index])
        sort_places(kernel, held, outer, kernel.index(rows.size), rows.size, is_sooner)
    to.call("sort", kernel, [places], [source])
    return places


def passes(size: int) -> int:
    """How often runs of twice the length are merged."""
    return max(size - 1, 0).bit_length()


def sort_places(
    kernel: Kernel, held: SSAValue, outer: Sequence[SSAValue], size: SSAValue, most: int, is_before: IsBefore
) -> None:
    """
    Sorts the first `size` of i64[2, *outer, most], of which the first half holds places.

    They are in the half `passes(most) % 2` then; what neither comes before the other stays in order.
    """
    zero, one = Scalar(kernel, kernel.number(0, i64)), Scalar(kernel, kernel.number(1, i64))
    count = Scalar(kernel, size).to(i64)
    with kernel.reducing([passes(most)], [one.value]) as ((turn,), carried, grown):
        width = Scalar(kernel, carried[0])
        parity = Scalar(kernel, turn).to(i64) & one
        source, target = parity.to(INDEX).value, (one - parity).to(INDEX).value

        def place_at(number: Scalar) -> Scalar:
            index = number.at_most(count - 1).to(INDEX)
            return Scalar(kernel, kernel.load(held, [source, *outer, index.value]))

        with kernel.reducing([size], [zero.value] * 3) as ((index,), runs, results):
            # `middle` is where the right run of a pair begins; both runs are read on from `left` and `right`.
            left, right, middle = (Scalar(kernel, each) for each in runs)
            place = Scalar(kernel, index).to(i64)
            is_new = (place >= middle + width) | place.equals(0)
            fresh = (place + width).at_most(count)
            left, right = is_new.choose(place, left), is_new.choose(fresh, right)
            middle = is_new.choose(fresh, middle)
            end = (middle + width).at_most(count)
            a, b = place_at(left), place_at(right)
            is_sooner = Scalar(kernel, is_before(b.to(INDEX), a.to(INDEX)))
            is_right = ((right < end) & is_sooner) | (left >= middle)
            kernel.store(is_right.choose(b, a).value, held, [target, *outer, index])
            results.append(is_right.choose(left, left + 1).value)
            results.append(is_right.choose(right + 1, right).value)
            results.append(middle.value)
        grown.append((width + width).value)


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
