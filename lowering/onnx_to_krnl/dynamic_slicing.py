"""Slice with starts and ends that are known at run time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.checks import index_in, size_check
from xonnc.lowering.onnx_to_krnl.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar


def slice_where_fed(
    op: tensor.SliceOp, axes: Sequence[int], steps: Sequence[int], builder: LoweringBuilder
) -> str | None:
    """Slice from run-time starts; a run fails if the ends give another size than the model declares."""
    shape, sizes, element = builder.shape(op.data), builder.shape(op.output), builder.element(op.data)
    if 0 in shape or not shape:
        return "an operand is empty"
    index_type = buffer_type([len(axes)], builder.element(op.starts))
    starts, ends = builder.buffer(op.starts), builder.buffer(op.ends)
    for position, (axis, step) in (
        enumerate(zip(axes, steps, strict=True)) if builder.has_runtime_checks else ()
    ):
        check_buffer = size_check(op, sizes[axis], f"gives {{}} elements along axis {axis}", builder)
        kernel = KernelBuilder([buffer_type([2], i64), index_type, index_type])
        out, *bounds = kernel.buffers
        first, last = (
            _bound(kernel, buffer, position, shape[axis], step, is_end)
            for buffer, is_end in zip(bounds, (False, True), strict=True)
        )
        iterations = _iterations(kernel, first, last, step)
        for index in range(2):
            kernel.store(iterations, out, [kernel.index(index)])
        builder.call("slicecount", kernel, [check_buffer], [starts, ends])
    kernel = KernelBuilder([buffer_type(sizes, element), buffer_type(shape, element), index_type])
    out, source, given = kernel.buffers
    with kernel.loops(sizes[:-1]) as outer:
        loops = list(outer)[: len(sizes) - 1]
        with kernel.loops(sizes[-1:]) as (inner,):
            at = [*loops, inner]
            for position, (axis, step) in enumerate(zip(axes, steps, strict=True)):
                first = _bound(kernel, given, position, shape[axis], step, False)
                at[axis] = _stepped(kernel, first, at[axis], step, shape[axis])
            kernel.store(kernel.load(source, at), out, [*loops, inner])
    builder.call("slice_dynamic", kernel, [builder.result(op.output)], [builder.buffer(op.data), starts])
    return None


def cut_slice(op: tensor.SliceOp, axis: int, step: int, builder: LoweringBuilder) -> str | None:
    """Slice one axis into a buffer of the largest size that the result may have, and cut it."""
    shape, element = builder.shape(op.data), builder.element(op.data)
    rows = AxisSplit.of(shape, axis)
    most = -(-rows.size // abs(step))
    found = DataDependentResults(op, [(op.output, axis)], most, builder)
    index_type = buffer_type([1], builder.element(op.starts))
    starts, ends = builder.buffer(op.starts), builder.buffer(op.ends)
    kernel = KernelBuilder([buffer_type([2], i64), index_type, index_type])
    count_buffer, *bounds = kernel.buffers
    first, last = (
        _bound(kernel, buffer, 0, rows.size, step, is_end)
        for buffer, is_end in zip(bounds, (False, True), strict=True)
    )
    store_count(kernel, _iterations(kernel, first, last, step), count_buffer)
    builder.call("slicecount", kernel, [found.count_buffer], [starts, ends])
    kernel = KernelBuilder(
        [
            buffer_type([rows.before, most, rows.after], element),
            buffer_type(rows.sizes, element),
            buffer_type([2], i64),
            index_type,
        ]
    )
    out, source, count_buffer, given = kernel.buffers
    count = Scalar(kernel, kernel.load(count_buffer, [kernel.index(0)])).minimum(most).to(INDEX).value
    first = _bound(kernel, given, 0, rows.size, step, False)
    with kernel.loops([rows.before]) as (before,), kernel.loops([count]) as (index,):
        at = _stepped(kernel, first, index, step, rows.size)
        with kernel.loops([rows.after]) as (after,):
            kernel.store(kernel.load(source, [before, at, after]), out, [before, index, after])
    sizes = [*shape[:axis], most, *shape[axis + 1 :]]
    buffers = [builder.buffer(op.data), found.count_buffer, starts]
    builder.call("slice_dynamic", kernel, [found.result(op.output, sizes, axis)], buffers)
    found.cut()
    return None


def _iterations(kernel: KernelBuilder, first: SSAValue, last: SSAValue, step: int) -> SSAValue:
    """Return the number of steps from `first` to before `last`, at least 0."""
    distance = kernel.add(arith.SubiOp(last, first))
    over = kernel.constant(step - 1 if step > 0 else step + 1, i64)
    steps = arith.DivSIOp(kernel.add(arith.AddiOp(distance, over)), kernel.constant(step, i64))
    return kernel.add(arith.MaxSIOp(kernel.add(steps), kernel.constant(0, i64)))


def _stepped(kernel: KernelBuilder, first: SSAValue, iteration: SSAValue, step: int, size: int) -> SSAValue:
    number = kernel.add(arith.IndexCastOp(iteration, i64))
    if step != 1:
        number = kernel.add(arith.MuliOp(number, kernel.constant(step, i64)))
    return index_in(kernel, kernel.add(arith.AddiOp(first, number)), size, wraps=False)


def _bound(
    kernel: KernelBuilder, buffer: SSAValue, index: int, size: int, step: int, is_end: bool
) -> SSAValue:
    """Return a start or end as an index: negative ones count from the end, and it is clamped to the axis."""
    number = kernel.load(buffer, [kernel.index(index)])
    if number.type != i64:
        number = kernel.add(arith.ExtSIOp(number, i64))
    is_below = kernel.add(arith.CmpiOp(number, kernel.constant(0, i64), "slt"))
    from_end = kernel.add(arith.AddiOp(number, kernel.constant(size, i64)))
    number = kernel.add(arith.SelectOp(is_below, from_end, number))
    least = -1 if is_end and step < 0 else 0
    most = size if step > 0 else size - 1
    number = kernel.add(arith.MaxSIOp(number, kernel.constant(least, i64)))
    return kernel.add(arith.MinSIOp(number, kernel.constant(most, i64)))
