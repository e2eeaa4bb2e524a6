"""Operators that scan one axis in order: ArgMax, ArgMin, Hardmax, CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import reduction
from xonnc.lowering.onnx_to_krnl.element_types import compute_type, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.reductions import PRODUCT, SUM, ReductionFunction
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, static_sizes, volume


def split_at_axis(shape: Sequence[Size], axis: int) -> list[Size]:
    """
    Return a shape as [outer, axis, inner]: products of the sizes before and after an axis.

    A scalar has an axis of size 1.
    """
    axis = axis % len(shape) if shape else 0
    return [volume(shape[:axis]), shape[axis] if shape else 1, volume(shape[axis + 1 :])]


@dataclass(frozen=True)
class AxisSplit:
    """A static shape as the product of sizes before an axis, its size, and the product of those after it."""

    before: int
    size: int
    after: int

    @classmethod
    def of(cls, shape: Sequence[int], axis: int) -> AxisSplit:
        """Split `shape` at `axis`."""
        return cls(*static_sizes(split_at_axis(shape, axis)))

    @property
    def sizes(self) -> list[int]:
        """The three sizes, as a shape."""
        return [self.before, self.size, self.after]


def is_before(kernel: KernelBuilder, element: Attribute, largest: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    """Whether `a` sorts before `b`: it is larger (or smaller), or it is NaN and `b` is not."""
    if is_integer(a.type):
        sign = "u" if is_unsigned_element(element) or a.type.width.data == 1 else "s"
        return kernel.add(arith.CmpiOp(a, b, f"{sign}{'gt' if largest else 'lt'}"))
    beats = kernel.add(arith.CmpfOp(a, b, "ogt" if largest else "olt"))
    is_none = kernel.add(arith.CmpfOp(a, a, "uno"))
    is_number = kernel.add(arith.CmpfOp(b, b, "ord"))
    return kernel.add(arith.OrIOp(beats, kernel.add(arith.AndIOp(is_none, is_number))))


def _best(
    kernel: KernelBuilder,
    source: SSAValue,
    outer: Sequence[SSAValue],
    size: Size,
    element: Attribute,
    how: str,
) -> SSAValue:
    """
    Return the index of the largest or smallest element along the axis.

    Ties go to the first index, or to the last if `how` contains "last". NaN counts as an extreme.
    """
    before, after = outer
    largest = "largest" in how
    first = kernel.read(source, [before, kernel.index(0), after], element)
    with kernel.reducing([size], [first, kernel.constant(0, i64)]) as ((index,), accumulators, results):
        x = kernel.read(source, [before, index, after], element)
        if "last" in how:
            found = kernel.add(
                arith.XOrIOp(is_before(kernel, element, largest, accumulators[0], x), kernel.constant(1, i1))
            )
        else:
            found = is_before(kernel, element, largest, x, accumulators[0])
        position = kernel.add(arith.IndexCastOp(index, i64))
        results.append(kernel.add(arith.SelectOp(found, x, accumulators[0])))
        results.append(kernel.add(arith.SelectOp(found, position, accumulators[1])))
    return results[1]


supports_dynamic_shapes(reduction.ArgMaxOp, reduction.ArgMinOp, onnx.CumSumOp, onnx.CumProdOp)


@lowers(reduction.ArgMaxOp, reduction.ArgMinOp)
def arg_extreme(op: reduction.ArgMaxOp | reduction.ArgMinOp, builder: LoweringBuilder) -> str | None:
    """Index of the largest or smallest element along `axis`."""
    sizes, element = split_at_axis(builder.sizes(op.data), op.axis.value.data), builder.element(op.data)
    kernel = KernelBuilder([buffer_type(sizes[::2], i64), buffer_type(sizes, element)])
    out, source = kernel.buffers
    how = "largest" if isinstance(op, reduction.ArgMaxOp) else "smallest"
    if op.select_last_index.value.data:
        how = f"last {how}"
    with kernel.loops(sizes[::2]) as outer:
        kernel.store(_best(kernel, source, outer, sizes[1], element, how), out, outer)
    name = "argmax" if isinstance(op, reduction.ArgMaxOp) else "argmin"
    builder.call(name, kernel, [builder.result(op.reduced)], [builder.buffer(op.data)])
    return None


@lowers(onnx.HardmaxOp, onnx.HardmaxV11Op)
def hardmax(op: onnx.HardmaxOp | onnx.HardmaxV11Op, builder: LoweringBuilder) -> str | None:
    """
    1 at the first maximum along an axis, else 0. Before opset 13, all axes from `axis` on are one.

    NaN counts as the maximum, as in ArgMax.
    """
    element, shape = builder.element(op.input), builder.shape(op.input)
    kind = compute_type(element)
    if kind not in (f32, f64) or not shape:
        return "the input is a scalar or not of floats"
    before, size, after = split_at_axis(shape, op.axis.value.data)
    sizes = [before, size * after, 1] if isinstance(op, onnx.HardmaxV11Op) else [before, size, after]
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2)
    out, source = kernel.buffers
    with kernel.loops(sizes[::2]) as outer:
        found = _best(kernel, source, outer, sizes[1], element, "largest")
        with kernel.loops([sizes[1]]) as (index,):
            is_found = Scalar(kernel, index).to(i64).equals(Scalar(kernel, found))
            kernel.write(is_found.to(kind).value, out, [outer[0], index, outer[1]], element)
    builder.call("hardmax", kernel, [builder.result(op.output)], [builder.buffer(op.input)])
    return None


@lowers(onnx.CumSumOp, onnx.CumProdOp)
def running(op: onnx.CumSumOp | onnx.CumProdOp, builder: LoweringBuilder) -> str | None:
    """
    Cumulative sum or product along `axis`; `exclusive` leaves out the element itself, `reverse` scans
    backwards.
    """
    axis = builder.constant(op.axis)
    if axis is None:
        return "the axis is not a constant"
    sizes = split_at_axis(builder.sizes(op.x), int(np.asarray(axis, np.int64).reshape(-1)[0]))
    element = builder.element(op.x)
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2)
    out, source = kernel.buffers
    name = "cumsum" if isinstance(op, onnx.CumSumOp) else "cumprod"
    how = ReductionFunction(name, SUM if isinstance(op, onnx.CumSumOp) else PRODUCT)
    with kernel.loops(sizes[::2]) as (before, after):
        with kernel.reducing([sizes[1]], [how.start(kernel, element)]) as ((index,), accumulators, results):
            if op.reverse.value.data:
                index = kernel.add(arith.SubiOp(kernel.size(sizes[1] - 1), index))
            indices = [before, index, after]
            total = how.both(kernel, element, accumulators[0], kernel.read(source, indices, element))
            kernel.write(accumulators[0] if op.exclusive.value.data else total, out, indices, element)
            results.append(total)
    builder.call(name, kernel, [builder.result(op.y)], [builder.buffer(op.x)])
    return None
