"""Operators that read or write where indices say."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.checks import check_indices, check_numbers, index_in, turns_where
from xonnc.lowering.onnx_to_krnl.element_types import is_computed, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import OPEN, Lowering, lowers, moves, takes_open
from xonnc.lowering.onnx_to_krnl.reductions import LARGEST, PRODUCT, SMALLEST, SUM, Reduction
from xonnc.lowering.onnx_to_krnl.strided_copies import Side, copy, loop
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import are_known, is_known, known, volume

WRITES = {"add": SUM, "max": LARGEST, "min": SMALLEST, "mul": PRODUCT}
"""How what is written is brought together with what is there."""

EMPTY = "an operand is empty"


takes_open(tensor.GatherOp, tensor.GatherElementsOp, tensor.GatherNDOp, tensor.ScatterNDOp)


@moves(tensor.GatherOp)
def gather(op: tensor.GatherOp, to: Lowering) -> str | None:
    """Parts of the data along `axis`, where the indices say."""
    shape, element = to.sizes(op.data), to.element(op.data)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    count = volume(to.sizes(op.indices))
    before, size, after = volume(shape[:axis]), shape[axis], volume(shape[axis + 1 :])
    data, indices = to.buffer(op.data), to.buffer(op.indices)
    check_indices(op, op.indices, [size], axis, to)
    types = [buffer_type([before, count, after], element), buffer_type([before, size, after], element)]
    kernel = Kernel([*types, buffer_type([count], to.element(op.indices))])
    out, source, places = kernel.buffers
    with kernel.loops([before, turns_where(count, size)]) as (first, place):
        index = index_in(kernel, kernel.load(places, [place]), size)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [first, index, inner]), out, [first, place, inner])
    to.call("gather", kernel, [to.result(op.output)], [data, indices])
    return None


@moves(tensor.GatherElementsOp)
def gather_elements(op: tensor.GatherElementsOp, to: Lowering) -> str | None:
    """One element for each index, at its own place but along `axis`."""
    shape, sizes = to.sizes(op.data), to.sizes(op.indices)
    if 0 in shape:
        return EMPTY
    axis = op.axis.value.data % len(shape)
    data, indices = to.buffer(op.data), to.buffer(op.indices)
    check_indices(op, op.indices, [shape[axis]], axis, to)
    element = to.element(op.data)
    kernel = Kernel(
        [
            buffer_type(sizes, element),
            buffer_type(shape, element),
            buffer_type(sizes, to.element(op.indices)),
        ]
    )
    out, source, places = kernel.buffers
    with kernel.loops([turns_where(sizes[0], shape[axis]), *sizes[1:]]) as loops:
        index = index_in(kernel, kernel.load(places, loops), shape[axis])
        kernel.store(kernel.load(source, [*loops[:axis], index, *loops[axis + 1 :]]), out, loops)
    to.call("gatherelements", kernel, [to.result(op.output)], [data, indices])
    return None


@moves(tensor.GatherNDOp)
def gather_nd(op: tensor.GatherNDOp, to: Lowering) -> str | None:
    """What lies where each row of indices says, for each place of the first `batch_dims` axes."""
    shape, rows = to.sizes(op.data), to.sizes(op.indices)
    if 0 in shape or 0 in rows:
        return EMPTY
    batch, depth = op.batch_dims.value.data, rows[-1]
    if not is_known(depth) or not are_known(shape[batch : batch + depth]):
        return OPEN
    batches, count = volume(shape[:batch]), volume(rows[batch:-1])
    sizes, after = known(shape[batch : batch + depth]), volume(shape[batch + depth :])
    data, indices = to.buffer(op.data), to.buffer(op.indices)
    check_indices(op, op.indices, sizes, batch, to)
    element = to.element(op.data)
    kernel = Kernel(
        [
            buffer_type([batches, count, after], element),
            buffer_type([batches, *sizes, after], element),
            buffer_type([batches, count, depth], to.element(op.indices)),
        ]
    )
    out, source, places = kernel.buffers
    with kernel.loops([batches, count]) as (first, row):
        at = _row(kernel, places, [first, row], sizes)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [first, *at, inner]), out, [first, row, inner])
    to.call("gathernd", kernel, [to.result(op.output)], [data, indices])
    return None


def _row(
    kernel: Kernel, places: SSAValue, before: Sequence[SSAValue], sizes: Sequence[int]
) -> list[SSAValue]:
    """A row of indices into axes of `sizes`."""
    return [
        index_in(kernel, kernel.load(places, [*before, kernel.index(column)]), size)
        for column, size in enumerate(sizes)
    ]


def copied(source: SSAValue, target: SSAValue, count: int, to: Lowering) -> None:
    """All elements of a buffer in another."""
    sides = [Side(buffer, [count], [loop(0)]) for buffer in (target, source)]
    copy("copy", [count], sides[0], sides[1], to)


def _write(
    kernel: Kernel, value: SSAValue, out: SSAValue, at: Sequence[SSAValue], element: Attribute, how: str
) -> None:
    """Writes an element as it lies in a buffer, or brings it together with what is there."""
    if how == "none":
        kernel.store(value, out, at)
        return
    both = Reduction(how, WRITES[how]).both
    made = both(kernel, element, kernel.read(out, at, element), kernel.widened(value, element))
    kernel.write(made, out, at, element)


@moves(tensor.ScatterElementsOp, tensor.ScatterOp)
def scatter_elements(op: tensor.ScatterElementsOp | tensor.ScatterOp, to: Lowering) -> str | None:
    """The data with each update written at its own place but along `axis`."""
    shape, sizes, element = to.shape(op.data), to.shape(op.indices), to.element(op.data)
    how = _how(op)
    if 0 in shape or (how != "none" and not is_computed(element)):
        return EMPTY if 0 in shape else "of a type that code does not compute with"
    axis = op.axis.value.data % len(shape)
    data, indices, updates = (to.buffer(value) for value in (op.data, op.indices, op.updates))
    out = to.result(op.output)
    copied(data, out, prod(shape), to)
    check_indices(op, op.indices, [shape[axis]], axis, to)
    kernel = Kernel(
        [
            buffer_type(shape, element),
            buffer_type(sizes, to.element(op.indices)),
            buffer_type(sizes, element),
        ]
    )
    target, places, source = kernel.buffers
    with kernel.loops(sizes) as loops:
        index = index_in(kernel, kernel.load(places, loops), shape[axis])
        at = [*loops[:axis], index, *loops[axis + 1 :]]
        _write(kernel, kernel.load(source, loops), target, at, element, how)
    to.call("scatterelements", kernel, [out], [indices, updates])
    return None


@moves(tensor.ScatterNDOp)
def scatter_nd(op: tensor.ScatterNDOp, to: Lowering) -> str | None:
    """The data with parts written where each row of indices says."""
    whole, rows, element = to.sizes(op.data), to.sizes(op.indices), to.element(op.data)
    how, depth = _how(op), rows[-1]
    if not are_known(whole) or not is_known(depth):
        return OPEN
    shape = known(whole)
    if 0 in shape or (how != "none" and not is_computed(element)):
        return EMPTY if 0 in shape else "of a type that code does not compute with"
    count = volume(rows[:-1])
    sizes, after = shape[:depth], prod(shape[depth:])
    data, indices, updates = (to.buffer(value) for value in (op.data, op.indices, op.updates))
    out = to.result(op.output)
    copied(data, out, prod(shape), to)
    if not depth or count == 0:
        return None
    check_indices(op, op.indices, sizes, 0, to)
    kernel = Kernel(
        [
            buffer_type([*sizes, after], element),
            buffer_type([count, depth], to.element(op.indices)),
            buffer_type([count, after], element),
        ]
    )
    target, places, source = kernel.buffers
    with kernel.loops([count]) as (row,):
        at = _row(kernel, places, [row], sizes)
        with kernel.loops([after]) as (inner,):
            _write(kernel, kernel.load(source, [row, inner]), target, [*at, inner], element, how)
    to.call("scatternd", kernel, [out], [indices, updates])
    return None


def _how(op: Operation) -> str:
    """What an op does with what is there."""
    held = op.properties.get("reduction")
    return getattr(held, "data", "none")


@lowers(tensor.OneHotOp)
def one_hot(op: tensor.OneHotOp, to: Lowering) -> str | None:
    """Along a new axis the second value where the index is, else the first."""
    shape, out_shape = to.shape(op.indices), to.shape(op.output)
    axis = op.axis.value.data % len(out_shape)
    depth = out_shape[axis]
    before, after = prod(shape[:axis]), prod(shape[axis:])
    held, element = to.element(op.indices), to.element(op.output)
    kernel = Kernel(
        [
            buffer_type([before, depth, after], element),
            buffer_type([before, after], held),
            buffer_type([2], element),
        ]
    )
    out, places, values = kernel.buffers
    off, on = (kernel.load(values, [kernel.index(place)]) for place in (0, 1))
    with kernel.loops([before, after]) as (first, last):
        number = kernel.read(places, [first, last], held)
        if not is_integer(number.type):
            number = kernel.add(arith.FPToSIOp(number, i64))
        elif number.type != i64:
            extend = arith.ExtUIOp if is_unsigned_element(held) else arith.ExtSIOp
            number = kernel.add(extend(number, i64))
        if not is_unsigned_element(held):
            is_below = kernel.add(arith.CmpiOp(number, kernel.number(0, i64), "slt"))
            from_end = kernel.add(arith.AddiOp(number, kernel.number(depth, i64)))
            number = kernel.add(arith.SelectOp(is_below, from_end, number))
        with kernel.loops([depth]) as (place,):
            own = kernel.add(arith.IndexCastOp(place, i64))
            is_own = kernel.add(arith.CmpiOp(own, number, "eq"))
            kernel.store(kernel.add(arith.SelectOp(is_own, on, off)), out, [first, place, last])
    to.call("onehot", kernel, [to.result(op.output)], [to.buffer(op.indices), to.buffer(op.values)])
    return None


@moves(tensor.ReverseSequenceOp)
def reverse_sequence(op: tensor.ReverseSequenceOp, to: Lowering) -> str | None:
    """The first elements of each sequence backwards, as many as it is long."""
    shape, element = to.shape(op.input), to.element(op.input)
    time, batch = op.time_axis.value.data, op.batch_axis.value.data
    if {time, batch} != {0, 1} or 0 in shape:
        return "of other axes than the first two"
    size, after = shape[time], prod(shape[2:])
    check_numbers(op, op.sequence_lens, 0, size, "sequence_lens has", to)
    kernel = Kernel(
        [
            *[buffer_type([*shape[:2], after], element)] * 2,
            buffer_type([shape[batch]], to.element(op.sequence_lens)),
        ]
    )
    out, source, lengths = kernel.buffers
    with kernel.loops(shape[:2]) as loops:
        length = kernel.load(lengths, [loops[batch]])
        place = kernel.add(arith.IndexCastOp(loops[time], i64))
        last = kernel.add(arith.SubiOp(length, kernel.number(1, i64)))
        back = kernel.add(arith.SubiOp(last, place))
        is_inside = kernel.add(arith.CmpiOp(place, length, "slt"))
        at = list(loops)
        at[time] = index_in(kernel, kernel.add(arith.SelectOp(is_inside, back, place)), size, wraps=False)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [*at, inner]), out, [*loops, inner])
    buffers = [to.buffer(value) for value in (op.input, op.sequence_lens)]
    to.call("reversesequence", kernel, [to.result(op.Y)], buffers)
    return None


@moves(tensor.TensorScatterOp)
def tensor_scatter(op: tensor.TensorScatterOp, to: Lowering) -> str | None:
    """A cache with an update written along `axis`, in each batch from an index of its own on."""
    shape, sizes, element = to.shape(op.past_cache), to.shape(op.update), to.element(op.past_cache)
    axis = op.axis.value.data % len(shape)
    if 0 in shape or 0 in sizes or axis == 0:
        return EMPTY if axis else "along the batch"
    middle, size, length = prod(shape[1:axis]), shape[axis], sizes[axis]
    after = prod(shape[axis + 1 :])
    if op.write_indices.type != NONE:
        most = size - length if op.mode.data == "linear" else 2**62
        check_numbers(op, op.write_indices, 0, most, "write_indices has", to)
    cache, update = to.buffer(op.past_cache), to.buffer(op.update)
    places = [] if op.write_indices.type == NONE else [to.buffer(op.write_indices)]
    out = to.result(op.present_cache)
    copied(cache, out, prod(shape), to)
    types = [buffer_type([shape[0], middle, each, after], element) for each in (size, length)]
    kernel = Kernel([*types, *[buffer_type([shape[0]], i64)] * len(places)])
    target, source, *starts = kernel.buffers
    with kernel.loops([shape[0], middle, length]) as (batch, each, row):
        number = kernel.add(arith.IndexCastOp(row, i64))
        if starts:
            number = kernel.add(arith.AddiOp(number, kernel.load(starts[0], [batch])))
        if op.mode.data == "circular":
            number = kernel.add(arith.RemSIOp(number, kernel.number(size, i64)))
        at = index_in(kernel, number, size, wraps=False)
        with kernel.loops([after]) as (inner,):
            kernel.store(kernel.load(source, [batch, each, row, inner]), target, [batch, each, at, inner])
    to.call("tensorscatter", kernel, [out], [update, *places])
    return None
