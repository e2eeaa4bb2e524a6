"""Operators whose elements follow from where they are."""

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
from xonnc.lowering.onnx_to_krnl.checks import declared
from xonnc.lowering.onnx_to_krnl.data_movement import as_stored
from xonnc.lowering.onnx_to_krnl.element_types import is_unsigned_element, stored, wide
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering, lowers, moves, takes_open
from xonnc.lowering.onnx_to_krnl.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_known, volume


@moves(constant.ConstantOfShapeOp)
def constant_of_shape(op: constant.ConstantOfShapeOp, to: Lowering) -> str | None:
    """One number everywhere."""
    held = None if op.value is None else elements_array(op.value)
    number = 0 if held is None else as_stored(held)
    fill(to.result(op.output), volume(to.sizes(op.output)), number, to)
    return None


@lowers(generator.RangeOp)
def range_(op: generator.RangeOp, to: Lowering) -> str | None:
    """`start + i delta`; a run whose limit asks for another count fails."""
    (count,), element = to.sizes(op.output), to.element(op.output)
    if not is_known(count):
        return _open_range(op, count, to)
    operands = [to.buffer(value) for value in (op.start, op.limit, op.delta)]
    if to.is_checked:
        _check_count(op, operands, count, element, to)
    _fill_range(op, count, to)
    return None


def _open_range(op: generator.RangeOp, count: Size, to: Lowering) -> str | None:
    """As many as follow from sizes of the inputs: limit and all."""
    if not is_integer(to.element(op.output)):
        return "floats, of which only a run tells how many"
    _fill_range(op, count, to)
    return None


def _fill_range(op: generator.RangeOp, count: Size, to: Lowering) -> None:
    element = to.element(op.output)
    kernel = Kernel([buffer_type([count], element), buffer_type([], element), buffer_type([], element)])
    target, *numbers = kernel.buffers
    start, delta = (kernel.read(each, [], element) for each in numbers)
    with kernel.loops([count]) as (index,):
        place = kernel.add(arith.IndexCastOp(index, i64))
        if is_integer(start.type):
            turn = place if start.type == i64 else kernel.add(arith.TruncIOp(place, start.type))
            made = kernel.add(arith.AddiOp(start, kernel.add(arith.MuliOp(turn, delta))))
        else:
            turn = kernel.add(arith.SIToFPOp(place, f64 if element == f64 else f32))
            made = kernel.add(arith.AddfOp(start, kernel.add(arith.MulfOp(turn, delta))))
        kernel.write(made, target, [index], element)
    buffers = [to.buffer(value) for value in (op.start, op.delta)]
    to.call("range", kernel, [to.result(op.output)], buffers)


@lowers(tensor.ShapeOp)
def shape(op: tensor.ShapeOp, to: Lowering) -> str | None:
    """The sizes themselves."""
    sizes = to.sizes(op.data)
    end = op.end.value.data if op.end is not None else len(sizes)
    picked = sizes[op.start.value.data : end]
    kernel = Kernel([buffer_type([len(picked)], i64)])
    for place, size in enumerate(picked):
        kernel.store(kernel.count([size], i64), kernel.buffers[0], [kernel.index(place)])
    to.call("shape", kernel, [to.result(op.shape)], [])
    return None


def _check_count(
    op: generator.RangeOp, operands: Sequence[SSAValue], count: int, element: Attribute, to: Lowering
) -> None:
    """Has a run fail whose limit asks for another count."""
    cell = declared(op, count, "gives {} elements", to)
    kernel = Kernel([buffer_type([2], i64), *[buffer_type([], element)] * 3])
    out, *numbers = kernel.buffers
    start, limit, delta = (_double(kernel, kernel.read(each, [], element), element) for each in numbers)
    steps = kernel.add(arith.DivfOp(kernel.add(arith.SubfOp(limit, start)), delta))
    whole = kernel.add(arith.MaximumfOp(kernel.add(math.CeilOp(steps)), kernel.number(0, f64)))
    for place in range(2):
        kernel.store(kernel.add(arith.FPToSIOp(whole, i64)), out, [kernel.index(place)])
    to.call("rangecount", kernel, [cell], operands)


takes_open(constant.ConstantOfShapeOp, generator.RangeOp, tensor.ShapeOp, tensor.TriluOp)


def _double(kernel: Kernel, number: SSAValue, element: Attribute) -> SSAValue:
    if number.type == f64:
        return number
    if not is_integer(number.type):
        return kernel.add(arith.ExtFOp(number, f64))
    if number.type != i64:
        number = kernel.add((arith.ExtUIOp if is_unsigned_element(element) else arith.ExtSIOp)(number, i64))
    return kernel.add(arith.SIToFPOp(number, f64))


@lowers(generator.EyeLikeOp)
def eye_like(op: generator.EyeLikeOp, to: Lowering) -> str | None:
    """1 on a diagonal, else 0."""
    shape, element = to.shape(op.output), to.element(op.output)
    target = to.result(op.output)
    fill(target, prod(shape), 0, to)
    k = op.k.value.data
    first = max(0, -k), max(0, k)
    count = min(shape[0] - first[0], shape[1] - first[1])
    if count <= 0:
        return None
    kernel = Kernel([buffer_type(shape, element)])
    with kernel.loops([count]) as (index,):
        place = [kernel.scaled(index, 1, offset) for offset in first]
        kernel.write(kernel.number(1, wide(element)), kernel.buffers[0], place, element)
    to.call("eyelike", kernel, [target], [])
    return None


@moves(tensor.TriluOp)
def trilu(op: tensor.TriluOp, to: Lowering) -> str | None:
    """One side of a diagonal of each matrix, 0 on the other."""
    shape, element = to.sizes(op.input), to.element(op.input)
    sizes = [volume(shape[:-2]), *shape[-2:]]
    shift = [] if op.k.type == NONE else [to.buffer(op.k)]
    kernel = Kernel([*[buffer_type(sizes, element)] * 2, *[buffer_type([], i64)] * len(shift)])
    out, source, *diagonal = kernel.buffers
    zero = kernel.number(0, stored(element))
    with kernel.loops(sizes) as loops:
        row, column = (kernel.add(arith.IndexCastOp(each, i64)) for each in loops[1:])
        if diagonal:
            row = kernel.add(arith.AddiOp(row, kernel.load(diagonal[0], [])))
        predicate = "sge" if op.upper.value.data else "sle"
        is_kept = kernel.add(arith.CmpiOp(column, row, predicate))
        kernel.store(kernel.add(arith.SelectOp(is_kept, kernel.load(source, loops), zero)), out, loops)
    to.call("trilu", kernel, [to.result(op.output)], [to.buffer(op.input), *shift])
    return None
