"""Operators that scan one axis in order: ArgMax, ArgMin, Hardmax, CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import reduction
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.reductions import PRODUCT, SUM, ReductionFunction
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, volume


def split_at_axis(shape: Sequence[Size], axis: int) -> list[Size]:
    """
    Return a shape as [outer, axis, inner]: products of the sizes before and after an axis.

    A scalar has an axis of size 1.
    """
    axis = axis % len(shape) if shape else 0
    return [volume(shape[:axis]), shape[axis] if shape else 1, volume(shape[axis + 1 :])]


@dataclass(frozen=True)
class AxisSplit:
    """A shape as the product of sizes before an axis, its size, and the product of those after it."""

    before: Size
    size: Size
    after: Size

    @classmethod
    def of(cls, shape: Sequence[Size], axis: int) -> AxisSplit:
        """Split `shape` at `axis`."""
        return cls(*split_at_axis(shape, axis))

    @property
    def sizes(self) -> list[Size]:
        """The three sizes, as a shape."""
        return [self.before, self.size, self.after]


def is_before(element: Attribute, largest: bool, a: Scalar, b: Scalar) -> Scalar:
    """Whether `a` sorts before `b`: it is larger (or smaller), or it is NaN and `b` is not."""
    if not is_integer(a.type):
        return (a > b if largest else a < b) | (a.is_nan() & b.is_number())
    if is_unsigned_element(element) or a.type == i1:
        return a.compare_unsigned(b, "gt" if largest else "lt")
    return a > b if largest else a < b


def _best(kernel: Kernel, source: Buffer, outer: Sequence[Scalar], size: Size, how: str) -> Scalar:
    """
    Return the index of the largest or smallest element along the axis.

    Ties go to the first index, or to the last if `how` contains "last". NaN counts as an extreme.
    """
    before, after = outer
    largest = "largest" in how
    start = [source[before, 0, after], kernel.constant(0, i64)]
    with kernel.reducing([size], start) as ((index,), (best, position), results):
        x = source[before, index, after]
        if "last" in how:
            found = ~is_before(source.element, largest, best, x)
        else:
            found = is_before(source.element, largest, x, best)
        own = index.to(i64)
        results += [found.select(x, best), found.select(own, position)]
    return results[1]


supports_dynamic_shapes(reduction.ArgMaxOp, reduction.ArgMinOp, onnx.CumSumOp, onnx.CumProdOp)


@lowers(reduction.ArgMaxOp, reduction.ArgMinOp)
def arg_extreme(op: reduction.ArgMaxOp | reduction.ArgMinOp, builder: LoweringBuilder) -> str | None:
    """Index of the largest or smallest element along `axis`."""
    sizes = split_at_axis(builder.sizes(op.data), op.axis.value.data)
    name = "argmax" if isinstance(op, reduction.ArgMaxOp) else "argmin"
    how = "largest" if isinstance(op, reduction.ArgMaxOp) else "smallest"
    if op.select_last_index.value.data:
        how = f"last {how}"
    kernel = Kernel(builder, name, [(op.reduced, sizes[::2])], [(op.data, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes[::2]) as outer:
        out[*outer] = _best(kernel, source, outer, sizes[1], how)
    kernel.call()
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
    sizes = split_at_axis(shape, op.axis.value.data)
    if isinstance(op, onnx.HardmaxV11Op):
        sizes = [sizes[0], sizes[1] * sizes[2], 1]
    kernel = Kernel(builder, "hardmax", [(op.output, sizes)], [(op.input, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes[::2]) as (before, after):
        found = _best(kernel, source, [before, after], sizes[1], "largest")
        with kernel.loops([sizes[1]]) as (index,):
            out[before, index, after] = index.to(i64).equals(found)
    kernel.call()
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
    name = "cumsum" if isinstance(op, onnx.CumSumOp) else "cumprod"
    how = ReductionFunction(name, SUM if isinstance(op, onnx.CumSumOp) else PRODUCT)
    kernel = Kernel(builder, name, [(op.y, sizes)], [(op.x, sizes)])
    out, source = kernel.buffers
    start = how.start(kernel, source.element)
    with kernel.loops(sizes[::2]) as (before, after):
        with kernel.reducing([sizes[1]], [start]) as ((index,), (before_it,), results):
            if op.reverse.value.data:
                index = kernel.size(sizes[1] - 1) - index
            total = how.both(source.element, before_it, source[before, index, after])
            out[before, index, after] = before_it if op.exclusive.value.data else total
            results.append(total)
    kernel.call()
    return None
