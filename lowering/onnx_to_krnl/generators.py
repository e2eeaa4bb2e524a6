"""Operators whose elements follow from their indices: ConstantOfShape, Range, Shape, EyeLike, Trilu."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops import constant, generator, tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.checks import size_check
from xonnc.lowering.onnx_to_krnl.data_movement import as_stored
from xonnc.lowering.onnx_to_krnl.element_types import compute_type, is_unsigned_element, storage_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import (
    LoweringBuilder,
    lowers,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume


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
    (count,), element = builder.sizes(op.output), builder.element(op.output)
    if not is_static(count):
        return _open_range(op, count, builder)
    # A limit that only repeats the length was dropped: the length follows from the sizes of inputs.
    if builder.has_runtime_checks and op.limit.type != NONE:
        operands = [builder.buffer(value) for value in (op.start, op.limit, op.delta)]
        _check_count(op, operands, count, element, builder)
    _fill_range(op, count, builder)
    return None


def _open_range(op: generator.RangeOp, count: Size, builder: LoweringBuilder) -> str | None:
    """Range of a length that follows from dynamic dimensions."""
    if not is_integer(builder.element(op.output)):
        return "a Range of floats of dynamic length"
    _fill_range(op, count, builder)
    return None


def _fill_range(op: generator.RangeOp, count: Size, builder: LoweringBuilder) -> None:
    element = builder.element(op.output)
    kernel = KernelBuilder(
        [buffer_type([count], element), buffer_type([], element), buffer_type([], element)]
    )
    target, *numbers = kernel.buffers
    start, delta = (kernel.read(each, [], element) for each in numbers)
    with kernel.loops([count]) as (index,):
        position = kernel.add(arith.IndexCastOp(index, i64))
        if is_integer(start.type):
            multiple = position if start.type == i64 else kernel.add(arith.TruncIOp(position, start.type))
            made = kernel.add(arith.AddiOp(start, kernel.add(arith.MuliOp(multiple, delta))))
        else:
            multiple = kernel.add(arith.SIToFPOp(position, f64 if element == f64 else f32))
            made = kernel.add(arith.AddfOp(start, kernel.add(arith.MulfOp(multiple, delta))))
        kernel.write(made, target, [index], element)
    buffers = [builder.buffer(value) for value in (op.start, op.delta)]
    builder.call("range", kernel, [builder.result(op.output)], buffers)


@lowers(tensor.ShapeOp)
def shape(op: tensor.ShapeOp, builder: LoweringBuilder) -> str | None:
    """The sizes of the input, from `start` to below `end`."""
    sizes = builder.sizes(op.data)
    end = op.end.value.data if op.end is not None else len(sizes)
    picked = sizes[op.start.value.data : end]
    kernel = KernelBuilder([buffer_type([len(picked)], i64)])
    for index, size in enumerate(picked):
        kernel.store(kernel.count([size], i64), kernel.buffers[0], [kernel.index(index)])
    builder.call("shape", kernel, [builder.result(op.shape)], [])
    return None


def _check_count(
    op: generator.RangeOp,
    operands: Sequence[SSAValue],
    count: int,
    element: Attribute,
    builder: LoweringBuilder,
) -> None:
    """Check at run time that `max(ceil((limit - start) / delta), 0)` is the static length."""
    check_buffer = size_check(op, count, "gives {} elements", builder)
    kernel = KernelBuilder([buffer_type([2], i64), *[buffer_type([], element)] * 3])
    out, *numbers = kernel.buffers
    start, limit, delta = (_double(kernel, kernel.read(each, [], element), element) for each in numbers)
    steps = kernel.add(arith.DivfOp(kernel.add(arith.SubfOp(limit, start)), delta))
    rounded = kernel.add(arith.MaximumfOp(kernel.add(math.CeilOp(steps)), kernel.constant(0, f64)))
    for index in range(2):
        kernel.store(kernel.add(arith.FPToSIOp(rounded, i64)), out, [kernel.index(index)])
    builder.call("rangecount", kernel, [check_buffer], operands)


supports_dynamic_shapes(constant.ConstantOfShapeOp, generator.RangeOp, tensor.ShapeOp, tensor.TriluOp)


def _double(kernel: KernelBuilder, number: SSAValue, element: Attribute) -> SSAValue:
    if number.type == f64:
        return number
    if not is_integer(number.type):
        return kernel.add(arith.ExtFOp(number, f64))
    if number.type != i64:
        number = kernel.add((arith.ExtUIOp if is_unsigned_element(element) else arith.ExtSIOp)(number, i64))
    return kernel.add(arith.SIToFPOp(number, f64))


@lowers(generator.EyeLikeOp)
def eye_like(op: generator.EyeLikeOp, builder: LoweringBuilder) -> str | None:
    """1 on diagonal `k`, else 0."""
    shape, element = builder.shape(op.output), builder.element(op.output)
    target = builder.result(op.output)
    fill(target, prod(shape), 0, builder)
    k = op.k.value.data
    first = max(0, -k), max(0, k)
    count = min(shape[0] - first[0], shape[1] - first[1])
    if count <= 0:
        return None
    kernel = KernelBuilder([buffer_type(shape, element)])
    with kernel.loops([count]) as (index,):
        indices = [kernel.affine(index, 1, offset) for offset in first]
        kernel.write(kernel.constant(1, compute_type(element)), kernel.buffers[0], indices, element)
    builder.call("eyelike", kernel, [target], [])
    return None


@lowers_data_movement(tensor.TriluOp)
def trilu(op: tensor.TriluOp, builder: LoweringBuilder) -> str | None:
    """The upper or lower triangle of each matrix, 0 elsewhere."""
    shape, element = builder.sizes(op.input), builder.element(op.input)
    sizes = [volume(shape[:-2]), *shape[-2:]]
    shift = [] if op.k.type == NONE else [builder.buffer(op.k)]
    kernel = KernelBuilder([*[buffer_type(sizes, element)] * 2, *[buffer_type([], i64)] * len(shift)])
    out, source, *diagonal = kernel.buffers
    zero = kernel.constant(0, storage_type(element))
    with kernel.loops(sizes) as loops:
        row, column = (kernel.add(arith.IndexCastOp(each, i64)) for each in loops[1:])
        if diagonal:
            row = kernel.add(arith.AddiOp(row, kernel.load(diagonal[0], [])))
        predicate = "sge" if op.upper.value.data else "sle"
        is_kept = kernel.add(arith.CmpiOp(column, row, predicate))
        kernel.store(kernel.add(arith.SelectOp(is_kept, kernel.load(source, loops), zero)), out, loops)
    builder.call("trilu", kernel, [builder.result(op.output)], [builder.buffer(op.input), *shift])
    return None
