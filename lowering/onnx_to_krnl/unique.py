"""Unique, by merge sort of elements or slices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.tensor import UniqueOp
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.element_types import is_unsigned_element
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import DATA_DEPENDENT, LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.sorting import passes, sort_indices

DATA_DEPENDENT.add(UniqueOp)


@dataclass(frozen=True)
class _Slices:
    """Slices of a buffer along an axis, compared lexicographically."""

    kernel: KernelBuilder
    source: SSAValue
    rows: AxisSplit
    element: Attribute

    def order(self, a: Scalar, b: Scalar) -> Scalar:
        """Three-way comparison of slices a and b: negative, 0 or positive."""
        kernel, sizes = self.kernel, [self.rows.before, self.rows.after]
        with kernel.reducing(sizes, [kernel.constant(0, i64)]) as ((before, after), accumulators, results):
            numbers = [
                kernel.read(self.source, [before, index.value, after], self.element) for index in (a, b)
            ]
            is_less = Scalar(kernel, self._is_less(numbers[0], numbers[1])).to(i64)
            is_more = Scalar(kernel, self._is_less(numbers[1], numbers[0])).to(i64)
            order = Scalar(kernel, accumulators[0])
            results.append(order.equals(0).select(is_more - is_less, order).value)
        return Scalar(kernel, results[0])

    def _is_less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare elements; NaN sorts last and equals NaN."""
        kernel = self.kernel
        if is_integer(a.type):
            is_unsigned = is_unsigned_element(self.element) or a.type == i1
            return kernel.add(arith.CmpiOp(a, b, "ult" if is_unsigned else "slt"))
        is_less = kernel.add(arith.CmpfOp(a, b, "olt"))
        is_number = kernel.add(arith.CmpfOp(a, a, "ord"))
        is_none = kernel.add(arith.CmpfOp(b, b, "uno"))
        return kernel.add(arith.OrIOp(is_less, kernel.add(arith.AndIOp(is_number, is_none))))


@lowers(UniqueOp)
def unique(op: UniqueOp, builder: LoweringBuilder) -> str | None:
    """Unique elements or slices, sorted or by first occurrence, with indices, inverse and counts."""
    shape, element = builder.shape(op.X), builder.element(op.X)
    axis = 0 if op.axis is None else op.axis.value.data % len(shape)
    rows = AxisSplit(1, prod(shape), 1) if op.axis is None else AxisSplit.of(shape, axis)
    results = (op.Y, axis), (op.indices, 0), (op.counts, 0)
    found = DataDependentResults(op, results, rows.size, builder)
    # The inverse has one index per slice, even if the model declares no size.
    mapped = DataDependentResults(op, [(op.inverse_indices, 0)], rows.size, builder)
    groups, firsts = _grouped(builder.buffer(op.X), rows, element, found, builder)
    if not op.sorted.value.data:
        _renumber(groups, firsts, rows.size, builder)
    sizes = [found.size] if op.axis is None else [*shape[:axis], found.size, *shape[axis + 1 :]]
    made = [
        found.result(op.Y, sizes, axis),
        found.result(op.indices, [found.size], 0),
        mapped.result(op.inverse_indices, [rows.size], 0),
        found.result(op.counts, [found.size], 0),
        mapped.count_buffer,
    ]
    kernel = KernelBuilder(
        [
            buffer_type([rows.before, found.size, rows.after], element),
            buffer_type([found.size], i64),
            buffer_type([rows.size], i64),
            buffer_type([found.size], i64),
            buffer_type([2], i64),
            buffer_type(rows.sizes, element),
            buffer_type([rows.size], i64),
            buffer_type([rows.size], i64),
        ]
    )
    out, indices, inverse, counts, count_buffer, source, group_of, first = kernel.buffers
    store_count(kernel, kernel.constant(rows.size, i64), count_buffer)
    zero = kernel.constant(0, i64)
    with kernel.loops([found.size]) as (slot,):
        kernel.store(zero, counts, [slot])
    with kernel.loops([rows.size]) as (index,):
        group = Scalar(kernel, kernel.load(group_of, [index]))
        kernel.store(group.value, inverse, [index])
        # If there are more than the model declares the run fails; do not write past the end.
        slot = group.minimum(found.size - 1).to(INDEX).value
        kernel.store((Scalar(kernel, kernel.load(counts, [slot])) + 1).value, counts, [slot])
        number = Scalar(kernel, index).to(i64)
        with kernel.when(Scalar(kernel, kernel.load(first, [index])).differs(0).value):
            kernel.store(number.value, indices, [slot])
            with kernel.loops([rows.before, rows.after]) as (before, after):
                value = kernel.load(source, [before, index, after])
                kernel.store(value, out, [before, slot, after])
    builder.call("unique", kernel, made, [builder.buffer(op.X), groups, firsts])
    found.cut()
    mapped.cut()
    return None


def _grouped(
    source: SSAValue,
    rows: AxisSplit,
    element: Attribute,
    found: DataDependentResults,
    builder: LoweringBuilder,
) -> tuple[SSAValue, SSAValue]:
    """Return, for each slice, the index of its group in sorted order, and whether it is the first of it."""
    size = rows.size
    ordering, groups, firsts = (builder.allocate(sizes, i64) for sizes in ([2, size], [size], [size]))
    kernel = KernelBuilder(
        [
            buffer_type([2, size], i64),
            buffer_type([size], i64),
            buffer_type([size], i64),
            buffer_type([2], i64),
            buffer_type(rows.sizes, element),
        ]
    )
    order, group_of, is_first, count_buffer, read = kernel.buffers
    slices = _Slices(kernel, read, rows, element)
    with kernel.loops([size]) as (index,):
        kernel.store(Scalar(kernel, index).to(i64).value, order, [kernel.index(0), index])
    sort_indices(kernel, order, [], kernel.index(size), size, lambda a, b: (slices.order(a, b) < 0).value)
    half = kernel.index(passes(size) % 2)
    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((iteration,), carried, results):
        index = Scalar(kernel, iteration)
        position = Scalar(kernel, kernel.load(order, [half, iteration])).to(INDEX)
        before = Scalar(kernel, kernel.load(order, [half, (index - 1).maximum(0).value])).to(INDEX)
        is_new = (index.equals(0) | slices.order(before, position).differs(0)).to(i64)
        count = Scalar(kernel, carried[0]) + is_new
        kernel.store((count - 1).value, group_of, [position.value])
        kernel.store(is_new.value, is_first, [position.value])
        results.append(count.value)
    store_count(kernel, results[0], count_buffer)
    builder.call("unique_groups", kernel, [ordering, groups, firsts, found.count_buffer], [source])
    return groups, firsts


def _renumber(groups: SSAValue, firsts: SSAValue, size: int, builder: LoweringBuilder) -> None:
    """Renumber groups by first occurrence."""
    numbers = builder.allocate([size], i64)
    kernel = KernelBuilder([buffer_type([size], i64)] * 3)
    group_of, anew, is_first = kernel.buffers
    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((index,), carried, results):
        count = Scalar(kernel, carried[0])
        group = Scalar(kernel, kernel.load(group_of, [index])).to(INDEX).value
        first = Scalar(kernel, kernel.load(is_first, [index]))
        with kernel.when(first.differs(0).value):
            kernel.store(count.value, anew, [group])
        kernel.store(kernel.load(anew, [group]), group_of, [index])
        results.append((count + first).value)
    builder.call("unique_order", kernel, [groups, numbers], [firsts])
