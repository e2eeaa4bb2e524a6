"""
DeformConv: convolution whose window elements are moved by run-time offsets (Dai et al., 2017).

im2col with bilinear interpolation, then a matrix product.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import DeformConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.math.matmul import batched_matmul
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import MatrixOperand, accumulate_matmul
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import are_static


@lowers(DeformConvOp)
def deform_conv(op: DeformConvOp, builder: LoweringBuilder) -> str | None:
    """Convolution with run-time offsets for each element of the window, bilinearly interpolated."""
    shape, out, weights = builder.shape(op.X), builder.shape(op.Y), builder.shape(op.W)
    if len(shape) != 4:
        return f"{len(shape) - 2} spatial axes; 2 are lowered"
    for operand in (op.offset, op.mask):
        if operand.type != NONE and not are_static(builder.sizes(operand)):
            return "offsets or masks of dynamic sizes"
    element = builder.element(op.X)
    kind, groups, pixels, depth = compute_type(element), op.group.value.data, prod(out[2:]), prod(weights[1:])
    columns = _columns(op, builder)
    filters = out[1] // groups
    if element in (f32, f64) and op.B.type == NONE:
        starts_a = [group * filters * depth for _ in range(shape[0]) for group in range(groups)]
        starts_b = [number * depth * pixels for number in range(shape[0] * groups)]
        sizes = filters, pixels, depth
        batched_matmul(op.Y, [builder.buffer(op.W), columns], sizes, (starts_a, starts_b), builder)
        return None
    loop_sizes = [shape[0], groups, filters, pixels]
    sums = builder.allocate(loop_sizes, kind)
    fill(sums, prod(loop_sizes), 0, builder)
    a = MatrixOperand(builder.buffer(op.W), [1, groups, filters, depth])
    b = MatrixOperand(columns, [shape[0], groups, depth, pixels])
    accumulate_matmul(sums, loop_sizes[:2], (filters, pixels, depth), (a, b), kind, builder)
    _add_bias(op, sums, builder)
    return None


def _columns(op: DeformConvOp, builder: LoweringBuilder) -> SSAValue:
    """im2col at the offset positions: for each channel and element of the window, the interpolated pixels."""
    (images, channels, *size), (_, _, *out) = builder.shape(op.X), builder.shape(op.Y)
    window = builder.shape(op.W)[2:]
    strides, dilations = int_values(op.strides) or (1, 1), int_values(op.dilations) or (1, 1)
    pads = int_values(op.pads) or (0,) * 4
    groups = op.offset_group.value.data
    kind, each = compute_type(builder.element(op.X)), channels // groups
    columns = builder.allocate([images, channels, *window, *out], kind)
    inputs: list[Operand] = [(op.X, [images, groups, each, *size])]
    inputs.append((op.offset, [images, groups, *window, 2, *out]))
    if op.mask.type != NONE:
        inputs.append((op.mask, [images, groups, *window, *out]))
    result = columns, [images, groups, each, *window, *out]
    kernel = Kernel(builder, "deformable_im2col", [result], inputs)
    target, source, offsets, *mask = kernel.buffers
    with kernel.loops([images, groups, *window, *out]) as (image, group, *at):
        taps: list[tuple[list[Scalar], list[Scalar]]] = []
        for axis in range(2):
            first = at[2 + axis].scaled_by(strides[axis]).offset_by(-pads[axis])
            coordinate = (first + at[axis].scaled_by(dilations[axis])).to(kind)
            offset = offsets.read_as(kind, image, group, *at[:2], axis, *at[2:])
            taps.append(_taps(coordinate + offset, size[axis]))
        share = [buffer.read_as(kind, image, group, *at) for buffer in mask]
        with kernel.loops([each]) as (channel,):
            total = kernel.constant(0.0, kind)
            for y, height in zip(*taps[0], strict=True):
                for x, width in zip(*taps[1], strict=True):
                    total = total + source[image, group, channel, y, x] * (height * width)
            for factor in share:
                total = total * factor
            target[image, group, channel, *at] = total
    kernel.call()
    return columns


def _taps(coordinate: Scalar, size: int) -> tuple[list[Scalar], list[Scalar]]:
    """Return the two pixels around a position and their weights, 0 for pixels outside."""
    low = coordinate.floor()
    part = coordinate - low
    pixels: list[Scalar] = []
    weights: list[Scalar] = []
    for pixel, share in ((low, 1.0 - part), (low + 1.0, part)):
        is_inside = (pixel >= 0.0) & (pixel < float(size))
        pixels.append(pixel.to(INDEX).clamp(0, size - 1))
        weights.append(is_inside.select(share, 0.0))
    return pixels, weights


def _add_bias(op: DeformConvOp, sums: SSAValue, builder: LoweringBuilder) -> None:
    """Add the bias of each channel, and round the sums to the result."""
    images, channels, *out = builder.shape(op.Y)
    sizes = [images, channels, prod(out)]
    bias = [] if op.B.type == NONE else [op.B]
    kernel = Kernel(builder, "bias_add", [(op.Y, sizes)], [(sums, sizes), *bias])
    target, source, *added = kernel.buffers
    with kernel.loops(sizes) as (image, channel, pixel):
        total = source[image, channel, pixel]
        for term in added:
            total = total + term.read_as(total.type, channel)
        target[image, channel, pixel] = total
    kernel.call()
