"""
NonZero and Compress: selection of elements with a data-dependent result size (`data_dependent_results.py`).
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.checks import index_in
from xonnc.lowering.onnx_to_krnl.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import (
    DATA_DEPENDENT,
    LoweringBuilder,
    lowers,
    lowers_data_movement,
)
from xonnc.lowering.onnx_to_krnl.scalars import INDEX, Scalar


def _listed(
    source: SSAValue, element: Attribute, size: int, found: DataDependentResults, builder: LoweringBuilder
) -> SSAValue:
    """Return a buffer that begins with the indices of nonzero elements."""
    indices = builder.allocate([found.size + 1], i64)
    kernel = KernelBuilder(
        [buffer_type([found.size + 1], i64), buffer_type([2], i64), buffer_type([size], element)]
    )
    out, count_buffer, read = kernel.buffers
    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((index,), accumulators, results):
        # Branch-free compaction: each index is written, and overwritten by the next if it is not kept. The
        # extra element at the end takes what follows the last.
        at = index_in(kernel, accumulators[0], found.size + 1, wraps=False)
        kernel.store(kernel.add(arith.IndexCastOp(index, i64)), out, [at])
        is_kept = _is_not_zero(kernel, kernel.read(read, [index], element))
        results.append(kernel.add(arith.AddiOp(accumulators[0], kernel.add(arith.ExtUIOp(is_kept, i64)))))
    store_count(kernel, results[0], count_buffer)
    builder.call("nonzero_indices", kernel, [indices, found.count_buffer], [source])
    return indices


def _is_not_zero(kernel: KernelBuilder, number: SSAValue) -> SSAValue:
    if number.type == i1:
        return number
    zero = kernel.constant(0, number.type)
    if is_integer(number.type):
        return kernel.add(arith.CmpiOp(number, zero, "ne"))
    return kernel.add(arith.CmpfOp(number, zero, "une"))


@lowers(tensor.NonZeroOp)
def non_zero(op: tensor.NonZeroOp, builder: LoweringBuilder) -> str | None:
    """Indices of nonzero elements, one axis per row."""
    shape = builder.shape(op.X)
    source = builder.buffer(op.X)
    found = DataDependentResults(op, [(op.Y, 1)], prod(shape), builder)
    flat_indices = _listed(source, builder.element(op.X), prod(shape), found, builder)
    count = found.size
    sizes = [len(shape), count]
    kernel = KernelBuilder([buffer_type(sizes, i64), buffer_type([2], i64), buffer_type([count + 1], i64)])
    out, count_buffer, index_buffer = kernel.buffers
    with kernel.loops([_as_many(kernel, count_buffer, count)]) as (index,):
        rest = kernel.load(index_buffer, [index])
        for axis, size in reversed(list(enumerate(shape))):
            number = kernel.constant(size, i64)
            kernel.store(kernel.add(arith.RemUIOp(rest, number)), out, [kernel.index(axis), index])
            rest = kernel.add(arith.DivUIOp(rest, number))
    builder.call("nonzero", kernel, [found.result(op.Y, sizes, 1)], [found.count_buffer, flat_indices])
    found.cut()
    return None


def _as_many(kernel: KernelBuilder, count_buffer: SSAValue, most: int) -> SSAValue:
    """Return the data-dependent count as an index, at most the capacity."""
    count = Scalar(kernel, kernel.load(count_buffer, [kernel.index(0)]))
    return count.minimum(most).to(INDEX).value


@lowers_data_movement(tensor.CompressOp)
def compress(op: tensor.CompressOp, builder: LoweringBuilder) -> str | None:
    """Elements along `axis` (or flattened) where the condition holds."""
    shape, element = builder.shape(op.input), builder.element(op.input)
    axis = 0 if op.axis is None else op.axis.value.data % len(shape)
    rows = AxisSplit(1, prod(shape), 1) if op.axis is None else AxisSplit.of(shape, axis)
    (length,) = builder.shape(op.condition)
    if 0 in shape or length > rows.size:
        return "an operand is empty" if op.axis is None or 0 in shape else "a condition longer than the axis"
    source = builder.buffer(op.input)
    found = DataDependentResults(op, [(op.output, axis)], length, builder)
    flat_indices = _listed(
        builder.buffer(op.condition), builder.element(op.condition), length, found, builder
    )
    count = found.size
    kernel = KernelBuilder(
        [
            buffer_type([rows.before, count, rows.after], element),
            buffer_type(rows.sizes, element),
            buffer_type([2], i64),
            buffer_type([count + 1], i64),
        ]
    )
    out, read, count_buffer, index_buffer = kernel.buffers
    with (
        kernel.loops([rows.before]) as (before,),
        kernel.loops([_as_many(kernel, count_buffer, count)]) as (index,),
    ):
        position = index_in(kernel, kernel.load(index_buffer, [index]), rows.size, wraps=False)
        with kernel.loops([rows.after]) as (after,):
            kernel.store(kernel.load(read, [before, position, after]), out, [before, index, after])
    sizes = [count] if op.axis is None else [*shape[:axis], count, *shape[axis + 1 :]]
    builder.call(
        "compress", kernel, [found.result(op.output, sizes, axis)], [source, found.count_buffer, flat_indices]
    )
    found.cut()
    return None


DATA_DEPENDENT.update((tensor.CompressOp, tensor.NonZeroOp))
