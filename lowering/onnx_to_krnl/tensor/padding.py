"""Pad in all modes and versions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import NONE, numpy_dtype
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked, blocked_result
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, IndexExpr, copy, dim, fill
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    is_static,
    max_size,
    min_size,
    static_sizes,
    volume,
)
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import WindowGeometry
from xonnc.lowering.onnx_to_krnl.tensor.data_movement import as_stored, integers_of

Pad = tensor.PadOp | tensor.PadV2Op | tensor.PadV11Op | tensor.PadV13Op | tensor.PadV18Op | tensor.PadV19Op


supports_dynamic_shapes(
    tensor.PadOp, tensor.PadV11Op, tensor.PadV13Op, tensor.PadV18Op, tensor.PadV19Op, tensor.PadV2Op
)


@lowers_data_movement(
    tensor.PadOp, tensor.PadV2Op, tensor.PadV11Op, tensor.PadV13Op, tensor.PadV18Op, tensor.PadV19Op
)
def pad(op: Pad, builder: LoweringBuilder) -> str | None:
    """Pad, or crop where pads are negative: with a constant, the edge, a reflection, or the wrapped input."""
    shape = builder.sizes(op.data)
    pads = _pads(op, len(shape), builder)
    if pads is None:
        return "pads do not follow from sizes of inputs, or axes are not constants"
    for size, pad_sizes in zip(builder.sizes(op.output), pads, strict=True):
        if any(map(_may_crop, pad_sizes)):
            builder.require_at_most(0, size, f"{describe(op)}: the size of an axis that is cropped")
    if op.mode.data != "constant":
        return _from_input(op, pads, builder)
    if op.output in builder.layouts.blocked:
        _pad_blocks(op, pads, builder)
        return None
    source, number = builder.buffer(op.data), _fill_value(op, builder)
    target, sizes = builder.result(op.output), builder.sizes(op.output)
    if isinstance(number, SSAValue):
        whole, spread = AffineAccess.whole(target, [volume(sizes)]), AffineAccess(number, [1], [IndexExpr()])
        copy("fill", [volume(sizes)], whole, spread, builder)
    else:
        fill(target, volume(sizes), number, builder)
    _middle(target, sizes, source, shape, [begin for begin, _ in pads], builder)
    return None


def _pad_blocks(op: Pad, pads: Sequence[tuple[Size, Size]], builder: LoweringBuilder) -> None:
    """Pad rows and columns of channel-blocked images."""
    number, source, target = (
        _fill_value(op, builder),
        blocked(op.data, builder),
        blocked_result(op.output, builder),
    )
    assert not isinstance(number, SSAValue)
    sizes = list(target.blocks)
    begins = [0, 0, *(pads[axis][0] + first for axis, first in zip((2, 3), target.start, strict=True)), 0]
    fill(target.buffer, volume(sizes), number, builder)
    top, left = source.start
    images, blocks, _, _, lanes = source.blocks
    read = [dim(0), dim(1), dim(2, offset=top), dim(3, offset=left), dim(4)]
    write = [dim(axis, offset=begin) for axis, begin in enumerate(begins)]
    copied = [images, blocks, *source.sizes[2:], lanes]
    copy(
        "pad",
        copied,
        AffineAccess(target.buffer, sizes, write),
        AffineAccess(source.buffer, source.blocks, read),
        builder,
    )


def _fill_value(op: Pad, builder: LoweringBuilder) -> float | SSAValue:
    """Return the constant to pad with as it is stored, or the buffer that holds it at run time."""
    if isinstance(op, tensor.PadV2Op):
        # The pads and the constant of opset 2 are attributes.
        dtype = numpy_dtype(builder.element(op.data))
        return as_stored(np.array([op.value.value.data]).astype(dtype))
    if op.constant_value.type == NONE:
        return 0
    given, constant = builder.buffer(op.constant_value), builder.constant(op.constant_value)
    return given if constant is None else as_stored(constant)


def _pads(op: Pad, rank: int, builder: LoweringBuilder) -> list[tuple[Size, Size]] | None:
    """Return (begin, end) for each axis."""
    given = int_values(op.pads) if isinstance(op, tensor.PadV2Op) else builder.elements(op.pads)
    axes: Sequence[int] | None = range(rank)
    if isinstance(op, tensor.PadOp | tensor.PadV18Op | tensor.PadV19Op) and op.axes.type != NONE:
        axes = integers_of(op.axes, builder)
    if given is None or axes is None:
        return None
    pads: list[tuple[Size, Size]] = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pads[axis % rank] = given[index], given[len(axes) + index]
    return pads


def _may_crop(pad_size: Size) -> bool:
    """Whether a pad may be negative, so that it removes elements."""
    return not is_static(pad_size) or pad_size < 0


def padded(
    target: SSAValue,
    sizes: Sequence[Size],
    source: SSAValue,
    shape: Sequence[Size],
    begins: Sequence[Size],
    value: float,
    builder: LoweringBuilder,
) -> None:
    """Fill a buffer with `value` and copy the source into it."""
    fill(target, volume(sizes), value, builder)
    _middle(target, sizes, source, shape, begins, builder)


def with_pads(
    value: SSAValue,
    shape: Sequence[Size],
    window: WindowGeometry,
    number: float,
    builder: LoweringBuilder,
) -> SSAValue:
    """Return the buffer of an input of a shape, padded with `number`; operators of the same pads share it."""
    source = builder.buffer(value)
    if not window.is_padded:
        return source
    sizes = (*shape[:2], *window.padded)
    key = source, (*window.begins, *sizes), number
    if key not in builder.padded_buffers:
        target = builder.allocate(sizes, builder.element(value))
        padded(target, sizes, source, shape, [0, 0, *window.begins], number, builder)
        builder.padded_buffers[key] = target
    return builder.padded_buffers[key]


def _middle(
    target: SSAValue,
    sizes: Sequence[Size],
    source: SSAValue,
    shape: Sequence[Size],
    begins: Sequence[Size],
    builder: LoweringBuilder,
) -> None:
    """
    Copy the overlap of source and target; the source begins at `begins` in the target, perhaps before it.
    """
    overlap = [_kept(*each) for each in zip(shape, sizes, begins, strict=True)]
    if min(static_sizes(overlap), default=1) <= 0:
        return
    write = [dim(axis, offset=max_size(begin, 0)) for axis, begin in enumerate(begins)]
    read = [dim(axis, offset=max_size(0 - begin, 0)) for axis, begin in enumerate(begins)]
    copy("pad", overlap, AffineAccess(target, sizes, write), AffineAccess(source, shape, read), builder)


def _kept(size: Size, result_size: Size, begin: Size) -> Size:
    """Return the size of the overlap on one axis."""
    end = result_size - size - begin
    cropped = min_size(begin, 0) + min_size(end, 0)
    return size if cropped == 0 else max_size(size + cropped, 0)


def _from_input(op: Pad, pads: Sequence[tuple[Size, Size]], builder: LoweringBuilder) -> str | None:
    """Pad with elements of the input, by a table of source indices for each padded axis."""
    shape, sizes = builder.sizes(op.data), builder.sizes(op.output)
    if 0 in shape:
        return "an operand is empty"
    tables: dict[int, SSAValue] = {}
    for axis, (size, (begin, end)) in enumerate(zip(shape, pads, strict=True)):
        if begin or end:
            what = f"{describe(op)}: axis {axis}, which has no element to pad with,"
            builder.require_at_most(min_size(sizes[axis], 1), size, what)
            tables[axis] = _source_indices(size, begin, end, op.mode.data, builder)
    kernel = Kernel(builder, f"pad_{op.mode.data}", [op.output], [op.data, *tables.values()])
    out, source, *index_tables = kernel.buffers
    by_axis = dict(zip(tables, index_tables, strict=True))

    def source_index(axis: int, index: Scalar) -> Scalar:
        return by_axis[axis][index].to(INDEX) if axis in by_axis else index

    with kernel.loops(sizes[:-1]) if len(sizes) > 1 else nullcontext[Sequence[Scalar]](()) as outer:
        row = [source_index(axis, index) for axis, index in enumerate(outer)]
        for first, count, is_inside in _parts_of_row(shape, sizes, pads):
            with kernel.loops([count]) as (index,):
                at = index.offset_by(first)
                read = index if is_inside else source_index(len(outer), at)
                out.copy((*outer, at), source, (*row, read))
        if not shape:
            out.copy((), source, ())
    kernel.call()
    return None


def _parts_of_row(
    shape: Sequence[Size], sizes: Sequence[Size], pads: Sequence[tuple[Size, Size]]
) -> list[tuple[int, Size, bool]]:
    """
    Return where parts of a row begin, their numbers of elements, and whether these are those of the input.

    Copies of the input's own elements are contiguous.
    """
    if not shape:
        return []
    size, (begin, end) = shape[-1], pads[-1]
    if not is_static(size) or not is_static(begin) or not is_static(end) or min(begin, end) < 0:
        return [(0, sizes[-1], False)]
    parts = [(0, begin, False), (begin, size, True), (begin + size, end, False)]
    return [part for part in parts if part[1]]


def _source_indices(size: Size, begin: Size, end: Size, mode: str, builder: LoweringBuilder) -> SSAValue:
    """
    Return a buffer of the source index of each element along an axis, for modes edge, wrap and reflect.

    Negative pads remove elements; with `wrap`, the others repeat (as in onnxruntime).
    """
    table = builder.allocate([size + (begin + end)], i64)
    kernel = Kernel(builder, f"pad_{mode}_indices", [table], [])
    (out,) = kernel.buffers
    count = kernel.count([size])
    with kernel.loops([size + (begin + end)]) as (index,):
        position = index.to(i64) - (begin if is_static(begin) else kernel.count([begin]))
        if mode == "edge":
            found = position.clamp(0, count - 1)
        elif mode == "wrap":
            first = kernel.count([max_size(0 - begin, 0)])
            kept = kernel.count([size + (min_size(begin, 0) + min_size(end, 0))])
            # If nothing is kept, all elements repeat.
            has_kept = kept > 0
            first, period = has_kept.select(first, 0), has_kept.select(kept, count)
            found = first + _modulo(position - first, period)
        else:
            period = ((count - 1) * 2).maximum(1)
            offset = _modulo(position, period)
            found = offset.minimum(period - offset)
        out[index] = found
    kernel.call()
    return table


def _modulo(number: Scalar, divisor: Scalar) -> Scalar:
    """Return the remainder that is not negative."""
    rest = number % divisor
    return (rest < 0).select(rest + divisor, rest)
