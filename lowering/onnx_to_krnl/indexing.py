"""Gather and scatter operators, OneHot and ReverseSequence."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.checks import check_indices, check_numbers, index_in, iterations_if_nonempty
from xonnc.lowering.onnx_to_krnl.element_types import is_computable, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.reductions import MAXIMUM, MINIMUM, PRODUCT, SUM, ReductionFunction
from xonnc.lowering.onnx_to_krnl.strided_copies import AffineAccess, copy, dim
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_static, is_static, static_sizes, volume

WRITES = {"add": SUM, "max": MAXIMUM, "min": MINIMUM, "mul": PRODUCT}
"""Reductions of scatter operators."""

EMPTY = "an operand is empty"


supports_dynamic_shapes(
    tensor.GatherOp,
    tensor.GatherElementsOp,
    tensor.GatherNDOp,
    tensor.ReverseSequenceOp,
    tensor.ScatterElementsOp,
    tensor.ScatterNDOp,
    tensor.ScatterOp,
)


@lowers_data_movement(tensor.GatherOp)
def gather(op: tensor.GatherOp, builder: LoweringBuilder) -> str | None:
    """Gather slices along `axis` by index."""
    shape, element = builder.sizes(op.data), builder.element(op.data)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    count = volume(builder.sizes(op.indices))
    before, size, after = volume(shape[:axis]), shape[axis], volume(shape[axis + 1 :])
    data, indices = builder.buffer(op.data), builder.buffer(op.indices)
    check_indices(op, op.indices, [size], axis, builder)
    types = [buffer_type([before, count, after], element), buffer_type([before, size, after], element)]
    kernel = KernelBuilder([*types, buffer_type([count], builder.element(op.indices))])
    out, source, index_buffer = kernel.buffers
    with kernel.loops([before, iterations_if_nonempty(count, size)]) as (first, position):
        index = index_in(kernel, kernel.load(index_buffer, [position]), size)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [first, index, inner]), out, [first, position, inner])
    builder.call("gather", kernel, [builder.result(op.output)], [data, indices])
    return None


@lowers_data_movement(tensor.GatherElementsOp)
def gather_elements(op: tensor.GatherElementsOp, builder: LoweringBuilder) -> str | None:
    """Gather one element per index along `axis`."""
    shape, sizes = builder.sizes(op.data), builder.sizes(op.indices)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    _require_inside(op, sizes, shape, axis, builder)
    data, indices = builder.buffer(op.data), builder.buffer(op.indices)
    check_indices(op, op.indices, [shape[axis]], axis, builder)
    element = builder.element(op.data)
    kernel = KernelBuilder(
        [
            buffer_type(sizes, element),
            buffer_type(shape, element),
            buffer_type(sizes, builder.element(op.indices)),
        ]
    )
    out, source, index_buffer = kernel.buffers
    with kernel.loops([iterations_if_nonempty(sizes[0], shape[axis]), *sizes[1:]]) as loops:
        index = index_in(kernel, kernel.load(index_buffer, loops), shape[axis])
        kernel.store(kernel.load(source, [*loops[:axis], index, *loops[axis + 1 :]]), out, loops)
    builder.call("gatherelements", kernel, [builder.result(op.output)], [data, indices])
    return None


def _require_inside(
    op: Operation, sizes: Sequence[Size], shape: Sequence[Size], axis: int, builder: LoweringBuilder
) -> None:
    """Require that indices have no more elements than the data along the axes that they do not index."""
    for each, (size, limit) in enumerate(zip(sizes, shape, strict=True)):
        if each != axis:
            builder.require_at_most(size, limit, f"{describe(op)}: axis {each} of the indices")


@lowers_data_movement(tensor.GatherNDOp)
def gather_nd(op: tensor.GatherNDOp, builder: LoweringBuilder) -> str | None:
    """Gather slices by tuples of indices, after `batch_dims` batch axes."""
    shape, rows = builder.sizes(op.data), builder.sizes(op.indices)
    if 0 in shape or 0 in rows:
        return EMPTY
    batch, depth = op.batch_dims.value.data, rows[-1]
    if not is_static(depth) or not are_static(shape[batch : batch + depth]):
        return NO_DYNAMIC_KERNEL
    batches, count = volume(shape[:batch]), volume(rows[batch:-1])
    builder.require_same_volume(rows[:batch], shape[:batch], op)
    sizes, after = static_sizes(shape[batch : batch + depth]), volume(shape[batch + depth :])
    data, indices = builder.buffer(op.data), builder.buffer(op.indices)
    check_indices(op, op.indices, sizes, batch, builder)
    element = builder.element(op.data)
    kernel = KernelBuilder(
        [
            buffer_type([batches, count, after], element),
            buffer_type([batches, *sizes, after], element),
            buffer_type([batches, count, depth], builder.element(op.indices)),
        ]
    )
    out, source, index_buffer = kernel.buffers
    with kernel.loops([batches, count]) as (first, row):
        at = _row(kernel, index_buffer, [first, row], sizes)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [first, *at, inner]), out, [first, row, inner])
    builder.call("gathernd", kernel, [builder.result(op.output)], [data, indices])
    return None


def _row(
    kernel: KernelBuilder, index_buffer: SSAValue, before: Sequence[SSAValue], sizes: Sequence[int]
) -> list[SSAValue]:
    """Load a tuple of indices into axes of `sizes`."""
    return [
        index_in(kernel, kernel.load(index_buffer, [*before, kernel.index(column)]), size)
        for column, size in enumerate(sizes)
    ]


def copied(source: SSAValue, target: SSAValue, count: Size, builder: LoweringBuilder) -> None:
    """Copy all elements of a buffer."""
    sides = [AffineAccess(buffer, [count], [dim(0)]) for buffer in (target, source)]
    copy("copy", [count], sides[0], sides[1], builder)


def _write(
    kernel: KernelBuilder,
    value: SSAValue,
    out: SSAValue,
    at: Sequence[SSAValue],
    element: Attribute,
    how: str,
) -> None:
    """Store an element, or combine it with the stored one."""
    if how == "none":
        kernel.store(value, out, at)
        return
    both = ReductionFunction(how, WRITES[how]).both
    made = both(kernel, element, kernel.read(out, at, element), kernel.to_compute_type(value, element))
    kernel.write(made, out, at, element)


@lowers_data_movement(tensor.ScatterElementsOp, tensor.ScatterOp)
def scatter_elements(op: tensor.ScatterElementsOp | tensor.ScatterOp, builder: LoweringBuilder) -> str | None:
    """Copy the data, then scatter one element per index along `axis`."""
    shape, sizes, element = builder.sizes(op.data), builder.sizes(op.indices), builder.element(op.data)
    how = _how(op)
    if 0 in shape or (how != "none" and not is_computable(element)):
        return EMPTY if 0 in shape else "a reduction of a type that kernels do not compute with"
    axis = op.axis.value.data % len(shape)
    _require_inside(op, sizes, shape, axis, builder)
    builder.require_same_volume(builder.sizes(op.updates), sizes, op)
    data, indices, updates = (builder.buffer(value) for value in (op.data, op.indices, op.updates))
    out = builder.result(op.output)
    copied(data, out, volume(shape), builder)
    check_indices(op, op.indices, [shape[axis]], axis, builder)
    kernel = KernelBuilder(
        [
            buffer_type(shape, element),
            buffer_type(sizes, builder.element(op.indices)),
            buffer_type(sizes, element),
        ]
    )
    target, index_buffer, source = kernel.buffers
    with kernel.loops([iterations_if_nonempty(sizes[0], shape[axis]), *sizes[1:]]) as loops:
        index = index_in(kernel, kernel.load(index_buffer, loops), shape[axis])
        at = [*loops[:axis], index, *loops[axis + 1 :]]
        _write(kernel, kernel.load(source, loops), target, at, element, how)
    builder.call("scatterelements", kernel, [out], [indices, updates])
    return None


@lowers_data_movement(tensor.ScatterNDOp)
def scatter_nd(op: tensor.ScatterNDOp, builder: LoweringBuilder) -> str | None:
    """Copy the data, then scatter slices by tuples of indices."""
    data_shape, rows, element = builder.sizes(op.data), builder.sizes(op.indices), builder.element(op.data)
    how, depth = _how(op), rows[-1]
    if not are_static(data_shape) or not is_static(depth):
        return NO_DYNAMIC_KERNEL
    shape = static_sizes(data_shape)
    if 0 in shape or (how != "none" and not is_computable(element)):
        return EMPTY if 0 in shape else "a reduction of a type that kernels do not compute with"
    count = volume(rows[:-1])
    sizes, after = shape[:depth], prod(shape[depth:])
    builder.require_same_volume(builder.sizes(op.updates), [count, after], op)
    data, indices, updates = (builder.buffer(value) for value in (op.data, op.indices, op.updates))
    out = builder.result(op.output)
    copied(data, out, prod(shape), builder)
    if not depth or count == 0:
        return None
    check_indices(op, op.indices, sizes, 0, builder)
    kernel = KernelBuilder(
        [
            buffer_type([*sizes, after], element),
            buffer_type([count, depth], builder.element(op.indices)),
            buffer_type([count, after], element),
        ]
    )
    target, index_buffer, source = kernel.buffers
    with kernel.loops([count]) as (row,):
        at = _row(kernel, index_buffer, [row], sizes)
        with kernel.loops([after]) as (inner,):
            _write(kernel, kernel.load(source, [row, inner]), target, [*at, inner], element, how)
    builder.call("scatternd", kernel, [out], [indices, updates])
    return None


def _how(op: Operation) -> str:
    """Return the `reduction` attribute, "none" if absent."""
    reduction = op.properties.get("reduction")
    return getattr(reduction, "data", "none")


@lowers(tensor.OneHotOp)
def one_hot(op: tensor.OneHotOp, builder: LoweringBuilder) -> str | None:
    """`values[1]` at the index along a new axis, else `values[0]`."""
    shape, out_shape = builder.shape(op.indices), builder.shape(op.output)
    axis = op.axis.value.data % len(out_shape)
    depth = out_shape[axis]
    before, after = prod(shape[:axis]), prod(shape[axis:])
    index_type, element = builder.element(op.indices), builder.element(op.output)
    kernel = KernelBuilder(
        [
            buffer_type([before, depth, after], element),
            buffer_type([before, after], index_type),
            buffer_type([2], element),
        ]
    )
    out, index_buffer, values = kernel.buffers
    off, on = (kernel.load(values, [kernel.index(index)]) for index in (0, 1))
    with kernel.loops([before, after]) as (first, last):
        number = kernel.read(index_buffer, [first, last], index_type)
        if not is_integer(number.type):
            number = kernel.add(arith.FPToSIOp(number, i64))
        elif number.type != i64:
            extend = arith.ExtUIOp if is_unsigned_element(index_type) else arith.ExtSIOp
            number = kernel.add(extend(number, i64))
        if not is_unsigned_element(index_type):
            is_below = kernel.add(arith.CmpiOp(number, kernel.constant(0, i64), "slt"))
            from_end = kernel.add(arith.AddiOp(number, kernel.constant(depth, i64)))
            number = kernel.add(arith.SelectOp(is_below, from_end, number))
        with kernel.loops([depth]) as (index,):
            own = kernel.add(arith.IndexCastOp(index, i64))
            is_own = kernel.add(arith.CmpiOp(own, number, "eq"))
            kernel.store(kernel.add(arith.SelectOp(is_own, on, off)), out, [first, index, last])
    builder.call(
        "onehot", kernel, [builder.result(op.output)], [builder.buffer(op.indices), builder.buffer(op.values)]
    )
    return None


@lowers_data_movement(tensor.ReverseSequenceOp)
def reverse_sequence(op: tensor.ReverseSequenceOp, builder: LoweringBuilder) -> str | None:
    """Reverse the first `sequence_lens` elements of each sequence."""
    shape, element = builder.sizes(op.input), builder.element(op.input)
    time, batch = op.time_axis.value.data, op.batch_axis.value.data
    if {time, batch} != {0, 1} or 0 in shape:
        return f"time_axis {time} and batch_axis {batch}; 0 and 1 are lowered"
    size, after = shape[time], volume(shape[2:])
    builder.require_same_volume(builder.sizes(op.sequence_lens), [shape[batch]], op)
    check_numbers(op, op.sequence_lens, 0, size, "sequence_lens has", builder)
    kernel = KernelBuilder(
        [
            *[buffer_type([*shape[:2], after], element)] * 2,
            buffer_type([shape[batch]], builder.element(op.sequence_lens)),
        ]
    )
    out, source, lengths = kernel.buffers
    with kernel.loops(shape[:2]) as loops:
        length = kernel.load(lengths, [loops[batch]])
        index = kernel.add(arith.IndexCastOp(loops[time], i64))
        last = kernel.add(arith.SubiOp(length, kernel.constant(1, i64)))
        back = kernel.add(arith.SubiOp(last, index))
        is_inside = kernel.add(arith.CmpiOp(index, length, "slt"))
        at = list(loops)
        at[time] = index_in(kernel, kernel.add(arith.SelectOp(is_inside, back, index)), size, wraps=False)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [*at, inner]), out, [*loops, inner])
    buffers = [builder.buffer(value) for value in (op.input, op.sequence_lens)]
    builder.call("reversesequence", kernel, [builder.result(op.Y)], buffers)
    return None
