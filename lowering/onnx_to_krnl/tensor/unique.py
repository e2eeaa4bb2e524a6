"""Unique, by radix sort of elements or merge sort of slices."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.tensor import UniqueOp
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    DATA_DEPENDENT,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume
from xonnc.lowering.onnx_to_krnl.tensor.sort_keys import key_type, keys_of_rows
from xonnc.lowering.onnx_to_krnl.tensor.sorting import (
    DIGITS,
    is_short,
    sort_by_keys,
    sort_indices,
    sorted_half,
)

DATA_DEPENDENT.add(UniqueOp)
supports_dynamic_shapes(UniqueOp)


@dataclass(frozen=True)
class _Slices:
    """Slices of a buffer along an axis, compared lexicographically."""

    kernel: Kernel
    source: Buffer
    rows: AxisSplit

    def order(self, a: Scalar, b: Scalar) -> Scalar:
        """Three-way comparison of slices a and b: negative, 0 or positive."""
        sizes, zero = [self.rows.before, self.rows.after], self.kernel.constant(0, i64)
        with self.kernel.reducing(sizes, [zero]) as ((before, after), (order,), results):
            one, other = (self.source[before, index, after] for index in (a, b))
            is_less, is_more = (self._is_less(*each).to(i64) for each in ((one, other), (other, one)))
            results.append(order.equals(0).select(is_more - is_less, order))
        return results[0]

    def _is_less(self, a: Scalar, b: Scalar) -> Scalar:
        """Compare elements; NaN sorts last and equals NaN."""
        if not is_integer(a.type):
            return (a < b) | (a.is_number() & b.is_nan())
        is_unsigned = is_unsigned_element(self.source.element) or a.type == i1
        return a.compare_unsigned(b, "lt") if is_unsigned else a < b


@lowers(UniqueOp)
def unique(op: UniqueOp, builder: LoweringBuilder) -> str | None:
    """Unique elements or slices, sorted or by first occurrence, with indices, inverse and counts."""
    shape = builder.sizes(op.X)
    axis = 0 if op.axis is None else op.axis.value.data % len(shape)
    rows = AxisSplit(1, volume(shape), 1) if op.axis is None else AxisSplit.of(shape, axis)
    results = (op.Y, axis), (op.indices, 0), (op.counts, 0)
    found = DataDependentResults(op, results, rows.size, builder)
    # The inverse has one index per slice, even if the model declares no size.
    mapped = DataDependentResults(op, [(op.inverse_indices, 0)], rows.size, builder)
    groups, firsts = _grouped(op.X, rows, found, builder)
    if not op.sorted.value.data:
        _renumber(groups, firsts, rows.size, builder)
    sizes = [found.size] if op.axis is None else [*shape[:axis], found.size, *shape[axis + 1 :]]
    made = [
        (found.result(op.Y, sizes, axis), [rows.before, found.size, rows.after]),
        (found.result(op.indices, [found.size], 0), [found.size]),
        (mapped.result(op.inverse_indices, [rows.size], 0), [rows.size]),
        (found.result(op.counts, [found.size], 0), [found.size]),
        mapped.count_buffer,
    ]
    kernel = Kernel(builder, "unique", made, [(op.X, rows.sizes), groups, firsts])
    out, indices, inverse, counts, count_buffer, source, group_of, first = kernel.buffers
    store_count(kernel.count([rows.size]), count_buffer)
    with kernel.loops([found.size]) as (slot,):
        counts[slot] = 0
    with kernel.loops([rows.size]) as (index,):
        group = group_of[index]
        inverse[index] = group
        # If there are more than the model declares the run fails; do not write past the end.
        slot = group.minimum(kernel.count([found.size]) - 1).to(INDEX)
        counts[slot] = counts[slot] + 1
        number = index.to(i64)
        with kernel.when(first[index].differs(0)):
            indices[slot] = number
            with kernel.loops([rows.before, rows.after]) as (before, after):
                out.copy((before, slot, after), source, (before, index, after))
    kernel.call()
    found.cut()
    mapped.cut()
    return None


def _grouped(
    x: SSAValue, rows: AxisSplit, found: DataDependentResults, builder: LoweringBuilder
) -> tuple[SSAValue, SSAValue]:
    """Return, for each slice, the index of its group in sorted order, and whether it is the first of it."""
    size, element = rows.size, builder.element(x)
    ordering, groups, firsts = (builder.allocate(sizes, i64) for sizes in ([2, 1, 1, size], [size], [size]))
    outputs = [ordering, groups, firsts, found.count_buffer]
    kind = key_type(element) if rows.before == rows.after == 1 else None
    if kind is not None and not is_short(size, kind.width.data):
        keys = keys_of_rows(x, rows, element, False, builder, is_nan_last=True)
        digits = builder.allocate([1, 1, DIGITS], i64)
        kernel = Kernel(builder, "unique_groups", [*outputs, digits], [keys])
        order, group_of, is_first, count_buffer, counts, read = kernel.buffers
        with kernel.loops([1, 1]) as outer:
            _start(kernel, order, size)
            sort_by_keys(kernel, order, read, counts, outer, size)
            half = 0

        def differs(a: Scalar, b: Scalar) -> Scalar:
            return read[0, 0, a].differs(read[0, 0, b])
    else:
        kernel = Kernel(builder, "unique_groups", outputs, [(x, rows.sizes)])
        order, group_of, is_first, count_buffer, read = kernel.buffers
        slices = _Slices(kernel, read, rows)
        with kernel.loops([1, 1]) as outer:
            _start(kernel, order, size)
            sort_indices(kernel, order, outer, kernel.size(size), size, lambda a, b: slices.order(a, b) < 0)
        half = sorted_half(size)

        def differs(a: Scalar, b: Scalar) -> Scalar:
            return slices.order(a, b).differs(0)

    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((index,), (known,), results):
        position = order[half, 0, 0, index].to(INDEX)
        before = order[half, 0, 0, (index - 1).maximum(0)].to(INDEX)
        is_new = (index.equals(0) | differs(before, position)).to(i64)
        count = known + is_new
        group_of[position] = count - 1
        is_first[position] = is_new
        results.append(count)
    store_count(results[0], count_buffer)
    kernel.call()
    return groups, firsts


def _start(kernel: Kernel, order: Buffer, size: Size) -> None:
    """List all indices, before they are sorted."""
    with kernel.loops([size]) as (index,):
        order[0, 0, 0, index] = index


def _renumber(groups: SSAValue, firsts: SSAValue, size: Size, builder: LoweringBuilder) -> None:
    """Renumber groups by first occurrence."""
    numbers = builder.allocate([size], i64)
    kernel = Kernel(builder, "unique_order", [groups, numbers], [firsts])
    group_of, anew, is_first = kernel.buffers
    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((index,), (count,), results):
        group = group_of[index].to(INDEX)
        first = is_first[index]
        with kernel.when(first.differs(0)):
            anew[group] = count
        group_of[index] = anew[group]
        results.append(count + first)
    kernel.call()
