"""Gather and scatter operators, OneHot and ReverseSequence."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.builders.checks import (
    check_indices,
    check_numbers,
    index_within,
    iterations_if_nonempty,
)
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, copy, dim
from xonnc.lowering.onnx_to_krnl.math.reductions import MAXIMUM, MINIMUM, PRODUCT, SUM, ReductionFunction
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_computable, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

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
    shape = builder.sizes(op.data)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    count = volume(builder.sizes(op.indices))
    before, size, after = volume(shape[:axis]), shape[axis], volume(shape[axis + 1 :])
    check_indices(op, op.indices, [size], axis, builder)
    inputs = [(op.data, [before, size, after]), (op.indices, [count])]
    kernel = Kernel(builder, "gather", [(op.output, [before, count, after])], inputs)
    out, source, indices = kernel.buffers
    with kernel.loops([before, iterations_if_nonempty(count, size)]) as (first, position):
        index = index_within(indices[position], size)
        with kernel.loops([after]) as (inner,):
            out.copy((first, position, inner), source, (first, index, inner))
    kernel.call()
    return None


@lowers_data_movement(tensor.GatherElementsOp)
def gather_elements(op: tensor.GatherElementsOp, builder: LoweringBuilder) -> str | None:
    """Gather one element per index along `axis`."""
    shape, sizes = builder.sizes(op.data), builder.sizes(op.indices)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    _require_inside(op, sizes, shape, axis, builder)
    check_indices(op, op.indices, [shape[axis]], axis, builder)
    kernel = Kernel(builder, "gatherelements", [(op.output, sizes)], [op.data, op.indices])
    out, source, indices = kernel.buffers
    with kernel.loops([iterations_if_nonempty(sizes[0], shape[axis]), *sizes[1:]]) as loops:
        index = index_within(indices[*loops], shape[axis])
        out.copy((*loops,), source, (*loops[:axis], index, *loops[axis + 1 :]))
    kernel.call()
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
    if not is_static(depth):
        return NO_DYNAMIC_KERNEL
    batches, count = volume(shape[:batch]), volume(rows[batch:-1])
    builder.require_same_volume(rows[:batch], shape[:batch], op)
    sizes, after = shape[batch : batch + depth], volume(shape[batch + depth :])
    check_indices(op, op.indices, sizes, batch, builder)
    readable = iterations_if_nonempty(count, volume(sizes))
    inputs = [(op.data, [batches, *sizes, after]), (op.indices, [batches, count, depth])]
    kernel = Kernel(builder, "gathernd", [(op.output, [batches, count, after])], inputs)
    out, source, indices = kernel.buffers
    with kernel.loops([batches, readable]) as (first, row):
        at = _row(indices, [first, row], sizes)
        with kernel.loops([after]) as (inner,):
            out.copy((first, row, inner), source, (first, *at, inner))
    kernel.call()
    return None


def _row(indices: Buffer, before: Sequence[Scalar], sizes: Sequence[Size]) -> list[Scalar]:
    """Load a tuple of indices into axes of `sizes`."""
    return [index_within(indices[*before, column], size) for column, size in enumerate(sizes)]


def copied(source: SSAValue, target: SSAValue, count: Size, builder: LoweringBuilder) -> None:
    """Copy all elements of a buffer."""
    sides = [AffineAccess(buffer, [count], [dim(0)]) for buffer in (target, source)]
    copy("copy", [count], sides[0], sides[1], builder)


def _write(
    target: Buffer, at: Sequence[Scalar], source: Buffer, source_indices: Sequence[Scalar], how: str
) -> None:
    """Store an element, or combine it with the stored one."""
    if how == "none":
        target.copy((*at,), source, (*source_indices,))
        return
    number = source[*source_indices]
    target[*at] = ReductionFunction(how, WRITES[how]).both(target.element, target[*at], number)


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
    data = builder.buffer(op.data)
    out = builder.result(op.output)
    copied(data, out, volume(shape), builder)
    check_indices(op, op.indices, [shape[axis]], axis, builder)
    inputs = [op.indices, (op.updates, sizes)]
    kernel = Kernel(builder, "scatterelements", [(out, shape)], inputs)
    target, indices, source = kernel.buffers
    with kernel.loops([iterations_if_nonempty(sizes[0], shape[axis]), *sizes[1:]]) as loops:
        index = index_within(indices[*loops], shape[axis])
        _write(target, [*loops[:axis], index, *loops[axis + 1 :]], source, loops, how)
    kernel.call()
    return None


@lowers_data_movement(tensor.ScatterNDOp)
def scatter_nd(op: tensor.ScatterNDOp, builder: LoweringBuilder) -> str | None:
    """Copy the data, then scatter slices by tuples of indices."""
    shape, rows, element = builder.sizes(op.data), builder.sizes(op.indices), builder.element(op.data)
    how, depth = _how(op), rows[-1]
    if not is_static(depth):
        return NO_DYNAMIC_KERNEL
    if 0 in shape or (how != "none" and not is_computable(element)):
        return EMPTY if 0 in shape else "a reduction of a type that kernels do not compute with"
    count = volume(rows[:-1])
    sizes, after = shape[:depth], volume(shape[depth:])
    builder.require_same_volume(builder.sizes(op.updates), [count, after], op)
    data = builder.buffer(op.data)
    out = builder.result(op.output)
    copied(data, out, volume(shape), builder)
    if not depth or count == 0:
        return None
    check_indices(op, op.indices, sizes, 0, builder)
    inputs = [(op.indices, [count, depth]), (op.updates, [count, after])]
    kernel = Kernel(builder, "scatternd", [(out, [*sizes, after])], inputs)
    target, indices, source = kernel.buffers
    with kernel.loops([iterations_if_nonempty(count, volume(sizes))]) as (row,):
        at = _row(indices, [row], sizes)
        with kernel.loops([after]) as (inner,):
            _write(target, [*at, inner], source, [row, inner], how)
    kernel.call()
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
    inputs = [(op.indices, [before, after]), (op.values, [2])]
    kernel = Kernel(builder, "onehot", [(op.output, [before, depth, after])], inputs)
    out, indices, values = kernel.buffers
    off, on = (values.load(index) for index in (0, 1))
    with kernel.loops([before, after]) as (first, last):
        number = indices.read_as(i64, first, last)
        if not is_unsigned_element(indices.element):
            number = (number < 0).select(number + depth, number)
        with kernel.loops([depth]) as (index,):
            out.store(index.to(i64).equals(number).select(on, off), first, index, last)
    kernel.call()
    return None


@lowers_data_movement(tensor.ReverseSequenceOp)
def reverse_sequence(op: tensor.ReverseSequenceOp, builder: LoweringBuilder) -> str | None:
    """Reverse the first `sequence_lens` elements of each sequence."""
    shape = builder.sizes(op.input)
    time, batch = op.time_axis.value.data, op.batch_axis.value.data
    if {time, batch} != {0, 1} or 0 in shape:
        return f"time_axis {time} and batch_axis {batch}; 0 and 1 are lowered"
    size, after = shape[time], volume(shape[2:])
    builder.require_same_volume(builder.sizes(op.sequence_lens), [shape[batch]], op)
    check_numbers(op, op.sequence_lens, 0, size, "sequence_lens has", builder)
    sizes = [*shape[:2], after]
    inputs = [(op.input, sizes), (op.sequence_lens, [shape[batch]])]
    kernel = Kernel(builder, "reversesequence", [(op.Y, sizes)], inputs)
    out, source, lengths = kernel.buffers
    with kernel.loops(shape[:2]) as loops:
        length, index = lengths[loops[batch]], loops[time].to(i64)
        back = length - 1 - index
        at = list(loops)
        at[time] = index_within((index < length).select(back, index), size, wraps=False)
        with kernel.loops([after]) as (inner,):
            out.copy((*loops, inner), source, (*at, inner))
    kernel.call()
    return None
