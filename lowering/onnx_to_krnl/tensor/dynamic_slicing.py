"""Slice with starts and ends that are known at run time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.builders.checks import index_within, size_check
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size


def slice_where_fed(
    op: tensor.SliceOp, axes: Sequence[int], steps: Sequence[int], builder: LoweringBuilder
) -> str | None:
    """Slice from run-time starts; a run fails if the ends give another size than the model declares."""
    shape, sizes = builder.shape(op.data), builder.shape(op.output)
    if 0 in shape or not shape:
        return "an operand is empty"
    for position, (axis, step) in (
        enumerate(zip(axes, steps, strict=True)) if builder.has_runtime_checks else ()
    ):
        check_buffer = size_check(op, sizes[axis], f"gives {{}} elements along axis {axis}", builder)
        _count(op, check_buffer, position, shape[axis], step, builder)
    kernel = Kernel(builder, "slice_dynamic", [op.output], [op.data, op.starts])
    out, source, given = kernel.buffers
    with kernel.loops(sizes[:-1]) as outer:
        loops = list(outer)[: len(sizes) - 1]
        with kernel.loops(sizes[-1:]) as (inner,):
            at = [*loops, inner]
            for position, (axis, step) in enumerate(zip(axes, steps, strict=True)):
                first = _bound(given[position], shape[axis], step, False)
                at[axis] = _stepped(first, at[axis], step, shape[axis])
            out.copy((*loops, inner), source, tuple(at))
    kernel.call()
    return None


def cut_slice(op: tensor.SliceOp, axis: int, step: int, builder: LoweringBuilder) -> str | None:
    """Slice one axis into a buffer of the largest size that the result may have, and cut it."""
    shape = builder.sizes(op.data)
    rows = AxisSplit.of(shape, axis)
    most = (rows.size + (abs(step) - 1)) // abs(step)
    found = DataDependentResults(op, [(op.output, axis)], most, builder)
    _count(op, found.count_buffer, 0, rows.size, step, builder)
    sizes = [*shape[:axis], most, *shape[axis + 1 :]]
    result = found.result(op.output, sizes, axis), [rows.before, most, rows.after]
    inputs = [(op.data, rows.sizes), found.count_buffer, op.starts]
    kernel = Kernel(builder, "slice_dynamic", [result], inputs)
    out, source, count_buffer, given = kernel.buffers
    count = count_buffer[0].minimum(kernel.count([most])).to(INDEX)
    first = _bound(given[0], rows.size, step, False)
    with kernel.loops([rows.before]) as (before,), kernel.loops([count]) as (index,):
        at = _stepped(first, index, step, rows.size)
        with kernel.loops([rows.after]) as (after,):
            out.copy((before, index, after), source, (before, at, after))
    kernel.call()
    found.cut()
    return None


def _count(
    op: tensor.SliceOp, count_buffer: SSAValue, position: int, size: Size, step: int, builder: LoweringBuilder
) -> None:
    """Store the number of steps from the start to before the end of an axis, at least 0."""
    kernel = Kernel(builder, "slicecount", [count_buffer], [op.starts, op.ends])
    out, starts, ends = kernel.buffers
    first, last = (
        _bound(buffer[position], size, step, is_end) for buffer, is_end in ((starts, False), (ends, True))
    )
    over = step - 1 if step > 0 else step + 1
    store_count(((last - first + over) // step).maximum(0), out)
    kernel.call()


def _stepped(first: Scalar, iteration: Scalar, step: int, size: Size) -> Scalar:
    number = iteration.to(i64)
    return index_within(first + (number if step == 1 else number * step), size, wraps=False)


def _bound(number: Scalar, size: Size, step: int, is_end: bool) -> Scalar:
    """Return a start or end as an index: negative ones count from the end, and it is clamped to the axis."""
    number = number.to(i64)
    end = Scalar(number.kernel, number.kernel.count([size], i64))
    number = (number < 0).select(number + end, number)
    return number.clamp(-1 if is_end and step < 0 else 0, end if step > 0 else end - 1)
