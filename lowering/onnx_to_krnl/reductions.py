"""Sums, means and extremes along axes, and what is made of them: softmax, layer normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import MemRefType, f32, f64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn, reduction
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.blocks import blocked
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.layouts import Blocked
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, lowers

Map = Callable[[Kernel, SSAValue], SSAValue]


Softmax = onnx.SoftmaxOp | onnx.LogSoftmaxOp | onnx.SoftmaxV11Op | onnx.LogSoftmaxV11Op


def _same(kernel: Kernel, x: SSAValue) -> SSAValue:
    return x


def _absolute(kernel: Kernel, x: SSAValue) -> SSAValue:
    return kernel.add(math.AbsFOp(x))


def _square(kernel: Kernel, x: SSAValue) -> SSAValue:
    return kernel.add(arith.MulfOp(x, x))


def _root(kernel: Kernel, x: SSAValue) -> SSAValue:
    return kernel.add(math.SqrtOp(x))


def _log(kernel: Kernel, x: SSAValue) -> SSAValue:
    return kernel.add(math.LogOp(x))


@dataclass(frozen=True)
class Reduction:
    """What is done to each element, how two are brought together, and what is done to the whole."""

    name: str
    combine: type[Operation] = arith.AddfOp
    start: float = 0.0
    each: Map = _same
    whole: Map = _same
    is_mean: bool = False


REDUCTIONS: dict[type[Operation], Reduction] = {}
for _kinds, _reduction in (
    ((reduction.ReduceSumOp, reduction.ReduceSumV11Op), Reduction("reducesum")),
    ((reduction.ReduceMeanOp, reduction.ReduceMeanV13Op), Reduction("reducemean", is_mean=True)),
    ((reduction.ReduceProdOp, reduction.ReduceProdV13Op), Reduction("reduceprod", arith.MulfOp, 1.0)),
    (
        (reduction.ReduceMaxOp, reduction.ReduceMaxV13Op, reduction.ReduceMaxV18Op),
        Reduction("reducemax", arith.MaximumfOp, -inf),
    ),
    (
        (reduction.ReduceMinOp, reduction.ReduceMinV13Op, reduction.ReduceMinV18Op),
        Reduction("reducemin", arith.MinimumfOp, inf),
    ),
    ((reduction.ReduceL1Op, reduction.ReduceL1V13Op), Reduction("reducel1", each=_absolute)),
    ((reduction.ReduceL2Op, reduction.ReduceL2V13Op), Reduction("reducel2", each=_square, whole=_root)),
    (
        (reduction.ReduceSumSquareOp, reduction.ReduceSumSquareV13Op),
        Reduction("reducesumsquare", each=_square),
    ),
    ((reduction.ReduceLogSumOp, reduction.ReduceLogSumV13Op), Reduction("reducelogsum", whole=_log)),
    (
        (nn.GlobalAveragePoolOp, nn.GlobalMaxPoolOp),
        Reduction("globalaveragepool", is_mean=True),
    ),
):
    REDUCTIONS.update(dict.fromkeys(_kinds, _reduction))
REDUCTIONS[nn.GlobalMaxPoolOp] = Reduction("globalmaxpool", arith.MaximumfOp, -inf)


@lowers(*REDUCTIONS)
def reduce_(op: Operation, to: Lowering) -> str | None:
    """All elements along some axes brought together."""
    value = op.operands[0]
    if to.element(value) not in (f32, f64):
        return "not of f32 or f64"
    shape = to.shape(value)
    axes = _axes(op, len(shape), to)
    if axes is None:
        return "axes that are no constants"
    kind = REDUCTIONS[type(op)]
    if value in to.filled and tuple(axes) == (2, 3) and shape[1] % to.layouts.lanes == 0:
        _reduce_blocks(op, kind, to)
        return None
    groups = _groups(shape, axes)
    sizes = [prod(shape[axis] for axis in group) for group, _ in groups]
    kept = [size for size, (_, is_reduced) in zip(sizes, groups, strict=True) if not is_reduced]
    reduced = [size for size, (_, is_reduced) in zip(sizes, groups, strict=True) if is_reduced]
    element = to.element(value)
    kernel = Kernel([buffer_type(kept or [1], element), buffer_type(sizes, element)])
    out, source = kernel.buffers
    with kernel.loops(kept) as outer:
        start = kernel.number(kind.start, element)
        with kernel.reducing(reduced, [start]) as (inner, held, results):
            indices = _mixed(groups, outer, inner)
            number = kind.each(kernel, kernel.load(source, indices))
            results.append(
                kernel.add(kind.combine.create(operands=[held[0], number], result_types=[element]))
            )
        total = kind.whole(kernel, results[0])
        if kind.is_mean:
            total = kernel.add(arith.DivfOp(total, kernel.number(prod(reduced), element)))
        kernel.store(total, out, outer)
    to.call(kind.name, kernel, [to.result(op.results[0])], [to.buffer(value)])
    return None


def _reduce_blocks(op: Operation, kind: Reduction, to: Lowering) -> None:
    """All pixels of each channel of images in blocks brought together."""
    image = blocked(op.operands[0], to)
    images, blocks, _, _, lanes = image.shape
    kernel = Kernel([buffer_type([images * blocks, lanes], f32), _flat(image)])
    out, source = kernel.buffers
    with kernel.loops([images * blocks, lanes]) as (block, lane):
        start = kernel.number(kind.start, f32)
        with kernel.reducing(image.sizes[2:], [start]) as (inner, held, results):
            pixel = [kernel.scaled(index, 1, first) for index, first in zip(inner, image.start, strict=True)]
            number = kind.each(kernel, kernel.load(source, [block, *pixel, lane]))
            results.append(kernel.add(kind.combine.create(operands=[held[0], number], result_types=[f32])))
        total = kind.whole(kernel, results[0])
        if kind.is_mean:
            total = kernel.add(arith.DivfOp(total, kernel.number(prod(image.sizes[2:]), f32)))
        kernel.store(total, out, [block, lane])
    to.call(kind.name, kernel, [to.result(op.results[0])], [image.buffer])


def _flat(image: Blocked) -> MemRefType:
    """Images in blocks with the blocks of all images in a row."""
    return buffer_type([prod(image.shape[:2]), *image.shape[2:]], f32)


def _axes(op: Operation, rank: int, to: Lowering) -> list[int] | None:
    """The axes that an op reduces."""
    if isinstance(op, nn.GlobalAveragePoolOp | nn.GlobalMaxPoolOp):
        return list(range(2, rank))
    if len(op.operands) == 1:
        given = values_of(getattr(op, "axes", None))
    elif op.operands[1].type == NONE:
        given = None
    else:
        array = to.constant(op.operands[1])
        if array is None:
            return None
        given = tuple(int(axis) for axis in np.asarray(array, np.int64).reshape(-1))
    if given:
        return [axis % rank for axis in given]
    noop = op.properties.get("noop_with_empty_axes")
    return [] if noop is not None and str(noop).startswith("1") else list(range(rank))


def _groups(shape: Sequence[int], axes: Sequence[int]) -> list[tuple[list[int], bool]]:
    """Neighbouring axes that are all reduced or all kept, with which; axes of size 1 left out."""
    groups: list[tuple[list[int], bool]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        is_reduced = axis in axes
        if groups and groups[-1][1] == is_reduced:
            groups[-1][0].append(axis)
        else:
            groups.append(([axis], is_reduced))
    return groups


def _mixed(
    groups: Sequence[tuple[list[int], bool]], outer: Sequence[SSAValue], inner: Sequence[SSAValue]
) -> list[SSAValue]:
    kept, reduced = iter(outer), iter(inner)
    return [next(reduced) if is_reduced else next(kept) for _, is_reduced in groups]


@lowers(onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.SoftmaxV11Op, onnx.LogSoftmaxV11Op)
def softmax(op: Softmax, to: Lowering) -> str | None:
    """`e^(x - max) / sum` along `axis`; of its logarithm, `x - max - log sum`."""
    element = to.element(op.input)
    if element not in (f32, f64):
        return "not of f32 or f64"
    shape = to.shape(op.input)
    if not shape:
        return "of a number"
    axis = op.axis.value.data % len(shape)
    is_flat = isinstance(op, onnx.SoftmaxV11Op | onnx.LogSoftmaxV11Op)
    # Before opset 13 all axes from `axis` on are one.
    sizes = [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])]
    sizes = [sizes[0], sizes[1] * sizes[2], 1] if is_flat else sizes
    kernel = Kernel([buffer_type(sizes, element)] * 2)
    out, source = kernel.buffers
    is_log = isinstance(op, onnx.LogSoftmaxOp | onnx.LogSoftmaxV11Op)
    with kernel.loops([sizes[0], sizes[2]]) as (before, after):
        with kernel.reducing([sizes[1]], [kernel.number(-inf, element)]) as (inner, held, results):
            x = kernel.load(source, [before, inner[0], after])
            results.append(kernel.add(arith.MaximumfOp(held[0], x)))
        largest = results[0]
        with kernel.reducing([sizes[1]], [kernel.number(0.0, element)]) as (inner, held, results):
            place = [before, inner[0], after]
            x = kernel.add(arith.SubfOp(kernel.load(source, place), largest))
            power = kernel.add(math.ExpOp(x))
            kernel.store(x if is_log else power, out, place)
            results.append(kernel.add(arith.AddfOp(held[0], power)))
        total = kernel.add(math.LogOp(results[0])) if is_log else results[0]
        if not is_log:
            total = kernel.add(arith.DivfOp(kernel.number(1.0, element), total))
        with kernel.loops([sizes[1]]) as (index,):
            place = [before, index, after]
            x = kernel.load(out, place)
            kernel.store(kernel.add((arith.SubfOp if is_log else arith.MulfOp)(x, total)), out, place)
    to.call("logsoftmax" if is_log else "softmax", kernel, [to.result(op.output)], [to.buffer(op.input)])
    return None


@lowers(nn.LayerNormalizationOp)
def layer_normalization(op: nn.LayerNormalizationOp, to: Lowering) -> str | None:
    """`(x - mean) / sqrt(variance + epsilon) Scale + B` over the axes from `axis` on."""
    if op.Mean.type != NONE or op.InvStdDev.type != NONE:
        return "with the mean or the deviation as a result"
    element, shape = to.element(op.X), to.shape(op.X)
    axis = op.axis.value.data % len(shape)
    rows, size = prod(shape[:axis]), prod(shape[axis:])
    factors = [value for value in (op.Scale, op.B) if value.type != NONE]
    if element != f32 or any(prod(to.shape(value)) != size for value in factors):
        return "not of f32, or a scale that is broadcast"
    kernel = Kernel([buffer_type([rows, size], element)] * 2 + [buffer_type([size], element)] * len(factors))
    out, source, *held_factors = kernel.buffers
    count, zero = kernel.number(size, element), kernel.number(0.0, element)
    with kernel.loops([rows]) as (row,):
        with kernel.reducing([size], [zero]) as (inner, held, results):
            results.append(kernel.add(arith.AddfOp(held[0], kernel.load(source, [row, inner[0]]))))
        mean = kernel.add(arith.DivfOp(results[0], count))
        with kernel.reducing([size], [zero]) as (inner, held, results):
            x = kernel.add(arith.SubfOp(kernel.load(source, [row, inner[0]]), mean))
            results.append(kernel.add(arith.AddfOp(held[0], _square(kernel, x))))
        variance = kernel.add(arith.DivfOp(results[0], count))
        raised = kernel.add(arith.AddfOp(variance, kernel.number(op.epsilon.value.data, element)))
        factor = kernel.add(arith.DivfOp(kernel.number(1.0, element), _root(kernel, raised)))
        with kernel.loops([size]) as (index,):
            x = kernel.add(arith.SubfOp(kernel.load(source, [row, index]), mean))
            x = kernel.add(arith.MulfOp(x, factor))
            x = kernel.add(arith.MulfOp(x, kernel.load(held_factors[0], [index])))
            if len(held_factors) == 2:
                x = kernel.add(arith.AddfOp(x, kernel.load(held_factors[1], [index])))
            kernel.store(x, out, [row, index])
    buffers = [to.buffer(value) for value in (op.X, *factors)]
    to.call("layernormalization", kernel, [to.result(op.Y)], buffers)
    return None
