"""
NonZero and Compress: selection of elements with a data-dependent result size (`data_dependent_results.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import tensor
from xonnc.lowering.onnx_to_krnl.builders.checks import index_within
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import DataDependentResults, store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    DATA_DEPENDENT,
    LoweringBuilder,
    lowers,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume


def _listed(source: SSAValue, size: Size, found: DataDependentResults, builder: LoweringBuilder) -> SSAValue:
    """Return a buffer that begins with the indices of nonzero elements."""
    indices = builder.allocate([found.size + 1], i64)
    kernel = Kernel(builder, "nonzero_indices", [indices, found.count_buffer], [(source, [size])])
    out, count_buffer, read = kernel.buffers
    with kernel.reducing([size], [kernel.constant(0, i64)]) as ((index,), (count,), results):
        # Branch-free compaction: each index is written, and overwritten by the next if it is not kept. The
        # extra element at the end takes what follows the last.
        out[index_within(count, found.size + 1, wraps=False)] = index
        x = read[index]
        results.append(count + (x if x.type == i1 else x.differs(0)).to(i64))
    store_count(results[0], count_buffer)
    kernel.call()
    return indices


@lowers(tensor.NonZeroOp)
def non_zero(op: tensor.NonZeroOp, builder: LoweringBuilder) -> str | None:
    """Indices of nonzero elements, one axis per row."""
    shape = builder.sizes(op.X)
    found = DataDependentResults(op, [(op.Y, 1)], volume(shape), builder)
    flat_indices = _listed(op.X, volume(shape), found, builder)
    result = found.result(op.Y, [len(shape), found.size], 1)
    kernel = Kernel(builder, "nonzero", [result], [found.count_buffer, flat_indices])
    out, count_buffer, indices = kernel.buffers
    with kernel.loops([count_buffer[0].minimum(kernel.count([found.size]))]) as (index,):
        rest = indices[index]
        for axis, size in reversed(list(enumerate(shape))):
            count = kernel.count([size])
            out[axis, index] = rest.remainder_unsigned(count)
            rest = rest.divide_unsigned(count)
    kernel.call()
    found.cut()
    return None


@lowers_data_movement(tensor.CompressOp)
def compress(op: tensor.CompressOp, builder: LoweringBuilder) -> str | None:
    """Elements along `axis` (or flattened) where the condition holds."""
    shape = builder.sizes(op.input)
    axis = 0 if op.axis is None else op.axis.value.data % len(shape)
    rows = AxisSplit(1, volume(shape), 1) if op.axis is None else AxisSplit.of(shape, axis)
    length = volume(builder.sizes(op.condition))
    if 0 in shape:
        return "an operand is empty"
    if is_static(length) and is_static(rows.size) and length > rows.size:
        return "a condition longer than the axis"
    builder.require_at_most(length, rows.size, f"{describe(op)}: the condition is longer than the axis")
    found = DataDependentResults(op, [(op.output, axis)], length, builder)
    flat_indices = _listed(op.condition, length, found, builder)
    sizes = [found.size] if op.axis is None else [*shape[:axis], found.size, *shape[axis + 1 :]]
    result = found.result(op.output, sizes, axis), [rows.before, found.size, rows.after]
    inputs = [(op.input, rows.sizes), found.count_buffer, flat_indices]
    kernel = Kernel(builder, "compress", [result], inputs)
    out, source, count_buffer, indices = kernel.buffers
    with (
        kernel.loops([rows.before]) as (before,),
        kernel.loops([count_buffer[0].minimum(kernel.count([found.size]))]) as (index,),
    ):
        position = index_within(indices[index], rows.size, wraps=False)
        with kernel.loops([rows.after]) as (after,):
            out.copy((before, index, after), source, (before, position, after))
    kernel.call()
    found.cut()
    return None


DATA_DEPENDENT.update((tensor.CompressOp, tensor.NonZeroOp))
supports_dynamic_shapes(tensor.CompressOp, tensor.NonZeroOp)
