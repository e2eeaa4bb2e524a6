"""
ConvTranspose in general form, and Col2Im: scatter-add of windows (col2im).

ConvTranspose is a matrix product of the transposed weights with each pixel, followed by col2im.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import UnitAttr, f32, f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.math.matmul import dynamic_matmul, product_of_buffers
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import MatrixOperand, accumulate_matmul
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    are_static,
    is_static,
    max_size,
    static_sizes,
    volume,
)
from xonnc.transforms.shapes.convolution import transposed_pads


@dataclass(frozen=True)
class _Col2ImGeometry:
    """
    Geometry of col2im: overlapping windows at `counts` positions per axis; `begins` is cropped at the start.
    """

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    begins: Sequence[int]
    counts: Sequence[Size]
    out: Sequence[Size]

    def loops(self, images: Sequence[Size]) -> list[Size]:
        """Return the shape of all windows: images and channels, elements of a window, windows."""
        return [*images, *self.kernel, *self.counts]

    @property
    def uncropped(self) -> list[Size]:
        """The spatial sizes before cropping."""
        reached = [
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts, self.strides, self.kernel, self.dilations, strict=True
            )
        ]
        return [
            max_size(size, begin + result_size)
            for size, begin, result_size in zip(reached, self.begins, self.out, strict=True)
        ]


@lowers(nn.ConvTransposeOp)
def conv_transpose(op: nn.ConvTransposeOp, builder: LoweringBuilder) -> str | None:
    """
    Multiply the transposed weights with each pixel, then add up the overlapping windows (col2im).

    Windows of groups of one channel are multiplied as they are added. For dynamic sizes the weights of
    others are constants, transposed here, and of one group.
    """
    element = builder.element(op.X)
    kind = compute_type(element)
    shape, out, weights = builder.sizes(op.X), builder.sizes(op.Y), static_sizes(builder.sizes(op.W))
    if len(weights) != len(shape):
        return NO_DYNAMIC_KERNEL
    geometry = _col2im_geometry(op, weights[2:], shape[2:], out[2:])
    if geometry is None:
        return NO_DYNAMIC_KERNEL
    if kind not in (f32, f64) or min(geometry.begins) < 0:
        return "not of floats, or an output shape that exceeds what the windows reach"
    groups, pixels = op.group.value.data, volume(shape[2:])
    depth, rows = weights[0] // groups, weights[1] * prod(weights[2:])
    bias = None if op.B.type == NONE else op.B
    if depth == 1:
        filters = weights[1]
        sources: list[Operand] = [(op.W, (groups * filters, *weights[2:])), op.X]

        def product(buffers: Sequence[Buffer], indices: Sequence[Scalar]) -> Scalar:
            (factors, x), (image, channel, *inner) = buffers, indices
            group = channel if filters == 1 else channel // filters
            taps, pixel = inner[: len(inner) // 2], inner[len(inner) // 2 :]
            return x[image, group, *pixel] * factors[channel, *taps]

        _add_up(op.Y, sources, product, out[:2], geometry, bias, builder)
        return None
    loop_sizes = [shape[0], groups, rows, pixels]
    windows = builder.allocate(loop_sizes, kind)
    if not are_static(loop_sizes):
        matrix = builder.constant(op.W)
        if groups > 1 or element != kind or matrix is None:
            return NO_DYNAMIC_KERNEL
        transposed = builder.constant_buffer(np.ascontiguousarray(matrix.reshape(depth, rows).T))
        batch = shape[0], (False, True)
        dynamic_matmul(windows, [transposed, builder.buffer(op.X)], (rows, pixels, depth), batch, builder)
        _add_up(op.Y, [(windows, geometry.loops(out[:2]))], _element, out[:2], geometry, bias, builder)
        return None
    images, count = static_sizes((shape[0], pixels))
    sizes = [1, groups, rows, depth], [images, groups, depth, count]
    buffers = [builder.buffer(value) for value in (op.W, op.X)]
    if element == kind:
        properties = {"transposed_a": UnitAttr()}
        product_of_buffers(windows, buffers, sizes, builder, properties=properties)
    else:
        fill(windows, volume(loop_sizes), 0, builder)
        a, b = MatrixOperand(buffers[0], sizes[0], is_transposed=True), MatrixOperand(buffers[1], sizes[1])
        accumulate_matmul(windows, [images, groups], (rows, count, depth), (a, b), kind, builder)
    _add_up(op.Y, [(windows, geometry.loops(out[:2]))], _element, out[:2], geometry, bias, builder)
    return None


def _element(buffers: Sequence[Buffer], indices: Sequence[Scalar]) -> Scalar:
    """Return an element of windows that are there."""
    return buffers[0][*indices]


supports_dynamic_shapes(nn.ConvTransposeOp)


def _col2im_geometry(
    op: nn.ConvTransposeOp, kernel: Sequence[int], shape: Sequence[Size], out: Sequence[Size]
) -> _Col2ImGeometry | None:
    """Return the geometry of a transposed convolution; None if what it crops depends on dynamic sizes."""
    rank = len(kernel)
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
    extra = int_values(op.output_padding) or (0,) * rank
    begins = list((int_values(op.pads) or (0,) * (2 * rank))[:rank])
    if op.auto_pad.data != "NOTSET" or op.output_shape is not None:
        for axis, size in enumerate(out):
            reach = (shape[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
            total = reach + extra[axis] - size
            if not is_static(total):
                return None
            begins[axis], _ = transposed_pads(total, op.auto_pad.data == "SAME_UPPER")
        if op.auto_pad.data == "VALID" and op.output_shape is None:
            begins = [0] * rank
    return _Col2ImGeometry(kernel, strides, dilations, begins, shape, out)


@lowers(nn.Col2ImOp)
def col2im(op: nn.Col2ImOp, builder: LoweringBuilder) -> str | None:
    """Add up columns, a window each, to images."""
    out, element = builder.shape(op.output), builder.element(op.input)
    block = builder.constant(op.block_shape)
    if block is None:
        return "block_shape is not a constant"
    rank = len(out) - 2
    kernel = [int(size) for size in block.reshape(-1)]
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
    pads = int_values(op.pads) or (0,) * (2 * rank)
    counts = [
        (size + pads[axis] + pads[rank + axis] - (kernel[axis] - 1) * dilations[axis] - 1) // strides[axis]
        + 1
        for axis, size in enumerate(out[2:])
    ]
    geometry = _Col2ImGeometry(kernel, strides, dilations, pads[:rank], counts, out[2:])
    if compute_type(element) not in (f32, f64) or prod(counts) != builder.shape(op.input)[-1]:
        return "not of floats, or a number of columns that does not match the shape"
    columns = builder.buffer(op.input), geometry.loops(out[:2])
    _add_up(op.output, [columns], _element, out[:2], geometry, None, builder)
    return None


def _add_up(
    result: SSAValue,
    sources: Sequence[Operand],
    term: Callable[[Sequence[Buffer], Sequence[Scalar]], Scalar],
    images: Sequence[Size],
    geometry: _Col2ImGeometry,
    bias: SSAValue | None,
    builder: LoweringBuilder,
) -> None:
    """
    Scatter-add windows into an uncropped image, then crop it.

    `term` returns an element of a window from the buffers of `sources`, for indices of `geometry.loops`.
    """
    rank, element = len(geometry.kernel), builder.element(result)
    shape = [*images, *geometry.uncropped]
    is_whole = shape == list(builder.sizes(result)) and bias is None and compute_type(element) == element
    uncropped = builder.result(result) if is_whole else builder.allocate(shape, compute_type(element))
    fill(uncropped, volume(shape), 0, builder)
    kernel = Kernel(builder, "col2im", [(uncropped, shape)], sources)
    out, *given = kernel.buffers
    with kernel.loops(geometry.loops(images)) as indices:
        image, channel, *inner = indices
        at = [
            inner[rank + axis].scaled_by(geometry.strides[axis])
            + inner[axis].scaled_by(geometry.dilations[axis])
            for axis in range(rank)
        ]
        out[image, channel, *at] = out[image, channel, *at] + term(given, indices)
    kernel.call()
    if is_whole:
        return
    _cut(result, uncropped, images, geometry, bias, builder)


def _cut(
    result: SSAValue,
    uncropped: SSAValue,
    images: Sequence[Size],
    geometry: _Col2ImGeometry,
    bias: SSAValue | None,
    builder: LoweringBuilder,
) -> None:
    given = [] if bias is None else [(bias, images[1:])]
    kernel = Kernel(builder, "col2im_crop", [result], [(uncropped, [*images, *geometry.uncropped]), *given])
    out, source, *added = kernel.buffers
    with kernel.loops(builder.sizes(result)) as indices:
        image, channel, *pixel = indices
        at = [index.offset_by(begin) for index, begin in zip(pixel, geometry.begins, strict=True)]
        total = source[image, channel, *at]
        if added:
            total = total + added[0].read_as(total.type, channel)
        out[*indices] = total
    kernel.call()
