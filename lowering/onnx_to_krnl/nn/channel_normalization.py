"""BatchNormalization in inference mode, and local response normalization (LRN)."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, f64

from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import volume
from xonnc.lowering.onnx_to_krnl.tensor.padding import padded

MAX_UNROLLED = 32
"""Largest window of LRN whose channels are unrolled."""


supports_dynamic_shapes(BatchNormalizationInferenceModeOp)


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: LoweringBuilder) -> str | None:
    """`(x - mean) scale / sqrt(variance + epsilon) + B`, with parameters per channel."""
    elements, shape = [builder.element(value) for value in op.operands], builder.sizes(op.X)
    kinds = {compute_type(each) for each in elements}
    if len(kinds) > 1 or not kinds <= {f32, f64}:
        return "not all operands are f64, nor all of types that kernels compute with as f32"
    if len(shape) < 2:
        return "the input has less than two axes"
    sizes = [shape[0], shape[1], volume(shape[2:])]
    parameters = [(value, [shape[1]]) for value in op.operands[1:]]
    result = op.results[0], sizes
    kernel = Kernel(builder, "batchnormalization", [result], [(op.X, sizes), *parameters])
    out, source, *buffers = kernel.buffers
    with kernel.loops(sizes[:2]) as (image, channel):
        scale, bias, mean, variance = (buffer[channel] for buffer in buffers)
        factor = scale / (variance + op.epsilon.value.data).sqrt()
        with kernel.loops(sizes[2:]) as (index,):
            out[image, channel, index] = (source[image, channel, index] - mean) * factor + bias
    kernel.call()
    return None


@lowers(LRNOp)
def local_response_normalization(op: LRNOp, builder: LoweringBuilder) -> str | None:
    """
    `x / (bias + alpha / size · Σ x²)^beta`, the sum over `size` neighboring channels (Krizhevsky et al.,
    2012).
    """
    element, shape, size = builder.element(op.X), builder.shape(op.X), op.size.value.data
    if element not in (f32, f64):
        return "neither f32 nor f64"
    sizes = [shape[0], shape[1], prod(shape[2:])]
    longer = [sizes[0], sizes[1] + size - 1, sizes[2]]
    around = builder.allocate(longer, element)
    before = (size - 1) // 2
    source = builder.buffer(op.X)
    padded(around, longer, source, sizes, [0, before, 0], 0.0, builder)
    kernel = Kernel(builder, "lrn", [(op.Y, sizes)], [around])
    out, read = kernel.buffers
    outer = size if size > MAX_UNROLLED else 1
    with kernel.loops(sizes) as (image, channel, index):

        def add(total: Scalar, first: Scalar) -> Scalar:
            for step in range(size // outer):
                x = read[image, (channel + first).offset_by(step), index]
                total = total + x * x
            return total

        total = kernel.reduce(outer, kernel.constant(0.0, element), add)
        base = total * (op.alpha.value.data / size) + op.bias.value.data
        power = base.power(op.beta.value.data)
        out[image, channel, index] = read[image, channel.offset_by(before), index] / power
    kernel.call()
    return None
