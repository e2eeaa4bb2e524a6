"""
ConvTranspose in general form, and Col2Im: scatter-add of windows (col2im).

ConvTranspose is a matrix product of the transposed weights with each pixel, followed by col2im.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import UnitAttr, f32, f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.math.matmul import product_of_buffers
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import MatrixOperand, accumulate_matmul
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
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
    counts: Sequence[int]
    out: Sequence[int]

    @property
    def uncropped(self) -> list[int]:
        """The spatial sizes before cropping."""
        reached = [
            (count - 1) * stride + (size - 1) * dilation + 1
            for count, stride, size, dilation in zip(
                self.counts, self.strides, self.kernel, self.dilations, strict=True
            )
        ]
        return [
            max(size, begin + result_size)
            for size, begin, result_size in zip(reached, self.begins, self.out, strict=True)
        ]


@lowers(nn.ConvTransposeOp)
def conv_transpose(op: nn.ConvTransposeOp, builder: LoweringBuilder) -> str | None:
    """Multiply the transposed weights with each pixel, then add up the overlapping windows (col2im)."""
    element = builder.element(op.X)
    kind = compute_type(element)
    shape, out, weights = builder.shape(op.X), builder.shape(op.Y), builder.shape(op.W)
    geometry = _col2im_geometry(op, weights[2:], shape[2:], out[2:])
    if kind not in (f32, f64) or min(geometry.begins) < 0:
        return "not of floats, or an output shape that exceeds what the windows reach"
    groups, pixels = op.group.value.data, prod(shape[2:])
    depth, rows = shape[1] // groups, weights[1] * prod(weights[2:])
    bias = None if op.B.type == NONE else op.B
    loop_sizes = [shape[0], groups, rows, pixels]
    windows = builder.allocate(loop_sizes, kind)
    sizes = [1, groups, rows, depth], [shape[0], groups, depth, pixels]
    buffers = [builder.buffer(value) for value in (op.W, op.X)]
    if element == kind:
        properties = {"transposed_a": UnitAttr()}
        product_of_buffers(windows, buffers, sizes, builder, properties=properties)
    else:
        fill(windows, prod(loop_sizes), 0, builder)
        a, b = MatrixOperand(buffers[0], sizes[0], is_transposed=True), MatrixOperand(buffers[1], sizes[1])
        accumulate_matmul(windows, loop_sizes[:2], (rows, pixels, depth), (a, b), kind, builder)
    _add_up(op.Y, windows, out[:2], geometry, bias, builder)
    return None


def _col2im_geometry(
    op: nn.ConvTransposeOp, kernel: Sequence[int], shape: Sequence[int], out: Sequence[int]
) -> _Col2ImGeometry:
    rank = len(kernel)
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
    extra = int_values(op.output_padding) or (0,) * rank
    begins = list((int_values(op.pads) or (0,) * (2 * rank))[:rank])
    if op.auto_pad.data != "NOTSET" or op.output_shape is not None:
        for axis, size in enumerate(out):
            reach = (shape[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
            total = reach + extra[axis] - size
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
    _add_up(op.output, builder.buffer(op.input), out[:2], geometry, None, builder)
    return None


def _add_up(
    result: SSAValue,
    windows: SSAValue,
    images: Sequence[int],
    geometry: _Col2ImGeometry,
    bias: SSAValue | None,
    builder: LoweringBuilder,
) -> None:
    """Scatter-add windows into an uncropped image, then crop it."""
    rank, element = len(geometry.kernel), builder.element(result)
    shape = [*images, *geometry.uncropped]
    is_whole = shape == list(builder.shape(result)) and bias is None and compute_type(element) == element
    uncropped = builder.result(result) if is_whole else builder.allocate(shape, compute_type(element))
    fill(uncropped, prod(shape), 0, builder)
    sizes = [*images, *geometry.kernel, *geometry.counts]
    kernel = Kernel(builder, "col2im", [(uncropped, shape)], [(windows, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes) as indices:
        image, channel, *inner = indices
        at = [
            inner[rank + axis].scaled_by(geometry.strides[axis])
            + inner[axis].scaled_by(geometry.dilations[axis])
            for axis in range(rank)
        ]
        term = source[*indices]
        out[image, channel, *at] = out[image, channel, *at] + term
    kernel.call()
    if is_whole:
        return
    _cut(result, uncropped, images, geometry, bias, builder)


def _cut(
    result: SSAValue,
    uncropped: SSAValue,
    images: Sequence[int],
    geometry: _Col2ImGeometry,
    bias: SSAValue | None,
    builder: LoweringBuilder,
) -> None:
    given = [] if bias is None else [(bias, images[1:])]
    kernel = Kernel(builder, "col2im_crop", [result], [uncropped, *given])
    out, source, *added = kernel.buffers
    with kernel.loops(builder.shape(result)) as indices:
        image, channel, *pixel = indices
        at = [index.offset_by(begin) for index, begin in zip(pixel, geometry.begins, strict=True)]
        total = source[image, channel, *at]
        if added:
            total = total + added[0].read_as(total.type, channel)
        out[*indices] = total
    kernel.call()
