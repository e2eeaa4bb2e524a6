"""Operators whose elements follow from their indices: ConstantOfShape, Range, Shape, EyeLike, Trilu."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f64, i64

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops import constant, generator, tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.checks import size_check
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_results import store_count
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume
from xonnc.lowering.onnx_to_krnl.tensor.data_movement import as_stored


@lowers_data_movement(constant.ConstantOfShapeOp)
def constant_of_shape(op: constant.ConstantOfShapeOp, builder: LoweringBuilder) -> str | None:
    """One constant for all elements."""
    elements = None if op.value is None else elements_array(op.value)
    number = 0 if elements is None else as_stored(elements)
    fill(builder.result(op.output), volume(builder.sizes(op.output)), number, builder)
    return None


@lowers(generator.RangeOp)
def range_(op: generator.RangeOp, builder: LoweringBuilder) -> str | None:
    """`start + i delta`; a run whose `limit` implies another length than the static one fails."""
    (count,) = builder.sizes(op.output)
    if not is_static(count):
        return _open_range(op, count, builder)
    # A limit that only repeats the length was dropped: the length follows from the sizes of inputs.
    if builder.has_runtime_checks and op.limit.type != NONE:
        _check_count(op, count, builder)
    _fill_range(op, count, builder)
    return None


def _open_range(op: generator.RangeOp, count: Size, builder: LoweringBuilder) -> str | None:
    """Range of a length that follows from dynamic dimensions."""
    if not is_integer(builder.element(op.output)):
        return "a Range of floats of dynamic length"
    _fill_range(op, count, builder)
    return None


def _fill_range(op: generator.RangeOp, count: Size, builder: LoweringBuilder) -> None:
    inputs: list[Operand] = [(op.start, []), (op.delta, [])]
    kernel = Kernel(builder, "range", [(op.output, [count])], inputs)
    target, *numbers = kernel.buffers
    start, delta = (each[()] for each in numbers)
    with kernel.loops([count]) as (index,):
        target[index] = start + index.to(start.type) * delta
    kernel.call()


@lowers(tensor.ShapeOp)
def shape(op: tensor.ShapeOp, builder: LoweringBuilder) -> str | None:
    """The sizes of the input, from `start` to below `end`."""
    sizes = builder.sizes(op.data)
    end = op.end.value.data if op.end is not None else len(sizes)
    picked = sizes[op.start.value.data : end]
    kernel = Kernel(builder, "shape", [(op.shape, [len(picked)])], [])
    for index, size in enumerate(picked):
        kernel.buffers[0][index] = kernel.count([size])
    kernel.call()
    return None


def _check_count(op: generator.RangeOp, count: int, builder: LoweringBuilder) -> None:
    """Check at run time that `max(ceil((limit - start) / delta), 0)` is the static length."""
    check_buffer = size_check(op, count, "gives {} elements", builder)
    operands: list[Operand] = [(value, []) for value in (op.start, op.limit, op.delta)]
    kernel = Kernel(builder, "rangecount", [check_buffer], operands)
    out, *numbers = kernel.buffers
    start, limit, delta = (each.read_as(f64) for each in numbers)
    store_count(((limit - start) / delta).ceil().maximum(0).to(i64), out)
    kernel.call()


supports_dynamic_shapes(constant.ConstantOfShapeOp, generator.RangeOp, tensor.ShapeOp, tensor.TriluOp)


@lowers(generator.EyeLikeOp)
def eye_like(op: generator.EyeLikeOp, builder: LoweringBuilder) -> str | None:
    """1 on diagonal `k`, else 0."""
    shape, target = builder.shape(op.output), builder.result(op.output)
    fill(target, prod(shape), 0, builder)
    k = op.k.value.data
    first = max(0, -k), max(0, k)
    count = min(shape[0] - first[0], shape[1] - first[1])
    if count <= 0:
        return None
    kernel = Kernel(builder, "eyelike", [target], [])
    with kernel.loops([count]) as (index,):
        kernel.buffers[0][*(index.offset_by(offset) for offset in first)] = 1
    kernel.call()
    return None


@lowers_data_movement(tensor.TriluOp)
def trilu(op: tensor.TriluOp, builder: LoweringBuilder) -> str | None:
    """The upper or lower triangle of each matrix, 0 elsewhere."""
    shape = builder.sizes(op.input)
    sizes = [volume(shape[:-2]), *shape[-2:]]
    shift: list[Operand] = [] if op.k.type == NONE else [(op.k, [])]
    kernel = Kernel(builder, "trilu", [(op.output, sizes)], [(op.input, sizes), *shift])
    out, source, *diagonal = kernel.buffers
    with kernel.loops(sizes) as (matrix, row_index, column_index):
        row, column = row_index.to(i64), column_index.to(i64)
        if diagonal:
            row = row + diagonal[0][()]
        is_kept = column >= row if op.upper.value.data else column <= row
        number = source.load(matrix, row_index, column_index)
        out.store(is_kept.select(number, 0), matrix, row_index, column_index)
    kernel.call()
    return None
