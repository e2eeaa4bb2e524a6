"""Slice with starts that are run-time inputs; the result's shape is static."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.checks import index_in, size_check
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder


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
        distance = kernel.add(arith.SubiOp(last, first))
        over = kernel.constant(step - 1 if step > 0 else step + 1, i64)
        iterations = kernel.add(
            arith.DivSIOp(kernel.add(arith.AddiOp(distance, over)), kernel.constant(step, i64))
        )
        iterations = kernel.add(arith.MaxSIOp(iterations, kernel.constant(0, i64)))
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
